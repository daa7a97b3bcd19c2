/* The parts of a voltd, by which the rooms find each other. Each is a type of its own;
 * struct core, to which they belong, is known to its own room alone.
 *
 * The pointers are set when voltd starts and never change: any thread reads them without
 * a lock. What they point to has its own locks, or is guarded by the lock on all jobs
 * (tx.h): [L]. */
#ifndef VOLTD_CORE_PARTS_H
#define VOLTD_CORE_PARTS_H

struct core;

struct parts {
    struct volt_runtime *rt;
    struct store *store;
    struct event_log *log;   /* what is durable */
    struct outputs *outputs; /* output/output.h */
    struct interned *interned;
    struct volt_notify *news; /* jobs have changed */
    struct volt_notify *ends; /* of these, what may tell of an end: query/changes.c */

    struct admission *admit;       /* [L] admit/admission.h */
    struct table *table;           /* [L] */
    struct index *index;           /* [L] of the table */
    struct users *users;           /* [L] */
    struct keys *keys;             /* [L] but for its secret */
    struct tombstones *tombstones; /* [L] */
    struct orphans *orphans;
    struct leases *leases;         /* [L] */
    struct durations *durations;   /* [L] */
    struct agenda *agenda;         /* [L] */
    struct dispatcher *dispatcher; /* [L] tx.h */
    struct event_ring *ring;       /* what happens, as it does: core_told() */
    struct core_counts *counts;    /* [L] core.h */
    struct job_limits *limits;     /* [L] core.h */
    struct core_held *held;        /* [L] core.h: since the lock was taken */

    struct dispatch *dispatch; /* dispatch/dispatch.h */
    struct run *run;           /* run/run.h */
    struct changes *changes;   /* query/changes.c */
    struct follows *follows;   /* query/follow.c */
    struct ids *ids;           /* submit/ids.h */
    struct leasing *leasing;   /* lease/leasing.c */
    struct life *life;         /* life/life.c */
};

/* They stand first in struct core. */
static inline const struct parts *parts_of(const struct core *core)
{
    return (const void *)core;
}

/* To set them: while voltd starts, before others know of the core. */
static inline struct parts *parts_to_set(struct core *core)
{
    return (void *)core;
}

#endif
