/* The server: listeners, connections, and the methods they may call.
 *
 * One libvolt task accepts per listener, one serves each connection; both are spawned
 * here. A listener has a set of interfaces, which decides what can be called on it.
 * org.varlink.service is in every set implicitly. */
#ifndef VOLTD_SERVER_SERVER_H
#define VOLTD_SERVER_SERVER_H

#include "daemon/call/method.h"
#include <sys/types.h>
#include <volt/volt.h>

struct config;
struct server;

struct server_listener {
    int fd; /* listening AF_UNIX stream socket; made non-blocking */
    const struct interface *const *interfaces; /* NULL-terminated; borrowed, static */
    bool control; /* the control socket: its peers are admins, with SERVER_RESERVE
                   * connections beyond MaxConnections= and the like */
};

/* Returns the uid that stands for users without a name in this user namespace, by default
 * that of nobody. No server serves it. */
uid_t server_overflow_uid(void);

/* Returns a new server that accepts nothing yet; NULL: no memory. Borrows service until
 * server_free(), copies config. */
struct server *server_new(const struct service *service, const struct config *config);

/* Starts to accept, once. Every method may be called from here on, so what methods use
 * must exist. Copies the listeners and takes their descriptors, on failure too. 0;
 * -ENOMEM, -ESHUTDOWN, or the errno of a descriptor, with the text in err. After a
 * failure nobody is served; listeners that had begun end with the runtime. */
int server_listen(struct server *s, const struct server_listener *listeners, size_t n,
                  struct volt_error *err);

/* Copies a new configuration; connections use it from their next call on. Any thread. */
void server_reload(struct server *s, const struct config *config);

/* Stops accepting. Connections stay and are served. Idempotent. Any thread.
 * The listening descriptors are closed when the runtime shuts down at the latest. */
void server_close(struct server *s);

/* Leaf future that ends the connections. Each closes when its current call is answered
 * and the answer is written. Streams are cut unless their method has METHOD_OUTLIVES;
 * after timeout_usec all are cut. READY when no connection is left. */
struct server_drain {
    struct server *server;
    struct volt_sleep deadline;
    struct volt_notified gone;
    bool cut;
};
void server_drain_init(struct server_drain *d, struct server *s, uint64_t timeout_usec);
enum volt_poll server_drain_poll(struct volt_cx *cx, struct server_drain *d);
void server_drain_fini(struct server_drain *d);

/* After volt_runtime_shutdown(), which ends the tasks, and before volt_runtime_free().
 * NULL allowed. */
void server_free(struct server *s);

#endif
