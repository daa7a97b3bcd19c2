/* The server: listeners, connections, and the methods they may call.
 *
 * One libvolt task accepts per listener, one serves each connection; both are spawned
 * here. The listener decides which methods can be called: it has a set of interfaces.
 * org.varlink.service is part of every set and comes by itself. */
#ifndef VOLTD_SERVER_SERVER_H
#define VOLTD_SERVER_SERVER_H

#include "daemon/call/method.h"
#include <volt/volt.h>

struct config;
struct server;

struct server_listener {
    int fd; /* listening AF_UNIX stream socket; made non-blocking */
    const struct interface *const *interfaces; /* NULL-terminated; borrowed, static */
    bool control; /* the control socket: what comes there is an admin's, and beside
                   * MaxConnections= and the like there are some connections for them */
};

/* Borrows service until server_free(), copies config. Serves nobody yet. Returns new;
 * NULL: no memory. */
struct server *server_new(const struct service *service, const struct config *config);

/* Starts to accept, once: from here on every method may be called, so whatever they use
 * must be there. Copies the listeners, takes their descriptors, on failure too. 0;
 * -ENOMEM, -ESHUTDOWN, or the errno of a descriptor, with the text in err; then nobody is
 * served: listeners that had begun end with the runtime. */
int server_listen(struct server *s, const struct server_listener *listeners, size_t n,
                  struct volt_error *err);

/* Copies a new configuration; connections take it up with their next call. Any thread. */
void server_reload(struct server *s, const struct config *config);

/* Stops accepting. Connections stay and are served. Idempotent. Any thread.
 * The listening descriptors are closed when the runtime shuts down at the latest. */
void server_close(struct server *s);

/* Leaf future: ends the connections. Each closes when its current call is answered and
 * the answer is written; streams that would go on are cut, except those of methods marked
 * METHOD_OUTLIVES; after timeout_usec all are cut. READY when none is left. */
struct server_drain {
    struct server *server;
    struct volt_sleep deadline;
    struct volt_notified gone;
    bool cut;
};
void server_drain_init(struct server_drain *d, struct server *s, uint64_t timeout_usec);
enum volt_poll server_drain_poll(struct volt_cx *cx, struct server_drain *d);
void server_drain_fini(struct server_drain *d);

/* After volt_runtime_shutdown() (its tasks are gone then), before volt_runtime_free().
 * NULL allowed. */
void server_free(struct server *s);

#endif
