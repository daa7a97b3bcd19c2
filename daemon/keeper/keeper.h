/* The keeper's parts: the server that reads requests, and what it does for them. */
#ifndef DAEMON_KEEPER_KEEPER_H
#define DAEMON_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/key.h"
#include "daemon/keeper/protocol.h"

#define KEEPER_LISTEN_FD                                                                 \
    3                     /* where the listening socket is at start, as with LISTEN_FDS */
#define KEEPER_SCORE_FD 4 /* with --spared: the keeper's /proc/self/oom_score_adj */

#define KEEPER_BACKLOG 16

struct keeper_config {
    int listen_fd;
    const char *scripts_dir; /* absolute; NULL: jobs bring no scripts */
    uid_t peer_uid;          /* the only user whose connections are served */
    uint32_t leave_usec;     /* without a connection and a live shim; 0: never */
    int rest_msec;       /* without news; then shims that wait are dismissed; -1: never */
    bool leaves_stopped; /* a shim that was stopped stays so: for tests */
    int score_fd; /* the own oom_score_adj, if below 0: shim_pool_spare(); 0: none */
};

/* Makes the process fit to serve: signals, subreaper. 0 or -errno. Every
 * signal is blocked from here on. */
int keeper_init(const struct keeper_config *config);
/* Serves until it is time to leave or SIGTERM. 0 or -errno. */
int keeper_serve(void);

#define KEEPER_SHIMS_MAX  32768
#define KEEPER_KILLED_MAX 4096

/* Oldest first, but for gaps that the newest has filled. */
struct shims {
    unsigned n;
    pid_t pid[KEEPER_SHIMS_MAX];
    struct job_key key[KEEPER_SHIMS_MAX]; /* the attempt that each was handed last */
};

/* What SIGNAL needs to know of this keeper. */
struct keeper_self {
    pid_t pid, session;
    uint64_t start; /* with pid: which process it is */
    uint8_t boot_id[RECORD_ID_SIZE];
    struct shims shims, main_shims; /* main_shims: those of kill mode `main` */
    /* Attempts whose shim was killed: what they have left is the keeper's child now. The
     * latest, as a ring. */
    unsigned long killed_n;
    struct job_key killed[KEEPER_KILLED_MAX];
};

/* Gives the job, with its record, to a shim. What follows *m in its message, and fds,
 * both as m says, are borrowed. may_reuse: see shim_pool_start(). Returns the shim's pid;
 * -errno: nothing has been done. */
pid_t start_job(struct keeper_start *m, const int *fds, bool may_reuse);

/* Signals the job of this record, a descriptor (-1: it has none), continues its shim, and
 * fills the reply's status and figures. May take three seconds: runs in a process of its
 * own. */
void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                int record_fd, struct keeper_reply *reply);

#endif
