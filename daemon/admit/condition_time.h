/* Conditions that end by time: what `begin` and `backoff` have in common. */
#ifndef VOLTD_ADMIT_CONDITION_TIME_H
#define VOLTD_ADMIT_CONDITION_TIME_H

#include "daemon/admit/condition.h"

/* 0; -ENOMEM. */
int condition_time_add(struct admission *a, struct waiter *w,
                       const struct condition_kind *kind, enum clock clock, uint64_t at);
void condition_time_free(struct admission *a, struct condition *c);
/* How long until then, in words: as snprintf(), behind what `before` says. */
int condition_time_explain(const struct condition *c, const struct admission_times *now,
                           const char *before, char *ret, size_t size);
/* The same of so many microseconds that are left. */
int condition_time_text(const char *before, uint64_t left, char *ret, size_t size);

#endif
