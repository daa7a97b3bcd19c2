/* What listens for changes of jobs hears of them, also when there were more than are
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

#include "daemon/exec/changes.h"
#include "daemon/exec/jobs.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"

enum { MANY = EVENT_RING_CAPACITY + 10 };

static const struct job_owner me = {.uid = 1234, .gid = 1234, .pid = 1};
static struct volt_runtime *rt;
static struct manager *m;

static int set_up(void **state)
{
    struct config config = managed_config();

    if (managed_make(state) < 0)
        return -1;
    config.slots = 1;
    rt = lone_runtime();
    m = managed_start(&config, rt);
    return 0;
}

static int tear_down(void **state)
{
    managed_stop(m, rt);
    return managed_remove(state);
}

/* An array of so many elements, of which one sleeps and the others wait. */
static uint64_t submit_array(int64_t n)
{
    struct manager_submit *s = volt_task_new(rt, &submission_type);
    struct job_spec *spec = job_spec_new();
    struct manager_submit_item item = {.spec = spec};
    struct volt_join join;

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = UINT64_C(3600000000);
    spec->is_array = true;
    spec->array_last = (uint64_t)n - 1;
    manager_submit_init(s, m, &me, &item, 1, false);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(item.ret_error, 0);
    job_spec_unref(spec);
    free(item.ret_text);
    return item.ret_id;
}

/* --- somebody who listens ----------------------------------------------------------- */

static struct job_key wanted;
static bool heard;
static struct change change; /* the first */

struct ear {
    struct listener listener;
    struct interest interest;
    bool begun;
};

static enum volt_poll ear_poll(struct volt_cx *cx, void *state)
{
    struct ear *e = state;

    if (!e->begun) {
        listener_init(cx, &e->listener, m, true, &e->interest, sizeof(e->interest));
        listener_add(&e->listener, &wanted);
        e->begun = true;
    }
    heard = listener_next(&e->listener, &change);
    return heard ? VOLT_READY : VOLT_PENDING;
}

static void ear_drop(void *state)
{
    listener_fini(&((struct ear *)state)->listener);
}

static const struct volt_task_type ear_type = {"ear", sizeof(struct ear), ear_poll,
                                               ear_drop, NULL};

/* While nothing is read, something happens, and so much after it that it is no longer
 * remembered: only a look tells. What happens later, its end, comes too late. */
static void what_was_lost_may_have_been_anything(void **state)
{
    const uint64_t id = submit_array(MANY);
    struct lone_hold hold;
    struct volt_join join;

    (void)state;
    wanted = (struct job_key){.id = id, .index = MANY - 1};
    lone_spawn(volt_task_new(rt, &ear_type), &join);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    for (int64_t i = MANY - 1; i > 0; i--)
        assert_int_equal(manager_cancel(m, &me, id, i), 0);
    lone_hold_end(&hold);
    lone_settle(rt);
    volt_join_fini(&join);
    assert_true(heard);
    assert_false(change.ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_lost_may_have_been_anything, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
