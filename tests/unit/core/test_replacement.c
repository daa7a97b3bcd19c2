/* What replaces another one waits for all that had its key, whatever has become of those
 * in between; and the list of these is no longer than it must be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/core/post.h"
#include "daemon/core/state.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

static struct job_owner owner = {.uid = 7}; /* of new jobs */
static const struct siphash128 key = {1, 2};
static struct core core;
static struct job *job[4]; /* by their ids, from 1 */
static struct tx tx;

static struct job *new_job(uint64_t id)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_NOOP;
    struct job *j = job_new_bare(&core, spec, &owner, true, false);

    job_spec_unref(spec);
    assert_non_null(j);
    assert_int_equal(table_put(&core.table, id, j), 0);
    j->id = id;
    j->status.submitted_usec = 1;
    index_enter(&core, j);
    return j;
}

/* Each replaces the one before. */
static int setup(void **state)
{
    (void)state;
    bare_core_init(&core, NULL, store_memory_new(), 0);
    assert_non_null(core.parts.store);
    tx_init(&tx, &core);
    for (uint64_t id = 1; id < 4; id++)
        job[id] = new_job(id);
    for (uint64_t id = 2; id < 4; id++) {
        assert_int_equal(replacement_add(&core, job[id], key, id - 1), 1);
        waiting_enter(&core, job[id]);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tx_carry_out(&tx);
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

/* It is cancelled in the queue. */
static void end(struct job *j)
{
    j->status.state = JOB_DONE;
    job_retire(&tx, j);
}

static bool waits(const struct job *j)
{
    assert_true(!waiting_has_to(j) || !admission_count(core.parts.admit).eligible);
    return waiting_has_to(j);
}

static void the_last_waits_for_all_before_it(void **state)
{
    (void)state;
    assert_true(waits(job[2]) && waits(job[3]));
    end(job[1]);
    assert_int_equal(admission_count(core.parts.admit).eligible, 1); /* the second */
    assert_int_equal(admission_count(core.parts.admit).unmet, 1);
    end(job[2]);
    assert_int_equal(admission_count(core.parts.admit).unmet, 0);
    assert_int_equal(core.replacements.n, 0);
}

/* What replaces it then still waits for the first. */
static void one_that_was_cancelled_stands_for_the_first(void **state)
{
    struct job *fourth = new_job(4), *fifth = new_job(5);

    (void)state;
    end(job[2]);
    end(job[3]);
    assert_int_equal(replacement_add(&core, fourth, key, 3), 1);
    waiting_enter(&core, fourth);
    job_leave(&tx, job[3]);
    assert_true(waits(fourth));
    assert_int_equal(core.replacements.n, 1);
    assert_int_equal(core.replacements.all[0].id, 1);
    end(job[1]);
    assert_int_equal(admission_count(core.parts.admit).eligible, 1);
    assert_int_equal(core.replacements.n, 0);
    assert_int_equal(replacement_add(&core, fifth, key, 3), 0);
}

static void one_that_is_given_up_waits_for_nothing(void **state)
{
    struct job *fourth = new_job(4);

    (void)state;
    assert_int_equal(replacement_add(&core, fourth, key, 3), 1);
    assert_true(job[3]->replaced);
    replacement_drop(&core, fourth, 3);
    assert_false(job[3]->replaced); /* as before: nobody replaces it */
    waiting_enter(&core, fourth);
    assert_int_equal(admission_count(core.parts.admit).eligible, 1);
}

static void one_that_is_given_up_is_held_as_before(void **state)
{
    const struct hold hold = {.by = 7};
    struct job *fourth = new_job(4);

    (void)state;
    assert_int_equal(waiting_assign(&core, fourth, NULL), 0);
    assert_int_equal(condition_hold_add(core.parts.admit, &fourth->waiter, &hold), 0);
    assert_int_equal(replacement_add(&core, fourth, key, 3), 1);
    replacement_drop(&core, fourth, 3);
    waiting_enter(&core, fourth);
    assert_true(waits(fourth));
    condition_replace_gone(core.parts.admit, 3, 0);
    assert_true(waits(fourth));
    assert_int_equal(condition_hold_release(core.parts.admit, &fourth->waiter, false, 0),
                     0);
    assert_int_equal(admission_count(core.parts.admit).eligible, 1);
}

static struct siphash128 key_of(uint64_t id)
{
    return (struct siphash128){id, 3};
}

static void so_many_are_listed_at_a_time(void **state)
{
    uint64_t id = 4;

    (void)state;
    for (; core.replacements.n < REPLACEMENTS_MAX; id++)
        assert_int_equal(replacement_add(&core, new_job(id), key_of(id), id - 1), 1);
    assert_int_equal(replacement_add(&core, new_job(id), key_of(id), id - 1), -EDQUOT);
    owner.uid++; /* another user's are another user's */
    (void)new_job(id + 10);
    assert_int_equal(replacement_add(&core, new_job(id + 11), key_of(id + 11), id + 10), 1);
    owner.uid--;
    /* What the store has was taken. */
    struct job *taken = new_job(id + 1);
    taken->key = key_of(id);
    assert_int_equal(replacement_add_again(&core, taken, id - 1), 0);
    assert_true(condition_replace_of(&taken->waiter) == id - 1);
    assert_true(table_get(&core.table, id - 1)->due); /* it is to be cancelled */
    agenda_remove(&core, table_get(&core.table, id - 1));
    struct job *ended = new_job(id + 2);
    ended->key = key_of(id);
    ended->status.state = JOB_DONE;
    assert_int_equal(replacement_add_again(&core, ended, id + 1), 0);
    assert_int_equal(ended->waiter.state, WAITER_NONE);
    assert_true(taken->replaced);
    agenda_remove(&core, taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_waits_for_all_before_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_was_cancelled_stands_for_the_first,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_given_up_waits_for_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_is_given_up_is_held_as_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(so_many_are_listed_at_a_time, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
