/* Waiters that can start no more: what they waited for is not possible any more, or the
 * time by which they had to start is over. The caller ends them, by admission_leave() or
 * admission_forget(): until then they come again. */
#ifndef VOLTD_ADMIT_DOOM_H
#define VOLTD_ADMIT_DOOM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct admission;
struct waiter;

enum doom_reason {
    DOOM_EXPIRED,    /* it had to start by a time */
    DOOM_DEPENDENCY, /* its antecedent did not start, or not end, as it had to */
};
#define DOOM_REASONS (DOOM_DEPENDENCY + 1)

struct doom {
    struct list_node node;
    struct waiter *waiter;
    enum doom_reason reason;
    uint64_t antecedent;    /* DEPENDENCY ... */
    enum job_result result; /* ... which ended so */
};

/* The first one, in the order of the reasons; NULL: there is none. */
const struct doom *doom_first(const struct admission *a);
void doom_add(struct admission *a, struct doom *d);
void doom_remove(struct admission *a, struct doom *d);

/* It has to start by this time of CLOCK_REALTIME; leaving the line ends that, a start
 * only as long as it is not put back. 0; -ENOMEM. */
int doom_start_by(struct admission *a, struct waiter *w, uint64_t at);
/* One that has a time, EXPIRED or not yet, has another one; TIMED_NEVER is possible. Of
 * one that has started it counts when that is put back. */
void doom_set(struct admission *a, const struct waiter *w, uint64_t at);
/* TIMED_NEVER: by none. */
uint64_t doom_start_by_of(const struct admission *a, const struct waiter *w);
/* The waiter has the time that the other one has, or none, instead of its own. */
void doom_take(struct admission *a, struct waiter *w, struct waiter *other);
/* It starts; it has not started after all. */
void doom_rest(struct admission *a, struct waiter *w);
void doom_resume(struct admission *a, struct waiter *w);
/* The waiter leaves. */
void doom_forget(struct admission *a, struct waiter *w);
void doom_fini(struct admission *a);

#endif
