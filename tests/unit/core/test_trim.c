/* Memory of tasks goes back to the system after a burst: what the process occupies, and
 * what the runtime counts, fall again, although nothing happens any more. A promise that
 * is not kept hangs the test. */
#include "sched/sched.h"
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 300000, STATE = 128 }; /* 58 MB */
#define MIB ((uint64_t)1 << 20)

static struct volt_notify gate;

struct waits {
    struct volt_notified notified;
    char rest[STATE - sizeof(struct volt_notified)];
};

static enum volt_poll waits_poll(struct volt_cx *cx, void *state)
{
    struct waits *w = state;

    return volt_notified_poll(cx, &w->notified);
}

static void waits_drop(void *state)
{
    struct waits *w = state;

    volt_notified_fini(&w->notified);
}

static const struct volt_task_type waits_type = {
    .name = "waits",
    .size = sizeof(struct waits),
    .poll = waits_poll,
    .drop = waits_drop,
};

/* Bytes of memory that the process has. */
static uint64_t resident(void)
{
    unsigned long size, pages;
    FILE *f = fopen("/proc/self/statm", "re");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
    (void)fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct volt_stats stats_of(struct volt_runtime *rt)
{
    struct volt_stats st;

    volt_runtime_stats(rt, &st);
    return st;
}

static void look_again(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Of many tasks, beside which `others` live on. */
static void burst(struct volt_runtime *rt, uint64_t others)
{
    for (int i = 0; i < BURST; i++) {
        struct waits *w = volt_task_new(rt, &waits_type);

        assert_non_null(w);
        volt_notified_init(&w->notified, &gate);
        assert_int_equal(volt_task_spawn(w, NULL), 0);
    }
    assert_true(stats_of(rt).task_bytes > 50 * MIB);
    volt_notify_all(&gate);
    while (stats_of(rt).live > others)
        look_again();
}

static void run(unsigned workers)
{
    struct volt_options opt = {.workers = workers};
    struct volt_runtime *rt;
    struct volt_join join;
    uint64_t before = resident();

    volt_notify_init(&gate);
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int i = 0; i < 2; i++) {
        burst(rt, 0);
        while (stats_of(rt).task_bytes > 8 * MIB)
            look_again();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        while (resident() > before + 24 * MIB)
            look_again();
#endif
    }
    /* What is left is whole: slots, old and new, make tasks. */
    struct waits *w = volt_task_new(rt, &waits_type);
    assert_non_null(w);
    volt_notified_init(&w->notified, &gate);
    lone_spawn(w, &join);
    volt_notify_all(&gate);
    assert_int_equal(lone_join(&join), 0);
    volt_runtime_free(rt);
    (void)before;
}

static void test_memory_of_a_burst_goes_back(void **state)
{
    (void)state;
    run(1);
}

static void test_also_that_of_several_workers(void **state)
{
    (void)state;
    run(3);
}

/* Some live on, here and there: their slabs stay, and their slots are whole. */
static void test_those_that_live_on_are_left_alone(void **state)
{
    enum { KEPT = 100 };
    static struct volt_join join[KEPT];
    struct volt_runtime *rt = lone_runtime();
    struct volt_notify other;

    (void)state;
    volt_notify_init(&gate);
    volt_notify_init(&other);
    for (int k = 0; k < KEPT; k++) {
        struct waits *kept = volt_task_new(rt, &waits_type);

        assert_non_null(kept);
        kept->rest[0] = (char)k;
        volt_notified_init(&kept->notified, &other);
        lone_spawn(kept, &join[k]);
        for (int i = 0; i < BURST / KEPT; i++) {
            struct waits *w = volt_task_new(rt, &waits_type);

            assert_non_null(w);
            volt_notified_init(&w->notified, &gate);
            assert_int_equal(volt_task_spawn(w, NULL), 0);
        }
    }
    uint64_t most = stats_of(rt).task_bytes;
    volt_notify_all(&gate);
    while (stats_of(rt).live > KEPT)
        look_again();
    while (stats_of(rt).task_bytes > most / 2)
        look_again();
    volt_notify_all(&other);
    for (int k = 0; k < KEPT; k++) {
        assert_int_equal(volt_join_wait(&join[k]), 0);
        assert_int_equal(((struct waits *)volt_join_state(&join[k]))->rest[0], (char)k);
        volt_join_fini(&join[k]);
    }
    volt_runtime_free(rt);
}

/* A task that sleeps and wakes until it has run in the midst of putting memory in order:
 * some has gone back, and the worker is not done. */
struct ticks {
    struct volt_sleep sleep;
};

static vat_u64 most_bytes; /* 0: a burst is being made */
static vat_u32 ran_meanwhile;

static enum volt_poll ticks_poll(struct volt_cx *cx, void *state)
{
    struct ticks *s = state;

    while (volt_sleep_poll(cx, &s->sleep) == VOLT_READY) {
        struct worker *w = worker_current();

        if (w->trim_at && slab_bytes(w->sched->heap) < vat_u64_load(&most_bytes, VAT_ACQ))
            vat_u32_store(&ran_meanwhile, 1, VAT_REL);
        volt_sleep_fini(&s->sleep);
        if (vat_u32_load(&ran_meanwhile, VAT_ACQ))
            return VOLT_READY;
        volt_sleep_init(&s->sleep, 100);
    }
    return VOLT_PENDING;
}

static const struct volt_task_type ticks_type = {
    .name = "ticks",
    .size = sizeof(struct ticks),
    .poll = ticks_poll,
};

/* The only worker gives memory back, and others' timers go on. */
static void test_timers_fire_meanwhile(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct ticks *s = volt_task_new(rt, &ticks_type);
    struct volt_join join;

    (void)state;
    assert_non_null(s);
    volt_notify_init(&gate);
    volt_sleep_init(&s->sleep, 100);
    lone_spawn(s, &join);
    while (!vat_u32_load(&ran_meanwhile, VAT_ACQ)) {
        vat_u64_store(&most_bytes, 0, VAT_REL);
        burst(rt, 1);
        vat_u64_store(&most_bytes, stats_of(rt).task_bytes, VAT_REL);
        while (stats_of(rt).task_bytes > 8 * MIB)
            look_again();
    }
    assert_int_equal(lone_join(&join), 0);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_fire_meanwhile),
        cmocka_unit_test(test_memory_of_a_burst_goes_back),
        cmocka_unit_test(test_also_that_of_several_workers),
        cmocka_unit_test(test_those_that_live_on_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
