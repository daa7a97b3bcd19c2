/* The cgroup of each job, in the unified hierarchy: cgroups(7).
 *
 * systemd delegates the cgroup of a unit to the user, voltd-jobs@UID.service, which has
 *
 *     keeper/      the keeper and its shims; PID 1 moves the keeper there
 *     jobs/KEY/    one for each attempt that runs, KEY as in the name of its record
 *
 * A keeper elsewhere makes none, and its jobs are found by their parents alone (tree.h).
 *
 * The shim makes the cgroup, sets the limits, and clones the child into it. Every process
 * of the job is born in it. The shim removes it when it is empty. A cgroup whose shim was
 * killed goes with the kill of the job, or with the unit.
 *
 * The user owns all below the unit. A job can move its processes to another cgroup of its
 * user, or raise its limits: they stop mistakes, and the slice of the user is the wall. A
 * process that has moved away is found by its parent (tree.h).
 *
 * No allocation. */
#ifndef DAEMON_KEEPER_CGROUP_H
#define DAEMON_KEEPER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"
#include "daemon/keeper/record.h"

#define CGROUP_PATH_MAX 4096

/* Writes the path of the caller's cgroup below the mount, "/" for the root. 0; -ENODATA:
 * it is in none of version 2; -ENAMETOOLONG; -errno. */
int cgroup_own(char ret[static CGROUP_PATH_MAX]);

/* Finds the place for cgroups of jobs. mount: of the unified hierarchy. Once, before the
 * first shim. */
void cgroup_init(const char *mount);

/* Makes the cgroup of an attempt, or takes one that is there. 0: *ret_fd is a descriptor,
 * CLOEXEC, or -1, as there is no place and no limit to set; -EOPNOTSUPP: no cgroup has
 * these limits; -errno. */
int cgroup_make(const struct job_key *key, const struct keeper_limits *limits,
                int *ret_fd);
/* Opens it. A descriptor, CLOEXEC; -1: it has none. */
int cgroup_open(const struct job_key *key);
/* Removes it with what is below it, where nobody is in it. Whether it is gone. */
bool cgroup_remove(const struct job_key *key);

/* For the descriptor of one: -1 has nobody in it. */

/* Clones into it: as __clone() of the library with CLONE_VM, CLONE_VFORK and SIGCHLD.
 * The child's pid; -ENOSYS: not on this machine; -errno. */
pid_t cgroup_clone(int fd, int (*fn)(void *arg), void *stack, size_t size, void *arg);
/* Moves the caller. 0 or -errno. */
int cgroup_enter(int fd);
/* Waits until nobody is in it, for at most so long. Whether nobody is. */
bool cgroup_await_empty(int fd, uint64_t limit_usec);
/* Sends SIGKILL to all in it, whoever they are. */
void cgroup_kill(int fd);
/* Stops all in it without a signal; waits until they stand, for at most so long. Whether
 * they do; if not, they go on. SIGKILL ends them, other signals wait. */
bool cgroup_freeze(int fd, uint64_t limit_usec);
void cgroup_thaw(int fd);
/* Counts who is in it, and names the first: n of them at most. */
uint32_t cgroup_members(int fd, uint32_t *named, uint32_t n);
/* Adds its figures to the end of its job: memory, and that there was one. CPU time is
 * that of the waits (shim.c): a look into cpu.stat costs what a mkdir does. */
void cgroup_account(int fd, struct record_exited *x);

#endif
