/* See clocks.h. */
#include "daemon/dispatch/clocks.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/admit/timed.h"

#define SEC UINT64_C(1000000)

static int init(struct volt_io *io, struct volt_runtime *rt, clockid_t clock)
{
    const int fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    int r = volt_io_init(io, rt, fd);
    if (r < 0)
        (void)close(fd);
    return r;
}

static void fini(struct volt_io *io)
{
    const int fd = io->registration ? io->fd : -1;

    volt_io_fini(io);
    if (fd >= 0)
        (void)close(fd);
    *io = (struct volt_io){0};
}

int clocks_init(struct clocks *c, struct volt_runtime *rt)
{
    int r = init(&c->boottime, rt, CLOCK_BOOTTIME);

    if (r == 0)
        r = init(&c->dates, rt, CLOCK_REALTIME);
    if (r < 0)
        clocks_fini(c);
    return r;
}

void clocks_fini(struct clocks *c)
{
    fini(&c->boottime);
    fini(&c->dates);
}

/* Sets a timer; 1 ns is added because time 0 would disarm it. If the date is set at this
 * moment, the call fails but the timer is armed, and its read reports the change. */
static void arm(struct volt_io *io, int flags, uint64_t at)
{
    struct itimerspec when = {.it_value = {0}};

    if (at != TIMED_NEVER) {
        when.it_value.tv_sec = (time_t)(at / SEC);
        when.it_value.tv_nsec = (long)(at % SEC) * 1000 + 1;
    }
    (void)timerfd_settime(io->fd, TFD_TIMER_ABSTIME | flags, &when, NULL);
}

void clocks_arm(struct clocks *c, const struct admission_times *at)
{
    arm(&c->boottime, 0, at->boottime);
    arm(&c->dates, TFD_TIMER_CANCEL_ON_SET, at->realtime);
}

static bool has_come(struct volt_cx *cx, struct volt_io *io)
{
    uint64_t times;
    ssize_t r;

    return volt_io_read_poll(cx, io, &times, sizeof(times), &r) == VOLT_READY;
}

enum volt_poll clocks_poll(struct volt_cx *cx, struct clocks *c)
{
    const bool a = has_come(cx, &c->boottime), b = has_come(cx, &c->dates);

    return a || b ? VOLT_READY : VOLT_PENDING;
}
