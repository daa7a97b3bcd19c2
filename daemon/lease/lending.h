/* A job lends its slot while something waits inside it for other jobs, or for a lock.
 *
 * Jobs that wait for jobs that wait for slots would wait for ever once they have all
 * slots. So a call that waits (Wait, Watch, Read, Acquire) may say inside which job its
 * caller runs. While any call waits there, the slot of that job goes to others; when none
 * does any more the job has it back at once. If none is free then, one job more than
 * there are slots runs until one ends. A job lends nothing but its slot: it keeps its
 * locks, and its place among the elements of its array that may run at once.
 *
 * What a caller says is believed if the job is its user's own and has begun. It is not
 * asked whether the process is one of the job's: any process of a job may wait while
 * another one works, so that would keep nobody from running more than the slots are for,
 * and what a job can start by this it can start by fork() as well. Nor does a user get
 * more of the time of the slots: that of a job counts from its start to its end, whether
 * it lends its slot or not. But a user whose jobs lend many slots has as many jobs more
 * running when they come back, beyond Max= and MaxPerUser= of the queue as well, and
 * others wait until these have ended.
 *
 * Nothing of it is in the store. After a restart of voltd its jobs have their slots, and
 * a caller that waits still calls again. */
#ifndef VOLTD_LEASE_LENDING_H
#define VOLTD_LEASE_LENDING_H

#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/lent.h"
#include "daemon/core/inner_wait.h"
#include "daemon/job/key.h"

/* A call of this user's waits inside this job or element from now on; id 0: inside of
 * none. Nothing happens if it does so already, or if the job has not begun, has ended, or
 * is not the user's. Takes the lock. */
void lending_begin(struct core *core, uid_t uid, const struct job_key *inside,
                   struct lending *l);
/* It waits no longer. Takes the lock, unless it was told of no job. */
void lending_end(struct core *core, struct lending *l);

/* The same of a call that waits for jobs, inside a job or the command of a lease.
 * -EDEADLK with the reason: it would wait for ever (core/deadlock.h), and does not. */
int lending_begin_wait(struct core *core, struct inner_wait *n, struct lending *l,
                      struct volt_error *err);
void lending_end_wait(struct core *core, struct inner_wait *n, struct lending *l);

#endif
