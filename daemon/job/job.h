/* The job machine: states, events, results. Pure: state = fold(events).
 *
 * state     entered by                     left by
 * queued    SUBMIT                         STARTING; CANCEL (-> done, cancelled)
 * starting  STARTING(attempt)              STARTED; EXITED; CANCEL (-> stopping);
 *                                          DEFERRED (-> queued)
 * running   STARTED                        EXITED; CANCEL, TIMEOUT, OUTPUT_LIMIT
 *                                          (-> stopping)
 * stopping  CANCEL, TIMEOUT, OUTPUT_LIMIT  EXITED (STARTED is noted, the state stays)
 * done      EXITED, CANCEL while queued    nothing
 *
 * EXITED leads back to queued when the attempt is lost and the spec says on_lost: retry;
 * the next STARTING is attempt + 1. Not when somebody asked for the end or the time was
 * up, nor when processes of the lost attempt may still run (two of a job never run side
 * by side: the end of these is waited for, and where they are unknown, nothing is), nor
 * after JOB_LOST_MAX lost attempts: what loses its machine again and again may be the
 * cause of it.
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
    JOB_STOPPING,
    JOB_DONE,
    JOB_STATE_COUNT,
};

/* Why a job waits. */
enum job_wait {
    JOB_WAIT_NONE = 0,
    JOB_WAIT_TURN,      /* behind others in its queue */
    JOB_WAIT_SLOT,      /* first in its queue, every slot taken */
    JOB_WAIT_KEEPER,    /* starting or stopping, and the keeper does not answer */
    JOB_WAIT_SURVIVORS, /* processes of it that SIGKILL does not end */
};

enum job_result {
    JOB_RESULT_NONE = 0, /* not done */
    JOB_RESULT_SUCCESS,
    JOB_RESULT_EXIT,        /* with an exit status that is not 0 */
    JOB_RESULT_SIGNAL,      /* killed by a signal that was not voltd's */
    JOB_RESULT_TIMEOUT,     /* ended by timeout_usec */
    JOB_RESULT_EXEC_FAILED, /* step says where */
    JOB_RESULT_CANCELLED,
    JOB_RESULT_LOST,         /* the exit status cannot be known */
    JOB_RESULT_OUTPUT_LIMIT, /* ended by output_limit */
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
    JOB_EV_DEFERRED,     /* no slot came free for it, and nothing has been started */
    JOB_EV_COUNT,
};

/* Of processes that could not be killed: pids, then zeroes. */
#define JOB_NAMED_MAX 8
struct job_named {
    uint32_t pid[JOB_NAMED_MAX];
};
#define JOB_SURVIVORS_UNKNOWN UINT32_MAX

#define JOB_LOST_MAX 5 /* lost attempts that are followed by another one */

struct job_usage {
    uint64_t user_usec, system_usec; /* of the job and the children it waited for */
    uint64_t max_rss_bytes;
};

struct job_event {
    enum job_event_type type;
    uint64_t at_usec; /* CLOCK_REALTIME microseconds */
    uint32_t attempt;
    int32_t pid;            /* STARTED */
    enum job_result result; /* EXITED: what the process did, before policy */
    int32_t code;           /* EXITED: exit status, signal or errno, by its result */
    const char *step; /* EXITED with EXEC_FAILED: what failed; with LOST: why; static */
    bool other_life;  /* STARTING, when it is replayed: see struct job_status */
    bool retry_lost;  /* SUBMIT: on_lost of the spec */
    struct job_usage usage; /* EXITED */
    uint32_t survivors;     /* EXITED: processes of the tree that could not be killed, or
                               JOB_SURVIVORS_UNKNOWN */
    const struct job_named *named; /* the first of them; NULL: none; lives like `step` */
    uint32_t over_kib; /* EXITED: what it has printed beyond its limit, rounded up */
    uint8_t kept;      /* EXITED: where its output is, JOB_KEPT_ bits of each stream;
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
    uint8_t state;   /* enum job_state */
    uint8_t result;  /* enum job_result */
    uint8_t code_is; /* enum job_code, from EXITED */
    bool cancel_asked, timed_out, printed_too_much;
    bool other_life;  /* the attempt began before a reboot, or with other records */
    bool retry_lost;  /* from SUBMIT */
    uint8_t lost;     /* attempts that were lost and followed by another one */
    uint8_t kept;     /* from EXITED */
    uint32_t attempt; /* 1 at the first start */
    int32_t code, pid;
    uint32_t over_kib; /* of OUTPUT_LIMIT, from EXITED */
    uint32_t survivors;
    const struct job_named *named;
    const char *step;
    uint64_t submitted_usec, started_usec, ended_usec; /* CLOCK_REALTIME; 0: not yet */
    struct job_usage usage;
};

/* Applies an event. 0; -EPROTO when the event is not allowed in this state (status
 * unchanged; the table is in event.c and tested row by row). */
int job_update(struct job_status *st, const struct job_event *ev);
/* Whether this EXITED would lead back to queued. */
bool job_goes_again(const struct job_status *st, const struct job_event *exited);

const char *job_state_name(enum job_state s);      /* "queued" ... */
const char *job_result_name(enum job_result r);    /* "success", "exec_failed" ... */
const char *job_wait_name(enum job_wait w);        /* "turn", ...; NULL for none */
const char *job_event_name(enum job_event_type t); /* "submit" ... */
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

/* Exit code that a waiting client ends with: the job's own code, 128+N for a signal, 124
 * timeout, 125 output_limit, cancelled or lost, 126/127 found but not executable / not
 * found. */
int job_exit_code(const struct job_status *st);

#endif
