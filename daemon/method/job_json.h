/* Jobs and their events as JSON: types Job and Event of org.voltd.jobs. */
#ifndef VOLTD_METHOD_JOB_JSON_H
#define VOLTD_METHOD_JOB_JSON_H

#include "daemon/query/query.h"
#include "wire/writer.h"
#include <jansson.h>

/* All fields of Job except spec. */
#define JOB_FIELDS(field)                                                                \
    field(id) field(name) field(kind) field(state) field(wait) field(wait_position)      \
        field(wait_lock) field(wait_ends_at_usec) field(held_by_admin) field(result)     \
            field(exit_status) field(signal) field(error) field(step) field(exit_code)   \
                field(attempt) field(lost_attempts) field(pid) field(uid) field(queue)   \
                    field(priority) field(durable) field(lends) field(orphan)            \
                        field(forgotten) field(survivors) field(survivor_count)          \
                            field(survivors_unknown) field(left_killed)                  \
                                field(overshoot_bytes) field(contained)                  \
                                    field(memory_peak_bytes) field(oom_kills)            \
                                        field(submitted_at_usec) field(started_at_usec)  \
                                            field(paused_at_usec) field(paused_usec)     \
                                                field(ended_at_usec) field(edited)       \
                                                    field(usage) field(cause)            \
                                                        field(counts)
#define JOB_FIELD_NUMBER(name_) JOB_FIELD_##name_,
enum job_field { JOB_FIELDS(JOB_FIELD_NUMBER) JOB_FIELD_COUNT };
extern const char *const job_field_names[]; /* ends with NULL */
#define JOB_ALL_FIELDS ((UINT64_C(1) << JOB_FIELD_COUNT) - 1)

/* Writes a job as text, as answers may have a thousand. fields: set of fields to write;
 * id is always written. spec: set of fields of its spec (spec_json.h); 0: no spec. */
void job_write(struct wire_writer *to, const char *key, const struct job_view *v,
               uint64_t fields, uint64_t spec);
/* name: of its job; NULL: not known. */
void job_event_write(struct wire_writer *to, const struct job_news *ev, const char *name);
struct attempt_view;
void job_attempt_write(struct wire_writer *to, const struct attempt_view *a);
/* Returns new; NULL: out of memory. */
json_t *job_id_to_json(uint64_t id, int64_t index);

#endif
