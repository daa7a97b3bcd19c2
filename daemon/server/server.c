/* Listeners, the list of connections, and the phases of an orderly end: see server.h.
 *
 * A listener's task accepts until there is nobody left. When descriptors or memory run
 * out (EMFILE), the waiting client stays in the kernel's queue and the task tries again
 * BACKOFF_USEC later: readiness would come back at once and spin. */
#include "daemon/server/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKOFF_USEC     UINT64_C(100000)
#define ACCEPTS_PER_POLL 8

/* --- the list of connections -------------------------------------------------------- */

/* Lock held. */
static struct holder *find_holder(const struct server *s, uid_t uid)
{
    struct holder *h = s->holders;

    while (h && h->uid != uid)
        h = h->next;
    return h;
}

/* Lock held. Why c is not to be listed, or 0. */
static int refuse(const struct server *s, const struct holder *h)
{
    if (s->phase >= SERVER_DRAINING)
        return -ESHUTDOWN;
    if (s->count >= s->config.max_connections ||
        (h && h->connections >= s->config.max_connections_per_user))
        return -EMFILE;
    return 0;
}

int server_enlist(struct server *s, struct connection *c, uid_t uid)
{
    struct holder *fresh = NULL, *h;
    int r;

    vlock_lock(&s->lock);
    h = find_holder(s, uid);
    if (!h) { /* the first of this user; made without the lock, another may be sooner */
        vlock_unlock(&s->lock);
        fresh = holder_new(uid, volt_runtime_workers(s->service->rt) - 1);
        if (!fresh)
            return -ENOMEM;
        vlock_lock(&s->lock);
        h = find_holder(s, uid);
    }
    r = refuse(s, h);
    if (r == 0) {
        if (!h) {
            h = fresh;
            fresh = NULL;
            h->next = s->holders;
            s->holders = h;
        }
        h->connections++;
        c->share.of = h;
        c->next = s->connections;
        if (c->next)
            c->next->prev = c;
        s->connections = c;
        s->count++;
    }
    vlock_unlock(&s->lock);
    holder_free(fresh);
    return r;
}

/* Lock held. Returns what is to be freed: who has no connection any more. */
static struct holder *leave(struct server *s, struct holder *h)
{
    struct holder **at = &s->holders;

    if (--h->connections > 0)
        return NULL;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    return h;
}

void server_delist(struct server *s, struct connection *c)
{
    struct holder *h = c->share.of, *empty;

    share_fini(&c->share, c->session.config.max_buffers_per_user);
    vlock_lock(&s->lock);
    empty = leave(s, h);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        s->connections = c->next;
    s->count--;
    vlock_unlock(&s->lock);
    holder_free(empty);
    volt_notify_all(&s->gone);
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

/* Phases only go forward. */
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
    int fd;
    struct volt_io io;
    struct volt_notified changed;
    struct volt_sleep backoff;
    bool backing_off;
};

/* Who is on the other side; -EPERM for those who are nobody. */
static int read_peer(const struct server *s, int fd, struct job_owner *ret)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    if (cred.uid == (uid_t)-1 || cred.uid == s->overflow_uid)
        return -EPERM;
    *ret = (struct job_owner){.uid = cred.uid, .gid = cred.gid, .pid = cred.pid};
    return 0;
}

static void welcome(struct listener *l, int fd)
{
    struct job_owner peer;

    if (read_peer(l->server, fd, &peer) < 0) {
        (void)close(fd);
        return;
    }
    /* Too many, or no memory: the client sees the connection close. */
    (void)connection_spawn(l->server, l->interfaces, fd, &peer);
}

/* Errors of a single client that is gone again, by accept(2). */
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

/* Takes the descriptor in every case. */
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
    l->fd = on->fd;
    volt_notified_init(&l->changed, &s->changed);
    return volt_task_spawn(l, NULL);
}

/* --- life --------------------------------------------------------------------------- */

/* The uid that stands for everybody whom this user namespace cannot name. */
static uid_t read_overflow_uid(void)
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

struct server *server_new(const struct service *service, const struct config *config)
{
    struct server *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->service = service;
    s->overflow_uid = read_overflow_uid();
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
