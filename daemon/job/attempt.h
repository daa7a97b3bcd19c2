/* The start protocol: one run of a process, as a table. Pure.
 *
 * An attempt is in one phase. Each input takes it to the next phase by one row of the
 * table in attempt.c, which says what is to be done then. The driver (daemon/run) asks
 * attempt_hears() what the phase waits for, polls only that, turns it into an input, and
 * carries out the actions of attempt_step() in the order of their bits.
 *
 *     new        STARTING is on its way into the store
 *     waiting    for a slot
 *     resting    before the next START
 *     starting   its record is made, and START is on its way with it
 *     taken      the keeper has it, or may have it; nothing says that it has begun
 *     running    it has begun, and STARTED is posted
 *     pause_due  PAUSE was posted, and is on its way into the store
 *     pausing, pause_again    freeze or SIGSTOP of its tree: on its way, to be sent again
 *     paused     its processes stand still, and so does its timeout
 *     resuming, resume_again  SIGCONT: likewise
 *     unposted   it is to stop, as soon as there is memory to post that
 *     asking, asked, ask_again      the stop signal: on its way, sent, to be sent again
 *     killing, killed, kill_again   SIGKILL: likewise
 *     clearing, clear_again, left   its shim was killed: SIGKILL to its tree is on its
 *                way, to be sent again, has left processes
 *     removing, remove_again   it never ran, and cannot run: its record is being removed,
 *                to be tried again
 *     ending     EXITED is on its way into the store
 *     ended
 *
 * Invariants, proved by tests/unit/job/test_attempt_search.c with a crash of voltd,
 * keeper, shim and machine at every edge:
 *
 *   T-1  No record and no START before its STARTING is durable.
 *   T-2  An attempt runs at most once, and not once its EXITED has been posted.
 *   T-3  Two attempts of a job do not run side by side.
 *   T-4  What ends without a look at its record has not run, and fails only where
 *        something has failed. What ends as lost was lost with its shim, with the
 *        machine, or with its record.
 *   T-5  A record goes when its EXITED is durable, or before the same attempt is started
 *        once more: never when it alone knows the end, nor while anybody can run it.
 *   T-6  Every event that is posted is one that job.h allows; EXITED is posted once.
 *   T-7  A job goes back to the queue (DEFERRED) when it has no record, so that nothing
 *        can run it.
 *   T-8  START goes out in a slot, and what runs has one; no slot is left taken.
 *   T-9  From every state a way leads to the durable end, without a further fault.
 *   T-10  What is frozen or stopped is known to be paused by the store, or is continued:
 *        a job whose pause is over, or was forgotten with its voltd, runs on. */
#ifndef VOLTD_JOB_ATTEMPT_H
#define VOLTD_JOB_ATTEMPT_H

#include "daemon/job/tries.h"

/* Requests for what a record needs, refused in a row for want of something. */
#define ATTEMPT_SHORT_MAX 10

enum attempt_phase {
    ATTEMPT_NEW = 0,
    ATTEMPT_WAITING,
    ATTEMPT_RESTING,
    ATTEMPT_STARTING,
    ATTEMPT_TAKEN,
    ATTEMPT_RUNNING,
    ATTEMPT_PAUSE_DUE,
    ATTEMPT_PAUSING,
    ATTEMPT_PAUSE_AGAIN,
    ATTEMPT_PAUSED,
    ATTEMPT_RESUMING,
    ATTEMPT_RESUME_AGAIN,
    ATTEMPT_UNPOSTED,
    ATTEMPT_ASKING,
    ATTEMPT_ASKED,
    ATTEMPT_ASK_AGAIN,
    ATTEMPT_KILLING,
    ATTEMPT_KILLED,
    ATTEMPT_KILL_AGAIN,
    ATTEMPT_CLEARING,
    ATTEMPT_CLEAR_AGAIN,
    ATTEMPT_LEFT,
    ATTEMPT_REMOVING,
    ATTEMPT_REMOVE_AGAIN,
    ATTEMPT_ENDING,
    ATTEMPT_ENDED,
    ATTEMPT_PHASES,
};

enum attempt_input {
    /* the store */
    ON_MARKED,   /* STARTING is durable */
    ON_UNMARKED, /* the store has refused it */
    ON_KEPT,     /* what was posted is durable */
    ON_UNKEPT,   /* the store has refused it */
    ON_UNPOSTED, /* there is no memory to post TIMEOUT or OUTPUT_LIMIT */
    ON_ADOPTED,  /* an earlier voltd has begun it */
    /* its place */
    ON_SLOT,
    ON_DEFERRED, /* it is in the queue again */
    ON_STOP,     /* it is to stop */
    ON_UNREADY,  /* what START needs cannot be had */
    /* answers of the keeper */
    ON_TAKEN,     /* START: its shim has been told */
    ON_EXISTS,    /* no START: there is a record */
    ON_WITHDRAWN, /* START: nobody has had it */
    ON_RESET,     /* the connection broke before the answer */
    ON_SHORT,     /* of something, for a moment: nothing was done. Also voltd itself, of
                     what a record needs */
    ON_GONE,      /* signal: there is no such process */
    ON_LEFT,      /* SIGKILL has left processes, and another attempt is to follow */
    ON_REFUSED,   /* anything else that says no, where that matters */
    ON_ANSWERED,  /* all the rest */
    /* its record */
    ON_STARTED, /* slot 1 */
    ON_OVER,    /* it says how the job ended, or that nobody will know */
    ON_SHIM_KILLED,
    ON_NEVER_RAN,
    ON_ABSENT,
    /* timers and others */
    ON_TURNED,  /* it is to be paused, or to go on */
    ON_PROBE,   /* a signal is to be sent once more */
    ON_LIMIT,   /* the time of the phase is up: a rest, the timeout, kill_after, ... */
    ON_PRINTED, /* more than output_limit */
    ATTEMPT_INPUTS,
};

/* Carried out in this order. */
enum attempt_action {
    DO_VOID = 1 << 0,    /* no START of it is anywhere: a slot that it has for an earlier
                            voltd's goes back, and it asks for one */
    DO_PREPARE = 1 << 1, /* what START needs, its record last; where that fails, no START:
                            ON_UNREADY; for the record ON_EXISTS, ON_SHORT, ON_REFUSED */
    DO_START = 1 << 2,
    DO_CLOSE = 1 << 3,             /* what was prepared */
    DO_POST_STARTED = 1 << 4,      /* and the timeout begins */
    DO_POST_TIMEOUT = 1 << 5,      /* where that fails, ON_UNPOSTED instead of the rest */
    DO_POST_OUTPUT_LIMIT = 1 << 6, /* likewise */
    DO_NOTE_LEFT = 1 << 7,         /* the processes that SIGKILL has left */
    DO_LIMIT = 1 << 8,             /* ON_LIMIT comes after the time of the new phase */
    DO_SIGNAL = 1 << 9,            /* that of the new phase */
    DO_PROBE = 1 << 10,            /* ON_PROBE comes after a moment */
    DO_REMOVE = 1 << 11,           /* the record of what never ran */
    DO_LOOK = 1 << 12,             /* at the record, even if nothing is heard of it */
    DO_POST_EXITED = 1 << 13,      /* state.end says which */
    DO_REMOVE_LATER = 1 << 14,     /* the record of what is over */
    DO_BLAME = 1 << 15,            /* a try in vain; too many end as its shim's failure */
    DO_KEEP = 1 << 16,             /* ON_KEPT comes when all that was posted is durable */
    DO_TIME = 1 << 17, /* the timeout stands still, or goes on, by the phase */
};

/* What is known of its STARTs. */
enum attempt_known {
    ATTEMPT_FRESH = 0, /* none is anywhere but the one on its way */
    ATTEMPT_UNSURE,    /* one was not answered: its record tells whether it runs */
    ATTEMPT_VOIDED,    /* as FRESH, but a keeper of version 9 or older that stands still
                          may make a record for what an earlier voltd has sent it */
    ATTEMPT_ADOPTED,   /* an earlier voltd may have sent one: its record, if there is one,
                          tells whether it runs */
    ATTEMPT_STRANGE,   /* likewise; and it has begun, or another life of the machine might
                          have seen it begin: never to be started again */
};

enum attempt_end {
    ATTEMPT_NOT_OVER = 0,
    ATTEMPT_RECORDED,  /* as its record says */
    ATTEMPT_MISSING,   /* its record is not there */
    ATTEMPT_CANCELLED, /* it has not begun, nor will it */
    ATTEMPT_FAILED,    /* likewise; the driver knows why: the answer to START, what cannot
                          be prepared, the store, or the shim (DO_BLAME) */
    ATTEMPT_STUCK,     /* the record of what never ran cannot be removed */
};

struct attempt_state {  /* zeroes, and `known` and `stop_kills` as they are */
    uint8_t phase;      /* enum attempt_phase */
    uint8_t known;      /* enum attempt_known */
    uint8_t end;        /* enum attempt_end */
    uint8_t stop_kills; /* 1: the stop signal is SIGKILL */
    uint8_t short_of;   /* how often the keeper or voltd was, since the record was read */
    bool paused, halted; /* of an earlier voltd: it is paused, or has been; either may not
                            have come to its processes */
    struct tries tries;
    uint32_t kills; /* SIGKILLs that have been answered */
};

/* Conditions of a row: all must hold. Of rows with the same input the first counts. */
enum attempt_when {
    IF_VOIDED = 1 << 0,     /* known: VOIDED */
    IF_ADOPTED = 1 << 1,    /* known: ADOPTED */
    IF_DOUBTFUL = 1 << 2,   /* known: UNSURE or ADOPTED */
    IF_STRANGE = 1 << 3,    /* known: STRANGE */
    IF_SPENT = 1 << 4,      /* tries_are_over() */
    IF_REST = 1 << 5,       /* a rest is due */
    IF_SHORT = 1 << 6,      /* the keeper was short of something too often */
    IF_STOP_KILLS = 1 << 7, /* stop_kills */
    IF_RECORD = 1 << 8,     /* the record is still there */
    IF_PAUSED = 1 << 9,     /* paused */
    IF_HALTED = 1 << 10,    /* halted */
};

struct attempt_row {
    uint8_t on;    /* enum attempt_input */
    uint8_t next;  /* enum attempt_phase */
    uint16_t when; /* IF_ */
    uint32_t todo; /* DO_ */
    uint8_t known; /* enum attempt_known from now on; 0: as before */
    uint8_t end;   /* enum attempt_end */
};

/* Rows of a phase, then those of `like`, which several phases share; NULL: no more. */
struct attempt_rows {
    const struct attempt_row *row;
    uint8_t n;
    const struct attempt_rows *like;
};
extern const struct attempt_rows *const attempt_table[ATTEMPT_PHASES];

/* What the attempt waits for: bits 1 << enum attempt_input. */
uint32_t attempt_hears(const struct attempt_state *s);
static inline bool attempt_is_heard(uint32_t hears, enum attempt_input in)
{
    return hears >> in & 1;
}
/* True, with *ret_todo; false: the phase has no row for it, and nothing has changed. */
bool attempt_step(struct attempt_state *s, enum attempt_input in, uint32_t *ret_todo);

/* The halves of attempt_step(): counts the input and finds its row, NULL: none, ... */
const struct attempt_row *attempt_find(struct attempt_state *s, enum attempt_input in);
/* ... and goes where the row says. */
void attempt_follow(struct attempt_state *s, const struct attempt_row *row);

/* The keeper's answer, 0 or -errno, as an input of a phase that hears these. Likewise
 * what became of a record that voltd makes or removes. */
enum attempt_input attempt_answer(uint32_t hears, int status);

#endif
