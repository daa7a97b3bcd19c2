/* The processes of a job: its shim's descendants, found in /proc and signalled safely.
 *
 * The shim is a subreaper, so whatever a job forks, however often, stays below it. The
 * walk follows /proc/<pid>/task/<tid>/children, whose cost is the size of the tree; where
 * the kernel lacks that file, and when the shim has been killed and the tree hangs
 * elsewhere, all of /proc is searched by parent and session.
 *
 * When a shim is killed, its children become the keeper's, which is a subreaper as well.
 * The keeper's own children, shims and killers, stay in the keeper's session; a job's
 * process leaves it before its exec and cannot enter it. So a child of the keeper in
 * another session is an orphan of a killed shim, whatever its environment and its name
 * are. A kill takes all orphans but those that name another attempt whose shim was
 * killed, in their environment (tree_root.is_others): that attempt is lost and gets a
 * kill of its own, or it was of kill mode `main`, had ended and has left them on purpose.
 * What the latter has left without its environment is killed like what hides; and what
 * hides by the name of such an attempt stays.
 *
 * A process is what its pid and its start time say together, and is signalled through a
 * pidfd that was opened before its start time was compared: never a recycled pid.
 *
 * SIGKILL to a tree is rounds of SIGSTOP until a walk finds nobody running, then SIGKILL
 * to all, until nobody is left or time is up: what cannot fork cannot escape. What is
 * still alive then (EPERM, uninterruptible) is counted, and nothing is claimed. Rounds
 * that change nothing come at growing distances, and processes that all refuse the signal
 * are left at once: a hundred unkillable trees cost no CPU to speak of. */
#ifndef DAEMON_KEEPER_TREE_H
#define DAEMON_KEEPER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
    pid_t pid, parent, session;
    bool stopped, dead; /* dead: not yet reaped */
    bool exiting;       /* its first thread has begun to exit, and closes its files */
    uint64_t start;     /* ticks since boot */
};

/* What /proc says of a process. 0; -ESRCH: there is none; -errno. */
int proc_read(pid_t pid, struct proc *ret);

/* Now, as the start of a process is counted. */
uint64_t proc_tick(void);
/* The start of the calling process, which was born after the tick `before`. 0 or
 * -errno. */
int proc_own_start(uint64_t before, uint64_t *ret);

/* Signals the process that has this pid and start time. 0; -ESRCH; -EPERM. */
int proc_signal(pid_t pid, uint64_t start, int sig);

/* The value of a variable in the environment of its latest exec, as far as the process
 * has not changed it. False: there is none of that size, or it cannot be read (a process
 * of another user, or one that is not dumpable). */
bool proc_variable(pid_t pid, const char *name, char *ret, size_t size);

/* Whose tree. */
struct tree_root {
    pid_t shim; /* its descendants; 0: it was killed, */
    uint64_t shim_start;
    pid_t main; /* then this process, its descendants and its session; */
    uint64_t main_start;
    /* and the orphans of the keeper, which is the caller's parent; 0: not these */
    pid_t keeper, session;
    bool (*is_others)(pid_t pid, const void *arg); /* an orphan that is none of it */
    const void *arg;
};

/* Signals each process of the tree once. Returns how many were reached. */
uint32_t tree_signal(const struct tree_root *root, int sig);

/* SIGSTOP to each, until a walk finds nobody that runs, for at most limit_usec: what it
 * forks meanwhile is stopped, too. Returns how many were reached. */
uint32_t tree_stop(const struct tree_root *root, uint64_t limit_usec);

#define TREE_NAMED_MAX 8

struct tree_result {
    uint32_t reached; /* processes that were sent SIGKILL, each counted once per round */
    uint32_t survivors; /* alive at the end; the first of them: */
    uint32_t named[TREE_NAMED_MAX];
};
/* SIGKILL to the whole tree; gives up after limit_usec, but not before the eighth round,
 * or when all that is left refuses the signal. */
void tree_kill(const struct tree_root *root, uint64_t limit_usec,
               struct tree_result *ret);

/* CLOCK_MONOTONIC, CLOCK_REALTIME in microseconds. */
uint64_t mono_usec(void);
uint64_t real_usec(void);

#endif
