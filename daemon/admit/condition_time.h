/* Parts of the kinds of conditions that end by time, such as `begin` and `backoff`. */
#ifndef VOLTD_ADMIT_CONDITION_TIME_H
#define VOLTD_ADMIT_CONDITION_TIME_H

#include "daemon/admit/condition.h"

void condition_time_free(struct admission *a, struct condition *c);
/* Writes `before`, then how long until then; as snprintf(). */
int condition_time_explain(const struct condition *c, const struct admission_times *now,
                           const char *before, char *ret, size_t size);
/* Likewise, with so many microseconds left. */
int condition_time_text(const char *before, uint64_t left, char *ret, size_t size);

#endif
