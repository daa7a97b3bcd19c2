/* What admission must do, the slow and obvious way: for the property test of daemon/admit.
 *
 * It knows all jobs and what each has taken, and recomputes everything else from these
 * each time it is asked: sums by adding up, the order by comparing each job with each.
 * Only virtual times are kept, as they are a history. */
#ifndef TESTS_SUPPORT_ADMIT_REFERENCE_H
#define TESTS_SUPPORT_ADMIT_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define REF_JOBS      256
#define REF_CLAIMS    3
#define REF_USERS     3
#define REF_QUEUES    3
#define REF_RESOURCES 12

enum ref_kind { REF_RWLOCK, REF_SEMAPHORE, REF_RATE };

struct ref_claim {
    int resource;
    uint32_t amount;
    bool exclusive;
};

struct ref_job {
    bool there, eligible;
    uint64_t rank;
    int user, queue, priority;
    bool slot;
    uint32_t most; /* of an array's elements at once; 0: any */
    int n;
    struct ref_claim claims[REF_CLAIMS]; /* by resource, no two on one */
    uint64_t running;                    /* attempts that have their slots */
    uint64_t lent;                       /* of these, that lend them */
    uint64_t holding;                    /* attempts that have their locks */
    uint32_t passed;                     /* times that it was passed on a lock */
};

struct ref_time {
    uint64_t settled, charged, running, expected;
};

struct ref_queue {
    uint32_t nominal, most, user_most, weight;
    bool lends, paused;
    struct ref_time time;
};

struct ref_resource {
    enum ref_kind kind;
    uint64_t capacity, per_usec;
    uint64_t missing_usec, at; /* of a rate: until it is full, as of then */
};

struct ref {
    struct ref_job jobs[REF_JOBS];
    struct ref_queue queues[REF_QUEUES];
    struct ref_time accounts[REF_USERS][REF_QUEUES];
    struct ref_resource resources[REF_RESOURCES];
    bool away[REF_USERS];
    uint64_t slots, now;
    uint32_t user_most; /* slots of a user in all queues; 0: any */
    uint32_t bypass;    /* times */
};

void ref_init(struct ref *r);
/* Time passes. */
void ref_time(struct ref *r, uint64_t now);

/* The job joins the line; leaves it. */
void ref_join(struct ref *r, int job);
void ref_leave(struct ref *r, int job);
/* It starts, once; if it is in the line it stays there. */
void ref_take(struct ref *r, int job);
void ref_undo(struct ref *r, int job);
void ref_end(struct ref *r, int job, uint64_t n, uint64_t ran_usec);

/* The next job; -1: none. Of what claims both locks and rates, of limits that are below
 * what is claimed, and of bypasses it knows too little: then see ref_may(). */
int ref_next(const struct ref *r);
/* Whether this (-1: none) may be the next job: it fits, it passes nothing that may not be
 * passed, and no earlier one fits that nothing before it has any right to. NULL, or what
 * is wrong. */
const char *ref_may(const struct ref *r, int job);
/* Whether an earlier one may have a reservation of what this job claims. */
bool ref_may_be_kept(const struct ref *r, int job);
/* The job is the next one: those that it passes are counted. NULL, or what is wrong. */
const char *ref_passes(struct ref *r, int job);

uint64_t ref_used(const struct ref *r);
/* Whether the user has all slots that it may have over all queues. */
bool ref_is_at_limit(const struct ref *r, int user);
/* Whether a is before b in the line. */
bool ref_before(const struct ref *r, int a, int b);

#endif
