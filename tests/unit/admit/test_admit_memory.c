/* Admission without memory: each allocation fails once, in all that may fail; what fails
 * changes nothing, and what cannot fail allocates nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"
#include "tests/support/admit_edit.h"
#include "tests/support/alloc_hook.h"

static struct admission *a;
static struct resource *lock;

static int refuse(int r)
{
    if (r < 0)
        assert_int_equal(r, -ENOMEM);
    return r;
}

/* All that may fail, up to the first that does. */
static int all_that_allocates(struct waiter *w)
{
    const struct named_ask named = {.owner = 1, .name = "l", .kind = &resource_rwlock};
    struct claim claim = {.amount = 1, .exclusive = true};
    const struct admission_ask ask = {
        .uid = 1, .slot = true, .most = 2, .claims = &claim, .n = 1};
    const struct admission_ask edited = {.uid = 1, .priority = 4, .slot = true};

    if (refuse(named_get(a, &named, &lock)) < 0)
        return -ENOMEM;
    claim.resource = lock;
    if (refuse(admission_assign(a, w, &ask, 1)) < 0 ||
        refuse(condition_hold_add(a, w, &(struct hold){1, false})) < 0 ||
        refuse(condition_after_add(a, w, 7, JOB_AFTER_OK)) < 0 ||
        refuse(condition_after_await(a, 12)) < 0 ||
        refuse(condition_replace_add(a, w, 8)) < 0 ||
        refuse(condition_time_add(a, w, &condition_begin, CLOCK_OF_DATES, 9)) < 0 ||
        refuse(doom_start_by(a, w, 10)) < 0 || refuse(admit_edit(a, w, &edited, 2)) < 0)
        return -ENOMEM;
    return 0;
}

static void what_cannot_fail(struct waiter *w)
{
    unsigned budget = 99;

    hook_arm(1, true);
    condition_after_await_no_more(a, 12);
    admission_enter(a, w, 0);
    assert_int_equal(condition_hold_release(a, w, true, 0), 0);
    condition_after_enter(a, w);
    condition_after_ended(a, 7, JOB_RESULT_SUCCESS);
    condition_met(a, condition_after_due(a, &budget), 0);
    condition_replace_gone(a, 8, 0);
    assert_true(admission_tick(a, &(struct admission_times){0, 8}, 9));
    assert_int_equal(admission_count(a).unmet, 1);
    assert_false(admission_tick(a, &(struct admission_times){0, 10}, 1));
    assert_ptr_equal(admission_next(a, 0, &budget), w);
    admission_take(a, w, false, 0);
    admission_put_back(a, w, 0);
    admission_take(a, w, false, 0);
    admission_ended(a, w, 1, 5, 0);
    admission_release_locks(a, w, 1, 0);
    assert_int_equal(hook_count(), 0);
    hook_arm(0, false);
}

static void each_fails_once(void **state)
{
    static const struct siphash_key key = {1, 2};
    static const struct queue_policy policy = {.weight = 1};
    const uint64_t live = vat_u64_load(&hook_live, VAT_RLX);
    bool failed = true;

    (void)state;
    for (uint64_t n = 1; failed; n++) {
        struct waiter w = {.rank = 0};

        assert_true(n < 100);
        lock = NULL;
        hook_arm(n, false);
        a = admission_new(&key, 1);
        failed = !a || !admission_add_queue(a, &policy) || all_that_allocates(&w) < 0;
        hook_arm(0, false);
        if (!failed)
            what_cannot_fail(&w);
        if (a)
            admission_forget(a, &w);
        if (lock)
            named_put(a, lock);
        if (a)
            assert_int_equal(admission_count(a).eligible + admission_count(a).unmet, 0);
        admission_free(a);
        assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_fails_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
