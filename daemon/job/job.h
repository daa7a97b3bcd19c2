/* The job machine: states, events, results. Pure: state = fold(events).
 *
 *   state    entered by                     left by
 *   queued   SUBMIT                         STARTING; CANCEL (-> done, cancelled);
 *                                           HOLD, RELEASE, EDIT (-> queued);
 *                                           EXPIRED, DEPENDENCY (-> done);
 *                                           MET (-> queued)
 *   starting STARTING(attempt)              STARTED; EXITED; CANCEL (-> stopping);
 *                                           DEFERRED (-> queued)
 *   running  STARTED, RESUME                EXITED; CANCEL, TIMEOUT, OUTPUT_LIMIT
 *                                           (-> stopping); PAUSE
 *   paused   PAUSE                          RESUME; EXITED; CANCEL, TIMEOUT, OUTPUT_LIMIT
 *                                           (-> stopping)
 *   stopping CANCEL, TIMEOUT, OUTPUT_LIMIT  EXITED (STARTED is noted, the state stays)
 *   done     EXITED, EXPIRED, DEPENDENCY,   nothing
 *            CANCEL while queued
 *
 * EXITED leads back to queued when the attempt failed and the spec has retries left: the
 * event then says so, and how long the next attempt waits (retry.h). Likewise when the
 * attempt was lost and on_lost is retry. The next STARTING is attempt + 1. No attempt
 * follows:
 *
 *   after a CANCEL, or if a lost attempt had timed out
 *   while processes of the attempt may still run, as two attempts never run side by side;
 *       their end is waited for, but nothing follows where they are unknown
 *   after JOB_LOST_MAX lost attempts: the job may be what breaks the machine
 *
 * A held job refuses STARTING. An array is held as a whole, as far as it has not started:
 * array.h.
 *
 * Only job_update() changes a job's state, by the table in event.c. No result is
 * invented: an unknown one is LOST. */
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

/* Reasons to wait. */
enum job_wait {
    JOB_WAIT_NONE = 0,
    JOB_WAIT_TURN,       /* behind others in the line */
    JOB_WAIT_SLOT,       /* first in the line, every slot taken */
    JOB_WAIT_ARRAY,      /* at_once elements of its array run */
    JOB_WAIT_PAUSED,     /* its queue starts nothing */
    JOB_WAIT_LOCK,       /* for a lock, or permits of a semaphore */
    JOB_WAIT_RATE,       /* for tokens of a rate */
    JOB_WAIT_KEEPER,     /* starting or stopping, and the keeper does not answer */
    JOB_WAIT_SURVIVORS,  /* processes of it that SIGKILL does not end */
    JOB_WAIT_REPLACE,    /* the job whose key it took still has processes */
    JOB_WAIT_HOLD,       /* until it is released */
    JOB_WAIT_TIME,       /* until a time */
    JOB_WAIT_DEPENDENCY, /* for jobs to start or to end */
    JOB_WAIT_INSIDE,     /* something inside it waits: for a job, or a lock */
};

enum job_result {
    JOB_RESULT_NONE = 0, /* not done */
    JOB_RESULT_SUCCESS,
    JOB_RESULT_EXIT,        /* with an exit status that is no success */
    JOB_RESULT_SIGNAL,      /* killed by a signal that voltd did not send */
    JOB_RESULT_TIMEOUT,     /* ended by timeout_usec */
    JOB_RESULT_EXEC_FAILED, /* step says where */
    JOB_RESULT_CANCELLED,
    JOB_RESULT_LOST,         /* the exit status cannot be known */
    JOB_RESULT_OUTPUT_LIMIT, /* ended by output_limit */
    JOB_RESULT_EXPIRED,      /* not started by the date in its spec */
    JOB_RESULT_DEPENDENCY,   /* an antecedent did not end as required */
    JOB_RESULT_OOM, /* killed by the kernel for lack of memory; step: whose limit */
    JOB_RESULT_COUNT,
};

/* Meaning of the code of an end, for every result. */
enum job_code {
    JOB_CODE_NONE = 0, /* no process ended, or it is unknown how */
    JOB_CODE_STATUS,   /* exit status of the main process */
    JOB_CODE_SIGNAL,   /* signal that killed the main process */
    JOB_CODE_ERROR,    /* errno of the step that failed */
};

/* Stores have these numbers: new ones come last. */
enum job_event_type {
    JOB_EV_SUBMIT = 0,
    JOB_EV_STARTING,
    JOB_EV_STARTED,
    JOB_EV_TIMEOUT, /* timed out; the stop signal is sent */
    JOB_EV_CANCEL,  /* asked for by a user */
    JOB_EV_EXITED,
    JOB_EV_OUTPUT_LIMIT, /* printed more than output_limit; is killed */
    JOB_EV_DEFERRED,     /* its early start was recalled before anything started */
    JOB_EV_HOLD,         /* not to start before a release */
    JOB_EV_RELEASE,
    JOB_EV_EXPIRED,    /* too late to start */
    JOB_EV_DEPENDENCY, /* an antecedent can no longer be met */
    JOB_EV_MET,        /* one antecedent fewer */
    JOB_EV_PAUSE,      /* its processes are to stop, and its time with them */
    JOB_EV_RESUME,     /* its processes go on */
    JOB_EV_EDIT,       /* its spec or its rank has changed */
    JOB_EV_COUNT,
};

/* Holds: an admin's hold is released only by an admin. */
enum job_held {
    JOB_HELD_NO = 0,
    JOB_HELD_BY_USER, /* its submitter */
    JOB_HELD_BY_ADMIN,
};

/* Processes that could not be killed: pids, then zeroes; and their start times in ticks
 * since boot, the lower 32 bits of field 22 of /proc/<pid>/stat. 0: not known. */
#define JOB_NAMED_MAX 8
struct job_named {
    uint32_t pid[JOB_NAMED_MAX];
    uint32_t start[JOB_NAMED_MAX];
};
#define JOB_SURVIVORS_UNKNOWN UINT32_MAX

#define JOB_EDITS_MAX 1000 /* EDITs of one job: each is a stored fact */
#define JOB_HOLDS_MAX 1000 /* likewise HOLDs, except those of admins */
#define JOB_LOST_MAX  5    /* lost attempts that are followed by another one */

/* Says whether the processes of an attempt had a cgroup of their own. */
enum job_contained {
    JOB_CONTAINED_UNKNOWN = 0, /* no record says */
    JOB_CONTAINED_NO,
    JOB_CONTAINED_YES,
};
#define JOB_PEAK_KIB_MAX  ((UINT64_C(1) << 42) - 1)
#define JOB_OOM_KILLS_MAX ((UINT64_C(1) << 20) - 1)

struct job_usage {
    /* CPU time of the job and the children it waited for; with a cgroup, of all its
     * processes. */
    uint64_t user_usec, system_usec;
    uint64_t max_rss_bytes; /* of one process */
    /* With a cgroup: memory of all processes together, and processes that the kernel
     * killed for lack of memory. The greatest values mean: at least so many. */
    uint64_t memory_peak_kib : 42;
    uint64_t oom_kills : 20;
    uint64_t contained : 2; /* enum job_contained */
};

/* When a job that waits for another may start. */
enum job_after {
    JOB_AFTER_OK = 0, /* after success */
    JOB_AFTER_NOTOK,  /* after any other end */
    JOB_AFTER_ANY,    /* after any end */
    JOB_AFTER_START,  /* after its start */
};
/* Returns whether the condition is met. started: the antecedent has started. result: of
 * its end; NONE: it has not ended. */
bool job_after_is_met(enum job_after when, bool started, enum job_result result);

/* State of a job between attempts, after a failed or lost one. */
struct job_again {
    uint64_t first_usec; /* CLOCK_REALTIME: start of the first attempt */
    uint64_t ended_usec; /* end of the latest ended attempt */
    uint64_t wait_usec;  /* wait of the next attempt, from then on */
};

/* The parts of a status that stem from earlier attempts. A STARTING that is a base has
 * them: every JOB_ATTEMPTS_KEPT-th one. Facts of attempts before the latest base but one
 * are purged (store/fact.h): so a job that is retried for ever has a bounded number of
 * facts. */
#define JOB_ATTEMPTS_KEPT 32
struct job_base {
    struct job_again again;
    uint8_t lost, last;
    bool has_started;
};

/* Cause of DEPENDENCY: the antecedent, and how it ended. */
struct job_cause {
    uint64_t job;
    uint64_t result; /* enum job_result */
};

#define JOB_FRONT_MAX (UINT64_C(1) << 62)

/* Changes of an EDIT. */
struct job_changes {
    uint64_t front; /* how far it goes before all ids, among its user's jobs; 0: its rank
                     * stays */
    const void *bytes; /* changes of the spec: spec_edit.h; borrowed */
    uint32_t n;
};

struct job_event {
    enum job_event_type type;
    uint64_t at_usec; /* CLOCK_REALTIME microseconds */
    uint32_t attempt;
    int32_t pid;            /* STARTED */
    enum job_result result; /* EXITED: of the process, before policy; DEPENDENCY: of the
                             * antecedent */
    uint64_t antecedent;    /* DEPENDENCY, MET: the antecedent */
    enum job_after when;    /* MET: the condition that was met */
    int32_t code;           /* EXITED: exit status, signal or errno, by its result */
    const char *step; /* EXITED with EXEC_FAILED: what failed; with LOST: why; with OOM:
                       * whose limit; static */
    bool is_base;     /* STARTING: `base` has what came before; earlier facts may be
                       * missing */
    struct job_base base;
    bool other_life;            /* STARTING, in a replay: see struct job_status */
    bool retry_lost;            /* SUBMIT: on_lost of the spec */
    enum job_held held;         /* SUBMIT, HOLD */
    uint32_t by;                /* HOLD, RELEASE, PAUSE, RESUME, EDIT: uid that asked */
    struct job_changes changes; /* EDIT */
    struct job_usage usage;     /* EXITED */
    uint32_t survivors; /* EXITED: processes of the tree that could not be killed, or
                         * JOB_SURVIVORS_UNKNOWN */
    const struct job_named *named; /* the first survivors; NULL: none; lives like
                                    * `step` */
    uint8_t left_killed; /* EXITED: processes left when the main one ended, and killed;
                          * 255: so many or more */
    uint32_t over_kib;   /* EXITED: KiB printed above output_limit, rounded up */
    bool again; /* EXITED: another attempt follows although this one was not lost ... */
    uint64_t wait_usec;  /* ... after this time; ... */
    uint64_t printed[2]; /* ... by stream: end of its output in the file of all
                          * attempts */
    uint8_t kept;        /* EXITED: where its output is, JOB_KEPT_ bits of each stream; no
                          * bit: none, or not known */
};

enum job_stream {
    JOB_STDOUT = 0, /* both together unless the spec splits them */
    JOB_STDERR,
};

#define JOB_KEPT_STORE(stream) (1u << (stream)) /* the store has it with the end */
#define JOB_KEPT_FILE(stream)  (4u << (stream)) /* it is a file */

/* The dynamic part of a job or array element; 112 bytes. */
struct job_status {
    uint8_t state;      /* enum job_state */
    uint8_t result : 4; /* enum job_result */
    uint8_t last : 4; /* enum job_result of the latest attempt that another one follows */
    uint8_t lost : 4; /* lost attempts that another one followed */
    uint8_t kept : 4; /* from EXITED */
    uint8_t code_is : 2; /* enum job_code, from EXITED */
    bool cancel_asked : 1, timed_out : 1, printed_too_much : 1;
    bool other_life : 1;  /* the attempt began before a reboot, or with other records */
    bool retry_lost : 1;  /* from SUBMIT */
    bool has_started : 1; /* this attempt, or one before it */
    uint8_t held;         /* enum job_held, while queued */
    uint8_t left_killed;  /* from EXITED */
    uint16_t edited;      /* what EDITs changed: bits of job_edit_names */
    uint16_t edits;       /* EDITs so far, at most JOB_EDITS_MAX */
    uint16_t holds;   /* HOLDs by its user so far, at most JOB_HOLDS_MAX; a replay does
                       * not know those purged with their attempts */
    uint32_t attempt; /* 1 at the first start */
    int32_t code, pid;
    uint32_t over_kib; /* of OUTPUT_LIMIT, from EXITED */
    uint32_t survivors;
    const struct job_named *named;
    const char *step;
    uint64_t submitted_usec, started_usec, ended_usec; /* CLOCK_REALTIME; 0: not yet */
    union {
        struct { /* until it is done: */
            struct job_again again;
            uint64_t paused_at_usec; /* CLOCK_REALTIME, of the current pause; 0: none */
        };
        struct job_usage usage;
        struct job_cause cause; /* of DEPENDENCY */
    };
    /* Time for which the latest attempt's processes were stopped by earlier pauses, at
     * least 1 us each; 0: none. No pause outlasts its attempt. */
    uint64_t paused_usec;
};

/* Returns since when the job is paused. 0: it is not. */
static inline uint64_t job_paused_at(const struct job_status *st)
{
    return st->state == JOB_DONE ? 0 : st->paused_at_usec;
}
/* Applies an event. Returns 0; -EPROTO: not allowed in this state, status unchanged. The
 * table is in event.c, and is tested row by row. */
int job_update(struct job_status *st, const struct job_event *ev);
/* Returns the STARTING of its next attempt. */
struct job_event job_starting(const struct job_status *st, uint64_t now_usec);
/* Applies HOLD or RELEASE to `held` and `holds`. Returns 0 or -EPROTO. */
int job_held_update(uint8_t *held, uint16_t *holds, const struct job_event *ev);
/* Applies EDIT to `edited` and `edits`. */
void job_edited_update(uint16_t *edited, uint16_t *edits, const struct job_event *ev);
/* Returns whether an attempt has begun, or was lost and may have. */
bool job_has_begun(const struct job_status *st);
/* Returns whether this EXITED would lead back to queued. */
bool job_goes_again(const struct job_status *st, const struct job_event *exited);
/* Returns the result if the job ended now and its process did this. */
enum job_result job_verdict(const struct job_status *st, enum job_result seen);

const char *job_state_name(enum job_state s);      /* "queued" ... */
const char *job_result_name(enum job_result r);    /* "success", "exec_failed" ... */
const char *job_wait_name(enum job_wait w);        /* "turn", ...; NULL for none */
const char *job_event_name(enum job_event_type t); /* "submit" ... */
/* A bit for each state in which an attempt may have processes. */
#define JOB_BUSY_STATES                                                                  \
    (1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_PAUSED | 1u << JOB_STOPPING)
/* A bit for each result that is a failure: neither success nor cancelled. */
#define JOB_FAILED_RESULTS                                                               \
    ((1u << JOB_RESULT_COUNT) - 1u -                                                     \
     (1u << JOB_RESULT_NONE | 1u << JOB_RESULT_SUCCESS | 1u << JOB_RESULT_CANCELLED))
static inline bool job_result_failed(enum job_result r)
{
    return JOB_FAILED_RESULTS & 1u << r;
}
/* Returns the sum of the counts of these states. */
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

/* How a job ended, as events say it. Zeroes: it has not. */
struct job_end {
    int32_t code;
    uint8_t code_is; /* enum job_code */
    uint8_t result;  /* enum job_result */
    uint8_t exit_code;
};
struct job_end job_end_of(const struct job_status *st);
/* Likewise for an event, with the status after it: of EXITED that another attempt
 * follows, how that attempt ended. */
struct job_end job_end_notified(const struct job_event *ev, const struct job_status *st);

/* Returns the exit code of a client that waits for the job:
 *   0: success
 *   the job's exit status; 1 if that is 0, which its spec does not call success
 *   128+N: signal N, 137 for oom
 *   124: timeout
 *   125: output_limit, cancelled, expired, dependency, lost, or not started
 *   126, 127: the command is found but not executable, not found */
int job_exit_code(const struct job_status *st);

#endif
