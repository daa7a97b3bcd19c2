/* Who may do what: every cell of the table, and who has which standing. The table here is
 * written by hand, once more: that of users of the design. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/auth/auth.h"

#define ALICE 4711
#define BOB   4712
#define CAROL 4713

enum { OWNER, OTHER, ADMIN, ROOT, RELATIONS };

static const struct {
    enum auth_operation operation;
    const char *cells; /* y: yes; -: as if absent; n: refused */
} expected[] = {
    {AUTH_INTROSPECT, "yyyy"}, {AUTH_SUBMIT, "ynyy"},        {AUTH_JOBS, "y-yy"},
    {AUTH_LOCKS, "y-yy"},      {AUTH_PRIORITY, "nnyy"},      {AUTH_ADMIN_HOLDS, "nnyy"},
    {AUTH_QUEUES, "yyyy"},     {AUTH_QUEUE_CHANGES, "nnyy"}, {AUTH_STATISTICS, "yyyy"},
    {AUTH_INSIDES, "nnyy"},    {AUTH_DAEMON, "nnny"},
};

static const struct asker askers[RELATIONS] = {
    [OWNER] = {{.uid = ALICE}, AUTH_MEMBER},
    [OTHER] = {{.uid = BOB}, AUTH_MEMBER},
    [ADMIN] = {{.uid = CAROL}, AUTH_ADMIN},
    [ROOT] = {{.uid = 0}, AUTH_ROOT},
};

static void each_cell_is_as_the_table_says(void **state)
{
    (void)state;
    assert_int_equal(sizeof(expected) / sizeof(expected[0]), AUTH_OPERATIONS);
    for (int o = 0; o < AUTH_OPERATIONS; o++)
        for (int r = 0; r < RELATIONS; r++)
            assert_int_equal("n-y"[auth_may(&askers[r], expected[o].operation, ALICE)],
                             expected[o].cells[r]);
}

static void who_is_not_served_may_do_nothing(void **state)
{
    const struct asker nobody = {{.uid = ALICE}, AUTH_UNSERVED};

    (void)state;
    for (int o = 0; o < AUTH_OPERATIONS; o++)
        assert_false(auth_has(&nobody, (enum auth_operation)o));
    assert_false(auth_sees(&nobody, ALICE));
}

static void an_admin_sees_all_by_standing_and_not_by_uid(void **state)
{
    const struct asker carol = auth_user(CAROL);

    (void)state;
    assert_true(auth_sees(&askers[ADMIN], ALICE));
    assert_false(auth_sees(&carol, ALICE));
    assert_true(auth_sees(&carol, CAROL));
    assert_false(auth_sees(&askers[OTHER], 0));
}

static void standing_is_of_listener_and_uid(void **state)
{
    const uid_t own = geteuid(), other = own + 1;

    (void)state;
    for (int control = 0; control < 2; control++) {
        assert_int_equal(auth_standing(0, control, false, false), AUTH_ROOT);
        assert_int_equal(auth_standing(0, control, true, true), AUTH_ROOT);
        assert_int_equal(auth_standing(own, control, true, false), AUTH_ROOT);
        assert_int_equal(auth_standing(other, control, true, false), AUTH_MEMBER);
        assert_int_equal(auth_standing(other, control, false, true), AUTH_UNSERVED);
        assert_int_equal(auth_standing(other, control, true, true), AUTH_UNSERVED);
    }
    assert_int_equal(auth_standing(other, false, false, false), AUTH_MEMBER);
    assert_int_equal(auth_standing(other, true, false, false), AUTH_ADMIN);
    /* The account that voltd runs as is a user like others. */
    if (own != 0) {
        assert_int_equal(auth_standing(own, false, false, false), AUTH_MEMBER);
        assert_int_equal(auth_standing(own, true, false, false), AUTH_ADMIN);
    }
}

static void a_refusal_says_who_may(void **state)
{
    const struct asker nobody = {{.uid = ALICE}, AUTH_UNSERVED};
    char text[AUTH_REFUSAL_BYTES];

    (void)state;
    auth_refusal(&askers[OTHER], AUTH_QUEUE_CHANGES, text);
    assert_string_equal(
        text, "only root, and administrators through control.sock, may change queues");
    auth_refusal(&askers[ADMIN], AUTH_DAEMON, text);
    assert_string_equal(text, "only root may reload or end it");
    auth_refusal(&nobody, AUTH_INTROSPECT, text);
    assert_non_null(strstr(text, "serves root alone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cell_is_as_the_table_says),
        cmocka_unit_test(who_is_not_served_may_do_nothing),
        cmocka_unit_test(an_admin_sees_all_by_standing_and_not_by_uid),
        cmocka_unit_test(standing_is_of_listener_and_uid),
        cmocka_unit_test(a_refusal_says_who_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
