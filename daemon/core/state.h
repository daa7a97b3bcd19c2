/* The inside of struct core, for the files of its own room: what is guarded by the lock
 * on all jobs. */
#ifndef VOLTD_CORE_STATE_H
#define VOLTD_CORE_STATE_H

#include "base/fair_lock.h"
#include "daemon/admit/admission.h"
#include "daemon/core/waiting.h"
#include "daemon/core/agenda.h"
#include "daemon/core/core.h"
#include "daemon/core/packed.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/durations.h"
#include "daemon/core/index.h"
#include "daemon/core/interned.h"
#include "daemon/core/jobs.h"
#include "daemon/core/keys.h"
#include "daemon/core/leases.h"
#include "daemon/core/orphans.h"
#include "daemon/core/parts.h"
#include "daemon/core/queues.h"
#include "daemon/core/tombstones.h"
#include "daemon/core/replacement.h"
#include "daemon/core/table.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/core/work.h"
#include "daemon/log/event_log.h"
#include "daemon/log/event_ring.h"
#include "daemon/output/output.h"

struct core {
    struct parts parts; /* the first: parts_of() */
    const struct kinds *kinds;
    struct outputs outputs; /* its own locks */

    struct volt_notify news;
    struct volt_notify ends; /* of these, what may tell of an end; while of_all, each */
    vat_u32 of_all;          /* subscriptions to more than ends, which look with the lock
                              * later; any thread, relaxed */
    vat_u64 told; /* the most waits that were looked at in one poll, to tell of something:
                   * jobs_note_told(); for any thread, relaxed */

    struct fair_lock lock;
    struct job_limits limits;     /* [L] */
    struct table table;           /* [L] */
    struct index index;           /* [L] of the table */
    struct queues queues;         /* [L] */
    uint64_t early_jobs;          /* [L] jobs in the line that all_early */
    uint64_t now_usec;            /* [L] waiting_now(); 0: not asked in this hold */
    struct agenda agenda;         /* [L] */
    struct list each_due;         /* [L] each.h */
    struct dispatcher dispatcher; /* [L] */
    vlock ring_lock;              /* guards the ring */
    struct event_ring ring;       /* as things happen; written with [L], too */
    uint32_t entering; /* [L] submissions that may be kept and are not in the table */
    struct core_counts counts; /* [L] */
    struct core_held held;     /* [L] since the lock was taken */
    uint64_t gone;      /* [L] weight of what left the table since memory went back */
    struct users users; /* [L] */
    struct leases leases; /* [L] */
    struct durations durations; /* [L] */
    struct list ended;  /* [L] by their nodes; the oldest first */
    struct tombstones tombstones;     /* [L] the ends of forgotten jobs */
    uint64_t forgotten_max;           /* [L] the greatest id of these; 0: none */
    struct shares shares;             /* its own lock */
    struct keys keys;                 /* [L] but for its secret */
    struct replacements replacements; /* [L] */
    struct met_edges met;             /* of recovery */
    uint64_t ended_weight;            /* [L] an element of an array weighs 1/8 */
    bool closed;                      /* [L] */
    bool ending;                      /* [L] what is entered is cancelled */
    bool news_due;                    /* [L] the ring has grown since the last notify */
    bool ends_due;                    /* [L] ... by what may tell of an end */
    bool entered; /* [L] jobs that the log may tell of are in the table now */
    struct orphans orphans;
    struct interned interned; /* its own lock */
};

/* core_new() of zeroed memory that is the caller's, and core_free() of that. */
void core_init(struct core *core, struct volt_runtime *rt, const struct kinds *kinds,
               const struct siphash_key *secret);
void core_fini(struct core *core);

#endif
