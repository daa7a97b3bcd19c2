/* What users have: each of many has its own, pointers hold, and the sum is that of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/core/users.h"

static void each_has_its_own(void **state)
{
    enum { USERS = 1000 };
    struct users all = {.secret = {1, 2}};
    struct user *users[USERS];
    uint64_t sum = 0;

    (void)state;
    assert_null(users_find(&all, 7));
    for (uid_t i = 0; i < USERS; i++) {
        users[i] = users_get(&all, i << 16);
        assert_non_null(users[i]);
        users_add(&all, users[i], i, 10 * i);
        sum += i;
    }
    assert_int_equal(all.jobs, sum);
    for (uid_t i = 0; i < USERS; i++) {
        assert_ptr_equal(users_find(&all, i << 16), users[i]);
        assert_ptr_equal(users_get(&all, i << 16), users[i]);
        assert_null(users_find(&all, i << 16 | 1));
        assert_int_equal(users[i]->jobs, i);
        assert_int_equal(users[i]->bytes, 10 * i);
        users_sub(&all, users[i], i, 10 * i);
        assert_int_equal(users[i]->jobs + users[i]->bytes, 0);
    }
    assert_int_equal(all.jobs, 0);
    assert_int_equal(all.table.count, USERS);
    users_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
