/* The runtime as a whole: spawn, join, cancel, wake, steal, park, shutdown. */
#include "base/atomic.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <volt/volt.h>

static struct volt_runtime *runtime(unsigned workers)
{
    struct volt_options opt = {.workers = workers, .seed = 42};
    struct volt_runtime *rt;

    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    return rt;
}

/* --- a task that counts
 * ----------------------------------------------------------------- */

struct counting {
    vat_u32 *polls, *drops;
    int yields;
    struct volt_yield yield;
    int result;
};

static enum volt_poll counting_poll(struct volt_cx *cx, void *state)
{
    struct counting *s = state;

    vat_u32_add(s->polls, 1, VAT_RLX);
    if (s->yields-- > 0) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    s->result = 42;
    return VOLT_READY;
}

static void counting_drop(void *state)
{
    struct counting *s = state;

    vat_u32_add(s->drops, 1, VAT_RLX);
}

static const struct volt_task_type counting_type = {
    .name = "counting",
    .size = sizeof(struct counting),
    .poll = counting_poll,
    .drop = counting_drop,
};

static vat_u32 polls, drops;

static void spawn_counting(struct volt_runtime *rt, int yields, struct volt_join *join)
{
    struct counting *s = volt_task_new(rt, &counting_type);

    assert_non_null(s);
    s->polls = &polls;
    s->drops = &drops;
    s->yields = yields;
    assert_int_equal(volt_task_spawn(s, join), 0);
}

static int reset(void **state)
{
    (void)state;
    vat_u32_init(&polls, 0);
    vat_u32_init(&drops, 0);
    return 0;
}

static void spawn_and_join(void **state)
{
    struct volt_runtime *rt = runtime(2);
    struct volt_join join;

    (void)state;
    spawn_counting(rt, 3, &join);
    assert_int_equal(volt_join_wait(&join), 0);
    assert_int_equal(((struct counting *)volt_join_state(&join))->result, 42);
    volt_join_fini(&join);
    assert_int_equal(vat_u32_load(&polls, VAT_ACQ), 4);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    volt_runtime_free(rt);
}

static void many_detached_tasks_all_run(void **state)
{
    struct volt_runtime *rt = runtime(4);
    struct volt_join join;

    (void)state;
    for (int i = 0; i < 20000; i++)
        spawn_counting(rt, i % 3, NULL);
    spawn_counting(rt, 0, &join);
    volt_join_wait(&join);
    volt_join_fini(&join);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 20001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spawn_and_join, reset),
        cmocka_unit_test_setup(many_detached_tasks_all_run, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
