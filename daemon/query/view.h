/* Views of jobs, which answer questions. Lock held in all functions. */
#ifndef VOLTD_QUERY_VIEW_H
#define VOLTD_QUERY_VIEW_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/core/orphans.h"
#include "daemon/query/job_view.h"
#include "daemon/query/query.h"

/* Returns the job, if the asker may see it, and the offset of its element `index`. NULL:
 * none, or only the store has the element (array_is_counts()). */
struct job *jobs_find(struct core *core, const struct asker *asker, uint64_t id,
                      int64_t index, int64_t *ret_offset);
void jobs_view(struct core *core, struct job *job, int64_t offset, struct job_view *ret);
/* Like jobs_view(), without what costs: a packed spec, the place in the queue, what else
 * it waits for. */
void jobs_view_status(struct job *job, int64_t offset, struct job_view *ret);
/* Like jobs_view(), without the spec. */
void jobs_view_state(struct core *core, struct job *job, int64_t offset,
                     struct job_view *ret);
/* Views a job or a whole array if the filter, without its keys, wants it. Specs are
 * unpacked only for wanted states: a list of the few running jobs passes over a million
 * queued. */
bool jobs_view_wanted(struct core *core, struct job *job, const struct job_filter *f,
                      enum query_specs specs, struct job_view *ret);
/* Like jobs_view_wanted(), for query_wants(). *ret_spec: a new reference to match without
 * the lock; NULL: not needed. */
bool jobs_wanted_of_event(struct core *core, struct job *job, const struct job_filter *f,
                          struct job_spec **ret_spec);
/* Views an element of an array if the filter wants its state and result. */
bool jobs_view_element(struct core *core, struct job *array, int64_t offset,
                       const struct job_filter *f, struct job_view *ret);
/* Returns a new reference, or NULL: no memory. A packed spec is unpacked without its
 * environment, which is most of it and which no filter uses. *ret_unpacked: bytes. */
struct job_spec *jobs_brief_spec(struct core *core, const struct job *job,
                                 size_t *ret_unpacked);
/* Fills in status and counts of a whole array. */
void jobs_view_array(const struct array *a, struct job_view *ret);
void jobs_view_orphan(const struct orphan *o, struct job_view *ret);
/* Views a purged job of which only the end is known. */
void jobs_view_end(uint64_t id, uid_t uid, uint64_t ended_usec, const struct job_end *end,
                   struct job_view *ret);

#endif
