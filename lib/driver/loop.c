/* The event loop over libevent (event_core): one event_base without locks, on epoll.
 *
 * The base holds the eventfd of kicks, a timerfd, and an epoll instance of our own with
 * the registered descriptors. libevent reports an error as "readable and writable", but
 * registration.h needs to know that a stream has ended. So events are read from our
 * instance directly: a poll reads it alone, and only a sleep enters libevent. Our
 * instance is level-triggered in the base: events that do not fit into one look end the
 * next sleep.
 *
 * A sleep that an event ends takes two calls, one for each instance. So after a sleep
 * that ended at once, the next one begins with a look. Under load that look finds events
 * and is the only call.
 *
 * Descriptors are edge-triggered: one epoll_ctl each at registration, none per operation,
 * and none at the end. At the end the owner may have closed the descriptor, and the call
 * would hit the number's next file. An event of a closed number finds no registration, or
 * is a spurious readiness for the number's next user.
 *
 * Deadlines use a timerfd of our own. epoll_wait() counts whole milliseconds and adds the
 * thread's timer slack; libevent's precise mode sets its timerfd at every turn. Ours is
 * set to the absolute time when the deadline has changed, so it is neither early nor
 * rounded. Neither the timerfd nor the eventfd of kicks is ever read: each expiry and
 * each write is a new edge, and setting the timer resets its count. */
#include "driver/loop.h"
#include "base/clock.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BASE_DESCRIPTORS 3
/* Most events per look: as many as a worker polls tasks before its next look. */
#define LOOK 128
/* Longest sleep, in clock_ticks(), that "ended at once": some microseconds. */
#define PROMPT_TICKS 16384

struct loop {
    struct event_base *base;
    struct task_chain *chain; /* of the current call */
    uint64_t armed;           /* usec that the timerfd is set to; UINT64_MAX: not set */
    bool prompt;              /* the last sleep ended at once, by an event */
    int kick_fd, timer_fd, files; /* files: the epoll instance of registrations */
    struct event kick_event, timer_event, files_event;
    struct registration **reg; /* by descriptor number; NULL: no registration */
    size_t numbers;            /* length of reg */
};

static unsigned meaning(uint32_t events)
{
    unsigned what = 0;

    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR))
        what |= EVENT_READABLE;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        what |= EVENT_WRITABLE;
    if (events & (EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR))
        what |= EVENT_ENDED;
    return what;
}

static int look(struct loop *l)
{
    struct epoll_event got[LOOK];
    int n = epoll_wait(l->files, got, LOOK, 0);

    for (int i = 0; i < n; i++) {
        struct registration *r = l->reg[got[i].data.fd];

        if (r)
            registration_event(r, meaning(got[i].events), l->chain);
    }
    return n;
}

static void on_files(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    (void)fd;
    (void)what;
    l->prompt = look(l) > 0;
}

static void on_kick(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg; /* a kick has only to end the loop */
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;

    (void)fd;
    (void)what;
    l->armed = UINT64_MAX;
}

/* Checks that libevent can have its epoll instance and socket pair: without the pair it
 * ends the process. A thread that takes the last descriptors in between can still cause
 * that. */
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

static int add_own(struct loop *l, struct event *e, int fd, short edge,
                   event_callback_fn fn)
{
    if (event_assign(e, l->base, fd, (short)(EV_READ | EV_PERSIST | edge), fn, l) < 0)
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
    l->timer_fd = l->files = -1;
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
    l->files = epoll_create1(EPOLL_CLOEXEC);
    if (l->files < 0) {
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
    r = add_own(l, &l->kick_event, l->kick_fd, EV_ET, on_kick);
    if (r == 0)
        r = add_own(l, &l->timer_event, l->timer_fd, EV_ET, on_timer);
    if (r == 0)
        r = add_own(l, &l->files_event, l->files, 0, on_files);
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
    free(l->reg);
    if (l->files >= 0)
        close(l->files);
    if (l->timer_fd >= 0)
        close(l->timer_fd);
    if (l->kick_fd >= 0)
        close(l->kick_fd);
    free(l);
}

/* Makes room for the number. Returns false without memory. */
static bool make_room(struct loop *l, size_t number)
{
    size_t more = number < 64 ? 64 : number * 2;
    struct registration **all;

    if (number < l->numbers)
        return true;
    all = realloc(l->reg, more * sizeof(*all));
    if (!all)
        return false;
    for (size_t i = l->numbers; i < more; i++)
        all[i] = NULL;
    l->reg = all;
    l->numbers = more;
    return true;
}

int loop_add(struct loop *l, struct registration *r)
{
    struct epoll_event e = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, .data.fd = r->fd};

    if (!make_room(l, (size_t)r->fd))
        return -ENOMEM;
    /* The same file and number were registered before: MOD reports its state anew. */
    if (epoll_ctl(l->files, EPOLL_CTL_ADD, r->fd, &e) < 0 &&
        (errno != EEXIST || epoll_ctl(l->files, EPOLL_CTL_MOD, r->fd, &e) < 0))
        return -errno;
    l->reg[r->fd] = r;
    return 0;
}

void loop_del(struct loop *l, struct registration *r)
{
    if (l->reg[r->fd] == r)
        l->reg[r->fd] = NULL;
}

void loop_poll(struct loop *l, struct task_chain *chain)
{
    l->chain = chain;
    (void)look(l);
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
    uint64_t begun;

    l->chain = chain;
    if (l->prompt && look(l) > 0)
        return;
    l->prompt = false;
    arm(l, until_usec);
    begun = clock_ticks();
    (void)event_base_loop(l->base, EVLOOP_ONCE);
    if (clock_ticks() - begun >= PROMPT_TICKS)
        l->prompt = false;
}

void loop_kick(struct loop *l)
{
    uint64_t one = 1;

    /* Fails only if the counter is full, and then the eventfd is readable anyway. */
    (void)!write(l->kick_fd, &one, sizeof(one));
}
