/* Entries of the journal for jobs that end without success: each has the queue and the
 * name of its job, also when memory has it no more. One worker. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/journal.h"
#include "daemon/submit/submit.h"
#include "daemon/sysd/sysd.h"
#include "tests/support/lone.h"
#include "tests/support/managed.h"
#include "tests/support/steering.h"
#include "tests/support/submission.h"

enum { N = 100 }; /* more than are read per poll, fewer than JOURNAL_BURST */

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static struct volt_runtime *rt;
static struct core *core;
static struct jobs_submit_item items[N];

enum { ELEMENTS = N - 1 }; /* of an array, beside one job */

/* --- the journal -------------------------------------------------------------------- */

static struct {
    bool job, queue, name; /* as they are to be */
} entries[N];
static vat_u32 sent; /* of these */

bool __wrap_log_is_journal(void);
bool __wrap_log_is_journal(void)
{
    return true;
}

int __wrap_sysd_journal_send(const char *const fields[], size_t n);
int __wrap_sysd_journal_send(const char *const fields[], size_t n)
{
    const uint32_t at = vat_u32_load(&sent, VAT_RLX);

    for (size_t i = 0; i < n && at < N; i++) {
        entries[at].job |= strncmp(fields[i], "VOLT_JOB_ID=", 12) == 0;
        entries[at].queue |= strcmp(fields[i], "VOLT_QUEUE=default") == 0;
        entries[at].name |= strcmp(fields[i], "VOLT_NAME=one of many") == 0;
    }
    vat_u32_store(&sent, at + 1, VAT_REL);
    return 0;
}

/* --- jobs --------------------------------------------------------------------------- */

static struct job_spec *new_spec(bool is_array)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = UINT64_C(3600000000);
    spec->name = strdup("one of many");
    spec->is_array = is_array;
    spec->array_last = is_array ? ELEMENTS - 1 : 0;
    return spec;
}

/* N jobs, or an array of ELEMENTS and a job. Returns how many items these are. */
static size_t submit_all(bool is_array)
{
    struct jobs_submit *s = volt_task_new(rt, &submission_type);
    const size_t nitems = is_array ? 2 : N;
    struct volt_join join;

    assert_non_null(s);
    for (size_t i = 0; i < nitems; i++)
        items[i] = (struct jobs_submit_item){.spec = new_spec(is_array && i == 0)};
    jobs_submit_init(s, core, &me.who, items, nitems, false);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    for (size_t i = 0; i < nitems; i++) {
        assert_int_equal(items[i].ret_error, 0);
        job_spec_unref(items[i].spec);
    }
    return nitems;
}

/* Ends all before the journal's task can look, and the job after the array. */
static void cancel_all(size_t nitems, bool is_array)
{
    struct lone_hold hold;

    lone_hold_begin(rt, &hold);
    for (int64_t i = 0; is_array && i < ELEMENTS; i++)
        assert_true(cancel_now(core, &me, items[0].ret_id, i) >= 0);
    for (size_t i = is_array; i < nitems; i++)
        assert_true(cancel_now(core, &me, items[i].ret_id, JOB_NO_INDEX) >= 0);
    lone_hold_end(&hold);
}

static void each_has_its_fields(uint64_t keep, bool is_array)
{
    memset(entries, 0, sizeof(entries));
    vat_u32_store(&sent, 0, VAT_RLX);
    assert_int_equal(managed_up_on_disk(keep, &rt, &core), 0);
    assert_int_equal(journal_start(rt, core), 0);
    cancel_all(submit_all(is_array), is_array);
    while (vat_u32_load(&sent, VAT_ACQ) < N)
        (void)poll(NULL, 0, 1);
    for (size_t i = 0; i < N; i++)
        if (!entries[i].job || !entries[i].queue || !entries[i].name)
            fail_msg("entry %zu: job %d, queue %d, name %d", i, entries[i].job,
                     entries[i].queue, entries[i].name);
    assert_int_equal(managed_down(core, rt), 0);
}

static void of_jobs_in_memory(void **state)
{
    (void)state;
    each_has_its_fields(N, false);
}

static void of_jobs_that_have_left_memory(void **state)
{
    (void)state;
    each_has_its_fields(0, false);
}

static void of_elements_of_an_array_that_has_left_memory(void **state)
{
    (void)state;
    each_has_its_fields(0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_jobs_in_memory),
        cmocka_unit_test(of_jobs_that_have_left_memory),
        cmocka_unit_test(of_elements_of_an_array_that_has_left_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
