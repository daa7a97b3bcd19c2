/* Jobs and their events as JSON: types Job and Event of org.voltd.jobs. All return new;
 * NULL: out of memory. */
#ifndef VOLTD_METHOD_JOB_JSON_H
#define VOLTD_METHOD_JOB_JSON_H

#include "daemon/exec/manager.h"
#include <jansson.h>

json_t *job_to_json(const struct job_view *v, bool with_spec);
json_t *job_event_to_json(const struct job_news *ev);
json_t *job_id_to_json(uint64_t id, int64_t index);

#endif
