/* What a user's connections hold together: below the limit nobody waits, above it one at a
 * time goes on, and nobody who waits is forgotten. And who of them is served. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/server/share.h"

#define KIB   UINT64_C(1024)
#define LIMIT (256 * KIB)

enum { SHARES = 4 };

static struct fixture {
    struct volt_runtime *rt;
    struct holder *user;
    uint64_t limit;
    struct share share[SHARES];
    bool goes_on[SHARES];
    int others_first;
    struct volt_join join[SHARES];
} f;

struct asker {
    unsigned i;
    bool for_time;
};

static enum volt_poll asker_poll(struct volt_cx *cx, void *state)
{
    struct asker *a = state;
    struct share *s = &f.share[a->i];

    if (a->for_time && share_enter_poll(cx, s) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!a->for_time && share_room_poll(cx, s, f.limit) == VOLT_PENDING)
        return VOLT_PENDING;
    f.goes_on[a->i] = true;
    return VOLT_READY;
}

static const struct volt_task_type asker_type = {
    .name = "asker", .size = sizeof(struct asker), .poll = asker_poll};

/* One after the other each of them asks, for room or to be served. */
static void ask_for(bool time, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        struct asker *a = volt_task_new(f.rt, &asker_type);

        assert_non_null(a);
        a->i = i;
        a->for_time = time;
        lone_spawn(a, &f.join[i]);
        lone_settle(f.rt);
    }
}

static void ask(unsigned first, unsigned last)
{
    ask_for(false, first, last);
}

static void hold(unsigned i, uint64_t bytes)
{
    share_hold(&f.share[i], bytes, f.limit);
    lone_settle(f.rt);
}

static unsigned going(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < SHARES; i++)
        n |= (unsigned)f.goes_on[i] << i;
    return n;
}

static int set_up(void **state)
{
    (void)state;
    f = (struct fixture){
        .rt = lone_runtime(), .user = holder_new(12345, 2), .limit = LIMIT};
    assert_non_null(f.user);
    for (unsigned i = 0; i < SHARES; i++)
        f.share[i].of = f.user;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SHARES; i++) {
        if (f.goes_on[i])
            assert_int_equal(lone_join(&f.join[i]), 0);
        share_fini(&f.share[i], f.limit);
    }
    volt_runtime_free(f.rt);
    assert_int_equal(vat_u64_load(&f.user->held, VAT_RLX), 0);
    holder_free(f.user);
    return 0;
}

static void below_the_limit_nobody_waits(void **state)
{
    (void)state;
    hold(0, LIMIT - 4 * KIB);
    hold(1, 4 * KIB - 1); /* less than a page is nothing */
    ask(0, 3);
    assert_int_equal(going(), 15);
}

static void beyond_it_they_take_turns(void **state)
{
    (void)state;
    hold(0, LIMIT);
    ask(1, 3);
    assert_int_equal(going(), 2);
    hold(1, 100 * KIB);
    assert_int_equal(going(), 2);
    hold(1, 8 * KIB); /* little again */
    assert_int_equal(going(), 6);
    share_fini(&f.share[2], f.limit); /* gone, with its turn */
    lone_settle(f.rt);
    assert_int_equal(going(), 14);
}

static void who_has_the_turn_need_not_ask_again(void **state)
{
    (void)state;
    hold(0, LIMIT);
    ask(1, 2);
    hold(1, 2 * LIMIT);
    assert_true(share_has_room(&f.share[1], f.limit));
    assert_false(share_has_room(&f.share[0], f.limit));
    hold(1, 0);
    assert_int_equal(going(), 6);
}

static void room_is_for_all_who_wait(void **state)
{
    (void)state;
    hold(0, 2 * LIMIT);
    ask(1, 3);
    hold(1, 64 * KIB); /* keeps the turn */
    assert_int_equal(going(), 2);
    hold(0, 0);
    assert_int_equal(going(), 14);
}

/* A limit that is raised is crossed by nobody. */
static void a_new_limit_is_for_all_who_wait(void **state)
{
    (void)state;
    hold(0, 2 * LIMIT);
    ask(1, 3);
    f.limit = 4 * LIMIT;
    hold(1, 0);
    assert_int_equal(going(), 14);
}

static void leave(unsigned i)
{
    share_leave(&f.share[i]);
    lone_settle(f.rt);
}

static void few_are_served_at_a_time(void **state)
{
    (void)state;
    ask_for(true, 0, 3);
    assert_int_equal(going(), 3);
    leave(1);
    assert_int_equal(going(), 7);
    leave(0);
    assert_int_equal(going(), 15);
    leave(2);
    leave(3);
}

static enum volt_poll other_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    f.others_first += !f.goes_on[0];
    return VOLT_READY;
}

static const struct volt_task_type other_type = {
    .name = "other", .size = 1, .poll = other_poll};

/* Makes tasks that are queued in this order, but the last, which runs next. */
static enum volt_poll spawner_poll(struct volt_cx *cx, void *state)
{
    struct asker *a = volt_task_new(f.rt, &asker_type);

    (void)cx;
    (void)state;
    a->for_time = true;
    (void)volt_task_spawn(a, &f.join[0]);
    (void)volt_task_spawn(volt_task_new(f.rt, &other_type), NULL);
    (void)volt_task_spawn(volt_task_new(f.rt, &other_type), NULL);
    return VOLT_READY;
}

static const struct volt_task_type spawner_type = {
    .name = "spawner", .size = 1, .poll = spawner_poll};

static void others_that_can_run_go_first(void **state)
{
    struct volt_join join;

    (void)state;
    lone_spawn(volt_task_new(f.rt, &spawner_type), &join);
    lone_settle(f.rt);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(going(), 1);
    assert_int_equal(f.others_first, 2);
    leave(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(below_the_limit_nobody_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(beyond_it_they_take_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_the_turn_need_not_ask_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(room_is_for_all_who_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_limit_is_for_all_who_wait, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(few_are_served_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_that_can_run_go_first, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
