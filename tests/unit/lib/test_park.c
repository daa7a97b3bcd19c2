/* The park word: sticky tokens, and a real sleep. F-H5 (Volt documentation): a token that
 * arrives while the worker wakes up must not be erased. */
#include "sched/park.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

static struct park p;
static vat_u32 rounds;

static int setup(void **state)
{
    (void)state;
    park_init(&p);
    vat_u32_init(&rounds, 0);
    return 0;
}

static void a_token_is_sticky_and_single(void **state)
{
    (void)state;
    assert_false(park_unpark(&p));
    assert_false(park_unpark(&p));
    assert_false(park_begin(&p, PARK_FUTEX));
    park_end(&p);
    assert_true(park_begin(&p, PARK_FUTEX));
    assert_false(park_unpark(&p));
    (void)park_sleep(&p, UINT64_MAX); /* returns at once */
    park_end(&p);
}

static void a_sleeper_in_the_event_loop_is_kicked_once(void **state)
{
    (void)state;
    assert_true(park_begin(&p, PARK_DRIVER));
    assert_true(park_unpark(&p));
    assert_false(park_unpark(&p));
    park_end(&p);
}

static void f_h5_a_late_token_is_not_lost(void **state)
{
    (void)state;
    assert_true(park_begin(&p, PARK_FUTEX));
    assert_false(park_unpark(&p));
    (void)park_sleep(&p, UINT64_MAX);
    assert_false(
        park_unpark(&p)); /* between the sleep and park_end: one token, consumed */
    park_end(&p);
    assert_false(park_unpark(&p)); /* after it: a new one */
    assert_false(park_begin(&p, PARK_FUTEX));
}

enum { ROUNDS = 2000 };

static void *sleeper(void *arg)
{
    (void)arg;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (park_begin(&p, PARK_FUTEX))
            (void)park_sleep(&p, UINT64_MAX);
        park_end(&p);
        vat_u32_store(&rounds, i, VAT_REL);
    }
    return NULL;
}

static void every_token_ends_one_sleep(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        assert_false(park_unpark(&p));
        while (vat_u32_load(&rounds, VAT_ACQ) < i)
            vat_pause();
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_token_is_sticky_and_single, setup),
        cmocka_unit_test_setup(a_sleeper_in_the_event_loop_is_kicked_once, setup),
        cmocka_unit_test_setup(f_h5_a_late_token_is_not_lost, setup),
        cmocka_unit_test_setup(every_token_ends_one_sleep, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
