/* When a job that waits in the line will start: what is known of those that have what it
 * waits for, and of those before it, for admit/estimate.h.
 *
 * Known are the user's own jobs, by their names and by how long they have run; where one
 * of them is not known so, or none of its name has ended, nothing is told. Of others
 * there are numbers alone, and they are taken for jobs of the user's: what the user is
 * told follows from nothing else of theirs. An array counts as one in front of others,
 * unless it is the user's own. Of an element that is asked about those of its own array
 * are before it which begin before it. */
#ifndef VOLTD_QUERY_FORECAST_H
#define VOLTD_QUERY_FORECAST_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/auth/auth.h"
#include "daemon/admit/estimate.h"
#include "daemon/query/job_view.h"
#include "daemon/query/why.h"

struct core;
struct job;

#define FORECAST_LOOKS (2 * ESTIMATE_FRONT + ESTIMATE_HELD) /* at most */
_Static_assert(FORECAST_LOOKS <= QUOTA_ENTRIES, "a turn has room for it");

/* Jobs and elements of a user that run. */
struct forecast_running {
    struct {
        uint32_t tag;
        uint64_t ran_usec; /* or ESTIMATE_UNKNOWN */
    } job[ESTIMATE_HELD];
    size_t n;
};

/* One more, or an array of which some run; false: there is no room for more. */
bool forecast_add(struct forecast_running *r, const struct job_view *v);
/* The job of the key, of which Why has said that it waits in this line, of which places
 * are not 0. running: those of its owner. False: it does no more, or what of its user's
 * has a place, or is before it, is not known, or for how long that runs, where that
 * counts. */
bool query_forecast(struct core *core, const struct asker *asker,
                    const struct job_key *key, const struct why_line *line,
                    const struct forecast_running *running, struct estimate_in *ret);
/* The same of a job that is there. Lock held. */
bool query_forecast_of(struct core *core, const struct job *job, int64_t offset,
                       const struct why_line *line,
                       const struct forecast_running *running, struct estimate_in *ret);

#endif
