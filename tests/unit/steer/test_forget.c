/* Forgetting on demand: what has ended goes, but nothing that a task still works on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/core/state.h"
#include "tests/support/managed.h"

static struct volt_runtime *rt;
static struct core *core;
static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};

static int setup(void **state)
{
    const struct config config = managed_config();

    if (managed_make(state) < 0 ||
        volt_runtime_new(&(struct volt_options){.workers = 2}, &rt) < 0)
        return -1;
    core = managed_start(&config, rt);
    return 0;
}

static int teardown(void **state)
{
    managed_stop(core, rt);
    return managed_remove(state);
}

/* Leaf futures, driven from the test's thread. */
struct driver {
    struct jobs_submit submit;
    struct steer_forget *forget; /* NULL: it submits */
};

static enum volt_poll driver_poll(struct volt_cx *cx, void *state)
{
    struct driver *d = state;

    return d->forget ? steer_forget_poll(cx, d->forget)
                     : jobs_submit_poll(cx, &d->submit);
}

static void driver_drop(void *state)
{
    struct driver *d = state;

    if (d->forget)
        steer_forget_fini(d->forget);
    else
        jobs_submit_fini(&d->submit);
}

static const struct volt_task_type driver_type = {"driver", sizeof(struct driver),
                                                  driver_poll, driver_drop, NULL};

static void run(struct driver *d)
{
    struct volt_join join;

    assert_int_equal(volt_task_spawn(d, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

static uint64_t submit_noop(void)
{
    struct job_spec *spec = job_spec_new();
    struct jobs_submit_item item = {.spec = spec};
    struct driver *d = volt_task_new(rt, &driver_type);

    assert_non_null(spec);
    assert_non_null(d);
    spec->kind = JOB_KIND_NOOP;
    jobs_submit_init(&d->submit, core, &me.who, &item, 1, false);
    run(d);
    job_spec_unref(spec);
    free(item.ret_text);
    assert_int_equal(item.ret_error, 0);
    return item.ret_id;
}

/* How many went. */
static uint64_t forget_all(void)
{
    const struct job_filter all = {0};
    struct steer_forget f = {.core = core, .asker = me, .filter = &all};
    struct driver *d = volt_task_new(rt, &driver_type);

    assert_non_null(d);
    d->forget = &f;
    run(d);
    assert_int_equal(f.ret, 0);
    return f.ret_count;
}

/* Adds to the tasks of a job, as one of its own would. False: there is no such job. */
static bool add_task(uint64_t id, int change)
{
    core_lock(core);
    struct job *job = table_get(&core->table, id);
    if (job)
        job->tasks += (uint32_t)change;
    core_unlock(core);
    return job != NULL;
}

static bool has_ended(uint64_t id)
{
    struct job_view v;

    if (query_get(core, &me, id, JOB_NO_INDEX, &v) < 0)
        return true;
    bool done = v.status.state == JOB_DONE;
    job_view_fini(&v);
    return done;
}

struct ender {
    uint64_t id;
    struct volt_notified news;
    bool waiting;
};

static enum volt_poll ender_poll(struct volt_cx *cx, void *state)
{
    struct ender *e = state;

    for (;;) {
        if (!e->waiting)
            volt_notified_init(&e->news, query_events_notify(core));
        e->waiting = true;
        if (has_ended(e->id))
            return VOLT_READY;
        if (volt_notified_poll(cx, &e->news) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_fini(&e->news);
        e->waiting = false;
    }
}

static void ender_drop(void *state)
{
    struct ender *e = state;

    if (e->waiting)
        volt_notified_fini(&e->news);
}

static const struct volt_task_type ender_type = {"ender", sizeof(struct ender),
                                                 ender_poll, ender_drop, NULL};

static void wait_end(uint64_t id)
{
    struct ender *e = volt_task_new(rt, &ender_type);
    struct volt_join join;

    assert_non_null(e);
    e->id = id;
    assert_int_equal(volt_task_spawn(e, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

/* Its end has been told, and its task has not gone: the task would work on freed memory. */
static void test_a_job_whose_task_lives_stays(void **state)
{
    (void)state;
    const uint64_t held = submit_noop(), other = submit_noop();

    assert_true(add_task(held, 1));
    wait_end(held);
    wait_end(other);
    assert_int_equal(forget_all(), 1);
    assert_false(add_task(other, 0));
    assert_true(add_task(held, 0));
    assert_int_equal(forget_all(), 0);
    assert_true(add_task(held, -1));
    assert_int_equal(forget_all(), 1);
    assert_false(add_task(held, 0));
}

/* Another job waits for it, and has not been told of its end yet. */
static void test_a_job_that_is_awaited_stays(void **state)
{
    struct waiter w = {.rank = 0};

    (void)state;
    const uint64_t id = submit_noop();
    wait_end(id);
    core_lock(core);
    assert_int_equal(admission_assign(core->parts.admit, &w,
                                      &(struct admission_ask){.uid = me.who.uid}, 1),
                     0);
    assert_int_equal(condition_after_add(core->parts.admit, &w, id, JOB_AFTER_ANY), 0);
    core_unlock(core);
    assert_int_equal(forget_all(), 0);
    assert_true(add_task(id, 0));
    core_lock(core);
    admission_forget(core->parts.admit, &w);
    core_unlock(core);
    assert_int_equal(forget_all(), 1);
    assert_false(add_task(id, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_job_whose_task_lives_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_job_that_is_awaited_stays, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
