/* What waits for changes of jobs is notified of them, also when there were more than are
 * remembered. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/query/changes.h"
#include "daemon/core/state.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"
#include "tests/support/steering.h"

enum { MANY = EVENT_RING_CAPACITY + 10 };

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static struct volt_runtime *rt;
static struct core *core;

static int set_up(void **state)
{
    struct config config = managed_config();

    (void)state;
    config.slots = 1;
    return managed_up(&config, &rt, &core);
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

#define LONG UINT64_C(3600000000)

/* An array of so many elements, of which one sleeps so long and the others wait; 0: a job
 * without elements. */
static uint64_t submit(int64_t n, uint64_t usec)
{
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    struct job_spec *spec = job_spec_new();
    struct jobs_submit_item item = {.spec = spec};
    struct volt_join join;

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = usec;
    spec->is_array = n > 0;
    spec->array_last = n > 0 ? (uint64_t)n - 1 : 0;
    jobs_submit_init(s, core, &me.who, &item, 1, false);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(item.ret_error, 0);
    job_spec_unref(spec);
    free(item.ret_text);
    return item.ret_id;
}

/* --- a task that waits -------------------------------------------------------------- */

static struct wait_state {
    struct job_key key; /* for its end ... */
    bool of_all;        /* ... or any change of it */
    bool notified;
    struct change change; /* the first */
    struct volt_join join;
} waiters[4];

struct waiting {
    struct job_subscriber subscriber;
    struct job_subscription job;
    struct wait_state *waiter;
};

static enum volt_poll waiting_poll(struct volt_cx *cx, void *state)
{
    struct waiting *w = state;
    struct wait_state *waiter = w->waiter;

    if (!w->subscriber.changes) {
        job_subscriber_init(cx, &w->subscriber, core, !waiter->of_all, &w->job,
                            sizeof(w->job));
        job_subscriber_add(&w->subscriber, &waiter->key);
    }
    waiter->notified = job_subscriber_next(&w->subscriber, &waiter->change) != NULL;
    return waiter->notified ? VOLT_READY : VOLT_PENDING;
}

static void waiting_drop(void *state)
{
    job_subscriber_fini(&((struct waiting *)state)->subscriber);
}

static const struct volt_task_type waiting_type = {"waiting", sizeof(struct waiting),
                                                   waiting_poll, waiting_drop, NULL};

static void begin_wait(unsigned i, const struct wait_state *waiter)
{
    struct waiting *w = volt_task_new(rt, &waiting_type);

    waiters[i] = *waiter;
    w->waiter = &waiters[i];
    lone_spawn(w, &waiters[i].join);
}

static void wait_for(unsigned i, uint64_t id, int64_t index)
{
    begin_wait(i, &(struct wait_state){.key = {.id = id, .index = index}});
}

static bool notified(unsigned i)
{
    lone_settle(rt);
    return waiters[i].notified;
}

static void give_up(unsigned i)
{
    volt_join_cancel(&waiters[i].join);
    (void)lone_join(&waiters[i].join);
}

/* While nothing is read, something happens, and so much after it that it is no longer
 * remembered: only a look tells. What happens later, its end, comes too late. */
static void what_was_lost_may_have_been_anything(void **state)
{
    const uint64_t id = submit(MANY, LONG);
    struct lone_hold hold;

    (void)state;
    wait_for(0, id, MANY - 1);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    for (int64_t i = MANY - 1; i > 0; i--)
        assert_int_equal(cancel_now(core, &me, id, i), 0);
    lone_hold_end(&hold);
    assert_true(notified(0));
    assert_false(waiters[0].change.ended);
    give_up(0);
}

/* What waits for one job learns how it ended; what waits for an array has to look. */
static void an_end_concerns_its_job_and_array(void **state)
{
    const uint64_t job = submit(0, LONG) + 1; /* and so on */

    (void)state;
    wait_for(0, job, JOB_NO_INDEX);
    wait_for(1, job + 1, JOB_NO_INDEX);
    wait_for(2, job + 1, 1);
    wait_for(3, job + 2, 1);
    lone_settle(rt);
    assert_int_equal(submit(0, 1), job);
    assert_int_equal(submit(2, 1), job + 1);
    assert_int_equal(submit(2, LONG), job + 2);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(lone_join(&waiters[i].join), 0);
    assert_true(waiters[0].change.ended);
    assert_int_equal(waiters[0].change.result, JOB_RESULT_SUCCESS);
    assert_false(waiters[1].change.ended);
    assert_false(notified(3));
    give_up(3);
}

/* An element that has not started has no event of its own. */
static void an_array_that_is_cancelled_concerns_its_elements(void **state)
{
    const uint64_t id = submit(3, LONG), other = submit(3, LONG);

    (void)state;
    wait_for(0, id, 1);
    wait_for(1, id, 2);
    wait_for(2, id, JOB_NO_INDEX);
    wait_for(3, other, 1);
    lone_settle(rt);
    assert_int_equal(cancel_now(core, &me, id, JOB_NO_INDEX), 0);
    assert_true(notified(0) && notified(1) && notified(2));
    assert_false(waiters[0].change.ended || waiters[1].change.ended);
    assert_false(notified(3));
    for (unsigned i = 0; i < 4; i++)
        give_up(i);
}

/* --- what wakes the task that reads ------------------------------------------------- */

static bool woken;

struct reading {
    struct volt_notified ends;
    bool begun;
};

static enum volt_poll reading_poll(struct volt_cx *cx, void *state)
{
    struct reading *r = state;

    if (!r->begun)
        volt_notified_init(&r->ends, &core->ends);
    r->begun = true;
    woken = volt_notified_poll(cx, &r->ends) == VOLT_READY;
    return woken ? VOLT_READY : VOLT_PENDING;
}

static void reading_drop(void *state)
{
    volt_notified_fini(&((struct reading *)state)->ends);
}

static const struct volt_task_type reading_type = {"reading", sizeof(struct reading),
                                                   reading_poll, reading_drop, NULL};

static void read_begin(struct volt_join *join)
{
    woken = false;
    lone_spawn(volt_task_new(rt, &reading_type), join);
    lone_settle(rt);
}

/* A start wakes it while anybody waits for more than ends, and that one is notified. */
static void a_start_wakes_it_for_what_waits_for_any_change(void **state)
{
    const uint64_t id = submit(0, LONG) + 1;
    struct volt_join join;

    (void)state;
    read_begin(&join);
    wait_for(0, id + 1, JOB_NO_INDEX);
    lone_settle(rt);
    assert_int_equal(submit(0, LONG), id);
    lone_settle(rt);
    assert_false(woken);
    begin_wait(1, &(struct wait_state){.key = {.id = id + 1, .index = JOB_NO_INDEX},
                                       .of_all = true});
    lone_settle(rt);
    assert_int_equal(submit(0, LONG), id + 1);
    assert_true(notified(1));
    assert_false(waiters[1].change.ended);
    assert_false(notified(0));
    assert_true(woken);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(lone_join(&waiters[1].join), 0);

    read_begin(&join); /* nobody does any more */
    assert_int_equal(submit(0, LONG), id + 2);
    lone_settle(rt);
    assert_false(woken);
    assert_int_equal(cancel_now(core, &me, id, JOB_NO_INDEX), 0);
    lone_settle(rt);
    assert_true(woken);
    assert_int_equal(lone_join(&join), 0);
    give_up(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_lost_may_have_been_anything, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_end_concerns_its_job_and_array, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_array_that_is_cancelled_concerns_its_elements,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_start_wakes_it_for_what_waits_for_any_change,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
