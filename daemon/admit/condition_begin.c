/* The condition `begin`: waits for a date, or for the end of a delay. A clock that is set
 * back does not lengthen a delay. */
#include "daemon/admit/condition_time.h"

static int begin_explain(const struct condition *c, const struct admission_times *now,
                         char *ret, size_t size)
{
    return condition_time_explain(c, now, "begins", ret, size);
}

const struct condition_kind condition_begin = {"begin", JOB_WAIT_TIME,
                                               condition_time_free, begin_explain, false};
