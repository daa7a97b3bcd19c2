/* Views of jobs: what a question is answered with. Lock held in all functions. */
#ifndef VOLTD_QUERY_VIEW_H
#define VOLTD_QUERY_VIEW_H

#include "daemon/auth/auth.h"
#include "daemon/core/jobs.h"
#include "daemon/core/orphans.h"
#include "daemon/query/job_view.h"
#include "daemon/query/query.h"

/* The job that the asker may see, and the offset of its element `index`; NULL: none, or
 * only the store has the element (array_is_counts()). */
struct job *jobs_find(struct core *core, const struct asker *asker, uint64_t id,
                      int64_t index, int64_t *ret_offset);
void jobs_view(struct core *core, struct job *job, int64_t offset, struct job_view *ret);
/* The same without what costs something: the spec of one that is packed, its place in
 * the queue and what else it waits for. */
void jobs_view_status(struct job *job, int64_t offset, struct job_view *ret);
/* The same without its spec. */
void jobs_view_state(struct core *core, struct job *job, int64_t offset,
                     struct job_view *ret);
/* The same of a job or array as a whole, if the filter wants it; its keys are not looked
 * at. A spec is unpacked only for those whose state is wanted: a list of the few that run
 * passes over a million that wait. */
bool jobs_view_wanted(struct core *core, struct job *job, const struct job_filter *f,
                      enum query_specs specs, struct job_view *ret);
/* The same for query_wants(); *ret_spec, a reference of the caller's own, is to be asked
 * as well, without the lock; NULL: it need not. */
bool jobs_wanted_of_event(struct core *core, struct job *job, const struct job_filter *f,
                          struct job_spec **ret_spec);
/* An element of an array, if the filter wants its state and its result. */
bool jobs_view_element(struct core *core, struct job *array, int64_t offset,
                       const struct job_filter *f, struct job_view *ret);
/* Returns a reference of the caller's own, or NULL: no memory. A packed spec is unpacked
 * without its environment, which no filter looks at: that is most of it. *ret_unpacked:
 * bytes. */
struct job_spec *jobs_brief_spec(struct core *core, const struct job *job,
                                 size_t *ret_unpacked);
/* Status and counts of an array as a whole. */
void jobs_view_array(const struct array *a, struct job_view *ret);
void jobs_view_orphan(const struct orphan *o, struct job_view *ret);
/* Of a job of which only the end is known. */
void jobs_view_end(uint64_t id, uid_t uid, uint64_t ended_usec, const struct job_end *end,
                   struct job_view *ret);

#endif
