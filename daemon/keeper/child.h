/* From the keeper's fork to the job's first instruction: the child and its shim. */
#ifndef DAEMON_KEEPER_CHILD_H
#define DAEMON_KEEPER_CHILD_H

#include <stdint.h>
#include <sys/types.h>
#include "daemon/keeper/protocol.h"

/* The descriptors that come with an order, in this order. */
enum shim_fd {
    SHIM_RECORD,
    SHIM_LAUNCH,
    SHIM_STDIN,
    SHIM_STDOUT,
    SHIM_STDERR,
    SHIM_SCRIPT,
    SHIM_FDS
};

/* One job, as the keeper hands it to a shim: a message, with what is in `fd` beside it.
 * The shim's copies are above 2. */
struct shim_args {
    int fd[SHIM_FDS]; /* -1: none; the record is locked */
    uint32_t record_seed;
    struct job_key key;
    void *launch; /* the launch block, which follows the struct; NULL: it is in a memfd */
    uint64_t launch_size;
    mode_t umask;
    enum keeper_kill_mode kill_mode;
    struct keeper_limits limits;
};

/* What shim and child share: the child runs in the shim's memory until its exec. */
struct child {
    const struct shim_args *args;
    const char *script;             /* its path; NULL: the job has none */
    int cgroup_fd;                  /* that of the job; -1: none */
    bool enters;                    /* by itself, as it could not be born there */
    uint64_t shim_start, fork_tick; /* fork_tick: proc_tick() right before the child */
    pid_t shim, keeper;
    void *map; /* of launch_fd, by the child; NULL: there is none */
    /* Why it could not become the job; written by the child, CHILD_STEP_NONE before. */
    enum child_step step;
    int error; /* positive errno */
};

/* Right after fork in the keeper, every signal blocked, 0-2 on /dev/null: the life of a
 * shim. It takes orders from `channel`, and after each sends a byte when it could take
 * another. keeper: its parent's pid; fork_tick: proc_tick() right before its birth. Never
 * returns. */
_Noreturn void shim_run(int channel, pid_t keeper, uint64_t fork_tick);

/* Makes the child: it writes slot 1, becomes the job and execs, or says in *c why not and
 * ends. Returns its pid when it has done either, or was killed meanwhile; -errno: there
 * was no child. */
pid_t child_spawn(struct child *c);

#endif
