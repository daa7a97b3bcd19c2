/* The task of a connection, and the server's structs: private to daemon/server. */
#ifndef VOLTD_SERVER_CONNECTION_H
#define VOLTD_SERVER_CONNECTION_H

#include "base/list.h"
#include "base/lock.h"
#include "daemon/call/share.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"

enum server_phase {
    SERVER_OPEN = 0,
    SERVER_CLOSED,   /* accepts no connections */
    SERVER_DRAINING, /* connections end with their current call */
    SERVER_CUT,      /* connections end */
};

struct server {
    const struct service *service;
    uid_t overflow_uid;
    int descriptors; /* connections have smaller numbers; INT_MAX: no limit */

    vlock lock;           /* guards the next seven members */
    struct config config; /* in force */
    uint64_t generation;  /* of config */
    enum server_phase phase;
    struct list connections; /* newest first */
    size_t count;            /* without evicted ones, counted in: */
    size_t evicted;
    struct list holders; /* users with connections */

    /* Hints for any thread, relaxed. */
    vat_u64 served;    /* uid + 1 of the user that was served last; 0: none yet */
    vat_u64 shared_at; /* when that user changed last */

    struct volt_notify changed; /* phase changed; notified after unlock */
    struct volt_notify gone;    /* a connection has ended */
};

struct connection {
    struct server *server;
    struct list_node node;   /* among the server's connections; its lock */
    struct share share;      /* listed in a holder once `of` is set */
    bool reserved;           /* of an admin, on a listener that reserves connections */
    vat_u32 evicted;         /* ends to make room for another; server's lock to write */
    bool can_wake;           /* server's lock to write, with `waker` */
    struct volt_waker waker; /* wakes the task on eviction */

    int fd;
    struct volt_io io;
    struct session session;
    uint64_t generation; /* of the configuration in session */
    enum server_phase phase;
    struct volt_notified changed;
    bool eof;

    /* Deadlines, on the volt_now_usec() clock. */
    uint64_t quiet_since;  /* no call and no partial message since then */
    uint64_t frame_since;  /* first byte of a message not yet whole; 0: none */
    uint64_t output_since; /* latest time the peer read, while output is left */
    struct volt_sleep timer;
    bool armed;
};

/* Serves a connected socket; takes fd. reserved: may use a connection reserved for
 * admins. 0 or -errno. */
int connection_spawn(struct server *s, const struct interface *const *interfaces, int fd,
                     const struct asker *peer, bool reserved);

/* The limit by which a connection is refused. */
enum server_limit {
    LIMIT_NONE = 0,
    LIMIT_CONNECTIONS, /* MaxConnections= */
    LIMIT_OF_USER,     /* MaxConnectionsPerUser= */
    LIMIT_DESCRIPTORS, /* RLIMIT_NOFILE minus a reserve */
};

/* Adds a connection to the server's list and to its user's share:
 *   0
 *   -EMFILE: *ret is the limit that is reached
 *   -ENOMEM, -ESHUTDOWN
 *
 * At MaxConnections= the newest connection of the user with the most is evicted for a
 * user with at least two fewer, which leads to equal parts. Reserved connections have
 * SERVER_RESERVE more. */
#define SERVER_RESERVE 16
int server_enlist(struct server *s, struct connection *c, uid_t uid,
                  enum server_limit *ret);
/* Lets an eviction wake the task; called in its first poll. */
void server_can_wake(struct volt_cx *cx, struct connection *c);
void server_delist(struct server *s, struct connection *c);
/* Appends the error for that limit: the answer to the peer's first call. */
void server_say_limit(struct wire_buf *out, enum server_limit limit,
                      const struct config *config);
/* Returns the phase. Also copies the configuration, if asked for and newer than
 * *generation. */
enum server_phase server_look(struct server *s, uint64_t *generation,
                              struct config *config);

#endif
