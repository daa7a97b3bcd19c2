/* The parts of a voltd, by which rooms find each other. Each part has a type of its own;
 * only core knows struct core, which contains them.
 *
 * The pointers are set when voltd starts and then constant: any thread reads them without
 * a lock. The parts themselves have their own locks, or are marked [L]: guarded by the
 * lock on all jobs (tx.h). */
#ifndef VOLTD_CORE_PARTS_H
#define VOLTD_CORE_PARTS_H

struct core;

struct parts {
    struct volt_runtime *rt;
    struct store *store;
    struct event_log *log;   /* durable events */
    struct outputs *outputs; /* output/output.h */
    struct interned *interned;
    struct volt_notify *news;   /* notified when jobs change */
    struct volt_notify *ends;   /* notified when a job may have ended (query/changes.c) */
    struct volt_notify *missed; /* notified when users are listed as missed
                                 * (dispatch/away.h) */

    struct admission *admit; /* [L] admit/admission.h */
    struct table *table;     /* [L] */
    struct index *index;     /* [L] of the table */
    struct users *users;     /* [L] */
    struct keys *keys;       /* [L], the secret excepted */
    struct orphans *orphans;
    struct leases *leases;         /* [L] */
    struct durations *durations;   /* [L] */
    struct agenda *agenda;         /* [L] */
    struct dispatcher *dispatcher; /* [L] tx.h */
    struct event_ring *ring;       /* events as they happen: core_events_read() */
    struct core_counts *counts;    /* [L] core.h */
    struct job_limits *limits;     /* [L] core.h */
    struct quota *held;            /* [L] what this hold of the lock has used up */

    struct dispatch *dispatch; /* dispatch/dispatch.h */
    struct run *run;           /* run/run.h */
    struct changes *changes;   /* query/changes.c */
    struct follows *follows;   /* query/follow.c */
    struct ids *ids;           /* submit/ids.h */
    struct leasing *leasing;   /* lease/leasing.c */
    struct life *life;         /* life/life.c */
};

/* Returns the parts, which come first in struct core. */
static inline const struct parts *parts_of(const struct core *core)
{
    return (const void *)core;
}

/* Returns the parts for setting them: only while voltd starts, before others know the
 * core. */
static inline struct parts *parts_to_set(struct core *core)
{
    return (void *)core;
}

#endif
