/* Where a job would stand, were it taken now: for a dry run. */
#ifndef VOLTD_QUERY_STANDING_H
#define VOLTD_QUERY_STANDING_H

#include "daemon/query/forecast.h"

struct standing {
    struct forecast_running running; /* set before: of its user */
    struct why why;                  /* no reason: it would start at once */
    struct estimate_in line;         /* where it is forecast: in the line as it is */
    bool is_forecast;
};

/* Of a job that has been checked (core_wait_for()) and has no id. It waits for a moment,
 * behind all others of its user, and waits for nothing after that. */
void query_standing(struct core *core, struct job *job, struct standing *ret);

#endif
