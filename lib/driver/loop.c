/* The event loop over libevent (event_core): one event_base without locks, on epoll.
 *
 * Every event is edge-triggered and persistent, so a descriptor costs one epoll_ctl at
 * its registration, and nothing per operation. At its end there is none: it would come
 * after the owner may have closed the descriptor, and touch whatever has its number then.
 * The next registration of the number takes the interest out.
 *
 * Deadlines go through a timerfd of our own rather than through libevent's timeouts:
 * epoll_wait() counts whole milliseconds and adds the thread's timer slack, libevent's
 * precise mode sets its timerfd again at every turn. Ours is set when the deadline
 * differs from the last one, to the absolute time, so it is neither early nor rounded.
 * Neither it nor the eventfd of kicks is ever read: each expiry and each write is a new
 * edge, and setting the timer resets its count. */
#include "driver/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BASE_DESCRIPTORS 3

struct loop {
    struct event_base *base;
    struct task_chain *chain; /* of the current call */
    uint64_t armed;           /* usec: what the timerfd is set to; UINT64_MAX: not set */
    int kick_fd, timer_fd;
    struct event kick_event, timer_event;
    struct interest **interest; /* by descriptor number */
    size_t numbers;             /* length of interest */
};

/* A descriptor number that was ever added. */
struct interest {
    struct event event;
    struct loop *loop;
    struct registration *reg; /* NULL: nobody is interested */
    bool added;
};

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct interest *in = arg;

    (void)fd;
    if (in->reg)
        registration_event(in->reg, what & EV_READ, what & EV_WRITE, in->loop->chain);
}

static void on_kick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg; /* that the loop returns is all */
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    (void)fd;
    (void)what;
    l->armed = UINT64_MAX;
}

/* libevent wants an epoll instance and a pair for signals, and without the pair it ends
 * the process. So they are asked for beforehand; only a thread that takes the last ones
 * in between can still bring that about. */
static int descriptors_for_base(int any)
{
    int fd[BASE_DESCRIPTORS], n = 0, r = 0;

    while (n < BASE_DESCRIPTORS && r == 0) {
        fd[n] = fcntl(any, F_DUPFD_CLOEXEC, 0);
        if (fd[n] < 0)
            r = -errno;
        else
            n++;
    }
    while (n > 0)
        close(fd[--n]);
    return r;
}

static struct event_base *base_new(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (!config)
        return NULL;
    if (event_config_require_features(config, EV_FEATURE_ET) == 0 &&
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0 &&
        event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV) == 0 &&
        event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static int add_own(struct loop *l, struct event *e, int fd, event_callback_fn fn)
{
    if (event_assign(e, l->base, fd, EV_READ | EV_ET | EV_PERSIST, fn, l) < 0)
        return -EINVAL;
    return event_add(e, NULL) < 0 ? -ENOMEM : 0;
}

int loop_new(struct loop **ret)
{
    struct loop *l = calloc(1, sizeof(*l));
    int r = -ENOMEM;

    if (!l)
        return -ENOMEM;
    l->armed = UINT64_MAX;
    l->timer_fd = -1;
    l->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->kick_fd < 0) {
        r = -errno;
        goto fail;
    }
    l->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->timer_fd < 0) {
        r = -errno;
        goto fail;
    }
    r = descriptors_for_base(l->kick_fd);
    if (r < 0)
        goto fail;
    r = -ENOMEM;
    l->base = base_new();
    if (!l->base)
        goto fail;
    r = add_own(l, &l->kick_event, l->kick_fd, on_kick);
    if (r == 0)
        r = add_own(l, &l->timer_event, l->timer_fd, on_timer);
    if (r < 0)
        goto fail;
    *ret = l;
    return 0;

fail:
    loop_free(l);
    return r;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    if (l->base)
        event_base_free(l->base); /* drops the events that are still added */
    for (size_t i = 0; i < l->numbers; i++)
        free(l->interest[i]);
    free(l->interest);
    if (l->timer_fd >= 0)
        close(l->timer_fd);
    if (l->kick_fd >= 0)
        close(l->kick_fd);
    free(l);
}

/* The interest in a number, made if need be; NULL: out of memory. */
static struct interest *interest_of(struct loop *l, int fd)
{
    size_t n = (size_t)fd;

    if (n >= l->numbers) {
        size_t more = n < 64 ? 64 : n * 2;
        struct interest **all = realloc(l->interest, more * sizeof(struct interest *));

        if (!all)
            return NULL;
        for (size_t i = l->numbers; i < more; i++)
            all[i] = NULL;
        l->interest = all;
        l->numbers = more;
    }
    if (!l->interest[n])
        l->interest[n] = calloc(1, sizeof(struct interest));
    return l->interest[n];
}

int loop_add(struct loop *l, struct registration *r)
{
    struct interest *in = interest_of(l, r->fd);

    if (!in)
        return -ENOMEM;
    /* Of a predecessor: the kernel knows it no more, or still by this file. */
    if (in->added)
        (void)event_del(&in->event);
    in->added = false;
    in->loop = l;
    if (event_assign(&in->event, l->base, r->fd, EV_READ | EV_WRITE | EV_ET | EV_PERSIST,
                     on_ready, in) < 0)
        return -EINVAL;
    errno = 0;
    if (event_add(&in->event, NULL) < 0)
        return errno ? -errno : -ENOMEM;
    in->added = true;
    in->reg = r;
    return 0;
}

void loop_del(struct loop *l, struct registration *r)
{
    struct interest *in = l->interest[r->fd];

    if (in->reg == r)
        in->reg = NULL;
}

void loop_poll(struct loop *l, struct task_chain *chain)
{
    l->chain = chain;
    (void)event_base_loop(l->base, EVLOOP_NONBLOCK);
}

static void arm(struct loop *l, uint64_t until_usec)
{
    struct itimerspec at = {0};

    if (until_usec == l->armed)
        return;
    l->armed = until_usec;
    if (until_usec != UINT64_MAX) {
        at.it_value.tv_sec = (time_t)(until_usec / 1000000);
        at.it_value.tv_nsec = (long)(until_usec % 1000000 * 1000);
    }
    (void)timerfd_settime(l->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void loop_sleep(struct loop *l, uint64_t until_usec, struct task_chain *chain)
{
    l->chain = chain;
    arm(l, until_usec);
    (void)event_base_loop(l->base, EVLOOP_ONCE);
}

void loop_kick(struct loop *l)
{
    uint64_t one = 1;

    /* Fails only when the counter is full: then it is readable anyhow. */
    (void)!write(l->kick_fd, &one, sizeof(one));
}
