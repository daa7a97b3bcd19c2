/* The processes of a job: its shim's descendants, found in /proc and signalled safely.
 *
 * The shim is a subreaper, so every descendant of the job stays below it. The walk
 * follows /proc/<pid>/task/<tid>/children, whose cost is the size of the tree. If the
 * kernel lacks that file, or the shim was killed, all of /proc is searched by parent and
 * session.
 *
 * When a shim is killed, its children become the keeper's, which is a subreaper as well.
 * The keeper's own children (shims and killers) stay in the keeper's session. A process
 * of a job leaves that session before its exec and cannot enter it again. So a child of
 * the keeper in another session is an orphan of a killed shim, even if its environment or
 * name say otherwise.
 *
 * A kill takes all orphans, except those whose environment names another attempt with a
 * killed shim (tree_root.is_others). Either that attempt is lost and gets a kill of its
 * own. Or it was of kill mode `main`, had ended, and has left its processes on purpose.
 * An orphan without an environment is killed, even if an attempt of kill mode `main` left
 * it on purpose. An orphan that claims the name of another such attempt stays.
 *
 * Pid and start time together identify a process. A process is signalled through a pidfd,
 * opened before the start time is compared, so never by a recycled pid.
 *
 * SIGKILL to a tree goes in rounds: SIGSTOP until a walk finds no running process, then
 * SIGKILL to all. Rounds end when no process is left or time is up. A stopped process
 * cannot fork, so none escapes. Processes that are still alive then (EPERM,
 * uninterruptible) are counted as survivors. The rests between rounds that change nothing
 * grow. A tree whose processes all refuse the signal is left at once. So a hundred
 * unkillable trees cost hardly any CPU. */
#ifndef DAEMON_KEEPER_TREE_H
#define DAEMON_KEEPER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
    pid_t pid, parent, session;
    bool stopped, dead; /* dead: ended, not reaped yet */
    bool exiting;       /* its first thread has begun to exit, and closes its files */
    uint64_t start;     /* ticks since boot */
};

/* Reads what /proc says of a process. Returns 0, -ESRCH (no such process) or -errno. */
int proc_read(pid_t pid, struct proc *ret);

/* Returns the current time, in ticks as the start of a process. */
uint64_t proc_tick(void);
/* Sets *ret to the start of the calling process, which was born after the tick `before`.
 * Returns 0 or -errno. */
int proc_own_start(uint64_t before, uint64_t *ret);

/* Signals the process with this pid and start time. Returns 0, -ESRCH or -EPERM. */
int proc_signal(pid_t pid, uint64_t start, int sig);

/* Reads a variable from the environment of the process's latest exec, which the process
 * may have changed. Returns false if no value of that size exists, or if it cannot be
 * read (another user's process, or one that is not dumpable). */
bool proc_variable(pid_t pid, const char *name, char *ret, size_t size);

/* The root of a tree. With a shim: its descendants. Without one: main, its descendants
 * and its session, and the orphans of the keeper. */
struct tree_root {
    pid_t shim; /* 0: it was killed */
    uint64_t shim_start;
    pid_t main;
    uint64_t main_start;
    /* The keeper, which must be the caller's parent, and its session; 0: no orphans. */
    pid_t keeper, session;
    bool (*is_others)(pid_t pid, const void *arg); /* returns whether it is another
                                                    * attempt's */
    const void *arg;
};

/* Signals each process of the tree once. Returns how many were reached. */
uint32_t tree_signal(const struct tree_root *root, int sig);

/* Sends SIGSTOP to each process until a walk finds no running one, for at most
 * limit_usec. Stops processes forked meanwhile, too. Returns how many were reached. */
uint32_t tree_stop(const struct tree_root *root, uint64_t limit_usec);

#define TREE_NAMED_MAX 8

struct tree_result {
    uint32_t reached;   /* SIGKILLs sent: one per process and round */
    uint32_t survivors; /* alive at the end */
    uint32_t named[TREE_NAMED_MAX];
};
/* Sends SIGKILL to the whole tree. Gives up after limit_usec, but not before the eighth
 * round; or at once when all processes left refuse the signal. */
void tree_kill(const struct tree_root *root, uint64_t limit_usec,
               struct tree_result *ret);

/* Return CLOCK_MONOTONIC and CLOCK_REALTIME in microseconds. */
uint64_t mono_usec(void);
uint64_t real_usec(void);

#endif
