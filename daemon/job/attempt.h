/* The start protocol: one run of a process, as a table. Pure.
 *
 * An attempt is in one phase. Each input leads to the next phase by one row of the table
 * in attempt.c, which also has the actions. The driver (daemon/run) polls only the inputs
 * that the phase waits for: attempt_awaited_inputs(). Then it carries out the actions of
 * attempt_step() in the order of their bits.
 *
 *     new        STARTING is on its way into the store
 *     waiting    for a slot
 *     resting    before the next START
 *     starting   the record is made, and START is on its way with it
 *     taken      the keeper has START, or may have it; the record has no start yet
 *     running    the process has begun, and STARTED is posted
 *     pause_due  PAUSE is posted, and on its way into the store
 *     pausing, pause_again    freeze or SIGSTOP of the tree: on its way, to be repeated
 *     paused     the processes are stopped, and so is the timeout
 *     resuming, resume_again  SIGCONT: likewise
 *     unposted   it must stop, when there is memory to post that
 *     asking, asked, ask_again      stop signal: on its way, sent, to be repeated
 *     killing, killed, kill_again   SIGKILL: likewise
 *     clearing, clear_again, left   the shim was killed: SIGKILL to the tree is on its
 *                way, to be repeated, has left processes
 *     removing, remove_again   it never ran and cannot run: its record is being removed,
 *                to be tried again
 *     ending     EXITED is on its way into the store
 *     ended
 *
 * Invariants, proved by tests/unit/job/test_attempt_search.c with a crash of voltd,
 * keeper, shim or machine at every edge:
 *
 *   T-1  No record and no START before its STARTING is durable.
 *   T-2  An attempt runs at most once, and never after its EXITED is posted.
 *   T-3  Two attempts of a job do not run side by side.
 *   T-4  An attempt that ends without a look at its record has not run, and fails only
 *        if something has failed. A lost attempt was lost with its shim, the machine or
 *        its record.
 *   T-5  A record is removed after its EXITED is durable, or before the same attempt is
 *        started again; never while it alone has the end, or while any process may run
 *        the attempt.
 *   T-6  Every posted event is one that job.h allows; EXITED is posted once.
 *   T-7  A job goes back to the queue (DEFERRED) without a record, so that no process
 *        can run it.
 *   T-8  START is sent with a slot, and a running attempt has one; no slot stays taken.
 *   T-9  Every state leads to the durable end, without a further fault.
 *   T-10  Stopped processes are paused in the store, or are continued: if the pause is
 *        over, or was lost with its voltd, the job runs on. */
#ifndef VOLTD_JOB_ATTEMPT_H
#define VOLTD_JOB_ATTEMPT_H

#include "daemon/job/tries.h"

/* Failed requests for a record in a row, for lack of something. */
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
    /* From the store: */
    ON_MARKED,        /* STARTING is durable */
    ON_UNMARKED,      /* the store refused STARTING */
    ON_DURABLE,       /* the latest event is durable */
    ON_STORE_REFUSED, /* the store refused it */
    ON_UNPOSTED,      /* no memory to post TIMEOUT or OUTPUT_LIMIT */
    ON_ADOPTED,       /* an earlier voltd has begun the attempt */
    /* From the queue: */
    ON_SLOT,
    ON_DEFERRED, /* the job is queued again */
    ON_STOP,     /* the attempt must stop */
    ON_UNREADY,  /* START lacks something */
    /* Answers of the keeper: */
    ON_TAKEN,     /* START: its shim has it */
    ON_EXISTS,    /* no START: there is a record */
    ON_WITHDRAWN, /* START was not sent */
    ON_RESET,     /* the connection broke before the answer */
    ON_SHORT,     /* the keeper, or voltd for a record, lacks something; nothing was
                   * done */
    ON_GONE,      /* signal: no such process */
    ON_LEFT,      /* survivors of SIGKILL, and another attempt will follow */
    ON_REFUSED,   /* any other failure that matters */
    ON_ANSWERED,  /* any other answer */
    /* From the record: */
    ON_STARTED, /* slot 1 is valid */
    ON_OVER,    /* has the end, or the end is lost */
    ON_SHIM_KILLED,
    ON_NEVER_RAN,
    ON_ABSENT,
    /* Timers and others: */
    ON_TURNED,  /* pause or resume */
    ON_PROBE,   /* a signal is to be repeated */
    ON_LIMIT,   /* time of the phase is over: rest, timeout, kill_after */
    ON_PRINTED, /* output above output_limit */
    ATTEMPT_INPUTS,
};

/* Actions, in this order. */
enum attempt_action {
    DO_VOID = 1 << 0,    /* no START exists: returns a slot assumed for an earlier
                          * voltd's, and asks for one */
    DO_PREPARE = 1 << 1, /* prepares START, the record last. Failure: no START, but
                          * ON_UNREADY; for the record ON_EXISTS, ON_SHORT, ON_REFUSED */
    DO_START = 1 << 2,
    DO_CLOSE = 1 << 3,             /* frees what was prepared */
    DO_POST_STARTED = 1 << 4,      /* begins the timeout, too */
    DO_POST_TIMEOUT = 1 << 5,      /* failure: ON_UNPOSTED replaces the rest */
    DO_POST_OUTPUT_LIMIT = 1 << 6, /* likewise */
    DO_NOTE_LEFT = 1 << 7,         /* notes survivors of SIGKILL */
    DO_LIMIT = 1 << 8,             /* ON_LIMIT after the time of the new phase */
    DO_SIGNAL = 1 << 9,            /* sends the signal of the new phase */
    DO_PROBE = 1 << 10,            /* ON_PROBE after a moment */
    DO_REMOVE = 1 << 11,           /* removes the record of an attempt that never ran */
    DO_LOOK = 1 << 12,             /* reads the record, without an event */
    DO_POST_EXITED = 1 << 13,      /* with the end in state.end */
    DO_REMOVE_LATER = 1 << 14,     /* removes the record after the end */
    DO_BLAME = 1 << 15,            /* counts a failed try; too many end the job as its
                                    * shim's failure */
    DO_AWAIT_STORE = 1 << 16,      /* ON_DURABLE when all posted events are durable */
    DO_TIME = 1 << 17,             /* stops or continues the timeout, by the phase */
};

/* Knowledge about the attempt's STARTs. */
enum attempt_known {
    ATTEMPT_FRESH = 0, /* only the one on its way exists */
    ATTEMPT_UNSURE,    /* one has no answer: the record says whether it runs */
    ATTEMPT_VOIDED,    /* as FRESH; but a stopped keeper of version 9 or older may make a
                        * record for an earlier voltd's */
    ATTEMPT_ADOPTED,   /* an earlier voltd may have sent one: the record, if any, says
                        * whether it runs */
    ATTEMPT_STRANGE,   /* likewise; and it has begun, or may have before a reboot or with
                        * other records: never start it again */
};

enum attempt_end {
    ATTEMPT_NOT_OVER = 0,
    ATTEMPT_RECORDED,  /* as in its record */
    ATTEMPT_MISSING,   /* its record is missing */
    ATTEMPT_CANCELLED, /* it has not begun and never will */
    ATTEMPT_FAILED,    /* likewise; the driver has the reason: START's answer or
                        * preparation, the store, or the shim (DO_BLAME) */
    ATTEMPT_STUCK,     /* the record of an attempt that never ran cannot be removed */
};

struct attempt_state {   /* zeroes, with `known` and `stop_kills` set */
    uint8_t phase;       /* enum attempt_phase */
    uint8_t known;       /* enum attempt_known */
    uint8_t end;         /* enum attempt_end */
    uint8_t stop_kills;  /* 1: the stop signal is SIGKILL */
    uint8_t short_of;    /* failures for lack of something, since the record was read */
    bool paused, halted; /* by an earlier voltd: is paused, or was; the signal may not
                          * have reached its processes */
    struct tries tries;
    uint32_t kills; /* answered SIGKILLs */
};

/* Conditions of a row: all must hold. The first row counts that matches. */
enum attempt_when {
    IF_VOIDED = 1 << 0,     /* known: VOIDED */
    IF_ADOPTED = 1 << 1,    /* known: ADOPTED */
    IF_DOUBTFUL = 1 << 2,   /* known: UNSURE or ADOPTED */
    IF_STRANGE = 1 << 3,    /* known: STRANGE */
    IF_SPENT = 1 << 4,      /* tries_are_over() */
    IF_REST = 1 << 5,       /* a rest is due */
    IF_SHORT = 1 << 6,      /* ATTEMPT_SHORT_MAX failures for lack of something */
    IF_STOP_KILLS = 1 << 7, /* stop_kills */
    IF_RECORD = 1 << 8,     /* the record exists */
    IF_PAUSED = 1 << 9,     /* paused */
    IF_HALTED = 1 << 10,    /* halted */
};

struct attempt_row {
    uint8_t on;    /* enum attempt_input */
    uint8_t next;  /* enum attempt_phase */
    uint16_t when; /* IF_ */
    uint32_t todo; /* DO_ */
    uint8_t known; /* new enum attempt_known; 0: unchanged */
    uint8_t end;   /* enum attempt_end */
};

/* Rows of a phase, then rows in `like`, which phases share; NULL: none. */
struct attempt_rows {
    const struct attempt_row *row;
    uint8_t n;
    const struct attempt_rows *like;
};
extern const struct attempt_rows *const attempt_table[ATTEMPT_PHASES];

/* Returns the inputs that the phase waits for: bits 1 << enum attempt_input. */
uint32_t attempt_awaited_inputs(const struct attempt_state *s);
static inline bool attempt_awaits(uint32_t awaited, enum attempt_input in)
{
    return awaited >> in & 1;
}
/* Makes a step. Returns true with *ret_todo; false: no row for the input, and nothing
 * changed. */
bool attempt_step(struct attempt_state *s, enum attempt_input in, uint32_t *ret_todo);

/* Do the two halves of attempt_step(): count the input and find its row (NULL: none);
 * follow the row. */
const struct attempt_row *attempt_find(struct attempt_state *s, enum attempt_input in);
void attempt_follow(struct attempt_state *s, const struct attempt_row *row);

/* Turns an answer of the keeper, 0 or -errno, into an input that the phase waits for.
 * Does the same for the result of making or removing a record. */
enum attempt_input attempt_answer(uint32_t awaited, int status);

#endif
