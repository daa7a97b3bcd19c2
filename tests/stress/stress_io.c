/* Stress of descriptors: pairs of tasks talk over sockets that are opened and closed all
 * the time, so that numbers are reused as fast as the kernel hands them out, on more
 * workers than CPUs, while the main thread cancels some in the middle. At the end every
 * message was right, and no registration, timer, task or descriptor is left.
 *
 * Options: tests/support/stress.h. */
#include "base/atomic.h"
#include "tests/support/stress.h"

#include <dirent.h>
#include <unistd.h>

enum { PAIRS = 300, SLOTS = 32, ROUNDS = 20 };

static vat_u64 alive;

/* One end of a pair. The asker sends a number and expects it plus one; the answerer goes
 * on until the other end is closed. An end that is cancelled just closes. */
struct end {
    int at, fd;
    struct volt_io io;
    bool asks;
    uint64_t seed, sent, got;
    size_t done;
    ssize_t n;
    int round;
    struct volt_sleep pause;
};

static enum volt_poll read_all(struct volt_cx *cx, struct end *e)
{
    while (e->done < sizeof(e->got)) {
        if (volt_io_read_poll(cx, &e->io, (char *)&e->got + e->done,
                              sizeof(e->got) - e->done, &e->n) == VOLT_PENDING)
            return VOLT_PENDING;
        if (e->n <= 0)
            break;
        e->done += (size_t)e->n;
    }
    return VOLT_READY;
}

static enum volt_poll write_all(struct volt_cx *cx, struct end *e)
{
    while (e->done < sizeof(e->sent)) {
        struct iovec iov = {(char *)&e->sent + e->done, sizeof(e->sent) - e->done};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

        if (volt_io_sendmsg_poll(cx, &e->io, &msg, MSG_NOSIGNAL, &e->n) == VOLT_PENDING)
            return VOLT_PENDING;
        if (e->n <= 0)
            break;
        e->done += (size_t)e->n;
    }
    return VOLT_READY;
}

static enum volt_poll asker_poll(struct volt_cx *cx, struct end *e)
{
    VOLT_BEGIN(e->at);
    for (e->round = 0; e->round < ROUNDS; e->round++) {
        if (stress_random(&e->seed, 8) == 0) {
            volt_sleep_init(&e->pause, stress_random(&e->seed, 1500));
            VOLT_AWAIT(e->at, volt_sleep_poll(cx, &e->pause));
            volt_sleep_fini(&e->pause);
        }
        e->sent = stress_random(&e->seed, UINT64_MAX);
        e->done = 0;
        VOLT_AWAIT(e->at, write_all(cx, e));
        if (e->done < sizeof(e->sent))
            return VOLT_READY; /* the other end was cancelled */
        e->done = 0;
        VOLT_AWAIT(e->at, read_all(cx, e));
        if (e->done < sizeof(e->got))
            return VOLT_READY;
        CHECK(e->got == e->sent + 1);
    }
    VOLT_END(e->at);
}

static enum volt_poll answerer_poll(struct volt_cx *cx, struct end *e)
{
    VOLT_BEGIN(e->at);
    for (;;) {
        e->done = 0;
        VOLT_AWAIT(e->at, read_all(cx, e));
        if (e->done < sizeof(e->got))
            return VOLT_READY;
        e->sent = e->got + 1;
        e->done = 0;
        VOLT_AWAIT(e->at, write_all(cx, e));
        if (e->done < sizeof(e->sent))
            return VOLT_READY;
    }
    VOLT_END(e->at);
}

static enum volt_poll end_poll(struct volt_cx *cx, void *state)
{
    struct end *e = state;

    return e->asks ? asker_poll(cx, e) : answerer_poll(cx, e);
}

static void end_drop(void *state)
{
    struct end *e = state;

    volt_sleep_fini(&e->pause);
    volt_io_fini(&e->io);
    close(e->fd); /* at once: the number may be somebody else's before the loop hears */
    vat_u64_sub(&alive, 1, VAT_AR);
}

static const struct volt_task_type end_type = {
    .name = "end",
    .size = sizeof(struct end),
    .poll = end_poll,
    .drop = end_drop,
};

static void spawn_end(struct volt_runtime *rt, int fd, bool asks, uint64_t seed,
                      struct volt_join *ret_join)
{
    struct end *e = volt_task_new(rt, &end_type);

    CHECK(e);
    e->fd = fd;
    e->asks = asks;
    e->seed = seed | 1;
    CHECK(volt_io_init(&e->io, rt, fd) == 0);
    vat_u64_add(&alive, 1, VAT_AR);
    CHECK(volt_task_spawn(e, ret_join) == 0);
}

/* Both ends in one runtime or in two. */
static void spawn_pair(struct stress *st, uint64_t *seed, struct volt_join *ret_asker)
{
    struct volt_runtime *a = st->rt[stress_random(seed, st->runtimes)];
    struct volt_runtime *b = st->rt[stress_random(seed, st->runtimes)];
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    spawn_end(a, fds[1], false, 0, NULL);
    spawn_end(b, fds[0], true, stress_random(seed, UINT64_MAX), ret_asker);
}

static unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    CHECK(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void one_round(struct stress *st)
{
    uint64_t seed = stress_mix(st->seed, 0);
    unsigned before = open_descriptors();
    struct volt_join join[SLOTS];
    struct volt_stats stats;

    stress_start(st, st->workers, NULL);
    vat_u64_init(&alive, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        spawn_pair(st, &seed, &join[i]);
    for (unsigned i = SLOTS; i < PAIRS; i++) {
        unsigned slot = (unsigned)stress_random(&seed, SLOTS);

        if (stress_random(&seed, 2))
            volt_join_cancel(&join[slot]);
        (void)volt_join_wait(&join[slot]);
        volt_join_fini(&join[slot]);
        spawn_pair(st, &seed, &join[slot]);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        (void)volt_join_wait(&join[i]);
        volt_join_fini(&join[i]);
    }
    do { /* the answerers go when they see the end */
        (void)usleep(100);
        stats = stress_stats(st);
    } while (stats.live > 0);
    CHECK(vat_u64_load(&alive, VAT_ACQ) == 0);
    CHECK(stats.spawned == 2 * PAIRS && stats.completed == 2 * PAIRS);
    CHECK(stats.io_handles == 0 && stats.timers == 0);
    stress_stop(st);
    stress_free(st);
    CHECK(open_descriptors() == before);
}

int main(int argc, char **argv)
{
    struct stress st;

    stress_init(&st, argc, argv);
    while (stress_next(&st))
        one_round(&st);
    return 0;
}
