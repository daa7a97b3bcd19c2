/* Limits of the configuration: which of them counts for a user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/limit_defaults.h"

static struct limit_defaults *d;

static void name(size_t i, enum queue_list of, uint32_t id)
{
    struct limit_default *l = &d->some[i];

    l->of = of;
    for (size_t k = 0; k < JOB_CGROUP_LIMITS; k++)
        *job_cgroup_at(&l->cgroup, k) = LIMIT_NOT_SAID;
    if (of == QUEUE_USERS) {
        l->who.uids = calloc(1, sizeof(uid_t));
        l->who.uids[l->who.nuids++] = id;
    } else {
        l->who.gids = calloc(1, sizeof(gid_t));
        l->who.gids[l->who.ngids++] = id;
    }
}

static int setup(void **state)
{
    (void)state;
    d = limit_defaults_new(3);
    assert_non_null(d);
    name(0, QUEUE_GROUPS, 8);
    name(1, QUEUE_USERS, 7);
    name(2, QUEUE_GROUPS, 8);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    limit_defaults_free(d);
    return 0;
}

static struct job_cgroup of(uid_t uid, gid_t gid)
{
    return limit_defaults_of(d, &(struct job_owner){uid, gid});
}

static void none(void **state)
{
    (void)state;
    assert_false(limit_defaults_any(NULL));
    assert_false(limit_defaults_any(d));
    const struct job_cgroup c = of(7, 8);
    assert_int_equal(job_cgroup_given(&c), 0);
    d->some[1].cgroup.pids_max = JOB_NO_LIMIT; /* as there is none of everybody */
    assert_false(limit_defaults_any(d));
    d->some[1].cgroup.pids_max = 3;
    assert_true(limit_defaults_any(d));
    d->some[1].cgroup.pids_max = LIMIT_NOT_SAID;
    d->all.io_weight = 3;
    assert_true(limit_defaults_any(d));
}

/* User, then the first of its groups, then everybody; each limit by itself. */
static void the_most_particular_wins(void **state)
{
    (void)state;
    d->all.memory_max = 1;
    d->all.pids_max = 10;
    d->all.cpu_max = 100;
    d->some[0].cgroup.memory_max = 2;
    d->some[2].cgroup.memory_max = 3;
    d->some[2].cgroup.pids_max = 30;
    d->some[1].cgroup.memory_max = 4;
    d->some[1].cgroup.cpu_max = JOB_NO_LIMIT;
    assert_int_equal(of(7, 8).memory_max, 4);
    assert_int_equal(of(7, 8).pids_max, 30);
    assert_true(of(7, 8).cpu_max == JOB_NO_LIMIT);
    assert_true(of(7, 8).swap_max == JOB_NO_LIMIT);
    assert_int_equal(of(6, 8).memory_max, 2);
    assert_int_equal(of(6, 8).pids_max, 30);
    assert_int_equal(of(6, 8).cpu_max, 100);
    assert_int_equal(of(6, 6).memory_max, 1);
    assert_int_equal(of(7, 6).pids_max, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(none, setup, teardown),
        cmocka_unit_test_setup_teardown(the_most_particular_wins, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
