/* The keeper's parts: the server that reads requests, and what it does for them. */
#ifndef DAEMON_KEEPER_KEEPER_H
#define DAEMON_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/keeper/freezer.h"
#include "daemon/keeper/protocol.h"

#define KEEPER_LISTEN_FD                                                                 \
    3                     /* where the listening socket is at start, as with LISTEN_FDS */
#define KEEPER_SCORE_FD 4 /* with --spared: the keeper's /proc/self/oom_score_adj */

#define KEEPER_BACKLOG 16

struct keeper_config {
    int listen_fd;
    int record_dir_fd;
    const char *scripts_dir; /* absolute; NULL: jobs bring no scripts */
    uid_t peer_uid;          /* the only user whose connections are served */
    uint32_t leave_usec;     /* without a connection and a live shim; 0: never */
    int rest_msec;       /* without news; then shims that wait are dismissed; -1: never */
    bool leaves_stopped; /* a shim that was stopped stays so: for tests */
    int score_fd; /* the own oom_score_adj, if below 0: shim_pool_spare(); 0: none */
};

/* Makes the process fit to serve: signals, subreaper, record dir. 0 or -errno. Every
 * signal is blocked from here on. */
int keeper_init(const struct keeper_config *config);
/* Serves until it is time to leave or SIGTERM. 0 or -errno. */
int keeper_serve(void);

#define KEEPER_SHIMS_MAX 32768
#define KEEPER_LEFT_MAX  256

struct pids {
    unsigned n;
    pid_t
        pid[KEEPER_SHIMS_MAX]; /* oldest first, but for gaps that the newest has filled */
};

/* What SIGNAL needs to know of this keeper. */
struct keeper_self {
    pid_t pid, session;
    uint64_t start; /* with pid: which process it is */
    int record_dir_fd;
    struct freezer freezer;
    uint8_t boot_id[RECORD_ID_SIZE], generation[RECORD_ID_SIZE];
    struct pids main_shims;                    /* of kill mode `main`, */
    struct job_key main_key[KEEPER_SHIMS_MAX]; /* and the attempt of each */
    /* Attempts of kill mode `main` that had ended when their shim was killed: what they
     * have left on purpose is the keeper's now. The latest, as a ring. */
    unsigned long left_n;
    struct job_key left[KEEPER_LEFT_MAX];
};

/* Gives the job, with its record, to a shim. What follows *m in its message, and fds,
 * both as m says, are borrowed. may_reuse, ret_new: see shim_pool_start(). Returns the
 * shim's pid; -errno: nothing has been done. */
pid_t start_job(struct keeper_start *m, const int *fds, bool may_reuse, bool *ret_new);

/* The shim of that attempt, of kill mode `main`, was killed. */
void note_main_shim_killed(struct keeper_self *self, const struct job_key *key);

/* Signals the job whose record m names, continues its shim, and fills the reply's status
 * and figures. May take three seconds: runs in a process of its own. */
void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                struct keeper_reply *reply);

#endif
