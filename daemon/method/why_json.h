/* Why a job does not start, and when it will, in the answers of Why and of a dry run. */
#ifndef VOLTD_METHOD_WHY_JSON_H
#define VOLTD_METHOD_WHY_JSON_H

#include <jansson.h>
#include <volt/volt.h>
#include "daemon/query/forecast.h"
#include "daemon/query/query.h"

struct call;

/* Zeroes at first. */
struct running_walk {
    struct forecast_running found;
    struct query_walk walk;
    unsigned portions;
};

/* Finds running jobs of the user in w->found, with a limited number of looks, a turn at a
 * time. A job that is not found counts as one of unknown duration. */
enum volt_poll running_poll(struct volt_cx *cx, struct call *call, uid_t uid,
                            struct running_walk *w);

/* New; NULL: no memory. */
json_t *reason_json(enum job_wait wait, const char *text);
json_t *reasons_json(const struct why *why);
/* New; NULL: too little is known for an estimate. */
json_t *estimate_json(const struct estimate_in *in, uint64_t seed);

#endif
