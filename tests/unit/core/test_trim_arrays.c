/* Memory goes back to the system also when the many jobs that have left it are elements of
 * few arrays; and jobs with long specs leave it early. A promise that is not kept hangs the
 * test. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/core/state.h"
#include "daemon/core/tx.h"
#include "daemon/job/env.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"

enum { MANY = 540000 }; /* eight count as one of TRIM_GONE */

static const struct job_owner me = {.uid = 1234, .gid = 1234};
static struct volt_runtime *rt;
static struct core *core;
static vat_u32 trims;

int __wrap_malloc_trim(size_t pad);

/* Linked in the place of malloc_trim(). */
int __wrap_malloc_trim(size_t pad)
{
    (void)pad;
    (void)vat_u32_add(&trims, 1, VAT_RLX);
    return 0;
}

static int set_up(void **state)
{
    struct config config = managed_config();

    (void)state;
    config.keep_ended_jobs = 10;
    return managed_up(&config, &rt, &core);
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

/* Takes spec, and makes it one that does nothing. */
static void run(struct job_spec *spec)
{
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    struct jobs_submit_item item = {.spec = spec};
    struct volt_join join;

    spec->kind = JOB_KIND_NOOP;
    jobs_submit_init(s, core, &me, &item, 1, false);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(item.ret_error, 0);
    job_spec_unref(spec);
    free(item.ret_text);
    lone_settle(rt);
}

/* An array of so many elements. */
static void run_array(uint64_t n)
{
    struct job_spec *spec = job_spec_new();

    spec->is_array = true;
    spec->array_last = n - 1;
    run(spec);
}

static void run_noop(const char *env)
{
    struct job_spec *spec = job_spec_new();

    spec->env = job_env_new((char *const[]){(char *)(uintptr_t)env, NULL});
    run(spec);
}

/* Of the latest a few are left, which weigh no more than KeepEndedJobs=. */
static void long_specs_leave_early(void **state)
{
    char *text = malloc(80000);

    (void)state;
    memset(text, '=', 79999);
    text[0] = 'A';
    text[79999] = '\0';
    for (int i = 0; i < 30; i++)
        run_noop(text);
    core_lock(core);
    const size_t n = core->table.count;
    assert_true(core->ended_weight <= 10);
    core_unlock(core);
    assert_in_range(n, 1, 4);
    for (int i = 0; i < 30; i++)
        run_noop("A=");
    core_lock(core);
    assert_int_equal(core->table.count, 10);
    core_unlock(core);
    free(text);
}

static void after_a_large_array(void **state)
{
    (void)state;
    run_array(MANY); /* the newest stays whatever it weighs */
    assert_int_equal(vat_u32_load(&trims, VAT_RLX), 0);
    run_array(1);
    while (vat_u32_load(&trims, VAT_RLX) == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(long_specs_leave_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_a_large_array, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
