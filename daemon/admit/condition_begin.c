/* The condition `begin`: waits for a date, or for the end of a delay. A clock that is set
 * back does not lengthen a delay. */
#include "daemon/admit/condition_time.h"

#include "daemon/job/spec.h"

static bool begin_asked(const struct job_spec *spec)
{
    return spec->delay_usec || spec->at_usec;
}

/* A delay begins when the job is in the table: core/conditions.c. */
static int begin_begin(struct admission *a, struct waiter *w, const struct job_spec *spec,
                       const struct admission_times *now)
{
    int r = 0;

    (void)now;
    if (spec->delay_usec)
        r = condition_time_add(a, w, &condition_begin, CLOCK_OF_DELAYS, TIMED_NEVER);
    if (r == 0 && spec->at_usec)
        r = condition_time_add(a, w, &condition_begin, CLOCK_OF_DATES, spec->at_usec);
    return r;
}

static int begin_explain(const struct condition *c, const struct admission_times *now,
                         char *ret, size_t size)
{
    return condition_time_explain(c, now, "begins", ret, size);
}

const struct condition_kind condition_begin = {
    .name = "begin",
    .wait = JOB_WAIT_TIME,
    .free = condition_time_free,
    .explain = begin_explain,
    .asked = begin_asked,
    .begin = begin_begin,
};
