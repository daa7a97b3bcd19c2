/* How long jobs have run, by their names: the latest names of each user are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/core/durations.h"
#include "daemon/core/jobs.h"

#define SECOND UINT64_C(1000000)

static struct durations d;

static int tear_down(void **state)
{
    (void)state;
    durations_fini(&d);
    d = (struct durations){.users = {.count = 0}};
    return 0;
}

static uint32_t runs(uid_t uid, uint32_t tag)
{
    const struct sketch *s = durations_of_name(&d, uid, tag);

    return s ? s->n : 0;
}

static void each_name_of_each_user(void **state)
{
    uint64_t points[SKETCH_POINTS];

    (void)state;
    assert_null(durations_of_user(&d, 1));
    assert_int_equal(runs(1, 7), 0);
    durations_add(&d, 1, 7, SECOND);
    durations_add(&d, 1, 7, SECOND);
    durations_add(&d, 1, 8, 9 * SECOND);
    durations_add(&d, 2, 7, 50 * SECOND);
    assert_int_equal(runs(1, 7), 2);
    assert_int_equal(runs(1, 8), 1);
    assert_int_equal(runs(2, 7), 1);
    assert_int_equal(runs(2, 8), 0);
    assert_int_equal(durations_of_user(&d, 1)->n, 3);
    assert_int_equal(durations_of_user(&d, 2)->n, 1);
    sketch_points(durations_of_name(&d, 2, 7), points);
    assert_in_range(points[0], 40 * SECOND, 60 * SECOND);
    sketch_points(durations_of_name(&d, 1, 7), points);
    assert_in_range(points[0], SECOND / 2, 2 * SECOND);
}

/* The one that nothing has ended of for longest makes room for a new one. */
static void the_latest_names(void **state)
{
    (void)state;
    durations_add(&d, 2, 1, SECOND);
    for (uint32_t tag = 1; tag <= DURATIONS_NAMES; tag++)
        durations_add(&d, 1, tag, SECOND);
    durations_add(&d, 1, 1, SECOND);
    durations_add(&d, 1, DURATIONS_NAMES + 1, SECOND);
    assert_int_equal(runs(1, 1), 2);
    assert_int_equal(runs(1, 2), 0);
    assert_int_equal(runs(1, 3), 1);
    assert_int_equal(runs(1, DURATIONS_NAMES + 1), 1);
    assert_int_equal(runs(2, 1), 1);
    assert_int_equal(d.names.count, DURATIONS_NAMES + 1);
    assert_int_equal(durations_of_user(&d, 1)->n, DURATIONS_NAMES + 2);
}

/* Where there is no room for more those go that a job has ended of longest ago, whosever
 * they are; of a user that has all that one may have its own. */
static void as_many_as_there_may_be(void **state)
{
    (void)state;
    for (uid_t uid = 1; uid <= DURATIONS_MOST / DURATIONS_NAMES; uid++)
        for (uint32_t tag = 1; tag <= DURATIONS_NAMES; tag++)
            durations_add(&d, uid, tag, SECOND);
    assert_int_equal(d.names.count, DURATIONS_MOST);
    durations_add(&d, 1, 1, SECOND);
    for (uint32_t tag = 1; tag <= 2; tag++) {
        durations_add(&d, 1000, tag, SECOND);
        assert_int_equal(runs(1000, tag), 1);
        assert_int_equal(runs(1, tag + 1), 0);
    }
    assert_int_equal(runs(1, 1), 2);
    assert_int_equal(runs(1, 4), 1);
    assert_int_equal(durations_of_user(&d, 1)->n, DURATIONS_NAMES + 1);
    durations_add(&d, 2, 5000, SECOND);
    assert_int_equal(runs(2, 5000), 1);
    assert_int_equal(runs(2, 1), 0);
    assert_int_equal(runs(1, 4), 1);
    assert_int_equal(d.names.count, DURATIONS_MOST);
}

/* How long the job of user 3 and tag 5 ran by what is told: 0: nothing was noted. */
static uint64_t noted(struct job_status st, enum job_result result, uint64_t ran)
{
    const struct job job = {.owner = {.uid = 3}, .name_tag = 5};
    const struct job_event exited = {
        .type = JOB_EV_EXITED, .at_usec = 100 * SECOND, .result = result};
    uint64_t points[SKETCH_POINTS], usec = 0;

    durations_note(&d, &job, &st, &exited, ran);
    if (runs(3, 5)) {
        sketch_points(durations_of_name(&d, 3, 5), points);
        usec = points[SKETCH_POINTS / 2];
    }
    (void)tear_down(NULL);
    return usec;
}

static void what_an_end_tells(void **state)
{
    const struct job_status plain = {.state = JOB_RUNNING};
    const struct job_status paused = {.paused_usec = 40 * SECOND};

    (void)state;
    assert_in_range(noted(plain, JOB_RESULT_SUCCESS, 60 * SECOND), 50 * SECOND, 70 * SECOND);
    assert_in_range(noted(plain, JOB_RESULT_EXIT, 60 * SECOND), 50 * SECOND, 70 * SECOND);
    assert_int_equal(noted(plain, JOB_RESULT_LOST, 60 * SECOND), 0);
    assert_int_equal(noted(plain, JOB_RESULT_EXEC_FAILED, 60 * SECOND), 0);
    assert_int_equal(
        noted((struct job_status){.cancel_asked = true}, JOB_RESULT_EXIT, 60 * SECOND), 0);
    assert_in_range(noted(paused, JOB_RESULT_EXIT, 60 * SECOND), 16 * SECOND, 24 * SECOND);
    assert_in_range(noted(paused, JOB_RESULT_EXIT, 30 * SECOND), 1, 4095); /* less than it stood */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_name_of_each_user, tear_down),
        cmocka_unit_test_teardown(the_latest_names, tear_down),
        cmocka_unit_test_teardown(as_many_as_there_may_be, tear_down),
        cmocka_unit_test_teardown(what_an_end_tells, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
