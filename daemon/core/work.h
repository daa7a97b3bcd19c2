/* A work: the task of a job, an array or an element, as core sees it. The kind decides
 * what it does (run/work.h).
 *
 * A job that waits for a slot has no work: it is a waiter in the line, with a packed spec
 * (packed.h). A job, or an element, gets its work with its slot, or a little earlier
 * (early_start.h). Sleeps, noops and arrays of these have a work from submission on. */
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

struct attempt; /* one run of a process: run/attempt.h */
struct core;
struct job;
struct output_end;
struct tx;

/* Processes of a job that SIGKILL did not end. */
struct survivors {
    uint32_t n; /* or JOB_SURVIVORS_UNKNOWN */
    struct job_named named;
};

/* A work's place on its way to a slot. The first task of a job has no place: the job
 * itself waits. */
enum work_place {
    PLACE_NONE = 0, /* wants none: has not asked, or is over */
    PLACE_RESTS,    /* wants one after its back-off (work.rests_until_usec) */
    PLACE_WAITS,    /* wants one */
    PLACE_EARLY,    /* starts, and wants one (dispatch/early_start.h) */
    PLACE_SLOT,     /* has one */
};

/* [L] marks what core.lock guards. The rest is the task's own. */
struct work {
    struct core *core;
    struct job *job; /* NULL: the job has left its task (work_finish_poll()) */
    int64_t offset;  /* of the element; NO_OFFSET: a job, or an array as a whole */
    int at, step;
    uint8_t keep_tries;
    bool begun; /* began with its submission, which its task does not know yet */
    bool rests; /* backs off before its turn: PLACE_RESTS */
    bool ended; /* its turn found it ended: cancelled in the queue */
    enum work_place place;     /* [L] changed by dispatch/grant.c */
    bool holds;                /* [L] has its job's claims, ... */
    struct list_node held;     /* [L] ... and is in user.holders, ... */
    uint64_t held_nr;          /* [L] ... with this number */
    bool claims_released;      /* [L] has ended, and its survivors have no claims */
    bool spent;                /* [L] has no slot; an earlier voltd stored its STARTING
                                * and spent tokens of its job's rates */
    bool assumed;              /* of an earlier voltd: has a slot until its record says
                                * whether it began */
    bool lends;                /* [L] lends its slot (lent.h), ... */
    struct list inside;        /* [L] ... while these calls wait inside it */
    struct list_node element;  /* [L] of an element: in elements.waiting or .resting */
    uint64_t rests_until_usec; /* [L] RESTS: CLOCK_BOOTTIME */
    uint64_t early_until_usec; /* EARLY: deferred at this time; 0: has not waited yet */
    bool adopted;              /* was starting or running when an earlier voltd ended */
    bool kept_starting, kept_started; /* [L] post.c: the store has these facts */
    bool ending;                      /* [L] post.c: its end is on its way to the store */
    uint8_t ticket;                   /* [L] post.c: ticket of that end in core.log */
    bool again;                       /* post.c: another attempt follows */
    int unmarked; /* no process: why its STARTING could not be stored; 0 */
    bool leaf_is_commit;
    uint64_t end_usec;       /* of EXITED, as the store has it */
    struct volt_waker waker; /* [L] while it waits for its turn or a cancel */
    vat_u32 quiet; /* nothing to do since its last look: no stop, no turn. Written under
                    * the lock, or by its task, which reads it without the lock */
    struct attempt *attempt;      /* kind exec, while it runs */
    bool halted;                  /* [L] its processes are stopped by a pause */
    const struct survivors *left; /* [L] its survivors; NULL: none known */
    struct output_end *printed;   /* output of an ended attempt, stored with its end */
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
/* Returns the task of a job, array or element. NULL: none. */
struct work *jobs_live(const struct job *job, int64_t offset);
/* Returns a new task for a job whose turn has come; tx spawns it. NULL: no memory. */
struct work *jobs_give_task(struct tx *tx, struct job *job);
/* Wakes a waiting work, by tx; NULL allowed. */
void jobs_wake(struct work *w, struct tx *tx);

#endif
