/* Listeners, the list of connections, and the phases of an orderly end: see server.h.
 *
 * A listener's task accepts until no client waits. When descriptors or memory run out
 * (EMFILE), the client stays in the kernel's queue and the task tries again BACKOFF_USEC
 * later: waiting for readiness would return at once and spin. Connections never take the
 * last DESCRIPTORS_RESERVE descriptors: starting jobs, the store and admins need some.
 *
 * A refused connection gets a message with the reason, which answers its first call. */
#include "daemon/auth/auth.h"
#include "daemon/server/connection.h"
#include "wire/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKOFF_USEC     UINT64_C(100000)
#define ACCEPTS_PER_POLL 8
#define EVICTED_MAX      64 /* at a time, until their tasks have ended */

#define DESCRIPTORS_RESERVE 128

/* --- the list of connections -------------------------------------------------------- */

static struct holder *holder_of(struct list_node *n)
{
    return list_thing(n, struct holder, node);
}

static struct connection *connection_of(struct list_node *n)
{
    return n ? list_thing(n, struct connection, node) : NULL;
}

/* Lock held. */
static struct holder *find_holder(const struct server *s, uid_t uid)
{
    struct list_node *n = s->holders.first;

    while (n && holder_of(n)->uid != uid)
        n = n->next;
    return n ? holder_of(n) : NULL;
}

/* Lock held. Returns the user with the most connections. */
static struct holder *biggest(const struct server *s)
{
    struct holder *most = NULL;

    for (struct list_node *n = s->holders.first; n; n = n->next)
        if (!most || holder_of(n)->connections > most->connections)
            most = holder_of(n);
    return most;
}

/* Lock held. */
static void count_connections(struct holder *h, int by)
{
    h->connections += (uint64_t)by;
    vat_u64_store(&h->crowd, h->connections, VAT_RLX);
}

/* Lock held. Evicts a connection to make room for one of h. Returns it; NULL: no user has
 * at least two more than h. */
static struct connection *evict_for(struct server *s, const struct holder *h)
{
    struct holder *most = biggest(s);
    struct connection *c = connection_of(s->connections.first); /* newest first */

    if (s->evicted >= EVICTED_MAX || !most ||
        most->connections < (h ? h->connections : 0) + 2)
        return NULL;
    while (c &&
           (c->share.of != most || c->reserved || vat_u32_load(&c->evicted, VAT_RLX)))
        c = connection_of(c->node.next);
    if (!c)
        return NULL;
    vat_u32_store(&c->evicted, 1, VAT_REL);
    count_connections(most, -1);
    s->count--;
    s->evicted++;
    return c;
}

/* Lock held. Returns the limit that keeps c from being listed; *ret_evicted is the
 * connection that makes room. */
static enum server_limit find_limit(struct server *s, const struct connection *c,
                                    const struct holder *h,
                                    struct connection **ret_evicted)
{
    const struct config *config = &s->config;
    uint64_t reserve = c->reserved ? SERVER_RESERVE : 0;
    bool scarce = !c->reserved && c->fd >= s->descriptors;

    if (h && h->connections >= config->max_connections_per_user + reserve)
        return LIMIT_OF_USER;
    if (!scarce && s->count < config->max_connections + reserve)
        return LIMIT_NONE;
    *ret_evicted = evict_for(s, h);
    if (*ret_evicted)
        return LIMIT_NONE;
    return scarce ? LIMIT_DESCRIPTORS : LIMIT_CONNECTIONS;
}

/* Lock held. */
static void enter_list(struct server *s, struct connection *c, struct holder *h)
{
    count_connections(h, 1);
    c->share.of = h;
    c->share.reserved = c->reserved;
    list_add_first(&s->connections, &c->node);
    s->count++;
}

int server_enlist(struct server *s, struct connection *c, uid_t uid,
                  enum server_limit *ret)
{
    struct holder *fresh = NULL, *h;
    struct connection *evicted = NULL;
    struct volt_waker waker = {0};
    int r = 0;

    vlock_lock(&s->lock);
    h = find_holder(s, uid);
    if (!h) { /* the user's first; made without the lock, so another thread may add one
               * first */
        vlock_unlock(&s->lock);
        fresh = holder_new(uid, volt_runtime_workers(s->service->rt));
        if (!fresh)
            return -ENOMEM;
        vlock_lock(&s->lock);
        h = find_holder(s, uid);
    }
    *ret = LIMIT_NONE;
    if (s->phase >= SERVER_DRAINING)
        r = -ESHUTDOWN;
    else if ((*ret = find_limit(s, c, h, &evicted)) != LIMIT_NONE)
        r = -EMFILE;
    if (r == 0 && !h) {
        h = fresh;
        fresh = NULL;
        list_add_first(&s->holders, &h->node);
    }
    if (r == 0) {
        h->listed++;
        enter_list(s, c, h);
    }
    bool wakes = evicted && evicted->can_wake;
    if (wakes)
        waker = volt_waker_ref(&evicted->waker);
    vlock_unlock(&s->lock);
    if (wakes) {
        volt_waker_wake(&waker);
        volt_waker_fini(&waker);
    }
    holder_free(fresh);
    return r;
}

void server_can_wake(struct volt_cx *cx, struct connection *c)
{
    if (c->can_wake)
        return;
    vlock_lock(&c->server->lock);
    c->waker = volt_waker_new(cx);
    c->can_wake = true;
    vlock_unlock(&c->server->lock);
}

/* Lock held. Returns the holder to free if it has no connection left. */
static struct holder *leave(struct server *s, struct holder *h)
{
    if (--h->listed > 0)
        return NULL;
    list_remove(&s->holders, &h->node);
    return h;
}

void server_delist(struct server *s, struct connection *c)
{
    struct holder *h = c->share.of, *empty;

    share_fini(&c->share, c->session.config.max_buffers_per_user);
    vlock_lock(&s->lock);
    if (vat_u32_load(&c->evicted, VAT_RLX)) {
        s->evicted--;
    } else {
        count_connections(h, -1);
        s->count--;
    }
    empty = leave(s, h);
    list_remove(&s->connections, &c->node);
    vlock_unlock(&s->lock);
    if (c->can_wake)
        volt_waker_fini(&c->waker);
    holder_free(empty);
    volt_notify_all(&s->gone);
}

void server_say_limit(struct wire_buf *out, enum server_limit limit,
                      const struct config *config)
{
    static const char *const keys[] = {
        [LIMIT_NONE] = "",
        [LIMIT_CONNECTIONS] = "MaxConnections",
        [LIMIT_OF_USER] = "MaxConnectionsPerUser",
        [LIMIT_DESCRIPTORS] = "LimitNOFILE",
    };
    struct wire_writer w = {.out = out};
    uint64_t n = limit == LIMIT_OF_USER ? config->max_connections_per_user
                                        : config->max_connections;
    struct rlimit files;
    char reason[160];

    if (limit == LIMIT_DESCRIPTORS && getrlimit(RLIMIT_NOFILE, &files) == 0)
        n = files.rlim_cur;
    (void)snprintf(
        reason, sizeof(reason),
        "%s as many connections as %s= allows (%llu): close some, or try again "
        "later",
        limit == LIMIT_OF_USER ? "this user has" : "voltd has", keys[limit],
        (unsigned long long)n);
    wire_open(&w, NULL, '{');
    wire_put_text(&w, "error", "org.voltd.jobs.LimitReached");
    wire_open(&w, "parameters", '{');
    wire_put_text(&w, "key", keys[limit]);
    wire_put_int(&w, "limit", (int64_t)n);
    wire_put_text(&w, "reason", reason);
    wire_close(&w, '}');
    wire_close(&w, '}');
    if (w.error == 0)
        (void)wire_buf_append(out, "", 1);
}

static size_t connections(struct server *s)
{
    vlock_lock(&s->lock);
    size_t n = s->count;
    vlock_unlock(&s->lock);
    return n;
}

/* --- phases and configuration ------------------------------------------------------- */

enum server_phase server_look(struct server *s, uint64_t *generation,
                              struct config *config)
{
    vlock_lock(&s->lock);
    enum server_phase phase = s->phase;
    if (generation && *generation != s->generation) {
        *generation = s->generation;
        *config = s->config;
    }
    vlock_unlock(&s->lock);
    return phase;
}

void server_reload(struct server *s, const struct config *config)
{
    vlock_lock(&s->lock);
    s->config = *config;
    s->generation++;
    vlock_unlock(&s->lock);
}

/* Sets the phase, which only goes forward. */
static void enter(struct server *s, enum server_phase phase)
{
    vlock_lock(&s->lock);
    if (s->phase < phase)
        s->phase = phase;
    vlock_unlock(&s->lock);
    volt_notify_all(&s->changed);
}

void server_close(struct server *s)
{
    enter(s, SERVER_CLOSED);
}

void server_drain_init(struct server_drain *d, struct server *s, uint64_t timeout_usec)
{
    *d = (struct server_drain){.server = s};
    volt_sleep_init(&d->deadline, timeout_usec);
    volt_notified_init(&d->gone, &s->gone);
    enter(s, SERVER_DRAINING);
}

enum volt_poll server_drain_poll(struct volt_cx *cx, struct server_drain *d)
{
    struct server *s = d->server;

    while (volt_notified_poll(cx, &d->gone) == VOLT_READY) {
        volt_notified_fini(&d->gone);
        volt_notified_init(&d->gone, &s->gone);
    }
    if (connections(s) == 0)
        return VOLT_READY;
    if (!d->cut && volt_sleep_poll(cx, &d->deadline) == VOLT_READY) {
        d->cut = true;
        enter(s, SERVER_CUT);
    }
    return VOLT_PENDING;
}

void server_drain_fini(struct server_drain *d)
{
    if (!d->server)
        return;
    volt_sleep_fini(&d->deadline);
    volt_notified_fini(&d->gone);
    d->server = NULL;
}

/* --- listeners ---------------------------------------------------------------------- */

struct listener {
    struct server *server;
    const struct interface *const *interfaces;
    bool control;
    int fd;
    struct volt_io io;
    struct volt_notified changed;
    struct volt_sleep backoff;
    bool backing_off;
};

/* Reads the peer of a connection. -EPERM: its uid has no name in this user namespace. */
static int read_peer(const struct listener *l, int fd, struct asker *ret)
{
    const struct service *service = l->server->service;
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    if (cred.uid == (uid_t)-1 || cred.uid == l->server->overflow_uid)
        return -EPERM;
    ret->who = (struct job_owner){.uid = cred.uid, .gid = cred.gid};
    ret->standing =
        auth_standing(cred.uid, l->control, service->user_mode, service->root_only);
    return 0;
}

static void welcome(struct listener *l, int fd)
{
    struct asker peer;

    if (read_peer(l, fd, &peer) < 0) {
        (void)close(fd);
        return;
    }
    /* Without memory the client only sees the connection close. */
    (void)connection_spawn(l->server, l->interfaces, fd, &peer,
                           l->control && peer.standing >= AUTH_ADMIN);
}

/* Returns whether the error, by accept(2), concerns only a client that has
 * disconnected. */
static bool is_passing(int error)
{
    return error == -ECONNABORTED || error == -EPROTO || error == -EPERM ||
           error == -EINTR || error == -EAGAIN;
}

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *l = state;
    unsigned accepted = 0;
    int fd;

    while (volt_notified_poll(cx, &l->changed) == VOLT_READY) {
        volt_notified_fini(&l->changed);
        volt_notified_init(&l->changed, &l->server->changed);
    }
    if (server_look(l->server, NULL, NULL) != SERVER_OPEN)
        return VOLT_READY;
    for (;;) {
        if (l->backing_off) {
            if (volt_sleep_poll(cx, &l->backoff) == VOLT_PENDING)
                return VOLT_PENDING;
            volt_sleep_fini(&l->backoff);
            l->backing_off = false;
        }
        if (accepted++ == ACCEPTS_PER_POLL) {
            volt_cx_wake(cx); /* others first */
            return VOLT_PENDING;
        }
        if (volt_io_accept_poll(cx, &l->io, &fd) == VOLT_PENDING)
            return VOLT_PENDING;
        if (fd >= 0) {
            welcome(l, fd);
        } else if (fd == -ESHUTDOWN) {
            return VOLT_READY;
        } else if (!is_passing(fd)) {
            volt_sleep_init(&l->backoff, BACKOFF_USEC);
            l->backing_off = true;
        }
    }
}

static void listener_drop(void *state)
{
    struct listener *l = state;

    volt_notified_fini(&l->changed);
    if (l->backing_off)
        volt_sleep_fini(&l->backoff);
    volt_io_fini(&l->io);
    (void)close(l->fd);
}

static const struct volt_task_type listener_type = {
    .name = "listener",
    .size = sizeof(struct listener),
    .poll = listener_poll,
    .drop = listener_drop,
};

/* Starts a listener's task. Takes the descriptor in every case. */
static int listen_on(struct server *s, const struct server_listener *on)
{
    struct listener *l = volt_task_new(s->service->rt, &listener_type);
    int flags = fcntl(on->fd, F_GETFL);
    int r = l ? 0 : -ENOMEM;

    if (r == 0 && (flags < 0 || fcntl(on->fd, F_SETFL, flags | O_NONBLOCK) < 0))
        r = -errno;
    if (r == 0)
        r = volt_io_init(&l->io, s->service->rt, on->fd);
    if (r < 0) {
        volt_task_discard(l);
        (void)close(on->fd);
        return r;
    }
    l->server = s;
    l->interfaces = on->interfaces;
    l->control = on->control;
    l->fd = on->fd;
    volt_notified_init(&l->changed, &s->changed);
    return volt_task_spawn(l, NULL);
}

/* --- life --------------------------------------------------------------------------- */

uid_t server_overflow_uid(void)
{
    FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");
    unsigned uid = 65534;

    if (f) {
        if (fscanf(f, "%u", &uid) != 1)
            uid = 65534;
        (void)fclose(f);
    }
    return (uid_t)uid;
}

/* Returns the first descriptor number that connections may not have. */
static int read_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT_MAX)
        return INT_MAX;
    if (limit.rlim_cur < 4 * DESCRIPTORS_RESERVE)
        return (int)(limit.rlim_cur - limit.rlim_cur / 4);
    return (int)limit.rlim_cur - DESCRIPTORS_RESERVE;
}

struct server *server_new(const struct service *service, const struct config *config)
{
    struct server *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->service = service;
    s->overflow_uid = server_overflow_uid();
    s->descriptors = read_descriptors();
    s->config = *config;
    s->generation = 1;
    volt_notify_init(&s->changed);
    volt_notify_init(&s->gone);
    return s;
}

int server_listen(struct server *s, const struct server_listener *listeners, size_t n,
                  struct volt_error *err)
{
    size_t i;
    int r = 0;

    for (i = 0; i < n && r == 0; i++)
        r = listen_on(s, &listeners[i]);
    if (r == 0)
        return 0;
    for (; i < n; i++)
        (void)close(listeners[i].fd);
    if (err)
        (void)snprintf(err->text, sizeof(err->text), "cannot serve: %s", strerror(-r));
    server_close(s);
    return r;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    volt_notify_fini(&s->changed);
    volt_notify_fini(&s->gone);
    free(s);
}
