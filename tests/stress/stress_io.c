/* Stress of descriptors: pairs of tasks talk over sockets that are opened and closed all the
 * time, so that numbers are reused as fast as the kernel hands them out, on more workers
 * than CPUs, while the main thread cancels some in the middle. At the end every message
 * was right, and no registration, timer, task or descriptor is left.
 *
 *   stress_io [SEED [PAIRS]]      without a seed: three fixed ones */
#include "base/atomic.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <volt/volt.h>

#define WORKERS 6
#define SLOTS   32
#define ROUNDS  20

#define CHECK(x)                                                                         \
    do {                                                                                 \
        if (!(x)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #x);  \
            abort();                                                                     \
        }                                                                                \
    } while (0)

static struct volt_runtime *rt;
static vat_u64 rounds_done, alive;

static uint64_t rnd(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

/* One end of a pair. The asker sends a number and expects it plus one; the answerer goes on
 * until the other end is closed. An end that is cancelled just closes. */
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
        if (rnd(&e->seed, 8) == 0) {
            volt_sleep_init(&e->pause, rnd(&e->seed, 1500));
            VOLT_AWAIT(e->at, volt_sleep_poll(cx, &e->pause));
            volt_sleep_fini(&e->pause);
        }
        e->sent = rnd(&e->seed, UINT64_MAX);
        e->done = 0;
        VOLT_AWAIT(e->at, write_all(cx, e));
        if (e->done < sizeof(e->sent))
            return VOLT_READY; /* the other end was cancelled */
        e->done = 0;
        VOLT_AWAIT(e->at, read_all(cx, e));
        if (e->done < sizeof(e->got))
            return VOLT_READY;
        CHECK(e->got == e->sent + 1);
        vat_u64_add(&rounds_done, 1, VAT_RLX);
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

static void spawn_end(int fd, bool asks, uint64_t seed, struct volt_join *ret_join)
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

static void spawn_pair(uint64_t *seed, struct volt_join *ret_asker)
{
    int fds[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    spawn_end(fds[1], false, 0, NULL);
    spawn_end(fds[0], true, rnd(seed, UINT64_MAX), ret_asker);
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

static void run(uint64_t seed, unsigned pairs)
{
    struct volt_options opt = {.workers = WORKERS, .seed = seed};
    struct volt_join join[SLOTS];
    unsigned cancelled = 0, before = open_descriptors();
    uint64_t s = seed * 2 + 1;
    struct volt_stats stats;

    CHECK(volt_runtime_new(&opt, &rt) == 0);
    vat_u64_init(&rounds_done, 0);
    vat_u64_init(&alive, 0);
    for (unsigned i = 0; i < SLOTS; i++)
        spawn_pair(&s, &join[i]);
    for (unsigned i = SLOTS; i < pairs; i++) {
        unsigned slot = (unsigned)rnd(&s, SLOTS);

        if (rnd(&s, 2)) {
            volt_join_cancel(&join[slot]);
            cancelled++;
        }
        (void)volt_join_wait(&join[slot]);
        volt_join_fini(&join[slot]);
        spawn_pair(&s, &join[slot]);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        (void)volt_join_wait(&join[i]);
        volt_join_fini(&join[i]);
    }
    while (vat_u64_load(&alive, VAT_ACQ) > 0) /* the answerers, when they see the end */
        (void)usleep(100);
    volt_runtime_stats(rt, &stats);
    CHECK(stats.io_handles == 0 && stats.timers == 0);
    CHECK(stats.total.rescues == 0);
    CHECK(volt_runtime_shutdown(rt, UINT64_MAX) == 0);
    volt_runtime_free(rt);
    CHECK(open_descriptors() == before);
    (void)printf("seed %" PRIu64 ": %u pairs, %u cancelled, %" PRIu64 " rounds\n", seed,
                 pairs, cancelled, vat_u64_load(&rounds_done, VAT_RLX));
}

int main(int argc, char **argv)
{
    unsigned pairs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 2000;

    if (argc > 1) {
        run(strtoull(argv[1], NULL, 0), pairs);
        return 0;
    }
    for (uint64_t seed = 1; seed <= 3; seed++)
        run(seed, pairs);
    return 0;
}
