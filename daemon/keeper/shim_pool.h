/* The shims that the keeper can hand another job.
 *
 * A shim costs a fork, an exit and a session of its own, as much as a short job itself.
 * So one that has ended its job with nothing left of it says so with a byte, and gets the
 * next one, as long as they come: after a pause, and when voltd goes, all are dismissed.
 * To be dismissed is to see the end of the channel, so a keeper's death does it as well;
 * a shim with a job ends that first.
 *
 * A job of kill mode `main` has a shim of its own: that one stays as long as what the job
 * has left behind.
 *
 * A shim that is handed a job holds nothing of the job before: its record is closed, so
 * final, and it has no child. A killer, which signals a job by its shim, must
 * not find the next one there: what waits is taken back before one is made, while one
 * lives no shim is reused, and a later one finds a record that is over.
 *
 * The next order may also be in the channel before the job has ended: the shim then goes
 * from one to the other by itself. The keeper holds both ends of the channel, so it can
 * receive what the shim has not: the one of the two that gets an order has it, and the
 * shim gives up one whose predecessor the keeper got. Of a keeper that was killed nobody
 * takes anything back, so the shim gives up whatever it finds behind its job. With the
 * last end the kernel closes the descriptors of what nobody received, the locked record
 * among them. */
#ifndef DAEMON_KEEPER_SHIM_POOL_H
#define DAEMON_KEEPER_SHIM_POOL_H

#include "daemon/keeper/child.h"

/* score_fd: the keeper's own oom_score_adj, below 0. The keeper alone is spared: its
 * shims, and so their jobs, are born with 0. 0 or -errno. */
int shim_pool_spare(int score_fd);
/* Hands the job to a shim that waits, if may_reuse, or to a new one: *ret_new, set in
 * this case only. args borrowed. Returns its pid, or -errno: nobody has the job. */
pid_t shim_pool_start(const struct shim_args *args, bool may_reuse, bool *ret_new);
/* The same to the shim of args->after, of which shim_pool_can_follow() has just said yes.
 * */
pid_t shim_pool_follow(const struct shim_args *args);
/* Whether the shim of m->after can get this order behind it: it has few, and that job's
 * is its latest. */
bool shim_pool_can_follow(const struct keeper_start *m);
/* What the shim of that START has not received is taken back, if that is one of two at
 * least; 0: of all shims. */
void shim_pool_take_back(uint64_t serial);
/* How many shims may be handed another job, now or later. */
unsigned shim_pool_size(void);
/* Nobody gets another job, and what waits for the end of another is taken back. */
void shim_pool_dismiss(void);
/* A child of the keeper has been reaped. */
void shim_pool_forget(pid_t pid);

#endif
