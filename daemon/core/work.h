/* A work: the task of a job, of an array, or of an element, as core knows it. What it
 * does is its kind's (run/work.h).
 *
 * A job that waits for a slot has none: it is a waiter in the line, with its spec packed
 * (packed.h). It gets its work with its slot, or a little before it (early_start.h), and
 * so does an element; sleeps, noops and arrays of these have one from their submission
 * on. */
#ifndef VOLTD_CORE_WORK_H
#define VOLTD_CORE_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/volt.h>
#include "base/atomic.h"
#include "base/list.h"
#include "daemon/core/kinds.h"
#include "daemon/job/job.h"
#include "daemon/store/commit_log.h"

struct attempt; /* run/attempt.h: one run of a process */
struct core;
struct job;
struct output_end;
struct tx;

/* What SIGKILL has left of a tree. */
struct survivors {
    uint32_t n; /* or JOB_SURVIVORS_UNKNOWN */
    struct job_named named;
};

/* Where a work is on its way to a slot. The first task of a job has no place: the job
 * itself waits. */
enum work_place {
    PLACE_NONE = 0, /* wants none: has not asked, or is over */
    PLACE_RESTS,    /* wants one when its back-off is over (work.rests_until_usec) */
    PLACE_WAITS,    /* wants one */
    PLACE_EARLY,    /* starts, and wants one (dispatch/early_start.h) */
    PLACE_SLOT,     /* holds one */
};

/* What is marked [L] is guarded by core.lock; the rest is the task's own. */
struct work {
    struct core *core;
    struct job *job; /* NULL: it has ended, and left its task (work_finish_poll()) */
    int64_t offset;  /* of the element; NO_OFFSET: the job or array itself */
    int at, step;
    uint8_t keep_tries;
    bool begun; /* its turn was taken with its submission, which its task does not know */
    bool rests; /* its turn comes after a rest: PLACE_RESTS */
    bool ended; /* its turn found it ended: cancelled in the queue */
    enum work_place place;     /* [L] changed by dispatch/grant.c */
    bool holds;                /* [L] has what its job claims beside that, ... */
    struct list_node held;     /* [L] ... and is among the holders of its user, ... */
    uint64_t held_nr;          /* [L] ... in the order of these */
    bool let_go;               /* [L] has ended, and what is left of it has no claims */
    bool spent;                /* [L] has no slot, but its STARTING, of an earlier voltd,
                               * has spent what its job claims of rates */
    bool assumed;              /* of an earlier voltd, and has a slot until it is known
                                * whether it began */
    bool lends;                /* [L] its slot: lent.h, ... */
    struct list inside;        /* [L] ... to which what waits inside it is known */
    struct list_node element;  /* [L] of an element that wants a slot, or rests: among
                                * these */
    uint64_t rests_until_usec; /* [L] RESTS: CLOCK_BOOTTIME */
    uint64_t early_until_usec; /* then it is deferred; 0: it has not waited yet */
    bool adopted; /* it was starting or running when an earlier daemon ended */
    bool kept_starting, kept_started; /* [L] post.c's: the store has these facts */
    bool ending;                      /* [L] post.c's: its end is on its way there */
    uint8_t ticket;                   /* [L] post.c's: that end has it in core.log */
    bool again;                       /* post.c's: another attempt follows */
    int unmarked; /* of what is no process: why its STARTING could not be kept; 0 */
    bool leaf_is_commit;
    uint64_t end_usec;       /* of the EXITED event; also told to the store */
    struct volt_waker waker; /* [L] set while it waits for turn or cancel */
    vat_u32 quiet; /* it has looked, is not to stop or turn, and was not woken since.
                    * Changed with the lock, or by its task; its task reads it without */
    struct attempt *attempt; /* kind exec, while it runs */
    bool halted; /* [L] its processes are stopped, as its pause wants it */
    const struct survivors
        *left;                  /* [L] what SIGKILL has left of it; NULL: nothing, as far
                                     as is known */
    struct output_end *printed; /* of the attempt, once it is over: kept with its end */
    union {
        struct volt_sleep sleep;
        struct store_commit commit;
    } leaf;
};

/* --- lock held ---------------------------------------------------------------------- */
static inline bool work_has_slot(const struct work *w)
{
    return w->place == PLACE_SLOT;
}
static inline bool work_is_early(const struct work *w)
{
    return w->place == PLACE_EARLY;
}
/* The task of the job, array or element; NULL: it has none. */
struct work *jobs_live(const struct job *job, int64_t offset);
/* Returns the task of a job whose turn has come, which tx spawns. NULL: no memory. */
struct work *jobs_give_task(struct tx *tx, struct job *job);
/* Remembers a waiting work to be woken. */
void jobs_wake(struct work *w, struct tx *tx);

#endif
