/* A job lends its slot while a call inside it waits for other jobs or for a lock.
 *
 * If all slots belonged to jobs that wait for jobs without a slot, all would wait for
 * ever. So a waiting call (Wait, Watch, Read, Acquire) may name the job that its caller
 * runs in. While any such call waits, other jobs may have the slot. When the last one
 * ends, the job has its slot back at once. If no slot is free then, one job more than
 * there are slots runs until a job ends. A job lends nothing but its slot: it keeps its
 * locks, and its place among the elements of its array that may run at once.
 *
 * voltd believes a named job if it belongs to the caller's user and has begun. It does
 * not check that the calling process belongs to the job: any process of a job may wait
 * while another one works, so the check would not keep a user from running more than the
 * slots allow, and a job can start the same work by fork(). A user gets no more slot time
 * either: a job's slot time runs from its start to its end, lent or not. But if many jobs
 * of a user take their slots back, that many jobs more run, beyond Max= and MaxPerUser=
 * of the queue and MaxRunningPerUser= as well, and other jobs wait until these have
 * ended.
 *
 * The store holds nothing of this. After a restart of voltd the jobs have their slots,
 * and callers that still wait call again. */
#ifndef VOLTD_LEASE_LENDING_H
#define VOLTD_LEASE_LENDING_H

#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/lent.h"
#include "daemon/core/inner_wait.h"
#include "daemon/job/key.h"
#include "daemon/job/quota.h"

/* Notes that a call of this user waits inside this job or element; id 0: inside none.
 * Does nothing if the call is noted already, or if the job has not begun, has ended, or
 * is another user's. Takes core.lock. */
void lending_begin(struct core *core, uid_t uid, const struct job_key *inside,
                   struct lending *l);
/* Notes that the call waits no longer. Takes core.lock if the call had named a job. */
void lending_end(struct core *core, struct lending *l);

/* The same for a call that waits for jobs, inside a job or the command of a lease.
 * Charges the quota with the search for deadlocks. Returns -EDEADLK with the reason, and
 * notes nothing, if the call would wait for ever (core/deadlock.h). */
int lending_begin_wait(struct core *core, struct inner_wait *n, struct lending *l,
                       struct quota *quota, struct volt_error *err);
void lending_end_wait(struct core *core, struct inner_wait *n, struct lending *l);

#endif
