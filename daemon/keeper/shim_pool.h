/* The shim pool: shims that the keeper can hand another job.
 *
 * A shim costs a fork, an exit and a session, as much as a short job itself. So a shim
 * that has ended its job, with no process left, sends a byte and gets the next job. After
 * a pause, and when voltd goes, all shims are dismissed. A dismissed shim sees the end of
 * its channel, so a keeper's death dismisses it too. A shim with a job ends that first.
 *
 * A job of kill mode `main` has a shim of its own, which stays as long as the processes
 * that the job has left.
 *
 * A shim with a new job holds nothing of the job before. Its record is closed, and so
 * final. The shim has no child. A killer signals a job by its shim, and must not find the
 * next job there. So no shim is reused while a killer lives, and a later killer finds a
 * record that is over. If a shim dies with an order in its channel, the kernel closes the
 * descriptors of the order, including the locked record. */
#ifndef DAEMON_KEEPER_SHIM_POOL_H
#define DAEMON_KEEPER_SHIM_POOL_H

#include "daemon/keeper/child.h"

/* Spares the keeper from the OOM killer, but not its shims, nor their jobs: they are born
 * with 0. score_fd: the keeper's own oom_score_adj, below 0. Returns 0 or -errno. */
int shim_pool_spare(int score_fd);
/* Hands the job to a waiting shim, if may_reuse, or to a new one. Borrows args. Returns
 * the shim's pid; -errno: no shim has the job. */
pid_t shim_pool_start(const struct shim_args *args, bool may_reuse);
/* Returns how many shims may be handed another job, now or later. */
unsigned shim_pool_size(void);
/* Dismisses all shims: none gets another job. */
void shim_pool_dismiss(void);
/* Drops a reaped child of the keeper from the pool. */
void shim_pool_forget(pid_t pid);

#endif
