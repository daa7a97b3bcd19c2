/* The one way to change the state of a job.
 *
 * A post is one event of one job, array or element. Its row in daemon/job/event.c says
 * what it may do; a column there says when it counts:
 *
 *   before     submission     its fact is committed first, then core_enter()
 *   now        core_post()    appends its fact and applies it in one section of the lock.
 *                             Refused: it has not happened; the caller reports that, or
 *                             posts it again after POST_AGAIN
 *   owed       core_post()    applies it; its fact is appended before the job's next one,
 *                             or at once while there is a watcher
 *   at_commit  core_post()    appends its fact; core_settle() when that is committed.
 *                             A cancel in between is too late. Refused: post it again
 *
 * Facts are appended in the order in which a job's events are posted. The facts of one
 * post are one group: all are committed, or none. So whatever waits for the commit
 * (START, a reply, the removal of a record) waits for all that led to it. An event whose
 * row is `awaited`, and not owed, sets up the commit of the job's task:
 * work_commit_poll().
 *
 * A post changes its own job only: no other job's state, slot or task. Jobs that it
 * concerns are linked into the agenda (agenda.h). */
#ifndef VOLTD_CORE_POST_H
#define VOLTD_CORE_POST_H

#include <stdint.h>

#include "daemon/job/event.h"

#define POST_AGAIN UINT64_C(100000) /* us to wait after a refusal for lack of memory */

struct job;
struct tx;
struct work;

/* Lock held in all functions. `item` is an element's offset, or ARRAY_WHOLE for an array
 * and for a job. An element must have room for its status (array_reserve()). */

/* Posts an event. Returns 0, or an error after which the event has not happened:
 *   -EPROTO   the job cannot take this event now
 *   -ENOMEM, or another error of the store
 * An awaited commit then has the error as its status. A caller whose EXITED was refused
 * posts the same EXITED until it is taken: the work is already marked as ending, too late
 * for a cancel, or as going again. An awaited event needs a task whose leaf is empty
 * (work_leaf_fini()). */
int core_post(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev);
/* Applies an event whose fact is durable, or that has no fact. Returns 0 or -EPROTO. */
int core_settle(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev);
/* Enters a job whose submission is committed into the table; it waits if it has to.
 * Returns 0 or -ENOMEM. */
int core_enter(struct tx *tx, struct job *job, uint64_t id, uint64_t at_usec);
/* Makes the work's commit wait for all facts posted before. */
void core_barrier(struct tx *tx, struct work *w);

/* Returns the state that news of an array as a whole report: JOB_STOPPING after CANCEL,
 * EXPIRED and DEPENDENCY; else JOB_QUEUED, as those events concern what is queued. */
struct job_status core_whole_reported(enum job_event_type type);

#endif
