/* Edits of waiting jobs: the spec (job/spec_edit.h), and the rank.
 *
 * EDIT is posted after everything that may fail. The job's next place in admission is
 * made beside its present one, and then exchanged with it. The new place keeps the count
 * of times the job was passed, and all conditions that were not edited (times and
 * antecedents can be). An edge that was met before an edit stays met, even if an edit
 * removes it and a later one adds it again. */
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

/* Lock held. Edits a job, or an array as a whole. Nothing changes on errors:
 *   -EALREADY      the job has ended
 *   -EBUSY         the job, or an element of it, has begun
 *   -EINPROGRESS   the job is about to begin
 *   -EINVAL        with the reason
 *   -ESTALE        look up the jobs in `after` again (query/past_edges.h)
 *   -ENOMEM, or another error of the store */
int core_edit(struct tx *tx, struct job *job, const struct job_edit *edit,
              const struct job_owner *asker, struct volt_error *err);
/* Returns what core_edit() would, as far as that is known beforehand; changes nothing. */
int core_edit_check(struct tx *tx, struct job *job, const struct job_edit *edit,
                    const struct job_owner *asker, struct volt_error *err);
/* Returns whether this edit needs a search for circles, which takes up to DEADLOCK_LOOKS
 * (deadlock.h). */
bool core_edit_may_close_circle(const struct job_edit *edit);
/* Applies the stored EDITs of a job during replay, before there are tasks. Returns 0,
 * -ENOMEM or -EBADMSG. */
int core_edit_again(struct core *core, struct job *job, const struct job_edits *all);

#endif
