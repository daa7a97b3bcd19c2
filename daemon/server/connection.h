/* The connection task and the server's own words: private to daemon/server. */
#ifndef VOLTD_SERVER_CONNECTION_H
#define VOLTD_SERVER_CONNECTION_H

#include "base/lock.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include "daemon/server/share.h"

enum server_phase {
    SERVER_OPEN = 0,
    SERVER_CLOSED,   /* accepts nobody */
    SERVER_DRAINING, /* connections end with their current call */
    SERVER_CUT,      /* connections end */
};

struct server {
    const struct service *service;
    uid_t overflow_uid;

    vlock lock;           /* the next six */
    struct config config; /* in force */
    uint64_t generation;  /* of config */
    enum server_phase phase;
    struct connection *connections; /* list through prev, next */
    size_t count;
    struct holder *holders; /* users who are connected */

    /* Of any thread, relaxed: hints. */
    vat_ptr served;    /* the holder who was served last */
    vat_u64 shared_at; /* when that was another than before */

    struct volt_notify changed; /* phase; notified after the lock is released */
    struct volt_notify gone;    /* a connection has ended */
};

struct connection {
    struct server *server;
    struct connection *prev, *next; /* server's lock */
    struct share share;             /* listed when it is somebody's */

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

/* Serves a connected socket from now on; takes fd. 0 or -errno. */
int connection_spawn(struct server *s, const struct interface *const *interfaces, int fd,
                     const struct job_owner *peer);

/* For the connection: joins and leaves the server's list, and gets its share in what its
 * user holds. -EMFILE: too many connections, in all or of this user; -ENOMEM. */
int server_enlist(struct server *s, struct connection *c, uid_t uid);
void server_delist(struct server *s, struct connection *c);
/* The phase; and the configuration, if asked for and *generation is an older one. */
enum server_phase server_look(struct server *s, uint64_t *generation,
                              struct config *config);

#endif
