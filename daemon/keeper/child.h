/* From the keeper's fork to the job's first instruction: the child and its shim. */
#ifndef DAEMON_KEEPER_CHILD_H
#define DAEMON_KEEPER_CHILD_H

#include <stdint.h>
#include <sys/types.h>
#include "daemon/keeper/protocol.h"

/* What shim and child inherit from the keeper, all of it borrowed. Descriptors are above
 * 2 or -1. */
struct shim_args {
    int record_fd; /* locked */
    uint32_t record_seed;
    void *launch; /* the launch block; NULL: it is in launch_fd */
    int launch_fd;
    uint64_t launch_size;
    int stdin_fd, stdout_fd, stderr_fd;
    uint64_t fork_tick; /* proc_tick() right before the shim's birth */
    mode_t umask;
    enum keeper_kill_mode kill_mode;
    bool reset_oom_score; /* the keeper is protected from the OOM killer; jobs are not */
};

/* What shim and child share: the child runs in the shim's memory until its exec. */
struct child {
    const struct shim_args *args;
    uint64_t shim_start, fork_tick; /* fork_tick: proc_tick() right before the child */
    pid_t shim;
    void *map; /* of launch_fd, by the child; NULL: there is none */
    /* Why it could not become the job; written by the child, CHILD_STEP_NONE before. */
    enum child_step step;
    int error; /* positive errno */
};

/* Right after fork in the keeper, every signal blocked, 0-2 on /dev/null: the life of the
 * shim. Never returns. */
_Noreturn void shim_run(const struct shim_args *args);

/* Makes the child: it writes slot 1, becomes the job and execs, or says in *c why not and
 * ends. Returns its pid when it has done either, or was killed meanwhile; -errno: there
 * was no child. */
pid_t child_spawn(struct child *c);

#endif
