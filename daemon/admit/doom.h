/* Doomed waiters, which can no longer start: their dependency cannot be met, or their
 * deadline to start has passed. The caller ends them by admission_leave() or
 * admission_forget(). Until then doom_first() returns them again. */
#ifndef VOLTD_ADMIT_DOOM_H
#define VOLTD_ADMIT_DOOM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/job.h"

struct admission;
struct waiter;

enum doom_reason {
    DOOM_EXPIRED,    /* its deadline to start has passed */
    DOOM_DEPENDENCY, /* its antecedent did not start, or end, as required */
};
#define DOOM_REASONS (DOOM_DEPENDENCY + 1)

struct doom {
    struct list_node node;
    struct waiter *waiter;
    enum doom_reason reason;
    uint64_t antecedent;    /* DEPENDENCY ... */
    enum job_result result; /* ... which ended with this */
};

/* Returns the first doomed waiter, in order of reasons; NULL: none. */
const struct doom *doom_first(const struct admission *a);
void doom_add(struct admission *a, struct doom *d);
void doom_remove(struct admission *a, struct doom *d);

/* Sets a deadline of CLOCK_REALTIME by which the waiter must start. Leaving the line ends
 * it; a start ends it unless the waiter is put back. Returns 0 or -ENOMEM. */
int doom_start_by(struct admission *a, struct waiter *w, uint64_t at);
/* Moves the waiter's deadline, which may have passed; TIMED_NEVER is allowed. After a
 * start it counts when the waiter is put back. */
void doom_set(struct admission *a, const struct waiter *w, uint64_t at);
/* Returns the waiter's deadline; TIMED_NEVER: none. */
uint64_t doom_start_by_of(const struct admission *a, const struct waiter *w);
/* Replaces the waiter's deadline by that of `other`, which may be none. */
void doom_take(struct admission *a, struct waiter *w, struct waiter *other);
/* Suspend the deadline at a start, and resume it if the waiter is put back. */
void doom_rest(struct admission *a, struct waiter *w);
void doom_resume(struct admission *a, struct waiter *w);
/* Frees the waiter's deadline. */
void doom_forget(struct admission *a, struct waiter *w);
void doom_fini(struct admission *a);

#endif
