/* How long a task from outside waits for its poll while tasks that wake themselves keep all
 * workers busy with polls of 1 us: more of them than the rings hold, too. One JSON line per
 * number of live tasks; microseconds over 500 injections, one at a time.
 *
 *   bench_injection [WORKERS] */
#include "base/atomic.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <volt/volt.h>

enum { SAMPLES = 500, POLL_NS = 1000, PAUSE_USEC = 500 };

static vat_u32 stop;

static enum volt_poll live_poll(struct volt_cx *cx, void *state)
{
    uint64_t end = clock_ns() + POLL_NS;

    (void)state;
    if (vat_u32_load(&stop, VAT_RLX))
        return VOLT_READY;
    while (clock_ns() < end)
        vat_pause();
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static enum volt_poll stamp_poll(struct volt_cx *cx, void *state)
{
    uint64_t *when = state;

    (void)cx;
    *when = clock_ns();
    return VOLT_READY;
}

static const struct volt_task_type live_type = {.name = "live", .poll = live_poll};
static const struct volt_task_type stamp_type = {
    .name = "stamp", .size = sizeof(uint64_t), .poll = stamp_poll};

static void spawn(struct volt_runtime *rt, const struct volt_task_type *type,
                  struct volt_join *join)
{
    void *state = volt_task_new(rt, type);

    if (!state || volt_task_spawn(state, join) < 0) {
        (void)fprintf(stderr, "bench_injection: cannot spawn\n");
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(unsigned workers, int live)
{
    struct volt_options opt = {.workers = workers};
    struct volt_runtime *rt;
    double us[SAMPLES];

    if (volt_runtime_new(&opt, &rt) < 0)
        exit(1);
    vat_u32_store(&stop, 0, VAT_RLX);
    for (int i = 0; i < live; i++)
        spawn(rt, &live_type, NULL);
    for (int i = 0; i < SAMPLES; i++) {
        struct volt_join join;

        usleep(PAUSE_USEC);
        uint64_t start = clock_ns();
        spawn(rt, &stamp_type, &join);
        volt_join_wait(&join);
        us[i] = (double)(*(uint64_t *)volt_join_state(&join) - start) / 1000;
        volt_join_fini(&join);
    }
    vat_u32_store(&stop, 1, VAT_REL);
    volt_runtime_free(rt);
    qsort(us, SAMPLES, sizeof(us[0]), by_value);
    printf(
        "{\"workload\": \"injection\", \"workers\": %u, \"live\": %d, \"unit\": \"us\", "
        "\"p50\": %.0f, \"p99\": %.0f, \"max\": %.0f}\n",
        workers, live, us[SAMPLES / 2], us[SAMPLES * 99 / 100], us[SAMPLES - 1]);
}

int main(int argc, char **argv)
{
    unsigned workers = argc > 1 ? (unsigned)atoi(argv[1]) : 2;

    measure(workers, 64);
    measure(workers, 1024);
    return 0;
}
