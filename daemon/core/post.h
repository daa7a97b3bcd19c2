/* One way to change the state of a job.
 *
 * A post is one event of one job, array or element. What it may do is its row in
 * daemon/job/event.c; when it counts is a column of that:
 *
 *   before     submission     its fact is committed, then core_enter()
 *   now        core_post()    its fact is appended and it is applied in one section of
 *                             the lock. Refused: it has not happened, and the caller says
 *                             so, or posts it again after POST_AGAIN
 *   owed       core_post()    it is applied; its fact goes in front of the job's next
 *                             one, or at once while somebody watches
 *   at_commit  core_post()    its fact is appended; core_settle() when that is committed.
 *                             In between a cancel comes too late. Refused: post it again
 *
 * Facts are appended in the order in which the events of a job are posted, those of one
 * post as one group: they are committed together or not at all. So whatever waits for the
 * commit (START, a reply, the removal of a record) waits for all that led to it. An event
 * whose row has `awaited`, unless it is owed, sets up the commit of the job's task:
 * work_commit_poll().
 *
 * A post changes its own job and nothing else: no other job's state, slot or task. What
 * it means to others is linked into the agenda (agenda.h). */
#ifndef VOLTD_CORE_POST_H
#define VOLTD_CORE_POST_H

#include <stdint.h>

#include "daemon/job/event.h"

#define POST_AGAIN UINT64_C(100000) /* after a refusal: there was no memory */

struct job;
struct tx;
struct work;

/* Lock held in all functions. `item` is an element's offset or ARRAY_WHOLE, which is also
 * that of a job; there is room for the element's status (array_reserve()). */

/* 0; -EPROTO: the job takes no such event now; -ENOMEM or another error of the store: the
 * event has not happened. An awaited commit has the error as its status then. After an
 * EXITED that was refused the caller posts the same EXITED until it is taken: the work is
 * marked already as one that ends, and a cancel comes too late, or as one that goes
 * again. An awaited event needs a task, whose leaf is empty (work_leaf_fini()). */
int core_post(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev);
/* The fact of an event is durable, or is no fact of its own: it counts. 0; -EPROTO. */
int core_settle(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev);
/* A job whose submission is committed comes into being: into the table, and it waits if
 * it has to. 0; -ENOMEM. */
int core_enter(struct tx *tx, struct job *job, uint64_t id, uint64_t at_usec);
/* The work's commit is that of all that was posted before. */
void core_barrier(struct tx *tx, struct work *w);

/* What the news of an event of an array as a whole say of its state: after CANCEL,
 * EXPIRED and DEPENDENCY it stops; the others are about what of it is queued. */
struct job_status core_whole_told(enum job_event_type type);

#endif
