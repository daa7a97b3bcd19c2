/* The inside of voltd's end of the link, shared by its files.
 *
 * A call goes from UNSENT (in `waiting` of its lane) to SENT (in `flying`) to DONE. Each
 * lane has a window: the most calls that may be SENT. So replies and descriptors in
 * flight stay below what a socket holds. The worker that polls a call sends it, or the
 * link's task when a reply makes room.
 *
 * Signals have lanes of their own. Each signal occupies a process of the keeper, SIGKILL
 * for up to a second, and neither START nor another signal waits for that. The windows of
 * these lanes are small, as START waits for the keeper's forks for requests before it.
 *
 * A lock guards the lists, the connection's descriptor and all fields of calls that the
 * link's task also uses. Calls are sent under it, without blocking, so that descriptor
 * and call stay valid. Tasks are woken after it is released.
 *
 * Only the link's task receives, and opens and closes connections. */
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
    LANE_AGAIN, /* repeated SIGKILL for survivors */
    LANE_COUNT,
};

struct keeper_link {
    char *socket_path, *scripts_dir;
    char *program; /* NULL: never start one */
    int record_fd; /* directory of records; borrowed */
    uint64_t descriptors;
    uint64_t rest_usec;
    uid_t uid;
    const struct keeper_callbacks *callbacks; /* NULL: none */
    pid_t child; /* started keeper, to be reaped; 0: none; link's task only */

    vlock lock; /* guards the rest */
    int fd;     /* -1: no connection */
    uint64_t serial;
    unsigned flying_n[LANE_COUNT];
    struct list waiting[LANE_COUNT], flying; /* calls, in order */
    unsigned abandoned;  /* calls that were sent on this connection and finished before
                         * their answers */
    uint64_t lost_usec;  /* when the first connection since the latest reply broke; 0:
                          * none did, or no call waited */
    bool asked;          /* a call waited */
    uint64_t heard_usec; /* when the latest reply came */
    bool wanted;         /* to be connected, though no call waits */
    bool watched;        /* the link's task will look again for answers */
    struct keeper_link_info info;

    struct volt_notify sent; /* A call was sent, or waits for a connection, and the link's
                              * task does not look. */
};

/* --- keeper_call.c ------------------------------------------------------------------ */

/* Sends one call. Returns 0; -errno: nothing was sent. */
int keeper_call_transmit(int fd, const struct keeper_call *c);
/* Returns whether the error of a send means that the connection is broken. */
bool keeper_link_is_broken(int error);
/* Sends all calls that the windows allow. Any thread. */
void keeper_link_flush(struct keeper_link *link);
/* Takes an answer of the keeper: its call is DONE. Returns false if nobody has asked: as
 * many answers without a call are taken as there are abandoned calls. */
bool keeper_link_take_reply(struct keeper_link *link, const struct keeper_reply *reply);
/* Fails all calls that were sent, as the connection has broken. The records know whether
 * the keeper carried them out. */
void keeper_link_fail_flying(struct keeper_link *link);
/* Lock held. Returns the number of unanswered calls; ret_unsent: of those not sent. */
unsigned keeper_link_open_calls_locked(const struct keeper_link *link,
                                       unsigned *ret_unsent);
/* Lock held. Returns since when calls have had no answer; 0: no call waits for one. A
 * call that takes long delays those behind it, so any answer counts. */
uint64_t keeper_link_silent_since_locked(const struct keeper_link *link);

/* --- keeper_link.c ------------------------------------------------------------------ */

/* Connects and sends HELLO; starts a keeper if there is none. Returns a descriptor or
 * -errno. */
int keeper_link_dial(struct keeper_link *link);
/* Judges the answer to HELLO, n bytes or -errno. Returns 0 or -errno. Before the first
 * WELCOME of the link -ECONNRESET means that a keeper of another version was ended. */
int keeper_link_judge_welcome(struct keeper_link *link, const union keeper_message *m,
                              ssize_t n);
/* Makes fd the connection of the link, after WELCOME. */
void keeper_link_set_connected(struct keeper_link *link, int fd,
                               const struct keeper_welcome *w);
void keeper_link_close(struct keeper_link *link);
/* Returns whether the link rests: no call needs a connection, and the next one notifies
 * `sent`. If calls wait, notes since when. */
bool keeper_link_may_rest(struct keeper_link *link);
/* After a failed connection: drops the wish to be connected, unless jobs still wait. */
void keeper_link_ask_again(struct keeper_link *link);
/* Takes the connection of a link that rests, if no request was under way for rest_usec.
 * Returns the descriptor, which the caller closes; -1: look again after *ret_usec. */
int keeper_link_leave_idle(struct keeper_link *link, uint64_t *ret_usec);

#endif
