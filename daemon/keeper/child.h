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
    int launch_fd;
    uint64_t launch_size;
    int stdin_fd, stdout_fd, stderr_fd;
    mode_t umask;
    enum keeper_kill_mode kill_mode;
    bool reset_oom_score; /* the keeper is protected from the OOM killer; jobs are not */
};

/* What the child says on its pipe when it could not become the job. */
struct child_failure {
    uint32_t step; /* enum child_step */
    int32_t error; /* positive errno */
};

/* Right after fork in the keeper, every signal blocked, 0-2 on /dev/null: the life of the
 * shim. Never returns. */
_Noreturn void shim_run(const struct shim_args *args);

/* Right after fork in the shim: waits for the go byte, becomes the job and execs; or says
 * why not on fail_fd. Never returns. */
_Noreturn void child_run(const struct shim_args *args, int go_fd, int fail_fd);

#endif
