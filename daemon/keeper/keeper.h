/* The keeper's two parts: the server reads requests, and the actions carry them out. */
#ifndef DAEMON_KEEPER_KEEPER_H
#define DAEMON_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"

#define KEEPER_LISTEN_FD 3 /* the listening socket at start, as with LISTEN_FDS */
#define KEEPER_SCORE_FD  4 /* with --spared: the keeper's /proc/self/oom_score_adj */

#define KEEPER_BACKLOG 16

struct keeper_config {
    int listen_fd;
    const char *scripts_dir; /* absolute; NULL: jobs have no scripts */
    uid_t peer_uid;          /* serves the connections of this user only */
    uint32_t leave_usec;     /* leaves so long after its last connection; 0: never */
    int rest_msec;           /* dismisses idle shims after so long; -1: never */
    bool leaves_stopped;     /* does not continue stopped shims: for tests */
    int score_fd; /* its own oom_score_adj, if below 0: shim_pool_spare(); 0: none */
};

/* Prepares the process for serving: signals, subreaper. Blocks every signal from here on.
 * Returns 0 or -errno. */
int keeper_init(const struct keeper_config *config);
/* Serves until it is time to leave or SIGTERM comes. Returns 0 or -errno. */
int keeper_serve(void);

#define KEEPER_SHIMS_MAX  32768
#define KEEPER_KILLED_MAX 4096

/* Oldest first, except where the newest filled a gap. */
struct shims {
    unsigned n;
    pid_t pid[KEEPER_SHIMS_MAX];
    struct job_key key[KEEPER_SHIMS_MAX]; /* attempt that each was handed last */
};

/* Facts about this keeper that SIGNAL needs. */
struct keeper_self {
    pid_t pid, session;
    uint64_t start; /* start time: identifies the process with pid */
    uint8_t boot_id[RECORD_ID_SIZE];
    struct shims shims, main_shims; /* main_shims: of kill mode `main` */
    /* Attempts whose shim was killed: their remaining processes are the keeper's
     * children. A ring of the latest. */
    unsigned long killed_n;
    struct job_key killed[KEEPER_KILLED_MAX];
};

/* Hands the job, with its record, to a shim. Borrows fds, and what follows *m in its
 * message, as *m describes them. may_reuse: see shim_pool_start(). Returns the shim's
 * pid; -errno: nothing was done. */
pid_t start_job(struct keeper_start *m, const int *fds, bool may_reuse);

/* Signals the job of this record, continues its shim, and fills in the reply's status and
 * figures. record_fd: open for reading; -1: the attempt has no record. May take four
 * seconds, so it runs in a process of its own. */
void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                int record_fd, struct keeper_reply *reply);

#endif
