/* Wait groups in tasks. */
#include "base/atomic.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>

struct part {
    struct volt_wait_group *group;
    vat_u32 *sum;
    uint32_t number;
    struct volt_yield yield;
    int at;
};

static enum volt_poll part_poll(struct volt_cx *cx, void *state)
{
    struct part *p = state;

    VOLT_BEGIN(p->at);
    VOLT_AWAIT(p->at, volt_yield_poll(cx, &p->yield));
    (void)vat_u32_add(p->sum, p->number, VAT_RLX);
    volt_wait_group_done(p->group);
    VOLT_END(p->at);
}

static const struct volt_task_type part_type = {
    .name = "part",
    .size = sizeof(struct part),
    .poll = part_poll,
};

struct whole {
    int at, parts;
    vat_u32 sum;
    struct volt_wait_group group; /* goes with the task, as soon as the wait is over */
    struct volt_wait_group_wait wait;
};

static enum volt_poll whole_poll(struct volt_cx *cx, void *state)
{
    struct whole *w = state;

    VOLT_BEGIN(w->at);
    volt_wait_group_init(&w->group, 1);
    for (int i = 1; i <= w->parts; i++) {
        volt_wait_group_add(&w->group, 1);
        if (VOLT_SPAWN(volt_cx_runtime(cx), &part_type, NULL, struct part,
                       .group = &w->group, .sum = &w->sum, .number = (uint32_t)i) < 0)
            abort();
    }
    volt_wait_group_done(&w->group);
    volt_wait_group_wait_init(&w->wait, &w->group);
    VOLT_AWAIT(w->at, volt_wait_group_wait_poll(cx, &w->wait));
    volt_wait_group_fini(&w->group);
    VOLT_END(w->at);
}

static const struct volt_task_type whole_type = {
    .name = "whole",
    .size = sizeof(struct whole),
    .poll = whole_poll,
};

static void test_a_group_is_waited_for(void **state)
{
    struct volt_options opt = {.workers = 4};
    struct volt_runtime *rt;
    struct volt_join join;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(
            VOLT_SPAWN(rt, &whole_type, &join, struct whole, .parts = i % 20), 0);
        assert_int_equal(volt_join_wait(&join), 0);
        struct whole *w = volt_join_state(&join);
        assert_int_equal(vat_u32_load(&w->sum, VAT_RLX), (i % 20) * (i % 20 + 1) / 2);
        volt_join_fini(&join);
    }
    volt_runtime_free(rt);
}

static struct volt_wait_group open_group = VOLT_WAIT_GROUP_INIT(1);

static enum volt_poll waits_poll(struct volt_cx *cx, void *state)
{
    return volt_wait_group_wait_poll(cx, state);
}

static void waits_drop(void *state)
{
    volt_wait_group_wait_fini(state);
}

static const struct volt_task_type waits_type = {
    .name = "waits",
    .size = sizeof(struct volt_wait_group_wait),
    .poll = waits_poll,
    .drop = waits_drop,
};

static void test_a_wait_may_be_given_up(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_wait_group_wait wait;
    struct volt_join a, b;

    (void)state;
    volt_wait_group_wait_init(&wait, &open_group);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &b), 0);
    lone_settle(rt);
    volt_join_cancel(&a);
    assert_int_equal(lone_join(&a), -ECANCELED);
    assert_int_equal(volt_join_status(&b), -EINPROGRESS);
    volt_wait_group_done(&open_group);
    assert_int_equal(lone_join(&b), 0);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    assert_int_equal(lone_join(&a), 0); /* it is 0 already */
    volt_wait_group_add(&open_group, 1);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    lone_settle(rt);
    assert_int_equal(volt_join_status(&a), -EINPROGRESS);
    volt_wait_group_done(&open_group);
    assert_int_equal(lone_join(&a), 0);
    volt_wait_group_fini(&open_group);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_group_is_waited_for),
        cmocka_unit_test(test_a_wait_may_be_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
