/* voltd's end of the link: what it promises is in keeper_link.h.
 *
 * A call goes from UNSENT (in `waiting`) to SENT (in `flying`, at most WINDOW, so that
 * replies and descriptors in flight stay below what a socket holds) to DONE. It is sent
 * by the worker that polls it, or by the link's task when a reply makes room.
 *
 * One lock guards the two lists, the connection's descriptor and all fields of calls that
 * the link's task also touches. A send that cannot block happens under it: that is what
 * keeps the descriptor and the call alive meanwhile. Wakes happen after it.
 *
 * The link's task alone receives, and closes and opens connections. */
#include "daemon/exec/keeper_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/io.h>
#include <volt/runtime.h>
#include <volt/sync.h>
#include <volt/time.h>
#include "base/lock.h"
#include "daemon/exec/keeper_dial.h"
#include "daemon/exec/keeper_log.h"

#define WINDOW          64
#define OPEN_TIMEOUT_MS 10000
#define OPEN_TRIES      5
#define BYE_TIMEOUT_MS  5000
#define RETRY_MIN_USEC  2000
#define RETRY_MAX_USEC  1000000
#define WAKES_PER_ROUND 32
/* Longer than a disk makes a healthy keeper wait. */
#define PATIENCE_USEC UINT64_C(5000000)

enum call_state { CALL_NEW, CALL_UNSENT, CALL_SENT, CALL_DONE };

struct call_list {
    struct keeper_call *head, *tail;
};

struct keeper_link {
    char *socket_path, *record_dir, *program; /* program: NULL when none may be started */
    uint64_t descriptors;
    pid_t child; /* a keeper of ours to reap, 0: none; link's task only */

    vlock lock; /* protects what follows */
    int fd;     /* -1: no connection */
    uint64_t serial;
    unsigned flying_n;
    struct call_list waiting, flying;
    uint64_t lost_usec;  /* when a connection broke, the first since the latest reply; 0:
                           none has, or nobody was waiting for an answer of it */
    bool asked;          /* somebody was */
    uint64_t heard_usec; /* the latest reply */
    bool watched;        /* the link's task looks again whether calls are answered */
    struct keeper_link_info info;

    struct volt_notify sent; /* a call was, and the link's task does not look */
};

/* --- calls -------------------------------------------------------------------------- */

static void list_add(struct call_list *list, struct keeper_call *c)
{
    c->prev = list->tail;
    c->next = NULL;
    if (list->tail != NULL)
        list->tail->next = c;
    else
        list->head = c;
    list->tail = c;
}

static void list_remove(struct call_list *list, struct keeper_call *c)
{
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        list->head = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    else
        list->tail = c->prev;
    c->prev = c->next = NULL;
}

/* Lock held. Takes the call out of its list; the caller wakes its task, if it has one. */
static struct volt_waker call_finish_locked(struct keeper_link *link,
                                            struct keeper_call *c)
{
    struct volt_waker waker = c->waker;
    if (c->state == CALL_SENT) {
        list_remove(&link->flying, c);
        link->flying_n--;
    } else if (c->state == CALL_UNSENT) {
        list_remove(&link->waiting, c);
    }
    c->state = CALL_DONE;
    c->waker = (struct volt_waker){NULL};
    return waker;
}

/* Sends one call. 0, or -errno and nothing was sent. */
static int call_send(int fd, const struct keeper_call *c)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS_MAX * sizeof(int))];
    struct iovec iov[] = {{(void *)(uintptr_t)&c->request, c->size},
                          {(void *)(uintptr_t)c->tail, c->tail_size}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = c->tail_size > 0 ? 2 : 1};
    if (c->fds_n > 0) {
        size_t size = (size_t)c->fds_n * sizeof(int);
        memset(control, 0, sizeof(control));
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(h), c->fds, size);
    }
    while (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static bool is_broken(int error)
{
    return error == -EPIPE || error == -ECONNRESET || error == -ENOTCONN;
}

/* Lock held. Sends what may be sent. Returns a call that cannot be sent at all, already
 * finished, with its waker in *ret_waker; NULL: nothing left to do now. */
static struct keeper_call *link_flush_locked(struct keeper_link *link,
                                             struct volt_waker *ret_waker)
{
    while (link->fd >= 0 && link->flying_n < WINDOW && link->waiting.head != NULL) {
        struct keeper_call *c = link->waiting.head;
        c->request.head.serial = ++link->serial;
        int r = call_send(link->fd, c);
        if (r < 0 && is_broken(r))
            return NULL; /* the task will see it, and the next keeper will get the call */
        if (r < 0 && (link->flying_n > 0 || r == -EAGAIN))
            return NULL; /* short of something, or full of what has been cancelled: the
                            next reply tries again */
        if (r < 0) {
            c->reply.status = r;
            *ret_waker = call_finish_locked(link, c);
            return c;
        }
        list_remove(&link->waiting, c);
        list_add(&link->flying, c);
        c->state = CALL_SENT;
        c->sent_usec = volt_now_usec();
        link->flying_n++;
    }
    return NULL;
}

/* Whoever waits for a call; nobody has polled one that was only sent. */
static void wake(struct volt_waker *waker)
{
    if (waker->task != NULL)
        volt_waker_wake(waker);
    volt_waker_fini(waker);
}

static void link_flush(struct keeper_link *link)
{
    struct keeper_call *failed;
    bool look = false;
    do {
        struct volt_waker waker = {NULL};
        vlock_lock(&link->lock);
        failed = link_flush_locked(link, &waker);
        look |= link->flying_n > 0 && !link->watched;
        link->watched |= look;
        vlock_unlock(&link->lock);
        wake(&waker);
    } while (failed != NULL);
    if (look)
        volt_notify_one(&link->sent);
}

static void call_init(struct keeper_call *c, struct keeper_link *link, enum keeper_op op,
                      size_t size)
{
    memset(c, 0, sizeof(*c));
    c->link = link;
    c->size = size;
    c->request.head = (struct keeper_head){KEEPER_MAGIC, op, 0};
}

void keeper_call_init_start(struct keeper_call *c, struct keeper_link *link,
                            const struct job_key *key,
                            const struct keeper_start_args *args)
{
    const int fds[] = {args->stdin_fd, args->stdout_fd, args->stderr_fd};
    call_init(c, link, KEEPER_START, sizeof(c->request.start));
    struct keeper_start *m = &c->request.start;
    m->key = keeper_key_pack(key);
    m->umask = args->umask;
    m->kill_mode = args->kill_mode;
    m->launch_size = args->launch_size;
    m->after = args->after;
    if (args->launch != NULL) {
        m->flags = KEEPER_START_INLINE;
        c->tail = args->launch;
        c->tail_size = args->launch_size;
    } else {
        c->fds[c->fds_n++] = args->launch_fd;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (fds[i] < 0)
            continue;
        m->fds |= KEEPER_FD_STDIN << i;
        c->fds[c->fds_n++] = fds[i];
    }
}

void keeper_call_init_signal(struct keeper_call *c, struct keeper_link *link,
                             const struct job_key *key, int sig, enum keeper_scope scope)
{
    call_init(c, link, KEEPER_SIGNAL, sizeof(c->request.signal));
    c->request.signal.key = keeper_key_pack(key);
    c->request.signal.signal = (uint32_t)sig;
    c->request.signal.scope = scope;
}

void keeper_call_init_recall(struct keeper_call *c, struct keeper_link *link,
                             uint64_t start)
{
    call_init(c, link, KEEPER_RECALL, sizeof(c->request.recall));
    c->request.recall.start = start;
}

void keeper_call_init_remove(struct keeper_call *c, struct keeper_link *link,
                             const struct job_key *key)
{
    keeper_call_init_remove_many(c, link, &c->key, 1);
    c->key = keeper_key_pack(key);
}

void keeper_call_init_remove_many(struct keeper_call *c, struct keeper_link *link,
                                  const struct keeper_key *keys, size_t n)
{
    call_init(c, link, KEEPER_REMOVE, sizeof(c->request.remove));
    c->request.remove.n = (uint32_t)n;
    c->tail = keys;
    c->tail_size = n * sizeof(*keys);
}

void keeper_call_send(struct keeper_call *c)
{
    c->polled = 1;
    vlock_lock(&c->link->lock);
    c->state = CALL_UNSENT;
    list_add(&c->link->waiting, c);
    vlock_unlock(&c->link->lock);
    link_flush(c->link);
}

enum volt_poll keeper_call_poll(struct volt_cx *cx, struct keeper_call *c)
{
    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!c->polled)
        keeper_call_send(c);
    vlock_lock(&c->link->lock);
    bool done = c->state == CALL_DONE;
    c->unsent = c->state == CALL_UNSENT;
    if (!done && c->waker.task == NULL)
        c->waker = volt_waker_new(cx);
    vlock_unlock(&c->link->lock);
    if (done)
        return VOLT_READY;
    volt_coop_restore(cx);
    return VOLT_PENDING;
}

bool keeper_call_withdraw(struct keeper_call *c)
{
    struct volt_waker waker = {NULL};
    vlock_lock(&c->link->lock);
    bool mine = c->state == CALL_UNSENT;
    if (mine) {
        c->reply.status = -ECANCELED;
        waker = call_finish_locked(c->link, c);
    }
    vlock_unlock(&c->link->lock);
    volt_waker_fini(&waker);
    return mine;
}

bool keeper_call_is_unsent(const struct keeper_call *c)
{
    return c->unsent;
}

uint64_t keeper_call_serial(const struct keeper_call *c)
{
    return c->request.head.serial;
}

int keeper_call_status(const struct keeper_call *c)
{
    return c->reply.status;
}

const struct keeper_reply *keeper_call_reply(const struct keeper_call *c)
{
    return &c->reply;
}

void keeper_call_fini(struct keeper_call *c)
{
    if (c->link == NULL)
        return;
    vlock_lock(&c->link->lock);
    struct volt_waker waker = call_finish_locked(c->link, c);
    vlock_unlock(&c->link->lock);
    volt_waker_fini(&waker);
    c->link = NULL;
}

/* --- the connection ----------------------------------------------------------------- */

static void link_take_reply(struct keeper_link *link, const struct keeper_reply *reply)
{
    struct volt_waker waker = {NULL};
    vlock_lock(&link->lock);
    link->lost_usec = 0;
    link->asked = false;
    link->heard_usec = volt_now_usec();
    for (struct keeper_call *c = link->flying.head; c != NULL; c = c->next) {
        if (c->request.head.serial != reply->head.serial)
            continue;
        c->reply = *reply;
        waker = call_finish_locked(link, c);
        break;
    }
    vlock_unlock(&link->lock);
    wake(&waker);
    link_flush(link);
}

/* What was sent has an unknown fate, which the records know. */
static void link_fail_flying(struct keeper_link *link)
{
    for (;;) {
        struct volt_waker wakers[WAKES_PER_ROUND];
        unsigned n = 0;
        vlock_lock(&link->lock);
        while (link->flying.head != NULL && n < WAKES_PER_ROUND) {
            link->flying.head->reply.status = -ECONNRESET;
            wakers[n++] = call_finish_locked(link, link->flying.head);
        }
        vlock_unlock(&link->lock);
        for (unsigned i = 0; i < n; i++)
            wake(&wakers[i]);
        if (n == 0)
            return;
    }
}

static void link_set_connected(struct keeper_link *link, int fd,
                               const struct keeper_welcome *w)
{
    vlock_lock(&link->lock);
    link->fd = fd;
    memcpy(link->info.boot_id, w->boot_id, RECORD_ID_SIZE);
    memcpy(link->info.generation, w->generation, RECORD_ID_SIZE);
    link->info.keeper_pid = w->pid;
    link->info.live = w->live;
    link->info.connects++;
    if (!link->asked && link->waiting.head == NULL)
        link->lost_usec = 0;
    vlock_unlock(&link->lock);
}

static void link_close(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    int fd = link->fd;
    link->fd = -1;
    vlock_unlock(&link->lock);
    if (fd >= 0)
        (void)close(fd);
}

/* The connection has broken, and the calls on their way do not know it yet. Until there is
 * an answer they may come again, after a rest. */
static void link_note_loss(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    if (link->lost_usec == 0)
        link->lost_usec = volt_now_usec();
    link->asked |= link->flying.head != NULL;
    vlock_unlock(&link->lock);
}

static void link_destroy(struct keeper_link *link)
{
    if (link == NULL)
        return;
    link_close(link);
    volt_notify_fini(&link->sent);
    free(link->socket_path);
    free(link->record_dir);
    free(link->program);
    free(link);
}

/* voltd raises its own limit for its connections; jobs get what it was started with.
 * Before HELLO, so before any job. */
static void limit_descriptors(const struct keeper_link *link, pid_t pid)
{
    struct rlimit limit;

    if (link->descriptors == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur =
        link->descriptors < limit.rlim_max ? link->descriptors : limit.rlim_max;
    (void)prlimit(pid, RLIMIT_NOFILE, &limit, NULL); /* it has ended: HELLO will tell */
}

/* Connects and says HELLO, starting a keeper if there is none. A descriptor or -errno. */
static int link_dial(struct keeper_link *link)
{
    if (link->child > 0 && waitpid(link->child, NULL, WNOHANG) != 0)
        link->child = 0;
    int fd = keeper_dial(link->socket_path);
    if ((fd == -ECONNREFUSED || fd == -ENOENT) && link->program != NULL) {
        pid_t pid = 0;
        int r = keeper_spawn(link->socket_path, link->program, link->record_dir, &pid);
        if (r < 0)
            return r;
        link->child = pid;
        limit_descriptors(link, pid);
        vlock_lock(&link->lock);
        link->info.started++;
        vlock_unlock(&link->lock);
        fd = keeper_dial(link->socket_path);
    }
    if (fd < 0)
        return fd;
    int r = keeper_say_hello(fd, 0);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}

static int receive_within(int fd, union keeper_message *m, int timeout_ms, ssize_t *ret)
{
    struct pollfd p = {fd, POLLIN, 0};
    int r = poll(&p, 1, timeout_ms);
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    *ret = recv(fd, m, sizeof(*m), MSG_DONTWAIT);
    return *ret < 0 ? -errno : 0;
}

static int link_connect_once(struct keeper_link *link)
{
    union keeper_message m;
    ssize_t n = 0;
    int fd = link_dial(link);
    if (fd < 0)
        return fd;
    int r = receive_within(fd, &m, OPEN_TIMEOUT_MS, &n);
    if (r == 0)
        r = keeper_take_welcome(&m, n);
    if (r < 0) {
        (void)close(fd);
        /* After an upgrade: ours takes its place, and its shims do without. */
        if (r == -EPROTO && link->program != NULL &&
            keeper_retire((pid_t)m.welcome.pid) == 0)
            r = -ECONNRESET;
        return r;
    }
    link_set_connected(link, fd, &m.welcome);
    return 0;
}

int keeper_link_open(const struct keeper_link_options *opt, struct volt_error *err,
                     struct keeper_link **ret_link)
{
    struct keeper_link *link = calloc(1, sizeof(*link));
    int r = -ENOMEM;
    if (link == NULL)
        goto fail;
    link->fd = -1;
    volt_notify_init(&link->sent);
    link->descriptors = opt->descriptors;
    link->socket_path = strdup(opt->socket_path);
    link->record_dir = strdup(opt->record_dir);
    link->program = opt->program != NULL ? strdup(opt->program) : NULL;
    if (link->socket_path == NULL || link->record_dir == NULL ||
        (opt->program != NULL && link->program == NULL))
        goto fail;
    /* Again when the one that answered was just leaving. */
    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        r = link_connect_once(link);
        if (!is_broken(r))
            break;
    }
    if (r < 0)
        goto fail;
    *ret_link = link;
    return 0;
fail:
    if (err != NULL)
        (void)snprintf(err->text, sizeof(err->text), "cannot reach or start %s: %s",
                       opt->program != NULL ? opt->program : opt->socket_path,
                       strerror(-r));
    link_destroy(link);
    return r;
}

void keeper_link_remove(struct keeper_link *link, const struct keeper_key *keys, size_t n)
{
    if (n > 0 && link->fd < 0) /* it had just gone */
        (void)link_connect_once(link);
    struct pollfd p = {link->fd, POLLOUT, 0};
    struct keeper_call c;
    while (n > 0 && link->fd >= 0 && poll(&p, 1, BYE_TIMEOUT_MS) == 1) {
        size_t some = n < KEEPER_REMOVE_MAX ? n : KEEPER_REMOVE_MAX;
        keeper_call_init_remove_many(&c, link, keys, some);
        c.request.head.serial = ++link->serial;
        int r = call_send(link->fd, &c);
        if (r < 0 && r != -EAGAIN)
            return;
        keys += r < 0 ? 0 : some;
        n -= r < 0 ? 0 : some;
    }
}

/* A keeper that has nothing to do leaves when it is told that nobody will need it; the
 * end of the connection is its end, and one of ours is reaped. */
static void link_say_bye(struct keeper_link *link, bool settled)
{
    struct keeper_bye bye = {.head = {KEEPER_MAGIC, KEEPER_BYE, ++link->serial},
                             .settled = settled};
    union keeper_message m;
    bool leaves = false;
    ssize_t n = 0;
    if (send(link->fd, &bye, sizeof(bye), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
    while (receive_within(link->fd, &m, BYE_TIMEOUT_MS, &n) == 0 && n > 0) {
        if (!keeper_answer_is_valid(&m, (size_t)n, 0) || m.head.op != KEEPER_REPLY ||
            m.head.serial != bye.head.serial)
            continue; /* what cancelled calls had asked for */
        if (m.reply.status < 0)
            return;
        leaves = true;
    }
    if (leaves && link->child > 0)
        (void)waitpid(link->child, NULL, 0);
}

void keeper_link_free(struct keeper_link *link, bool settled)
{
    if (link != NULL && link->fd >= 0)
        link_say_bye(link, settled);
    link_destroy(link);
}

void keeper_link_info(struct keeper_link *link, struct keeper_link_info *ret)
{
    vlock_lock(&link->lock);
    *ret = link->info;
    vlock_unlock(&link->lock);
}

/* Lock held. Since when calls have had no answer; 0: none waits for one. One that takes long
 * keeps those behind it waiting, and what was said meanwhile counts. */
static uint64_t silent_since_locked(const struct keeper_link *link)
{
    const struct keeper_call *oldest = link->flying.head;
    if (oldest == NULL)
        return 0;
    return oldest->sent_usec > link->heard_usec ? oldest->sent_usec : link->heard_usec;
}

uint64_t keeper_link_away_usec(struct keeper_link *link)
{
    vlock_lock(&link->lock);
    uint64_t since = link->lost_usec != 0 ? link->lost_usec : silent_since_locked(link);
    vlock_unlock(&link->lock);
    uint64_t now = volt_now_usec();
    return since != 0 && now > since ? now - since : 0;
}

/* --- the task ----------------------------------------------------------------------- */

struct link_task {
    struct keeper_link *link;
    struct volt_runtime *rt;
    struct volt_io io; /* on the connection, or on one that awaits its WELCOME */
    int dialled;       /* that one; -1: none */
    struct keeper_log log;
    uint64_t since; /* when the connection was made, */
    bool answered;  /* and whether it has brought an answer */
    struct volt_notified asked;
    bool awaits_asked;
    struct volt_sleep patience; /* with a keeper that has been asked */
    bool patient;
    struct volt_sleep pause;
    uint64_t pause_usec;
    union keeper_message message;
    ssize_t received;
    int at;
};

/* READY: a call has been sent since nobody looked. */
static enum volt_poll asked_poll(struct volt_cx *cx, struct link_task *t)
{
    if (!t->awaits_asked)
        volt_notified_init(&t->asked, &t->link->sent);
    t->awaits_asked = true;
    if (volt_notified_poll(cx, &t->asked) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_notified_fini(&t->asked);
    t->awaits_asked = false;
    return VOLT_READY;
}

/* How long the task may still be patient; UINT64_MAX: nobody waits, and who sends the next
 * call says so. What has lasted too long is said. */
static uint64_t judge_silence(struct link_task *t)
{
    struct keeper_link *link = t->link;
    unsigned waiting = 0;
    vlock_lock(&link->lock);
    uint64_t now = volt_now_usec(), since = silent_since_locked(link);
    uint64_t lasts = now > since ? now - since : 0;
    uint32_t pid = link->info.keeper_pid;
    link->watched = since != 0;
    for (const struct keeper_call *c = link->waiting.head; c != NULL; c = c->next)
        waiting++;
    waiting += link->flying_n;
    vlock_unlock(&link->lock);
    if (since == 0)
        return UINT64_MAX;
    if (lasts < PATIENCE_USEC)
        return PATIENCE_USEC - lasts;
    keeper_log_silent(&t->log, pid, lasts, waiting);
    return PATIENCE_USEC;
}

/* Looks whether the keeper answers; a link without calls needs no time for it. */
static void watch_silence(struct volt_cx *cx, struct link_task *t)
{
    for (;;) {
        if (!t->patient && asked_poll(cx, t) == VOLT_PENDING)
            return;
        if (t->patient && volt_sleep_poll(cx, &t->patience) == VOLT_PENDING)
            return;
        volt_sleep_fini(&t->patience);
        uint64_t rest = judge_silence(t);
        t->patient = rest != UINT64_MAX;
        if (t->patient)
            volt_sleep_init(&t->patience, rest);
    }
}

static enum volt_poll receive_poll(struct volt_cx *cx, struct link_task *t)
{
    if (volt_io_read_poll(cx, &t->io, &t->message, sizeof(t->message), &t->received) ==
        VOLT_READY)
        return VOLT_READY;
    watch_silence(cx, t);
    return VOLT_PENDING;
}

/* One that has answered is followed by another at once, one that cannot live is not. */
static void note_loss(struct link_task *t)
{
    link_note_loss(t->link);
    if (t->answered || volt_now_usec() - t->since >= RETRY_MAX_USEC)
        t->pause_usec = RETRY_MIN_USEC;
    keeper_log_gone(&t->log);
}

/* False: the connection is over, or never keeps to the protocol. */
static bool take_message(struct link_task *t)
{
    if (t->received <= 0 || !keeper_answer_is_valid(&t->message, (size_t)t->received, 0))
        return false;
    if (t->message.head.op == KEEPER_REPLY) {
        link_take_reply(t->link, &t->message.reply);
        t->answered = true;
        keeper_log_well(&t->log);
    }
    return true;
}

/* 0; -ESHUTDOWN: the runtime is closing; -errno: try again. */
static int dial(struct link_task *t)
{
    t->dialled = link_dial(t->link);
    if (t->dialled < 0)
        return t->dialled;
    int r = volt_io_init(&t->io, t->rt, t->dialled);
    if (r < 0 && r != -ESHUTDOWN) {
        (void)close(t->dialled);
        t->dialled = -1;
    }
    return r;
}

/* After WELCOME, or what came instead. Returns whether the connection stands. */
static bool settle_dialled(struct link_task *t)
{
    int r = keeper_take_welcome(&t->message, t->received);
    if (r < 0) {
        if (r == -EPROTO) /* the programs were upgraded, and this voltd still runs */
            keeper_log_unreachable(&t->log, t->link->socket_path, r);
        volt_io_fini(&t->io);
        (void)close(t->dialled);
        t->dialled = -1;
        return false;
    }
    link_set_connected(t->link, t->dialled, &t->message.welcome);
    t->dialled = -1;
    t->since = volt_now_usec();
    t->answered = false;
    link_flush(t->link);
    return true;
}

static enum volt_poll link_poll(struct volt_cx *cx, void *state)
{
    struct link_task *t = state;
    VOLT_BEGIN(t->at);
    for (;;) {
        while (t->link->fd >= 0) {
            VOLT_AWAIT(t->at, receive_poll(cx, t));
            if (t->received == -ESHUTDOWN)
                return VOLT_READY;
            if (take_message(t))
                continue;
            volt_io_fini(&t->io);
            link_close(t->link);
            note_loss(t);
            link_fail_flying(t->link);
        }
        /* A moment first: a keeper that has just died can be reaped then, and one that
         * cannot live is not started without end. */
        volt_sleep_init(&t->pause, t->pause_usec);
        VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
        volt_sleep_fini(&t->pause);
        t->pause_usec =
            t->pause_usec * 2 < RETRY_MAX_USEC ? t->pause_usec * 2 : RETRY_MAX_USEC;
        int r = dial(t);
        if (r == -ESHUTDOWN)
            return VOLT_READY;
        if (r < 0) {
            keeper_log_unreachable(&t->log, t->link->socket_path, r);
            continue;
        }
        VOLT_AWAIT(t->at, receive_poll(cx, t));
        if (t->received == -ESHUTDOWN)
            return VOLT_READY;
        (void)settle_dialled(t);
    }
    VOLT_END(t->at);
}

/* The connection stays, for keeper_link_free to say good-bye on: also one that has not
 * seen its WELCOME. */
static void link_drop(void *state)
{
    struct link_task *t = state;
    volt_sleep_fini(&t->pause);
    volt_sleep_fini(&t->patience);
    if (t->awaits_asked)
        volt_notified_fini(&t->asked);
    volt_io_fini(&t->io);
    if (t->dialled < 0)
        return;
    vlock_lock(&t->link->lock);
    t->link->fd = t->dialled;
    vlock_unlock(&t->link->lock);
}

static const struct volt_task_type link_type = {
    .name = "keeper-link",
    .size = sizeof(struct link_task),
    .poll = link_poll,
    .drop = link_drop,
};

int keeper_link_start(struct keeper_link *link, struct volt_runtime *rt)
{
    struct link_task *t = volt_task_new(rt, &link_type);
    if (t == NULL)
        return -ENOMEM;
    t->link = link;
    t->rt = rt;
    t->dialled = -1;
    t->pause_usec = RETRY_MIN_USEC;
    int r = volt_io_init(&t->io, rt, link->fd);
    if (r < 0) {
        volt_task_discard(t);
        return r;
    }
    return volt_task_spawn(t, NULL);
}
