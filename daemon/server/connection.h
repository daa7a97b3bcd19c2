/* The connection task and the server's own words: private to daemon/server. */
#ifndef VOLTD_SERVER_CONNECTION_H
#define VOLTD_SERVER_CONNECTION_H

#include "base/list.h"
#include "base/lock.h"
#include "daemon/call/share.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"

enum server_phase {
    SERVER_OPEN = 0,
    SERVER_CLOSED,   /* accepts nobody */
    SERVER_DRAINING, /* connections end with their current call */
    SERVER_CUT,      /* connections end */
};

struct server {
    const struct service *service;
    uid_t overflow_uid;
    int descriptors; /* connections get smaller ones; INT_MAX: there is no limit */

    vlock lock;           /* the next seven */
    struct config config; /* in force */
    uint64_t generation;  /* of config */
    enum server_phase phase;
    struct list connections; /* the newest first */
    size_t count;            /* without those that are evicted, whose number is: */
    size_t evicted;
    struct list holders; /* users with connections */

    /* Of any thread, relaxed: hints. */
    vat_u64 served;    /* uid + 1 of the user that was served last; 0: none yet */
    vat_u64 shared_at; /* when that was another than before */

    struct volt_notify changed; /* phase; notified after the lock is released */
    struct volt_notify gone;    /* a connection has ended */
};

struct connection {
    struct server *server;
    struct list_node node;   /* among the server's connections; its lock */
    struct share share;      /* listed when it is somebody's */
    bool reserved;           /* an admin's, on a listener that reserves some */
    vat_u32 evicted;         /* it goes for another one; server's lock to write */
    bool can_wake;           /* server's lock to write, with `waker` */
    struct volt_waker waker; /* for the eviction */

    int fd;
    struct volt_io io;
    struct session session;
    uint64_t generation; /* of the configuration in session */
    enum server_phase phase;
    struct volt_notified changed;
    bool eof;

    /* Deadlines, on the volt_now_usec() clock. */
    uint64_t quiet_since;  /* no call, nothing half received */
    uint64_t frame_since;  /* first byte of what is half received; 0: nothing is */
    uint64_t output_since; /* the peer last read something, with more to read */
    struct volt_sleep timer;
    bool armed;
};

/* Serves a connected socket from now on; takes fd. reserved: it may have one of the
 * connections for admins. 0, or why not. */
int connection_spawn(struct server *s, const struct interface *const *interfaces, int fd,
                     const struct asker *peer, bool reserved);

/* What keeps a connection from being served. */
enum server_limit {
    LIMIT_NONE = 0,
    LIMIT_CONNECTIONS, /* MaxConnections= */
    LIMIT_OF_USER,     /* MaxConnectionsPerUser= */
    LIMIT_DESCRIPTORS, /* RLIMIT_NOFILE, but for a reserve */
};

/* For the connection: joins and leaves the server's list, and gets its share in what its
 * user holds. -ENOMEM, -ESHUTDOWN, or -EMFILE with *ret the limit that is reached.
 *
 * When there are as many as there may be, the newest connection of the user with the most
 * goes for one of a user that has at least two less: so many users, so many parts. For
 * those that are reserved there are SERVER_RESERVE more. */
#define SERVER_RESERVE 16
int server_enlist(struct server *s, struct connection *c, uid_t uid,
                  enum server_limit *ret);
/* From the first poll of its task on. */
void server_can_wake(struct volt_cx *cx, struct connection *c);
void server_delist(struct server *s, struct connection *c);
/* Appends the message that says so: an answer to what the peer may have asked. */
void server_say_limit(struct wire_buf *out, enum server_limit limit,
                      const struct config *config);
/* The phase; and the configuration, if asked for and *generation is an older one. */
enum server_phase server_look(struct server *s, uint64_t *generation,
                              struct config *config);

#endif
