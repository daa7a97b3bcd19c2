/* Notify: nothing is lost, nothing is invented. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static unsigned next_turn;

struct listener {
    struct volt_notified notified;
    unsigned *turn;
};

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *s = state;

    if (volt_notified_poll(cx, &s->notified) == VOLT_PENDING)
        return VOLT_PENDING;
    *s->turn = ++next_turn;
    return VOLT_READY;
}

static void listener_drop(void *state)
{
    struct listener *s = state;

    volt_notified_fini(&s->notified);
}

static const struct volt_task_type listener_type = {
    .name = "listener",
    .size = sizeof(struct listener),
    .poll = listener_poll,
    .drop = listener_drop,
};

struct fixture {
    struct volt_runtime *rt;
    struct volt_notify notify;
    unsigned turn[8];
    struct volt_join join[8];
};

static struct listener *new_listener(struct fixture *f, unsigned i)
{
    struct listener *s = volt_task_new(f->rt, &listener_type);

    assert_non_null(s);
    s->turn = &f->turn[i];
    volt_notified_init(&s->notified, &f->notify);
    return s;
}

static void listen_from_now(struct fixture *f, unsigned i)
{
    lone_spawn(new_listener(f, i), &f->join[i]);
    lone_settle(f->rt);
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    next_turn = 0;
    f->rt = lone_runtime();
    volt_notify_init(&f->notify);
}

static void end(struct fixture *f)
{
    volt_notify_fini(&f->notify);
    volt_runtime_free(f->rt);
}

static void test_one_is_kept_for_the_next(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    volt_notify_one(&f.notify);
    volt_notify_one(&f.notify); /* one permit, not two */
    listen_from_now(&f, 0);
    assert_int_equal(lone_join(&f.join[0]), 0);
    listen_from_now(&f, 1);
    assert_int_equal(f.turn[1], 0);
    volt_notify_one(&f.notify);
    assert_int_equal(lone_join(&f.join[1]), 0);
    end(&f);
}

static void test_one_wakes_the_oldest(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (unsigned i = 0; i < 3; i++)
        listen_from_now(&f, i);
    for (unsigned i = 0; i < 3; i++) {
        volt_notify_one(&f.notify);
        assert_int_equal(lone_join(&f.join[i]), 0);
        assert_int_equal(f.turn[i], i + 1);
    }
    end(&f);
}

static void test_all_wakes_those_that_wait_and_leaves_nothing(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    for (unsigned i = 0; i < 3; i++)
        listen_from_now(&f, i);
    volt_notify_all(&f.notify);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    volt_notify_all(&f.notify); /* nobody waits */
    listen_from_now(&f, 3);
    assert_int_equal(f.turn[3], 0);
    volt_join_cancel(&f.join[3]);
    assert_int_equal(lone_join(&f.join[3]), -ECANCELED);
    end(&f);
}

static void test_all_between_init_and_first_poll_is_seen(void **state)
{
    struct listener *early;
    struct fixture f;

    (void)state;
    begin(&f);
    early = new_listener(&f, 0);
    volt_notify_all(&f.notify);
    lone_spawn(early, &f.join[0]);
    assert_int_equal(lone_join(&f.join[0]), 0);
    assert_int_equal(f.turn[0], 1);
    end(&f);
}

static void test_granted_but_never_seen_goes_to_the_next(void **state)
{
    struct fixture f;
    struct lone_hold hold;

    (void)state;
    begin(&f);
    listen_from_now(&f, 0);
    listen_from_now(&f, 1);
    lone_hold_begin(f.rt, &hold);
    volt_notify_one(&f.notify);
    volt_join_cancel(&f.join[0]);
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    assert_int_equal(lone_join(&f.join[1]), 0);

    listen_from_now(&f, 2); /* and without a next, it stays as a permit */
    lone_hold_begin(f.rt, &hold);
    volt_notify_one(&f.notify);
    volt_join_cancel(&f.join[2]);
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&f.join[2]), -ECANCELED);
    listen_from_now(&f, 3);
    assert_int_equal(lone_join(&f.join[3]), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_is_kept_for_the_next),
        cmocka_unit_test(test_one_wakes_the_oldest),
        cmocka_unit_test(test_all_wakes_those_that_wait_and_leaves_nothing),
        cmocka_unit_test(test_all_between_init_and_first_poll_is_seen),
        cmocka_unit_test(test_granted_but_never_seen_goes_to_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
