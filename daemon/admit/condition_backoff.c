/* The condition `backoff`: waits for the time of the next attempt. */
#include "daemon/admit/condition_time.h"

int condition_backoff_text(uint64_t left, char *ret, size_t size)
{
    return condition_time_text("next attempt", left, ret, size);
}

static int backoff_explain(const struct condition *c, const struct admission_times *now,
                           char *ret, size_t size)
{
    return condition_backoff_text(condition_time_left(c, now), ret, size);
}

const struct condition_kind condition_backoff = {
    .name = "backoff",
    .wait = JOB_WAIT_TIME,
    .free = condition_time_free,
    .explain = backoff_explain,
};
