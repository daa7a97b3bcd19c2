/* Where a job would stand if it were submitted now: for a dry run. */
#ifndef VOLTD_QUERY_STANDING_H
#define VOLTD_QUERY_STANDING_H

#include "daemon/query/forecast.h"

struct standing {
    struct forecast_running running; /* set by the caller: running jobs of its user */
    struct why why;                  /* no reason: it would start at once */
    struct estimate_in line;         /* if is_forecast: the line as it is */
    bool is_forecast;
};

/* Fills in where the job would stand. The job has been checked (core_wait_for()) and has
 * no id. The job waits for a moment, after all other jobs of its user. Afterwards it does
 * not wait. */
void query_standing(struct core *core, struct job *job, struct standing *ret);

#endif
