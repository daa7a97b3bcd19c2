/* Inside voltd's end of the link: what its files share.
 *
 * A call goes from UNSENT (in `waiting` of its lane) to SENT (in `flying`, of each lane
 * at most a window, so that replies and descriptors in flight stay below what a socket
 * holds) to DONE. It is sent by the worker that polls it, or by the link's task when a
 * reply makes room.
 *
 * Signals have lanes of their own: each takes a process of the keeper's, SIGKILL for up
 * to a second, and neither START nor another signal waits for that. Their windows are
 * small, as START waits for the forks of what the keeper finds before it.
 *
 * One lock guards the lists, the connection's descriptor and all fields of calls that
 * the link's task also touches. A send that cannot block happens under it: that is what
 * keeps the descriptor and the call alive meanwhile. Wakes happen after it.
 *
 * The link's task alone receives, and closes and opens connections. */
#ifndef VOLTD_LINK_KEEPER_LINK_PARTS_H
#define VOLTD_LINK_KEEPER_LINK_PARTS_H

#include <sys/types.h>
#include <volt/sync.h>

#include "base/lock.h"
#include "daemon/link/keeper_link.h"

enum lane {
    LANE_PLAIN,
    LANE_SIGNAL,
    LANE_KILL,
    LANE_AGAIN, /* the next SIGKILL for what the last has left alive */
    LANE_COUNT,
};

struct keeper_link {
    char *socket_path, *scripts_dir;
    char *program; /* NULL when none may be started */
    int record_fd; /* the directory of records; borrowed */
    uint64_t descriptors;
    uint64_t rest_usec;
    uid_t uid;
    const struct keeper_told *told; /* NULL: nobody */
    pid_t child; /* a keeper of ours to reap, 0: none; link's task only */

    vlock lock; /* protects what follows */
    int fd;     /* -1: no connection */
    uint64_t serial;
    unsigned flying_n[LANE_COUNT];
    struct list waiting[LANE_COUNT], flying; /* of calls, in order */
    uint64_t lost_usec;  /* when a connection broke, the first since the latest reply; 0:
                           none has, or nobody was waiting for an answer of it */
    bool asked;          /* somebody was */
    uint64_t heard_usec; /* the latest reply */
    bool wanted;         /* to be connected, though no call waits */
    bool watched;        /* the link's task looks again whether calls are answered */
    struct keeper_link_info info;

    struct volt_notify sent; /* a call was, or waits for a connection that nobody makes,
                                and the link's task does not look */
};

/* --- keeper_call.c ------------------------------------------------------------------ */

/* Sends one call. 0, or -errno and nothing was sent. */
int keeper_call_transmit(int fd, const struct keeper_call *c);
/* Whether an error of it says that the connection is over. */
bool keeper_link_is_broken(int error);
/* Sends what may be sent. Any thread. */
void keeper_link_flush(struct keeper_link *link);
/* An answer of the keeper: the call that it is for is DONE. */
void keeper_link_take_reply(struct keeper_link *link, const struct keeper_reply *reply);
/* The connection has broken: what was sent has an unknown fate, which the
 * records know. */
void keeper_link_fail_flying(struct keeper_link *link);
/* Lock held. How many calls are not answered; ret_unsent: those that are not sent. */
unsigned keeper_link_open_calls_locked(const struct keeper_link *link,
                                       unsigned *ret_unsent);
/* Lock held. Since when calls have had no answer; 0: none waits for one. One that takes
 * long keeps those behind it waiting, and what was said meanwhile counts. */
uint64_t keeper_link_silent_since_locked(const struct keeper_link *link);

/* --- keeper_link.c ------------------------------------------------------------------ */

/* Connects and says HELLO, starting a keeper if there is none. A descriptor or -errno. */
int keeper_link_dial(struct keeper_link *link);
/* Judges what a HELLO has brought, n bytes or -errno. 0; -errno, and before the first
 * WELCOME -ECONNRESET: a keeper of another version has been sent away. */
int keeper_link_judge_welcome(struct keeper_link *link, const union keeper_message *m,
                              ssize_t n);
/* After WELCOME: fd is the link's. */
void keeper_link_set_connected(struct keeper_link *link, int fd,
                               const struct keeper_welcome *w);
void keeper_link_close(struct keeper_link *link);
/* Whether the link has nothing to do without a connection: from then on the next call
 * notifies `sent`. Otherwise calls are known to wait from now on. */
bool keeper_link_may_rest(struct keeper_link *link);
/* It cannot be connected: it is not wanted any more, unless jobs wait. */
void keeper_link_ask_again(struct keeper_link *link);
/* Takes the connection from the link if it rests and nobody has asked the keeper anything
 * for rest_usec. Returns the descriptor, which is the caller's; -1, and
 * *ret_usec says when to look again. */
int keeper_link_leave_idle(struct keeper_link *link, uint64_t *ret_usec);

#endif
