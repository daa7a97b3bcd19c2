/* The version of the headers, of the library and of the build are one; and a change of
 * what callers embed is noticed, because it needs another ABI version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <volt/volt.h>
#include <cmocka.h>

static void test_one_version(void **state)
{
    char text[32];

    (void)state;
    (void)snprintf(text, sizeof(text), "%d.%d.%d", VOLT_VERSION_MAJOR, VOLT_VERSION_MINOR,
                   VOLT_VERSION_PATCH);
    assert_string_equal(text, VOLT_VERSION);
    assert_string_equal(text, volt_version());
    assert_int_equal(volt_abi_version(), VOLT_ABI_VERSION);
}

/* A size that changes here changes VOLT_ABI_VERSION (and SOVERSION), unless no release
 * has had it yet. 64-bit systems; statistics may grow before the first release. */
static void test_sizes_of_this_abi(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct volt_task_type), 40);
    assert_int_equal(sizeof(struct volt_join), 8);
    assert_int_equal(sizeof(struct volt_waker), 8);
    assert_int_equal(sizeof(struct volt_yield), 4);
    assert_int_equal(sizeof(struct volt_options), 32);
    assert_int_equal(sizeof(struct volt_waiter), 56);
    assert_int_equal(sizeof(struct volt_sem), 40);
    assert_int_equal(sizeof(struct volt_sem_acquire), 64);
    assert_int_equal(sizeof(struct volt_mutex), 40);
    assert_int_equal(sizeof(struct volt_rwlock), 40);
    assert_int_equal(sizeof(struct volt_notify), 32);
    assert_int_equal(sizeof(struct volt_notified), 72);
    assert_int_equal(sizeof(struct volt_sleep), 48);
    assert_int_equal(sizeof(struct volt_io), 16);
    assert_int_equal(sizeof(struct volt_interval), 72);
    assert_int_equal(sizeof(struct volt_channel_send), 72);
    assert_int_equal(sizeof(struct volt_channel_recv), 32);
    assert_int_equal(sizeof(struct volt_oneshot_recv), 32);
    assert_int_equal(sizeof(struct volt_broadcast_recv), 96);
    assert_int_equal(sizeof(struct volt_watch_recv), 96);
    assert_int_equal(sizeof(struct volt_wait_group), 32);
    assert_int_equal(sizeof(struct volt_wait_group_wait), 64);
    assert_int_equal(sizeof(struct volt_join_set_next), 24);
    assert_int_equal(sizeof(struct volt_child), 24);
    assert_int_equal(sizeof(struct volt_signals), 152);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_version),
        cmocka_unit_test(test_sizes_of_this_abi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
