/* Jobs and their events as JSON: types Job and Event of org.voltd.jobs. */
#ifndef VOLTD_METHOD_JOB_JSON_H
#define VOLTD_METHOD_JOB_JSON_H

#include "daemon/exec/manager.h"
#include "wire/writer.h"
#include <jansson.h>

/* As text: an answer may tell of a thousand. spec: the set of fields of its spec that are
 * shown (spec_json.h); 0: no spec. */
void job_write(struct wire_writer *to, const char *key, const struct job_view *v,
               uint32_t spec);
void job_event_write(struct wire_writer *to, const struct job_news *ev);
/* New; NULL: out of memory. */
json_t *job_id_to_json(uint64_t id, int64_t index);

#endif
