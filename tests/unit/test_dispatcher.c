/* The dispatcher, on a manager without tasks: the order of the agenda, what leaves it, and
 * portions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/dispatcher.h"
#include "daemon/exec/jobs.h"

#define JOBS (2 * JOBS_SLICE + 10)

static struct manager m;
static struct job job[JOBS];

static int setup(void **state)
{
    (void)state;
    m = (struct manager){.lock = PTHREAD_MUTEX_INITIALIZER};
    queue_init(&m.queue, 0);
    m.dispatcher.ops = &dispatcher_ops;
    for (size_t i = 0; i < JOBS; i++)
        job[i] = (struct job){.id = i + 1, .kind = JOB_KIND_EXEC, .held = true};
    return 0;
}

static bool is_done(void)
{
    return dispatcher_ops.is_done(&m);
}

static void run(void)
{
    struct tx tx;

    tx_init(&tx, &m);
    m.held = (struct manager_held){0};
    dispatcher_ops.run(&tx);
    assert_int_equal(tx.nspawn, 0);
    assert_true(is_done());
}

static void check_list(size_t n, const size_t *want)
{
    const struct job *at = m.agenda.first;

    for (size_t i = 0; i < n; i++, at = at->next)
        assert_ptr_equal(at, &job[want[i]]);
    assert_null(at);
}

/* Each job is in it once, and where it was. */
static void jobs_come_and_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        agenda_add(&m, &job[i], DUE_RELEASE);
    agenda_add(&m, &job[1], DUE_CANCEL);
    assert_int_equal(job[1].due, DUE_RELEASE | DUE_CANCEL);
    check_list(4, (const size_t[]){0, 1, 2, 3});
    agenda_remove(&m, &job[3]);
    assert_int_equal(job[3].due, 0);
    agenda_add(&m, &job[4], DUE_RELEASE);
    check_list(4, (const size_t[]){0, 1, 2, 4});
    agenda_remove(&m, &job[1]);
    agenda_remove(&m, &job[0]);
    agenda_remove(&m, &job[0]); /* is not in it */
    check_list(2, (const size_t[]){2, 4});
    agenda_remove(&m, &job[4]);
    agenda_remove(&m, &job[2]);
    check_list(0, NULL);
    agenda_add(&m, &job[5], DUE_RELEASE);
    check_list(1, (const size_t[]){5});
}

/* So many a hold of the lock; the rest is for the task, and so are the slots. */
static void many_are_released_in_portions(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++)
        agenda_add(&m, &job[i], DUE_RELEASE);
    assert_false(is_done());
    for (size_t done = 0; done < JOBS;) {
        m.dispatcher.more = false;
        run();
        done = done + JOBS_SLICE < JOBS ? done + JOBS_SLICE : JOBS;
        assert_int_equal(m.queue.waiting, done);
        assert_int_equal(m.held.entries, (done - 1) % JOBS_SLICE + 1);
        assert_int_equal(m.dispatcher.more, done < JOBS);
        assert_false(job[done - 1].held);
    }
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(job[i].node.order, i); /* in their order */
}

/* To arrays, which have their tasks: of one element each, but for the last. */
static void slots_are_given_in_portions(void **state)
{
    static struct elements elements[JOBS];
    uint64_t granted = 0;

    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        job[i].array = array_new(1);
        assert_non_null(job[i].array);
        job[i].array->rest = i < JOBS - 1 ? 1 : 2 * JOBS;
        job[i].elements = &elements[i];
        queue_add(&m.queue, &job[i].node, 0);
    }
    assert_true(is_done()); /* there is no slot */
    queue_set_slots(&m.queue, 2 * JOBS);
    assert_false(is_done());
    for (uint64_t given = 0; given < JOBS;) {
        m.dispatcher.more = false;
        run();
        given = given + JOBS_SLICE < JOBS ? given + JOBS_SLICE : JOBS;
        assert_int_equal(elements[given - 1].granted, given < JOBS ? 1 : JOBS + 1);
        assert_int_equal(m.dispatcher.more, given < JOBS);
    }
    assert_int_equal(m.queue.waiting, 1); /* it wants more */
    for (size_t i = 0; i < JOBS; i++) {
        granted += elements[i].granted;
        array_free(job[i].array);
    }
    assert_int_equal(granted, 2 * JOBS);
}

/* The tasks of an earlier daemon come first. */
static void nothing_happens_before_it_begins(void **state)
{
    (void)state;
    m.dispatcher.ops = NULL;
    agenda_add(&m, &job[0], DUE_RELEASE);
    manager_lock(&m); /* a question may be asked */
    manager_unlock(&m);
    assert_true(job[0].held);
    m.dispatcher.ops = &dispatcher_ops;
    assert_false(is_done());
    run();
    assert_false(job[0].held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(jobs_come_and_go, setup),
        cmocka_unit_test_setup(many_are_released_in_portions, setup),
        cmocka_unit_test_setup(slots_are_given_in_portions, setup),
        cmocka_unit_test_setup(nothing_happens_before_it_begins, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
