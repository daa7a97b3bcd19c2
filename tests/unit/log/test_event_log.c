/* The log: its subscribers are all notified, and other tasks have their turn; what is put in
 * again after a restart. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <assert.h>
#include <cmocka.h>

#include "daemon/auth/auth.h"
#include "daemon/log/event_log.h"
#include "daemon/log/event_ring.h"

#define SUBSCRIBERS 1000

static struct fixture {
    struct volt_runtime *rt;
    struct event_log *log;
    vat_u32 looked; /* in all, after a notification */
    struct volt_join join[SUBSCRIBERS];
} f;

static unsigned looked(void)
{
    return vat_u32_load(&f.looked, VAT_RLX);
}

struct watching {
    struct subscriber subscriber;
    struct subscription of_log;
    unsigned times; /* until it ends */
};

static enum volt_poll watching_poll(struct volt_cx *cx, void *state)
{
    struct watching *w = state;

    if (!w->subscriber.table) {
        subscriber_init(cx, &w->subscriber, event_log_subscriptions(f.log));
        subscription_add(&w->subscriber, &w->of_log, 0);
        assert(subscriber_arm(&w->subscriber)); /* the first look */
    }
    for (; w->times > 0; w->times--) {
        if (!subscriber_arm(&w->subscriber))
            return VOLT_PENDING;
        (void)vat_u32_add(&f.looked, 1, VAT_RLX);
    }
    return VOLT_READY;
}

static void watching_drop(void *state)
{
    struct watching *w = state;

    if (w->subscriber.table)
        subscription_remove(&w->subscriber, &w->of_log, 0);
    subscriber_fini(&w->subscriber);
}

static const struct volt_task_type watching_type = {"watching", sizeof(struct watching),
                                                    watching_poll, watching_drop, NULL};

static void watch(unsigned i, unsigned times)
{
    struct watching *w = volt_task_new(f.rt, &watching_type);

    assert_non_null(w);
    w->times = times;
    lone_spawn(w, &f.join[i]);
}

static int begin(void **state)
{
    (void)state;
    memset(&f, 0, sizeof(f));
    f.rt = lone_runtime();
    f.log = event_log_new();
    assert_non_null(f.log);
    return event_log_start(f.log, f.rt);
}

static int end(void **state)
{
    (void)state;
    (void)volt_runtime_shutdown(f.rt, UINT64_MAX);
    event_log_free(f.log);
    volt_runtime_free(f.rt);
    return 0;
}

static void all_are_notified_each_time(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SUBSCRIBERS; i++)
        watch(i, 2);
    lone_settle(f.rt);
    assert_int_equal(looked(), 0);
    event_log_notify(f.log);
    while (looked() < SUBSCRIBERS)
        lone_settle(f.rt);
    lone_settle(f.rt);
    assert_int_equal(looked(), SUBSCRIBERS);
    event_log_notify(f.log);
    for (unsigned i = 0; i < SUBSCRIBERS; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    assert_int_equal(looked(), 2 * SUBSCRIBERS);
}

/* Two notifications before a task looks are one look. */
static void twice_before_a_look_is_once(void **state)
{
    struct lone_hold hold;

    (void)state;
    watch(0, 2);
    lone_settle(f.rt);
    lone_hold_begin(f.rt, &hold);
    event_log_notify(f.log);
    event_log_notify(f.log);
    lone_hold_end(&hold);
    lone_settle(f.rt);
    assert_int_equal(looked(), 1);
    event_log_notify(f.log);
    assert_int_equal(lone_join(&f.join[0]), 0);
}

static void what_has_left_is_not_notified(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        watch(i, 1);
    lone_settle(f.rt);
    for (unsigned i = 0; i < 5; i += 2) /* the first, one between, the last */
        volt_join_cancel(&f.join[i]);
    event_log_notify(f.log);
    for (unsigned i = 0; i < 5; i++)
        (void)lone_join(&f.join[i]);
    assert_int_equal(looked(), 2);
}

struct neighbour {
    unsigned seen;
    unsigned *most; /* that looked between two of its turns */
};

static enum volt_poll neighbour_poll(struct volt_cx *cx, void *state)
{
    struct neighbour *n = state;

    if (looked() - n->seen > *n->most)
        *n->most = looked() - n->seen;
    n->seen = looked();
    if (n->seen == SUBSCRIBERS)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void others_have_their_turn(void **state)
{
    static const struct volt_task_type type = {"neighbour", sizeof(struct neighbour),
                                               neighbour_poll, NULL, NULL};
    struct neighbour *n = volt_task_new(f.rt, &type);
    struct volt_join join;
    unsigned most = 0;

    (void)state;
    n->most = &most;
    for (unsigned i = 0; i < SUBSCRIBERS; i++)
        watch(i, 1);
    lone_settle(f.rt);
    lone_spawn(n, &join);
    event_log_notify(f.log);
    assert_int_equal(lone_join(&join), 0);
    for (unsigned i = 0; i < SUBSCRIBERS; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    assert_in_range(most, 1, 64);
}

/* Of the newest, what has a number; and that not for subscribers. */
static void what_an_earlier_voltd_logged_is_put_in_again(void **state)
{
    const uint64_t last = EVENT_RING_CAPACITY + 100;
    const uint64_t numbers[] = {last, 0, 100, 101, last + 1};
    struct job_news got[4];
    const struct asker all = auth_voltd();
    uint64_t next, lost;

    (void)state;
    event_log_open(f.log, 0, last);
    for (size_t i = 0; i < 5; i++)
        event_log_put_again(f.log, &(struct job_news){.seq = numbers[i]});
    assert_int_equal(event_log_newest(f.log), last);
    assert_int_equal(
        event_log_read(f.log, &all, 0, got, 4, EVENT_RING_CAPACITY, &next, &lost), 2);
    assert_int_equal(got[0].seq, 101);
    assert_int_equal(got[1].seq, last);
    assert_int_equal(next, last);
    assert_int_equal(lost, 100);
}

/* Subscribers are notified at the end of a commit, whether somebody watches or not. */
static void the_end_of_a_commit_notifies(void **state)
{
    const struct job_news event = {.seq = 8};

    (void)state;
    event_log_open(f.log, 3, 7);
    assert_int_equal(event_log_first(f.log), 3);
    event_log_watch(f.log);
    assert_true(event_log_is_watched(f.log));
    event_log_unwatch(f.log);
    assert_false(event_log_is_watched(f.log));
    watch(0, 1);
    lone_settle(f.rt);
    event_log_put(f.log, &event, 1);
    lone_settle(f.rt);
    assert_int_equal(looked(), 0);
    event_log_put(f.log, NULL, 0);
    assert_int_equal(lone_join(&f.join[0]), 0);
    assert_int_equal(event_log_newest(f.log), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_are_notified_each_time, begin, end),
        cmocka_unit_test_setup_teardown(twice_before_a_look_is_once, begin, end),
        cmocka_unit_test_setup_teardown(what_has_left_is_not_notified, begin, end),
        cmocka_unit_test_setup_teardown(others_have_their_turn, begin, end),
        cmocka_unit_test_setup_teardown(what_an_earlier_voltd_logged_is_put_in_again,
                                        begin, end),
        cmocka_unit_test_setup_teardown(the_end_of_a_commit_notifies, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
