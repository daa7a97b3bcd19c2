/* The keeper's parts: the server that reads requests, and what it does for them. */
#ifndef DAEMON_KEEPER_KEEPER_H
#define DAEMON_KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/keeper/protocol.h"

#define KEEPER_LISTEN_FD                                                                 \
    3 /* where the listening socket is at start, as with LISTEN_FDS */

struct keeper_config {
    int listen_fd;
    int record_dir_fd;
    uid_t peer_uid;      /* the only user whose connections are served */
    uint32_t leave_usec; /* without a connection and a live shim; 0: never */
    int rest_msec;       /* without news; then shims that wait are dismissed; -1: never */
};

/* Makes the process fit to serve: signals, subreaper, record dir. 0 or -errno. Every
 * signal is blocked from here on. */
int keeper_init(const struct keeper_config *config);
/* Serves until it is time to leave or SIGTERM. 0 or -errno. */
int keeper_serve(void);

/* What START needs to know of this keeper. */
struct keeper_self {
    int record_dir_fd;
    bool reset_oom_score;
    struct record_pool pool;
    uint8_t boot_id[RECORD_ID_SIZE], generation[RECORD_ID_SIZE];
};

/* Makes the record and gives the job to a shim, now or after another job. What follows *m in its message, and fds,
 * both as m says, are borrowed. may_reuse, ret_new: see crew_start(). Returns the shim's
 * pid, or -errno and nothing has been done. */
pid_t start_job(struct keeper_self *self, struct keeper_start *m, const int *fds,
                bool may_reuse, bool *ret_new);

/* Signals the job whose record m names and fills the reply's status and figures. May take
 * a good second: runs in a process of its own. */
void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                struct keeper_reply *reply);

/* Removes the records m names, but not where the shim lives. The status of the reply. */
int remove_record(struct keeper_self *self, const struct keeper_remove *m);

#endif
