/* What a waiting job asks for is changed: its spec (job/spec_edit.h), and its rank.
 *
 * EDIT is posted when all that may fail has been done: the job's next place in admission
 * is made beside the one that it has, and they are exchanged. It keeps how often it was
 * passed, and its conditions but for those that are edited: times, and the jobs that it
 * waits for. Edges that were met before an edit are facts of edges that are no more, or
 * that it has again: what is met once stays so. */
#ifndef VOLTD_CORE_EDIT_H
#define VOLTD_CORE_EDIT_H

#include <volt/error.h>
#include "daemon/job/job.h"

struct core;
struct job;
struct job_edit;
struct job_edits;
struct job_owner;
struct tx;

/* Lock held. A job, or an array as a whole. 0; -EALREADY: it has ended; -EBUSY: it has
 * begun, or something of the array has; -EINPROGRESS: it is about to; -EINVAL: with the
 * reason; -ESTALE: what the edit says of the jobs in `after` is to be looked up again
 * (query/past_edges.h); -ENOMEM, or what else the store refuses it with: nothing has
 * changed. */
int core_edit(struct tx *tx, struct job *job, const struct job_edit *edit,
              const struct job_owner *asker, struct volt_error *err);
/* Whether it would be done, as far as that can be told: the same, and nothing changes. */
int core_edit_check(struct tx *tx, struct job *job, const struct job_edit *edit,
                    const struct job_owner *asker, struct volt_error *err);
/* Whether a job may wait for what waits for it by this edit: each one is looked at for
 * that, up to DEADLOCK_LOOKS (deadlock.h). */
bool core_edit_may_close_circle(const struct job_edit *edit);
/* In a replay, before there are tasks: what its EDITs said. 0; -ENOMEM; -EBADMSG. */
int core_edit_again(struct core *core, struct job *job, const struct job_edits *all);

#endif
