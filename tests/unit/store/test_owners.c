/* What users share of the history. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/store/owners.h"

static struct owners o;

static int set_up(void **state)
{
    (void)state;
    o = (struct owners){.seed = 7};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    owners_fini(&o);
    return 0;
}

static void change(uid_t uid, int64_t jobs, int64_t elements)
{
    const struct owner_change c = {.uid = uid, .jobs = jobs, .elements = elements};

    assert_int_equal(owners_change(&o, &c), 0);
}

static const struct owner *owner(uid_t uid)
{
    struct hash_cursor c = {0};

    for (const struct owner *of; (of = owners_each(&o, &c));)
        if (of->uid == uid)
            return of;
    fail();
    return NULL;
}

static uint64_t beyond(uid_t uid, uint64_t keep)
{
    return owner_beyond(owner(uid), owners_share(&o, keep));
}

static void nobody_is_beyond_what_is_enough_for_all(void **state)
{
    (void)state;
    assert_int_equal(owners_share(&o, 0), UINT64_MAX);
    change(1, 3, 900);
    change(2, 100, 100);
    assert_int_equal(owners_share(&o, 1000), UINT64_MAX);
    assert_int_equal(owners_beyond(&o, UINT64_MAX), 0);
    assert_int_equal(beyond(1, 1000), 0);
}

/* What one user leaves is for the others. */
static void those_with_less_than_a_share_lose_nothing(void **state)
{
    (void)state;
    change(1, 2, 1000000);
    change(2, 10, 10);
    change(3, 40, 40);
    assert_int_equal(owners_share(&o, 100), 50);
    assert_int_equal(beyond(1, 100), 999950);
    assert_int_equal(beyond(2, 100), 0);
    assert_int_equal(beyond(3, 100), 0);
    change(3, 60, 60);
    assert_int_equal(owners_share(&o, 100), 45);
    assert_int_equal(beyond(3, 100), 55);
    assert_int_equal(beyond(2, 100), 0);
    assert_int_equal(owners_beyond(&o, 45), 999955 + 55);
}

static void the_newest_stays(void **state)
{
    (void)state;
    change(1, 1, 1000000);
    change(2, 60, 60);
    assert_int_equal(beyond(1, 100), 0);
    assert_int_equal(beyond(2, 100),
                     10); /* half is the share, whatever the first one has */
    assert_int_equal(beyond(2, 120), 0);
    assert_int_equal(beyond(1, 0), 1000000); /* unless nothing is kept */
}

static void a_share_is_one_at_least(void **state)
{
    (void)state;
    for (uid_t uid = 0; uid < 100; uid++)
        change(uid, 2, 2);
    assert_int_equal(owners_share(&o, 10), 1);
    assert_int_equal(owners_share(&o, 0), 0);
    assert_int_equal(owners_beyond(&o, 1), 100);
}

static void a_change_is_taken_back(void **state)
{
    (void)state;
    change(1, 1, 10);
    owners_committed(&o);
    change(1, 1, 5);
    change(2, 1, 1);
    change(1, -2, -15);
    owners_rolled_back(&o);
    assert_int_equal(owner(1)->jobs, 1);
    assert_int_equal(owner(1)->elements, 10);
    assert_int_equal(owner(2)->jobs, 0);
    assert_int_equal(o.elements, 10);
    owners_rolled_back(&o); /* nothing is left of it */
    assert_int_equal(o.elements, 10);
}

static void nobody_has_less_than_nothing(void **state)
{
    const struct owner_change c = {.uid = 1, .jobs = -1, .elements = -2};

    (void)state;
    change(1, 1, 1);
    assert_int_equal(owners_change(&o, &c), -ERANGE);
    assert_int_equal(owner(1)->jobs, 1);
    assert_int_equal(o.elements, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_is_beyond_what_is_enough_for_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(those_with_less_than_a_share_lose_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_newest_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_share_is_one_at_least, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_has_less_than_nothing, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
