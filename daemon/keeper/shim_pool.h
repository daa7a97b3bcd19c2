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
 * final, and it has no child. A killer, which signals a job by its shim, must not find
 * the next one there: while one lives no shim is reused, and a later one finds a record
 * that is over. Of a shim that dies with an order in its channel the kernel closes the
 * descriptors of that, the locked record among them. */
#ifndef DAEMON_KEEPER_SHIM_POOL_H
#define DAEMON_KEEPER_SHIM_POOL_H

#include "daemon/keeper/child.h"

/* score_fd: the keeper's own oom_score_adj, below 0. The keeper alone is spared: its
 * shims, and so their jobs, are born with 0. 0 or -errno. */
int shim_pool_spare(int score_fd);
/* Hands the job to a shim that waits, if may_reuse, or to a new one. args borrowed.
 * Returns its pid, or -errno: nobody has the job. */
pid_t shim_pool_start(const struct shim_args *args, bool may_reuse);
/* How many shims may be handed another job, now or later. */
unsigned shim_pool_size(void);
/* Nobody gets another job. */
void shim_pool_dismiss(void);
/* A child of the keeper has been reaped. */
void shim_pool_forget(pid_t pid);

#endif
