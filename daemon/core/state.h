/* The inside of struct core, for core's own files. [L] marks what the lock on all jobs
 * guards. */
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
#include "daemon/core/replacement.h"
#include "daemon/core/table.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/core/work.h"
#include "daemon/log/event_log.h"
#include "daemon/log/event_ring.h"
#include "daemon/output/output.h"

struct core {
    struct parts parts; /* comes first: parts_of() */
    const struct kinds *kinds;
    struct outputs outputs; /* its own locks */

    struct volt_notify news;
    struct volt_notify ends; /* notified when a job may have ended, and of every change
                              * while of_all > 0 */
    vat_u32 of_all;          /* subscriptions to more than ends, which look later under
                              * the lock; any thread, relaxed */
    vat_u64 visited;         /* the most subscriptions visited by one poll that notifies:
                              * jobs_note_visited(); any thread, relaxed */

    struct fair_lock lock;
    struct job_limits limits;              /* [L] */
    struct table table;                    /* [L] */
    struct index index;                    /* [L] of the table */
    struct queues queues;                  /* [L] */
    struct limit_defaults *limit_defaults; /* [L] NULL: none */
    uint64_t early_jobs;                   /* [L] jobs in the line with all_early set */
    uint64_t now_usec;            /* [L] waiting_now(); 0: not read in this hold */
    struct agenda agenda;         /* [L] */
    struct list each_due;         /* [L] each.h */
    struct dispatcher dispatcher; /* [L] */
    vlock ring_lock;              /* guards the ring */
    struct event_ring ring;       /* events as they happen; written only under [L] */
    uint32_t entering; /* [L] submissions that may be durable and are not in the table */
    struct core_counts counts; /* [L] */
    struct quota held;         /* [L] work in this hold of the lock */
    struct quota *charged;     /* [L] core_charge() */
    uint64_t gone;        /* [L] weight of jobs that left the table since the last trim */
    struct users users;   /* [L] */
    struct leases leases; /* [L] */
    struct durations durations;       /* [L] */
    struct list ended;                /* [L] by job.node, the oldest first */
    uint64_t forgotten_max;           /* [L] greatest id that left memory; 0: none */
    struct shares shares;             /* its own lock */
    struct keys keys;                 /* [L], the secret excepted */
    struct replacements replacements; /* [L] */
    struct met_edges met;             /* during recovery */
    uint64_t ended_weight;            /* [L] of `ended`; an element weighs 1/8 */
    bool closed;                      /* [L] */
    bool ending;                      /* [L] what enters the table is cancelled */
    bool news_due;                    /* [L] the ring has grown since the last notify */
    bool ends_due;                    /* [L] ... by an event that may be an end */
    bool entered;              /* [L] jobs have entered that the log may already report */
    struct volt_notify missed; /* notified when users are listed as missed */
    struct orphans orphans;
    struct interned interned; /* its own lock */
};

/* Initialises and finishes a core in the caller's zeroed memory, as core_new() and
 * core_free(). */
void core_init(struct core *core, struct volt_runtime *rt, const struct kinds *kinds,
               const struct siphash_key *secret);
void core_fini(struct core *core);

#endif
