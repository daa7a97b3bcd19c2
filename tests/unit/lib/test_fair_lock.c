/* struct fair_lock with threads: one that waits is passed once by a thread that takes the
 * lock again and again, and several in line all have it. */
#include "base/fair_lock.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define THREADS 3

static struct {
    struct fair_lock lock;
    int sections; /* guarded by it, with the next */
    bool entered;
} shared;

static void *enter_once(void *arg)
{
    fair_lock(&shared.lock);
    shared.entered = true;
    fair_unlock(&shared.lock);
    return arg;
}

static void take_again(void)
{
    fair_unlock(&shared.lock);
    fair_lock(&shared.lock);
}

static void one_that_waits_is_passed_once(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        pthread_t waits;

        shared.entered = false;
        fair_lock(&shared.lock);
        assert_int_equal(pthread_create(&waits, NULL, enter_once, NULL), 0);
        while (!(vat_u32_load(&shared.lock.word, VAT_RLX) & FAIR_WAITED))
            (void)sched_yield();
        take_again();
        take_again();
        assert_true(shared.entered);
        fair_unlock(&shared.lock);
        assert_int_equal(pthread_join(waits, NULL), 0);
    }
}

static void *enter_often(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        fair_lock(&shared.lock);
        shared.sections++;
        if (i % 10 == 0)
            (void)sched_yield(); /* the others come into the line */
        fair_unlock(&shared.lock);
    }
    return arg;
}

static void several_take_it_one_after_the_other(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    shared.sections = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(shared.sections, THREADS * 1000);
    assert_int_equal(vat_u32_load(&shared.lock.word, VAT_RLX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_waits_is_passed_once),
        cmocka_unit_test(several_take_it_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
