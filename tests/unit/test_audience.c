/* An audience: everybody hears of everything, and nobody else waits for that. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/audience.h"

#define HEARERS 1000

static struct fixture {
    struct volt_runtime *rt;
    struct audience audience;
    vat_u32 heard; /* in all */
    struct volt_join join[HEARERS];
} f;

static unsigned heard(void)
{
    return vat_u32_load(&f.heard, VAT_RLX);
}

struct listening {
    struct hearer hearer;
    unsigned times; /* until it ends */
};

static enum volt_poll listening_poll(struct volt_cx *cx, void *state)
{
    struct listening *l = state;

    while (l->times > 0) {
        if (hearer_poll(cx, &l->hearer) == VOLT_PENDING)
            return VOLT_PENDING;
        l->times--;
        (void)vat_u32_add(&f.heard, 1, VAT_RLX);
    }
    return VOLT_READY;
}

static void listening_drop(void *state)
{
    struct listening *l = state;

    hearer_fini(&l->hearer);
}

static const struct volt_task_type listening_type = {
    "listening", sizeof(struct listening), listening_poll, listening_drop, NULL};

static void listen_now(unsigned i, unsigned times)
{
    struct listening *l = volt_task_new(f.rt, &listening_type);

    assert_non_null(l);
    hearer_init(&l->hearer, &f.audience);
    l->times = times;
    lone_spawn(l, &f.join[i]);
}

static int begin(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    f.rt = lone_runtime();
    audience_init(&f.audience);
    return audience_start(&f.audience, f.rt);
}

static int end(void **state)
{
    (void)state;
    (void)volt_runtime_shutdown(f.rt, UINT64_MAX);
    audience_fini(&f.audience);
    volt_runtime_free(f.rt);
    return 0;
}

static void test_all_hear_each_time(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HEARERS; i++)
        listen_now(i, 2);
    lone_settle(f.rt);
    assert_int_equal(heard(), 0);
    audience_tell(&f.audience);
    while (heard() < HEARERS)
        lone_settle(f.rt);
    lone_settle(f.rt);
    assert_int_equal(heard(), HEARERS);
    audience_tell(&f.audience);
    for (unsigned i = 0; i < HEARERS; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    assert_int_equal(heard(), 2 * HEARERS);
}

/* What is told while he reads is not lost, and twice before he looks is once. */
static void test_told_before_the_wait(void **state)
{
    struct lone_hold hold;

    (void)state;
    lone_hold_begin(f.rt, &hold);
    listen_now(0, 1);
    audience_tell(&f.audience);
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&f.join[0]), 0);

    listen_now(0, 2);
    lone_settle(f.rt);
    lone_hold_begin(f.rt, &hold);
    audience_tell(&f.audience);
    audience_tell(&f.audience);
    lone_hold_end(&hold);
    lone_settle(f.rt);
    assert_int_equal(heard(), 2);
    audience_tell(&f.audience);
    assert_int_equal(lone_join(&f.join[0]), 0);
}

static void test_who_leaves_is_not_told(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        listen_now(i, 1);
    lone_settle(f.rt);
    for (unsigned i = 0; i < 5; i += 2) /* the first, one between, the last */
        volt_join_cancel(&f.join[i]);
    audience_tell(&f.audience);
    for (unsigned i = 0; i < 5; i++)
        (void)lone_join(&f.join[i]);
    assert_int_equal(heard(), 2);
}

struct neighbour {
    unsigned seen;
    unsigned *most; /* that heard between two of its turns */
};

static enum volt_poll neighbour_poll(struct volt_cx *cx, void *state)
{
    struct neighbour *n = state;

    if (heard() - n->seen > *n->most)
        *n->most = heard() - n->seen;
    n->seen = heard();
    if (n->seen == HEARERS)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void test_others_have_their_turn(void **state)
{
    static const struct volt_task_type type = {"neighbour", sizeof(struct neighbour),
                                               neighbour_poll, NULL, NULL};
    struct neighbour *n = volt_task_new(f.rt, &type);
    struct volt_join join;
    unsigned most = 0;

    (void)state;
    n->most = &most;
    for (unsigned i = 0; i < HEARERS; i++)
        listen_now(i, 1);
    lone_settle(f.rt);
    lone_spawn(n, &join);
    audience_tell(&f.audience);
    assert_int_equal(lone_join(&join), 0);
    for (unsigned i = 0; i < HEARERS; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    assert_in_range(most, 1, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_hear_each_time, begin, end),
        cmocka_unit_test_setup_teardown(test_told_before_the_wait, begin, end),
        cmocka_unit_test_setup_teardown(test_who_leaves_is_not_told, begin, end),
        cmocka_unit_test_setup_teardown(test_others_have_their_turn, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
