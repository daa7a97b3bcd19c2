/* The common parts of works: turn, stop and end. */
#ifndef VOLTD_RUN_WORK_H
#define VOLTD_RUN_WORK_H

#include "daemon/core/jobs.h"
#include "daemon/core/work.h"
#include "daemon/job/event.h"

void work_drop(void *state);
/* READY: the work has started (STARTING is posted), or has ended before: w->ended. */
enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w);
/* Returns ON_STOP; ON_SLOT; ON_DEFERRED (the job is held); or -1: none, and the task will
 * be woken. */
int work_find_place(struct volt_cx *cx, struct work *w);
void work_leaf_fini(struct work *w);
/* Returns the status, which other tasks may have changed. If cx is not NULL, the task is
 * woken when it must stop. */
struct job_status work_look(struct volt_cx *cx, struct work *w);
/* Returns whether nothing has changed since the last look: changes wake the task. */
bool work_is_quiet(const struct work *w);
/* READY: the work must stop, or has ended. */
enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w);
/* READY: the time has come. Stays PENDING when the runtime shuts down, unlike
 * volt_sleep_poll(): a job has no end or timeout then. */
enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s);
/* Posts an event of the work's job, like core_post(). Logs -EPROTO unless the job
 * stops. */
int work_post(struct work *w, const struct job_event *ev);
/* READY: w->leaf.commit is over, with its status. */
enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w);
/* For a job that is no process. READY: STARTING is durable if it must be, or the store
 * has refused it. work_success() then returns that error as the end. */
enum volt_poll work_marked_poll(struct volt_cx *cx, struct work *w);
/* Commits the end, then applies it, also for a job that was cancelled in the queue. Every
 * work ends with this; w->step is 0 before. READY with w->again: another attempt follows.
 * Otherwise w->job is NULL, unless the task must wait for survivors. */
enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited);
/* Resets the work for its next attempt. Does not touch its slot. */
void work_begin_again(struct work *w);

/* READY: no survivor with claims is left. In left.c, after work_finish_poll(). */
enum volt_poll work_gone_poll(struct volt_cx *cx, struct work *w);
/* Lock held. Releases the claims of the work although its survivors live. After
 * work_finish_poll(). */
void work_release_claims(struct tx *tx, struct work *w);

/* Returns EXITED with success of a job that is no process; the same at each call. */
struct job_event work_success(struct work *w);

/* --- lock held, for kinds that do more in one section of it ------------------------- */
/* Makes this task the one that the work's turn or stop wakes. */
void work_wait_here(struct volt_cx *cx, struct work *w);
/* Does the same for the stop only. work_stop_poll() need not take the lock until then. */
void work_wait_for_stop(struct volt_cx *cx, struct work *w);
/* Takes the turn. Returns 1: started, or ended before; 0: waits; -ENOMEM: try again. */
int work_take_turn(struct volt_cx *cx, struct work *w, uint64_t now, struct tx *tx);
/* Turns the result of work_take_turn() into a poll, without the lock. If memory lacked,
 * the turn is taken after a rest. */
enum volt_poll work_turn_taken(struct volt_cx *cx, struct work *w, int r);
/* Appends the end to the store, before work_finish_poll(). If the work has ended already,
 * only waits for its CANCEL. */
void work_post_end(struct work *w, const struct job_event *exited, struct tx *tx);

/* --- attempt.c ---------------------------------------------------------------------- */
/* Makes the attempt before STARTING is in the store. Prepares START as far as possible,
 * which makes the output file. w->attempt stays NULL only for lack of memory. */
void work_prepare(struct volt_cx *cx, struct work *w, const struct job_key *key);
/* Sends START of a work that has a slot and a durable STARTING, before its task is
 * spawned. */
void work_send_start(struct work *w);
void attempt_free(struct attempt *a); /* NULL allowed */

#endif
