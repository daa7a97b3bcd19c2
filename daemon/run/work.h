/* What a work does: its turn, its stop, its end. */
#ifndef VOLTD_RUN_WORK_H
#define VOLTD_RUN_WORK_H

#include "daemon/core/jobs.h"
#include "daemon/core/work.h"
#include "daemon/job/event.h"

void work_drop(void *state);
/* READY: it has been started (STARTING is posted), or has ended before: w->ended. */
enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w);
/* ON_STOP, ON_SLOT, or ON_DEFERRED: it is held; -1: none of them, and it will be woken.
 */
int work_find_place(struct volt_cx *cx, struct work *w);
void work_leaf_fini(struct work *w);
/* What others may have changed. Its task is woken when it is to stop; cx NULL: it is
 * not. */
struct job_status work_look(struct volt_cx *cx, struct work *w);
/* It has been looked at, and what comes later wakes its task: no need to look again. */
bool work_is_quiet(const struct work *w);
/* READY: it is to stop, or has ended. */
enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w);
/* READY: the time has come. Not so when the runtime shuts down, which is READY for
 * volt_sleep_poll() too: what happens then to a job would be no end, and no timeout. */
enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s);
/* As core_post(), of its job. -EPROTO of one that does not stop is logged. */
int work_post(struct work *w, const struct job_event *ev);
/* READY: what w->leaf.commit waits for is kept, or was refused: its status. */
enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w);
/* READY: STARTING of what is no process is kept, where that is to be waited for; or was
 * refused, and the end says so. */
enum volt_poll work_marked_poll(struct volt_cx *cx, struct work *w);
/* Commits the end, then applies it; also of a job that was cancelled in the queue. Every
 * work ends with it; w->step is 0 before. w->again: another attempt follows. Otherwise
 * w->job is NULL from then on, unless its task is to wait for what is left of it. */
enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited);
/* The work as it was before its attempt, but for its slot, which is not looked at. */
void work_begin_again(struct work *w);

/* left.c, after that: READY when nothing of its process is left that has claims. */
enum volt_poll work_gone_poll(struct volt_cx *cx, struct work *w);
/* Lock held, after that: what is left of it has no claims, whether it lives or not. */
void work_let_go(struct tx *tx, struct work *w);

/* EXITED of what is no process and has done what it is, whenever it is asked. */
struct job_event work_success(struct work *w);

/* --- lock held, for kinds that do more in one section of it ------------------------- */
/* The work is woken by what its turn or its stop is. */
void work_wait_here(struct volt_cx *cx, struct work *w);
/* The same, of a stop alone: work_stop_poll() need not look before that. */
void work_wait_for_stop(struct volt_cx *cx, struct work *w);
/* 1: it starts, or has ended before; 0: it waits; -ENOMEM: try again. */
int work_take_turn(struct volt_cx *cx, struct work *w, uint64_t now, struct tx *tx);
/* Without the lock: what that came to. Without memory the turn is taken after a rest. */
enum volt_poll work_turn_taken(struct volt_cx *cx, struct work *w, int r);
/* The end goes into the store; of what has ended already only its CANCEL is waited for.
 * work_finish_poll() goes on behind it. */
void work_post_end(struct work *w, const struct job_event *exited, struct tx *tx);

/* --- attempt.c ---------------------------------------------------------------------- */
/* The attempt, before STARTING is in the store, with what its START needs if that can be
 * had now; its output file is there then. w->attempt stays NULL only without memory. */
void work_prepare(struct volt_cx *cx, struct work *w, const struct job_key *key);
/* Its START goes out before its task is spawned: it has a slot, and its STARTING is in
 * the store. */
void work_send_start(struct work *w);
void attempt_free(struct attempt *a); /* NULL allowed */

#endif
