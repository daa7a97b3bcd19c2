/* The one mechanism by which tasks wait for what happens to others: which subscriptions a
 * notification comes to, in portions, while others come and go. */
#include "tests/support/lone.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/log/subscription.h"

enum { LISTS = 8, MANY = 200 };

static struct subscriptions *table;
static struct volt_runtime *rt;
static struct volt_join join[MANY];
static vat_u32 woken; /* polls of tasks that were notified */

/* Waits for two things, the second in the list after the first. Moves into the table with
 * its first poll. */
struct task {
    struct subscriber subscriber;
    struct subscription of[2];
    uint32_t list;
    bool one;   /* only for the first */
    bool ready; /* when it is notified */
};

static struct task *tasks[MANY]; /* while they live */

static enum volt_poll task_poll(struct volt_cx *cx, void *state)
{
    struct task *t = state;

    if (!t->subscriber.table) {
        subscriber_init(cx, &t->subscriber, table);
        subscription_add(&t->subscriber, &t->of[0], t->list);
        if (!t->one)
            subscription_add(&t->subscriber, &t->of[1], (t->list + 1) % LISTS);
        assert(subscriber_arm(&t->subscriber));
    }
    if (!subscriber_arm(&t->subscriber))
        return VOLT_PENDING;
    (void)vat_u32_add(&woken, 1, VAT_RLX);
    if (t->ready)
        return VOLT_READY;
    assert(!subscriber_arm(&t->subscriber));
    return VOLT_PENDING;
}

static void task_drop(void *state)
{
    struct task *t = state;

    if (t->subscriber.table)
        for (int i = 0; i < 2; i++)
            subscription_remove(&t->subscriber, &t->of[i],
                                (t->list + (uint32_t)i) % LISTS);
    subscriber_fini(&t->subscriber);
}

static const struct volt_task_type task_type = {"task", sizeof(struct task), task_poll,
                                                task_drop, NULL};

static void subscribe(unsigned i, uint32_t list, bool one)
{
    struct task *t = tasks[i] = volt_task_new(rt, &task_type);

    assert_non_null(t);
    t->list = list;
    t->one = one;
    lone_spawn(t, &join[i]);
}

static void unsubscribe(unsigned i)
{
    volt_join_cancel(&join[i]);
    (void)lone_join(&join[i]);
    tasks[i] = NULL;
}

static int begin(void **state)
{
    (void)state;
    memset(tasks, 0, sizeof(tasks));
    vat_u32_store(&woken, 0, VAT_RLX);
    rt = lone_runtime();
    table = subscriptions_new(LISTS);
    return table ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        if (tasks[i])
            unsubscribe(i);
    (void)volt_runtime_shutdown(rt, UINT64_MAX);
    assert_true(subscriptions_is_empty(table));
    subscriptions_free(table);
    volt_runtime_free(rt);
    return 0;
}

/* While the lock is held: at the first subscription, and at the last of the most. */
static size_t first_looked, most_looked;

/* Goes on. True: it is not through. */
static bool go_on(bool (*is_concerned)(struct subscription *s), size_t *looks)
{
    struct subscriptions_round round;
    struct subscription *s;

    first_looked = most_looked = 0;
    subscriptions_begin_round(&round, table, looks);
    while ((s = subscriptions_next(&round))) {
        first_looked = first_looked ? first_looked : round.looked;
        most_looked = most_looked > round.looked ? most_looked : round.looked;
        if (!is_concerned || is_concerned(s))
            subscriptions_wake(&round, s);
    }
    return round.more;
}

/* Woken by so many looks; expects how many are left and whether it is through. */
static unsigned notify(size_t looks, size_t left, bool more)
{
    unsigned before = vat_u32_load(&woken, VAT_RLX);

    assert_int_equal(go_on(NULL, &looks), more);
    assert_int_equal(looks, left);
    lone_settle(rt);
    return vat_u32_load(&woken, VAT_RLX) - before;
}

static void only_one_list_is_notified(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        subscribe(i, i % 3 * 2, true);
    lone_settle(rt);
    subscriptions_begin(table, 2);
    assert_int_equal(notify(100, 97, false), 2); /* the list, and two in it */
    subscriptions_begin(table, 1);
    assert_int_equal(notify(100, 99, false), 0);
    subscriptions_begin_all(table);
    assert_int_equal(notify(100, 100 - LISTS - 6, false), 6);
}

static void an_empty_table_takes_no_looks(void **state)
{
    (void)state;
    subscriptions_begin_all(table);
    assert_int_equal(notify(100, 100, false), 0);
}

/* One that is not armed is passed, and one wake is enough for two subscriptions. */
static void a_task_is_woken_once_for_all_that_it_waits_for(void **state)
{
    struct lone_hold hold;
    size_t looks = 100;

    (void)state;
    subscribe(0, 3, false);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    for (uint32_t list = 3; list <= 4; list++) {
        subscriptions_begin(table, list);
        assert_false(go_on(NULL, &looks));
    }
    lone_hold_end(&hold);
    lone_settle(rt);
    assert_int_equal(vat_u32_load(&woken, VAT_RLX), 1);
    assert_int_equal(looks, 96);
    subscriptions_begin(table, 4); /* it is armed again */
    assert_int_equal(notify(100, 98, false), 1);
}

/* As many as there are looks; those that are armed again and those that come meanwhile are
 * not notified of it. */
static void a_notification_goes_on_where_it_was(void **state)
{
    unsigned sum = 0;

    (void)state;
    for (unsigned i = 0; i < MANY - 1; i++)
        subscribe(i, 5, true);
    lone_settle(rt);
    subscriptions_begin(table, 5);
    sum += notify(1, 0, true);
    sum += notify(99, 0, true);
    assert_int_equal(sum, 99);
    subscribe(MANY - 1, 5, true);
    lone_settle(rt);
    sum += notify(99, 0, true);
    sum += notify(2, 1, false);
    assert_int_equal(sum, MANY - 1);
    subscriptions_begin(table, 5);
    assert_int_equal(notify(1000, 1000 - MANY - 1, false), MANY);
}

/* Also the one that it would come to next. */
static void what_leaves_meanwhile_is_passed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        subscribe(i, 5, true);
    lone_settle(rt);
    subscriptions_begin(table, 5);
    assert_int_equal(notify(3, 0, true), 2); /* the last that came: 5 and 4 */
    unsubscribe(5);
    unsubscribe(3);
    unsubscribe(0);
    assert_int_equal(notify(100, 98, false), 2);
    assert_false(tasks[1] == NULL || tasks[2] == NULL);
}

static unsigned asked;

static bool is_the_first(struct subscription *s)
{
    asked++;
    return list_thing(s, struct task, of) == tasks[0];
}

static void the_source_knows_what_is_concerned(void **state)
{
    size_t looks = 100;

    (void)state;
    asked = 0;
    for (unsigned i = 0; i < 3; i++)
        subscribe(i, 7, true);
    lone_settle(rt);
    subscriptions_begin(table, 7);
    assert_false(go_on(is_the_first, &looks));
    lone_settle(rt);
    assert_int_equal(asked, 3);
    assert_int_equal(looks, 96);
    assert_int_equal(vat_u32_load(&woken, VAT_RLX), 1);
}

static bool is_nobody(struct subscription *s)
{
    (void)s;
    return false;
}

/* However many there are that it does not concern. */
static void the_lock_is_held_for_few(void **state)
{
    size_t looks = 1000;

    (void)state;
    for (unsigned i = 0; i < MANY; i++)
        subscribe(i, 7, true);
    lone_settle(rt);
    subscriptions_begin(table, 7);
    assert_false(go_on(is_nobody, &looks));
    assert_int_equal(looks, 1000 - MANY - 1);
    assert_int_equal(first_looked, 2); /* the list is one */
    assert_int_equal(most_looked, SUBSCRIPTIONS_LOOKS);
}

static bool is_behind(struct subscription *s)
{
    return subscriber_is_behind(s->by);
}

/* It looked after it happened and before the source came to it. */
static void what_has_looked_since_is_not_woken(void **state)
{
    struct lone_hold hold;
    size_t looks = 100;

    (void)state;
    assert_false(subscriptions_happened(table));
    subscribe(0, 0, true);
    subscribe(1, 0, true);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    assert_true(subscriptions_happened(table));
    assert_true(subscriber_arm(&tasks[0]->subscriber));
    assert_false(subscriber_arm(&tasks[0]->subscriber));
    subscriptions_begin(table, 0);
    assert_false(go_on(is_behind, &looks));
    lone_hold_end(&hold);
    lone_settle(rt);
    assert_int_equal(vat_u32_load(&woken, VAT_RLX), 1);
    assert_false(subscriber_arm(&tasks[1]->subscriber));
}

/* As if it had been notified, though nothing wakes it. */
static void a_look_can_be_asked_for(void **state)
{
    struct lone_hold hold;

    (void)state;
    subscribe(0, 0, true);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    subscriber_disarm(&tasks[0]->subscriber);
    assert_true(subscriber_arm(&tasks[0]->subscriber));
    assert_false(subscriber_arm(&tasks[0]->subscriber));
    lone_hold_end(&hold);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(only_one_list_is_notified),
        TEST(an_empty_table_takes_no_looks),
        TEST(a_task_is_woken_once_for_all_that_it_waits_for),
        TEST(a_notification_goes_on_where_it_was),
        TEST(what_leaves_meanwhile_is_passed),
        TEST(the_source_knows_what_is_concerned),
        TEST(the_lock_is_held_for_few),
        TEST(what_has_looked_since_is_not_woken),
        TEST(a_look_can_be_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
