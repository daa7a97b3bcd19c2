/* The job machine: states, events, results. Pure: state = fold(events).
 *
 * state     entered by                     left by
 * queued    SUBMIT                         STARTING; CANCEL (-> done, cancelled);
 *                                          HOLD, RELEASE, EDIT (-> queued);
 *                                          EXPIRED, DEPENDENCY (-> done);
 *                                          MET (-> queued)
 * starting  STARTING(attempt)              STARTED; EXITED; CANCEL (-> stopping);
 *                                          DEFERRED (-> queued)
 * running   STARTED, RESUME                EXITED; CANCEL, TIMEOUT, OUTPUT_LIMIT
 *                                          (-> stopping); PAUSE
 * paused    PAUSE                          RESUME; EXITED; CANCEL, TIMEOUT, OUTPUT_LIMIT
 *                                          (-> stopping)
 * stopping  CANCEL, TIMEOUT, OUTPUT_LIMIT  EXITED (STARTED is noted, the state stays)
 * done      EXITED, EXPIRED, DEPENDENCY,   nothing
 *           CANCEL while queued
 *
 * EXITED leads back to queued when the attempt has failed and the spec says retry: the
 * event says so then, and how long the next one waits (retry.h). It does so too when the
 * attempt is lost and the spec says on_lost: retry. The next STARTING is attempt + 1. Not
 * when somebody asked for the end or, of a lost attempt, the time was up, nor when
 * processes of the attempt may still run (two of a job never run side by side: the end of
 * these is waited for, and where they are unknown, nothing is), nor after JOB_LOST_MAX
 * lost attempts: what loses its machine again and again may be the cause of it.
 *
 * One that is held does not take STARTING. An array is held as a whole, as far as it has
 * not started: array.h.
 *
 * job_update() is the only place that changes a job's state; what it does is a table, in
 * event.c. No status is ever invented: what is not known is LOST. */
#ifndef VOLTD_JOB_JOB_H
#define VOLTD_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

enum job_state {
    JOB_QUEUED = 0,
    JOB_STARTING,
    JOB_RUNNING,
    JOB_PAUSED, /* it runs, and its processes are stopped until RESUME */
    JOB_STOPPING,
    JOB_DONE,
    JOB_STATE_COUNT,
};

/* Why a job waits. */
enum job_wait {
    JOB_WAIT_NONE = 0,
    JOB_WAIT_TURN,       /* behind others in the line */
    JOB_WAIT_SLOT,       /* first in the line, every slot taken */
    JOB_WAIT_ARRAY,      /* as many elements of its array run as may at once */
    JOB_WAIT_PAUSED,     /* its queue starts nothing */
    JOB_WAIT_LOCK,       /* for a lock, or permits of a semaphore */
    JOB_WAIT_RATE,       /* for tokens of a rate */
    JOB_WAIT_KEEPER,     /* starting or stopping, and the keeper does not answer */
    JOB_WAIT_SURVIVORS,  /* processes of it that SIGKILL does not end */
    JOB_WAIT_REPLACE,    /* the job whose key it took is not gone */
    JOB_WAIT_HOLD,       /* until it is released */
    JOB_WAIT_TIME,       /* until it is time */
    JOB_WAIT_DEPENDENCY, /* for other jobs, to start or to end */
    JOB_WAIT_INSIDE,     /* what runs inside it waits: for a job, or a lock */
};

enum job_result {
    JOB_RESULT_NONE = 0, /* not done */
    JOB_RESULT_SUCCESS,
    JOB_RESULT_EXIT,        /* with an exit status that is no success */
    JOB_RESULT_SIGNAL,      /* killed by a signal that was not voltd's */
    JOB_RESULT_TIMEOUT,     /* ended by timeout_usec */
    JOB_RESULT_EXEC_FAILED, /* step says where */
    JOB_RESULT_CANCELLED,
    JOB_RESULT_LOST,         /* the exit status cannot be known */
    JOB_RESULT_OUTPUT_LIMIT, /* ended by output_limit */
    JOB_RESULT_EXPIRED,      /* it had not started by the time that its spec says */
    JOB_RESULT_DEPENDENCY,   /* a job that it waited for did not end as it had to */
    JOB_RESULT_COUNT,
};

/* What the code of an end is, whatever the result. */
enum job_code {
    JOB_CODE_NONE = 0, /* nothing: no process of it has ended, or nobody knows how */
    JOB_CODE_STATUS,   /* the exit status: its main process exited by itself */
    JOB_CODE_SIGNAL,   /* the signal that killed its main process */
    JOB_CODE_ERROR,    /* the errno of the step that failed */
};

/* The store has these numbers: a new one is the last. */
enum job_event_type {
    JOB_EV_SUBMIT = 0,
    JOB_EV_STARTING,
    JOB_EV_STARTED,
    JOB_EV_TIMEOUT, /* the time is up; the stop signal goes out */
    JOB_EV_CANCEL,  /* somebody asked */
    JOB_EV_EXITED,
    JOB_EV_OUTPUT_LIMIT, /* it has printed more than it may; it is killed */
    JOB_EV_DEFERRED,     /* it was to start early, and nothing has been started */
    JOB_EV_HOLD,         /* it is not to start before it is released */
    JOB_EV_RELEASE,
    JOB_EV_EXPIRED,    /* it is too late for it to start */
    JOB_EV_DEPENDENCY, /* what it waits for will not come */
    JOB_EV_MET,        /* it waits for one job less */
    JOB_EV_PAUSE,      /* its processes are to stand still, and its time with them */
    JOB_EV_RESUME,     /* they go on */
    JOB_EV_EDIT,       /* its spec says something else, or its rank has changed */
    JOB_EV_COUNT,
};

/* Whether a job is held: what an admin holds, an admin releases. */
enum job_held {
    JOB_HELD_NO = 0,
    JOB_HELD_BY_USER, /* its submitter */
    JOB_HELD_BY_ADMIN,
};

/* Of processes that could not be killed: pids, then zeroes; and when each began, in ticks
 * since boot, the lower 32 bits of field 22 of /proc/<pid>/stat. 0: not known. */
#define JOB_NAMED_MAX 8
struct job_named {
    uint32_t pid[JOB_NAMED_MAX];
    uint32_t start[JOB_NAMED_MAX];
};
#define JOB_SURVIVORS_UNKNOWN UINT32_MAX

#define JOB_EDITS_MAX 1000 /* EDITs of one job: each is a fact that stays */
#define JOB_HOLDS_MAX 1000 /* likewise HOLDs, but for those of admins */
#define JOB_LOST_MAX 5 /* lost attempts that are followed by another one */

struct job_usage {
    uint64_t user_usec, system_usec; /* of the job and the children it waited for */
    uint64_t max_rss_bytes;
};

/* How long the processes of an attempt have been stopped by PAUSE. */
struct job_pause {
    uint64_t since_usec; /* CLOCK_REALTIME, of the pause that lasts; 0: none does */
    uint64_t total_usec; /* of its earlier pauses, each at least 1; 0: there was none */
};

/* When a job may start that waits for another one. */
enum job_after {
    JOB_AFTER_OK = 0, /* that has ended, as success */
    JOB_AFTER_NOTOK,  /* that has ended, otherwise */
    JOB_AFTER_ANY,    /* that has ended */
    JOB_AFTER_START,  /* that has started */
};
/* Of one that has started, or has not, and that has ended so, or not yet (NONE). */
bool job_after_is_met(enum job_after when, bool started, enum job_result result);

/* Of a job of which an attempt has failed, or was lost, and that is not done. */
struct job_again {
    uint64_t first_usec; /* CLOCK_REALTIME: when the first attempt began */
    uint64_t ended_usec; /* when the latest one that has ended did, ... */
    uint64_t wait_usec;  /* ... and how long the next one waits from then on */
};

/* What earlier attempts have left of the status, with a STARTING that is a base: one is
 * at every JOB_ATTEMPTS_KEPT-th attempt. What befell those before the latest base but one
 * is forgotten (store/fact.h): a job that is tried again for ever has so many facts, and
 * no more. */
#define JOB_ATTEMPTS_KEPT 32
struct job_base {
    struct job_again again;
    uint8_t lost, last;
    bool has_started;
};

/* Why a job ended as DEPENDENCY: the job that it waited for, and how that ended. */
struct job_cause {
    uint64_t job;
    uint64_t result; /* enum job_result */
};

#define JOB_FRONT_MAX (UINT64_C(1) << 62)

/* What an EDIT changes. */
struct job_changes {
    uint64_t front; /* how far it goes in front of all ids, among the jobs of its user; 0:
                     * it stays where it is */
    const void *bytes; /* of the spec: spec_edit.h; borrowed */
    uint32_t n;
};

struct job_event {
    enum job_event_type type;
    uint64_t at_usec; /* CLOCK_REALTIME microseconds */
    uint32_t attempt;
    int32_t pid;            /* STARTED */
    enum job_result result; /* EXITED: what the process did, before policy; DEPENDENCY:
                             * how the antecedent ended */
    uint64_t antecedent;    /* DEPENDENCY, MET: the job that is waited for */
    enum job_after when;    /* MET: what it had to do */
    int32_t code;           /* EXITED: exit status, signal or errno, by its result */
    const char *step;   /* EXITED with EXEC_FAILED: what failed; with LOST: why; static */
    bool is_base;       /* STARTING: `base` says what came before, which may be missing */
    struct job_base base;
    bool other_life;    /* STARTING, when it is replayed: see struct job_status */
    bool retry_lost;    /* SUBMIT: on_lost of the spec */
    enum job_held held; /* SUBMIT, HOLD */
    uint32_t by;        /* HOLD, RELEASE, PAUSE, RESUME, EDIT: uid of the account that
                         * asked for it */
    struct job_changes changes; /* EDIT */
    struct job_usage usage;     /* EXITED */
    uint32_t survivors; /* EXITED: processes of the tree that could not be killed, or
                               JOB_SURVIVORS_UNKNOWN */
    const struct job_named *named; /* the first of them; NULL: none; lives like `step` */
    uint8_t left_killed; /* EXITED: processes that were left when the main one had ended,
                            and were killed; 255: so many or more */
    uint32_t over_kib;   /* EXITED: what it has printed beyond its limit, rounded up */
    bool again; /* EXITED: another attempt follows, though this one was not lost, ... */
    uint64_t wait_usec;  /* ... after this time; ... */
    uint64_t printed[2]; /* ... its output and standard error end there in their files */
    uint8_t kept;        /* EXITED: where its output is, JOB_KEPT_ bits of each stream;
                               no bit: it was nothing, or is not known */
};

enum job_stream {
    JOB_STDOUT = 0, /* both together unless the spec split them */
    JOB_STDERR,
};

#define JOB_KEPT_STORE(stream) (1u << (stream)) /* the store has it with the end */
#define JOB_KEPT_FILE(stream)  (4u << (stream)) /* it is a file of its own */

/* The dynamic part of a job or array element; about 100 bytes. */
struct job_status {
    uint8_t state;      /* enum job_state */
    uint8_t result : 4; /* enum job_result */
    uint8_t last : 4; /* enum job_result of the latest attempt that another one follows */
    uint8_t lost : 4; /* attempts that were lost and followed by another one */
    uint8_t kept : 4; /* from EXITED */
    uint8_t code_is : 2; /* enum job_code, from EXITED */
    bool cancel_asked : 1, timed_out : 1, printed_too_much : 1;
    bool other_life : 1;  /* the attempt began before a reboot, or with other records */
    bool retry_lost : 1;  /* from SUBMIT */
    bool has_started : 1; /* an attempt has: this one, or one before it */
    uint8_t held;         /* enum job_held, while it is queued */
    uint8_t left_killed; /* from EXITED */
    uint16_t edited;     /* what EDIT has changed: job_edit_names */
    uint16_t edits;      /* how many there were, JOB_EDITS_MAX at most */
    uint16_t holds;      /* likewise of HOLDs by its user, JOB_HOLDS_MAX at most; of those
                          * that are forgotten with their attempts, a replay knows
                          * nothing */
    uint32_t attempt;    /* 1 at the first start */
    int32_t code, pid;
    uint32_t over_kib; /* of OUTPUT_LIMIT, from EXITED */
    uint32_t survivors;
    const struct job_named *named;
    const char *step;
    uint64_t submitted_usec, started_usec, ended_usec; /* CLOCK_REALTIME; 0: not yet */
    union {
        struct job_again again; /* until it is done */
        struct job_usage usage;
        struct job_cause cause; /* of DEPENDENCY */
    };
    struct job_pause pause; /* of the latest attempt; none lasts when it has ended */
};

/* Applies an event. 0; -EPROTO when the event is not allowed in this state (status
 * unchanged; the table is in event.c and tested row by row). */
int job_update(struct job_status *st, const struct job_event *ev);
/* The STARTING of its next attempt. */
struct job_event job_starting(const struct job_status *st, uint64_t now_usec);
/* The same of `held` and `holds`, for HOLD and RELEASE. */
int job_held_update(uint8_t *held, uint16_t *holds, const struct job_event *ev);
/* The same of `edited` and `edits`, for EDIT. */
void job_edited_update(uint16_t *edited, uint16_t *edits, const struct job_event *ev);
/* Whether an attempt of it has begun, or was lost and may have. */
bool job_has_begun(const struct job_status *st);
/* Whether this EXITED would lead back to queued. */
bool job_goes_again(const struct job_status *st, const struct job_event *exited);
/* The result that the job would have if it ended now and its process did this. */
enum job_result job_verdict(const struct job_status *st, enum job_result seen);

const char *job_state_name(enum job_state s);      /* "queued" ... */
const char *job_result_name(enum job_result r);    /* "success", "exec_failed" ... */
const char *job_wait_name(enum job_wait w);        /* "turn", ...; NULL for none */
const char *job_event_name(enum job_event_type t); /* "submit" ... */
/* A bit of each state in which an attempt of it may have processes. */
#define JOB_BUSY_STATES                                                                  \
    (1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_PAUSED | 1u << JOB_STOPPING)
/* A bit of each result that is a failure: neither success nor cancelled. */
#define JOB_FAILED_RESULTS                                                               \
    ((1u << JOB_RESULT_COUNT) - 1u -                                                     \
     (1u << JOB_RESULT_NONE | 1u << JOB_RESULT_SUCCESS | 1u << JOB_RESULT_CANCELLED))
static inline bool job_result_failed(enum job_result r)
{
    return JOB_FAILED_RESULTS & 1u << r;
}
/* How many of those that are counted are in one of JOB_BUSY_STATES. */
static inline uint64_t job_count_busy(const uint64_t by_state[JOB_STATE_COUNT])
{
    uint64_t n = 0;

    for (int s = 0; s < JOB_STATE_COUNT; s++)
        n += JOB_BUSY_STATES & 1u << s ? by_state[s] : 0;
    return n;
}
/* All names in the order of their enums, then NULL. */
extern const char *const job_state_names[JOB_STATE_COUNT + 1];
extern const char *const job_result_names[JOB_RESULT_COUNT + 1];

/* How a job has ended, as events say it. Zeroes: it has not. */
struct job_end {
    int32_t code;
    uint8_t code_is; /* enum job_code */
    uint8_t result;  /* enum job_result */
    uint8_t exit_code;
};
struct job_end job_end_of(const struct job_status *st);
/* The same of an event and the status after it: of EXITED that another attempt follows,
 * how that attempt ended. */
struct job_end job_end_told(const struct job_event *ev, const struct job_status *st);

/* Exit code that a waiting client ends with: 0 for success, else the job's own code (1
 * where that is 0, which its spec does not call success), 128+N for a signal, 124
 * timeout, 125 output_limit, cancelled, expired, dependency or lost, 126/127 found but
 * not executable / not found. */
int job_exit_code(const struct job_status *st);

#endif
