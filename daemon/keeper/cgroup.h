/* The cgroup of each job, in the unified hierarchy: cgroups(7).
 *
 * systemd delegates the cgroup of the unit voltd-jobs@UID.service to the user. The unit
 * has
 *
 *     keeper/      the keeper and its shims; PID 1 moves the keeper there
 *     jobs/KEY/    one for each running attempt; KEY is the name of its record
 *
 * A keeper elsewhere makes no cgroups, and finds the processes of its jobs by their
 * parents alone (tree.h).
 *
 * The shim makes the cgroup, sets the limits, and clones the child into it. Every process
 * of the job is born in the cgroup. The shim removes the cgroup when it is empty. If the
 * shim was killed, a kill of the job removes the cgroup, or the end of the unit.
 *
 * The user owns everything below the unit. A job can raise its limits, or move its
 * processes to another cgroup of its user. So the limits only stop mistakes; the slice of
 * the user is the wall. The keeper finds a process that has moved away by its parent
 * (tree.h).
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

/* Writes the path of the caller's cgroup below the mount, "/" for the root. Returns:
 *   0
 *   -ENODATA        the caller has no cgroup of version 2
 *   -ENAMETOOLONG
 *   -errno */
int cgroup_own(char ret[static CGROUP_PATH_MAX]);

/* Finds the place for cgroups of jobs, once, before the first shim. mount: of the unified
 * hierarchy. */
void cgroup_init(const char *mount);

/* Makes the cgroup of an attempt, or takes an existing one. Returns:
 *   0             *ret_fd is a descriptor, CLOEXEC; -1: no place, or no room for another
 *                 cgroup, and no limit to set
 *   -EOPNOTSUPP   no cgroup can have these limits
 *   -errno */
int cgroup_make(const struct job_key *key, const struct keeper_limits *limits,
                int *ret_fd);
/* Opens the cgroup of an attempt. Returns a descriptor, CLOEXEC; -1: it has none. */
int cgroup_open(const struct job_key *key);
/* Removes the cgroup and all cgroups below it, if no process is in them. Returns whether
 * it does not exist any more. */
bool cgroup_remove(const struct job_key *key);

/* The functions below take the descriptor of a cgroup. -1 is a cgroup without
 * processes. */

/* Clones into the cgroup, as __clone() of libc with CLONE_VM, CLONE_VFORK and SIGCHLD.
 * Returns:
 *   the child's pid
 *   -ENOSYS  not on this machine
 *   -errno */
pid_t cgroup_clone(int fd, int (*fn)(void *arg), void *stack, size_t size, void *arg);
/* Moves the caller into the cgroup. Returns 0 or -errno. */
int cgroup_enter(int fd);
/* Waits at most limit_usec until the cgroup is empty. Returns whether it is. */
bool cgroup_await_empty(int fd, uint64_t limit_usec);
/* Sends SIGKILL to all processes in the cgroup, of any user. */
void cgroup_kill(int fd);
/* Stops all processes in the cgroup without a signal, and waits at most limit_usec until
 * they stand still. Returns whether they do; if not, thaws them. SIGKILL ends a frozen
 * process, other signals wait. */
bool cgroup_freeze(int fd, uint64_t limit_usec);
void cgroup_thaw(int fd);
/* Returns the number of processes in the cgroup. Fills in the pids of up to n of them. */
uint32_t cgroup_members(int fd, uint32_t *named, uint32_t n);
/* Adds memory figures and the RECORD_* flags to the end of a job. CPU time comes from the
 * waits (shim.c), as a look into cpu.stat costs as much as a mkdir. */
void cgroup_account(int fd, struct record_exited *x);

#endif
