/* Calls of the link: what they promise is in keeper_link.h, how they travel in
 * keeper_link_parts.h. */
#include "daemon/exec/keeper_link_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <volt/time.h>

#define WINDOW          64
#define WAKES_PER_ROUND 32

enum call_state { CALL_NEW, CALL_UNSENT, CALL_SENT, CALL_DONE };

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

/* Lock held. Sends what may be sent. Returns a call that cannot be sent at all, already
 * finished, with its waker in *ret_waker; NULL: nothing left to do now. */
static struct keeper_call *link_flush_locked(struct keeper_link *link,
                                             struct volt_waker *ret_waker)
{
    while (link->fd >= 0 && link->flying_n < WINDOW && link->waiting.head != NULL) {
        struct keeper_call *c = link->waiting.head;
        c->request.head.serial = ++link->serial;
        int r = keeper_call_transmit(link->fd, c);
        if (r < 0 && keeper_link_is_broken(r))
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

void keeper_link_flush(struct keeper_link *link)
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
    keeper_link_flush(c->link);
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

void keeper_link_take_reply(struct keeper_link *link, const struct keeper_reply *reply)
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
    keeper_link_flush(link);
}

void keeper_link_fail_flying(struct keeper_link *link)
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

uint64_t keeper_link_silent_since_locked(const struct keeper_link *link)
{
    const struct keeper_call *oldest = link->flying.head;
    if (oldest == NULL)
        return 0;
    return oldest->sent_usec > link->heard_usec ? oldest->sent_usec : link->heard_usec;
}
