/* The child and its shim: from the keeper's fork to the job's first instruction. */
#ifndef DAEMON_KEEPER_CHILD_H
#define DAEMON_KEEPER_CHILD_H

#include <stdint.h>
#include <sys/types.h>
#include "daemon/keeper/protocol.h"

/* Descriptors that come with an order, in this order. */
enum shim_fd {
    SHIM_RECORD,
    SHIM_LAUNCH,
    SHIM_STDIN,
    SHIM_STDOUT,
    SHIM_STDERR,
    SHIM_SCRIPT,
    SHIM_FDS
};

/* An order: one job, which the keeper hands to a shim in a message, with the descriptors
 * of `fd` beside it. The shim's copies of these are above 2. */
struct shim_args {
    int fd[SHIM_FDS]; /* -1: none; the record is locked */
    uint32_t record_seed;
    struct job_key key;
    void *launch; /* block after the struct; NULL: it is in a memfd */
    uint64_t launch_size;
    mode_t umask;
    enum keeper_kill_mode kill_mode;
    struct keeper_limits limits;
};

/* Shared by shim and child: the child runs in the shim's memory until its exec. */
struct child {
    const struct shim_args *args;
    const char *script;             /* path; NULL: the job has no script */
    int cgroup_fd;                  /* of the job; -1: none */
    bool enters;                    /* the cgroup by itself, as it was not born there */
    uint64_t shim_start, fork_tick; /* fork_tick: proc_tick() right before the child */
    pid_t shim, keeper;
    void *map; /* of the launch memfd, by the child; NULL: none */
    /* Why the child could not become the job. The child writes it; before:
     * CHILD_STEP_NONE. */
    enum child_step step;
    int error; /* positive errno */
};

/* Runs a shim, right after fork in the keeper, with every signal blocked and 0-2 on
 * /dev/null. Takes orders from `channel`, and sends a byte after each job when it can
 * take another. keeper: its parent's pid. fork_tick: proc_tick() right before its birth.
 * Never returns. */
_Noreturn void shim_run(int channel, pid_t keeper, uint64_t fork_tick);

/* Makes the child. The child writes slot 1, becomes the job and execs; or writes into *c
 * why it cannot, and ends. Returns its pid when it has done either or was killed; -errno:
 * no child was made. */
pid_t child_spawn(struct child *c);

#endif
