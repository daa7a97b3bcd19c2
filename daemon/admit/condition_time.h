/* Conditions that end by time: the common part of `begin` and `backoff`. */
#ifndef VOLTD_ADMIT_CONDITION_TIME_H
#define VOLTD_ADMIT_CONDITION_TIME_H

#include "daemon/admit/condition.h"

/* Adds a condition that is met at a time. Returns 0 or -ENOMEM. */
int condition_time_add(struct admission *a, struct waiter *w,
                       const struct condition_kind *kind, enum clock clock, uint64_t at);
void condition_time_free(struct admission *a, struct condition *c);
/* Writes `before`, then how long until then; as snprintf(). */
int condition_time_explain(const struct condition *c, const struct admission_times *now,
                           const char *before, char *ret, size_t size);
/* Likewise, with so many microseconds left. */
int condition_time_text(const char *before, uint64_t left, char *ret, size_t size);

#endif
