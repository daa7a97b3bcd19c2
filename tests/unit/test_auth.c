/* What a user may do: each rule for root, the account of voltd, and another user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/auth/auth.h"

#define OWNER 4711
#define OTHER 4712

static void jobs_are_of_their_owner_and_root(void **state)
{
    (void)state;
    assert_true(auth_sees(0, OWNER));
    assert_true(auth_sees(OWNER, OWNER));
    assert_false(auth_sees(OTHER, OWNER));
    assert_false(auth_sees(OTHER, 0));
    assert_true(auth_is_root(0));
    assert_false(auth_is_root(OWNER));
}

static void voltd_is_of_root_and_its_account(void **state)
{
    const uid_t own = geteuid();

    (void)state;
    assert_true(auth_runs_voltd(0));
    assert_true(auth_runs_voltd(own));
    assert_false(auth_runs_voltd(own + 1));
}

static void its_account_is_an_admin_of_its_own_voltd(void **state)
{
    const uid_t own = geteuid();

    (void)state;
    assert_true(auth_is_admin(0, false));
    assert_int_equal(auth_is_admin(own, false), own == 0);
    assert_true(auth_is_admin(own, true));
    assert_false(auth_is_admin(own + 1, true));
}

static void the_voltd_of_root_serves_root(void **state)
{
    (void)state;
    assert_true(auth_is_served(0, true));
    assert_false(auth_is_served(OTHER, true));
    assert_true(auth_is_served(OTHER, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_of_their_owner_and_root),
        cmocka_unit_test(voltd_is_of_root_and_its_account),
        cmocka_unit_test(its_account_is_an_admin_of_its_own_voltd),
        cmocka_unit_test(the_voltd_of_root_serves_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
