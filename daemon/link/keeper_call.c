/* Calls of the link. Interface: keeper_link.h. How they are sent: keeper_link_parts.h. */
#include "daemon/link/keeper_link_parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <volt/time.h>

#include "base/crash.h"

#define WAKES_PER_ROUND 32

static const unsigned windows[LANE_COUNT] = {
    [LANE_PLAIN] = 64, [LANE_SIGNAL] = 8, [LANE_KILL] = 8, [LANE_AGAIN] = 2};

enum call_state { CALL_NEW, CALL_UNSENT, CALL_SENT, CALL_DONE };

static struct keeper_call *call_of(struct list_node *n)
{
    return n ? list_thing(n, struct keeper_call, node) : NULL;
}

/* Closes the record, as only the holder of its descriptor may run the attempt. */
static void drop_record(struct keeper_call *c)
{
    if (c->record_fd >= 0)
        (void)close(c->record_fd);
    c->record_fd = -1;
}

/* Lock held. Takes the call out of its list. Returns its waker, if any, which the caller
 * wakes. */
static struct volt_waker call_finish_locked(struct keeper_link *link,
                                            struct keeper_call *c)
{
    struct volt_waker waker = c->waker;
    if (c->state == CALL_SENT) {
        list_remove(&link->flying, &c->node);
        link->flying_n[c->lane]--;
    } else if (c->state == CALL_UNSENT) {
        list_remove(&link->waiting[c->lane], &c->node);
    }
    c->state = CALL_DONE;
    c->waker = (struct volt_waker){NULL};
    drop_record(c);
    return waker;
}

int keeper_call_transmit(int fd, const struct keeper_call *c)
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

bool keeper_link_is_broken(int error)
{
    return error == -EPIPE || error == -ECONNRESET || error == -ENOTCONN;
}

/* Lock held. Returns the next call that may be sent; NULL: none. */
static struct keeper_call *link_next_locked(const struct keeper_link *link)
{
    for (int lane = 0; lane < LANE_COUNT; lane++)
        if (link->flying_n[lane] < windows[lane] && link->waiting[lane].first != NULL)
            return call_of(link->waiting[lane].first);
    return NULL;
}

/* Sends a call. A signal's record is open only meanwhile, as many signals may wait for a
 * keeper. The attempt runs, so the name of its record is in memory. Returns 0; -errno:
 * nothing was sent. */
static int transmit(const struct keeper_link *link, struct keeper_call *c)
{
    const struct job_key key = keeper_key_unpack(&c->request.signal.key);
    int record = -ENOENT;
    if (c->request.head.op == KEEPER_SIGNAL)
        record = record_open(link->record_fd, &key);
    if (record < 0 && record != -ENOENT)
        return record;
    if (record >= 0)
        c->fds[c->fds_n++] = record;
    int r = keeper_call_transmit(link->fd, c);
    if (record >= 0) {
        c->fds_n--;
        (void)close(record);
    }
    return r;
}

/* Closes the record of a START that was sent. */
static void hand_over(struct keeper_call *c)
{
    if (c->record_fd < 0)
        return;
    CRASH_POINT("start-sent");
    drop_record(c);
    CRASH_POINT("start-handed");
}

/* Lock held. Sends calls that the windows allow. Returns a call that cannot be sent,
 * already finished, with its waker in *ret_waker. NULL: none can be sent now. */
static struct keeper_call *link_flush_locked(struct keeper_link *link,
                                             struct volt_waker *ret_waker)
{
    struct keeper_call *c;
    while (link->fd >= 0 && (c = link_next_locked(link)) != NULL) {
        c->request.head.serial = ++link->serial;
        int r = transmit(link, c);
        if (r < 0 && keeper_link_is_broken(r))
            return NULL; /* the task notices, and sends to the next keeper */
        if (r < 0 && r != -EIO && (link->flying.first != NULL || r == -EAGAIN))
            /* Lack of memory, or a socket full of cancelled calls: the next reply tries
             * again. */
            return NULL;
        if (r < 0) {
            c->reply.status = r;
            *ret_waker = call_finish_locked(link, c);
            return c;
        }
        hand_over(c);
        list_remove(&link->waiting[c->lane], &c->node);
        list_add_last(&link->flying, &c->node);
        c->state = CALL_SENT;
        c->sent_usec = volt_now_usec();
        link->flying_n[c->lane]++;
    }
    return NULL;
}

/* Wakes the waiting task of a call, if there is one. */
static void wake(struct volt_waker *waker)
{
    if (waker->task != NULL)
        volt_waker_wake(waker);
    volt_waker_fini(waker);
}

/* Lock held. Returns whether the link's task must look: a call awaits its answer, or a
 * call needs a link that rests to connect. */
static bool has_news_locked(const struct keeper_link *link)
{
    return link->flying.first != NULL ||
           (link->rest_usec > 0 && link->fd < 0 && link_next_locked(link) != NULL);
}

void keeper_link_flush(struct keeper_link *link)
{
    struct keeper_call *finished;
    bool look = false;
    do {
        struct volt_waker waker = {NULL};
        vlock_lock(&link->lock);
        finished = link_flush_locked(link, &waker);
        look |= has_news_locked(link) && !link->watched;
        link->watched |= look;
        vlock_unlock(&link->lock);
        wake(&waker);
    } while (finished != NULL);
    if (look)
        volt_notify_one(&link->sent);
}

static void call_init(struct keeper_call *c, struct keeper_link *link, enum keeper_op op,
                      size_t size)
{
    memset(c, 0, sizeof(*c));
    c->link = link;
    c->reply.status = link ? 0 : -ENOTCONN;
    c->record_fd = -1;
    c->size = size;
    c->request.head = (struct keeper_head){KEEPER_MAGIC, op, 0};
}

void keeper_call_init_start(struct keeper_call *c, struct keeper_link *link,
                            const struct job_key *key, struct keeper_start_args *args)
{
    const int fds[KEEPER_FDS_NAMED] = {args->stdin_fd, args->stdout_fd, args->stderr_fd,
                                       args->script_fd};
    call_init(c, link, KEEPER_START, sizeof(c->request.start));
    struct keeper_start *m = &c->request.start;
    m->key = keeper_key_pack(key);
    m->umask = args->umask;
    m->kill_mode = args->kill_mode;
    m->launch_size = args->launch_size;
    m->seed = args->record_seed;
    m->limits =
        args->limits != NULL ? *args->limits : (struct keeper_limits)KEEPER_NO_LIMITS;
    c->record_fd = c->fds[c->fds_n++] = args->record_fd;
    args->record_fd = -1;
    if (args->launch != NULL) {
        m->flags = KEEPER_START_INLINE;
        c->tail = args->launch;
        c->tail_size = args->launch_size;
    } else {
        c->fds[c->fds_n++] = args->launch_fd;
    }
    for (unsigned i = 0; i < KEEPER_FDS_NAMED; i++) {
        if (fds[i] < 0)
            continue;
        m->fds |= KEEPER_FD_STDIN << i;
        c->fds[c->fds_n++] = fds[i];
    }
    if (link == NULL)
        drop_record(c);
}

void keeper_call_init_signal(struct keeper_call *c, struct keeper_link *link,
                             const struct job_key *key, int sig, enum keeper_scope scope)
{
    call_init(c, link, KEEPER_SIGNAL, sizeof(c->request.signal));
    c->request.signal.key = keeper_key_pack(key);
    c->request.signal.signal = (uint32_t)sig;
    c->request.signal.scope = scope;
    c->lane = sig == SIGKILL ? LANE_KILL : LANE_SIGNAL;
}

void keeper_call_is_again(struct keeper_call *c)
{
    c->lane = LANE_AGAIN;
}

void keeper_call_send(struct keeper_call *c)
{
    c->polled = 1;
    if (c->link == NULL)
        return;
    vlock_lock(&c->link->lock);
    c->state = CALL_UNSENT;
    list_add_last(&c->link->waiting[c->lane], &c->node);
    vlock_unlock(&c->link->lock);
    keeper_link_flush(c->link);
}

enum volt_poll keeper_call_poll(struct volt_cx *cx, struct keeper_call *c)
{
    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!c->polled)
        keeper_call_send(c);
    if (c->link == NULL)
        return VOLT_READY;
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
    if (c->link == NULL)
        return false;
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
    c->link->abandoned += c->state == CALL_SENT;
    struct volt_waker waker = call_finish_locked(c->link, c);
    vlock_unlock(&c->link->lock);
    volt_waker_fini(&waker);
    c->link = NULL;
}

/* Lock held. Returns the call that was sent with this serial; NULL: none. */
static struct keeper_call *link_find_sent_locked(const struct keeper_link *link,
                                                 uint64_t serial)
{
    struct list_node *n = link->flying.first;

    while (n && call_of(n)->request.head.serial != serial)
        n = n->next;
    return call_of(n);
}

bool keeper_link_take_reply(struct keeper_link *link, const struct keeper_reply *reply)
{
    struct volt_waker waker = {NULL};

    vlock_lock(&link->lock);
    struct keeper_call *c = link_find_sent_locked(link, reply->head.serial);
    const bool asked = c || link->abandoned > 0;
    if (c) {
        c->reply = *reply;
        waker = call_finish_locked(link, c);
    } else if (asked) {
        link->abandoned--;
    }
    if (asked) {
        link->lost_usec = 0;
        link->asked = false;
        link->heard_usec = volt_now_usec();
    }
    vlock_unlock(&link->lock);
    wake(&waker);
    keeper_link_flush(link);
    return asked;
}

void keeper_link_fail_flying(struct keeper_link *link)
{
    for (;;) {
        struct volt_waker wakers[WAKES_PER_ROUND];
        unsigned n = 0;
        vlock_lock(&link->lock);
        while (link->flying.first != NULL && n < WAKES_PER_ROUND) {
            struct keeper_call *c = call_of(link->flying.first);
            c->reply.status = -ECONNRESET;
            wakers[n++] = call_finish_locked(link, c);
        }
        if (n == 0)
            link->abandoned = 0;
        vlock_unlock(&link->lock);
        for (unsigned i = 0; i < n; i++)
            wake(&wakers[i]);
        if (n == 0)
            return;
    }
}

unsigned keeper_link_open_calls_locked(const struct keeper_link *link,
                                       unsigned *ret_unsent)
{
    unsigned unsent = 0, sent = 0;
    for (int lane = 0; lane < LANE_COUNT; lane++) {
        sent += link->flying_n[lane];
        for (const struct list_node *n = link->waiting[lane].first; n; n = n->next)
            unsent++;
    }
    *ret_unsent = unsent;
    return sent + unsent;
}

uint64_t keeper_link_silent_since_locked(const struct keeper_link *link)
{
    const struct keeper_call *oldest = call_of(link->flying.first);
    if (oldest == NULL)
        return 0;
    return oldest->sent_usec > link->heard_usec ? oldest->sent_usec : link->heard_usec;
}
