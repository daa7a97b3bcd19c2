/* Addresses: parsing, candidates and their order, the trust in a directory below /tmp. */
#include "wire/address.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void test_parse(void **state)
{
    (void)state;
    struct address a;
    struct volt_error err;
    assert_int_equal(address_parse("unix:/run/x.sock", &a, &err), 0);
    assert_string_equal(a.path, "/run/x.sock");
    assert_int_equal(address_parse("/run/x.sock", &a, NULL), 0);
    assert_int_equal(address_parse("x.sock", &a, NULL), 0);
    assert_string_equal(a.path, "x.sock");
    assert_int_equal(address_parse("./a:b", &a, NULL), 0);
    assert_int_equal(address_parse("", &a, &err), -EINVAL);
    assert_int_equal(address_parse("unix:", &a, &err), -EINVAL);
    assert_int_equal(address_parse("unix:@abstract", &a, &err), -EINVAL);
    assert_int_equal(address_parse("tcp:localhost:1", &a, &err), -EINVAL);
    assert_non_null(strstr(err.text, "tcp:localhost:1"));
    assert_string_equal(a.path, "./a:b"); /* untouched on failure */
}

static void test_length(void **state)
{
    (void)state;
    struct address a;
    struct volt_error err;
    char text[200];
    memset(text, 'x', sizeof(text));
    text[0] = '/';
    text[ADDRESS_PATH_MAX] = '\0';
    assert_int_equal(address_parse(text, &a, &err), 0);
    text[ADDRESS_PATH_MAX] = 'x';
    text[ADDRESS_PATH_MAX + 1] = '\0';
    assert_int_equal(address_parse(text, &a, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "108 bytes"));
}

static void test_candidates(void **state)
{
    (void)state;
    struct address list[2];
    struct volt_error err;
    struct address_choice any = {.scope = ADDRESS_ANY};
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    assert_int_equal(address_candidates(&any, ADDRESS_JOBS, list, &err), 2);
    assert_string_equal(list[0].path, "/run/user/7/voltd/voltd.sock");
    assert_string_equal(list[1].path, "/run/voltd/voltd.sock");
    assert_int_equal(address_candidates(&any, ADDRESS_CONTROL, list, &err), 2);
    assert_string_equal(list[0].path, "/run/user/7/voltd/control.sock");

    struct address_choice sys = {.scope = ADDRESS_SYSTEM};
    assert_int_equal(address_candidates(&sys, ADDRESS_JOBS, list, &err), 1);
    assert_string_equal(list[0].path, "/run/voltd/voltd.sock");

    struct address_choice user = {.scope = ADDRESS_USER};
    unsetenv("XDG_RUNTIME_DIR");
    char expect[64];
    (void)snprintf(expect, sizeof(expect), "/tmp/voltd-%u/voltd.sock",
                   (unsigned)getuid());
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, &err), 1);
    assert_string_equal(list[0].path, expect);
    setenv("XDG_RUNTIME_DIR", "relative", 1); /* not usable, as the XDG page says */
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, &err), 1);
    assert_string_equal(list[0].path, expect);
}

static void test_control_beside_jobs(void **state)
{
    (void)state;
    struct address list[2];
    struct address_choice c = {.jobs = "unix:/srv/a/jobs.sock"};
    assert_int_equal(address_candidates(&c, ADDRESS_JOBS, list, NULL), 1);
    assert_string_equal(list[0].path, "/srv/a/jobs.sock");
    assert_int_equal(address_candidates(&c, ADDRESS_CONTROL, list, NULL), 1);
    assert_string_equal(list[0].path, "/srv/a/control.sock");
    c.control = "/srv/b/c.sock";
    assert_int_equal(address_candidates(&c, ADDRESS_CONTROL, list, NULL), 1);
    assert_string_equal(list[0].path, "/srv/b/c.sock");
    c = (struct address_choice){.jobs = "jobs.sock"};
    assert_int_equal(address_candidates(&c, ADDRESS_CONTROL, list, NULL), 1);
    assert_string_equal(list[0].path, "control.sock");
}

static void test_of_the_system(void **state)
{
    (void)state;
    const struct address own = {"/run/user/1/voltd/voltd.sock"};
    const struct address system = {"/run/voltd/voltd.sock"};
    assert_true(address_is_system(&system, ADDRESS_JOBS));
    assert_false(address_is_system(&system, ADDRESS_CONTROL));
    assert_false(address_is_system(&own, ADDRESS_JOBS));
}

static void test_trust(void **state)
{
    (void)state;
    struct volt_error err;
    char dir[] = "/tmp/test-address-XXXXXX", link[64];
    assert_non_null(mkdtemp(dir));
    assert_int_equal(address_check_dir(dir, &err), 0);
    assert_int_equal(chmod(dir, 0750), 0);
    assert_int_equal(address_check_dir(dir, &err), -EPERM);
    assert_non_null(strstr(err.text, "0750"));
    assert_int_equal(chmod(dir, 0700), 0);
    (void)snprintf(link, sizeof(link), "%s-link", dir);
    assert_int_equal(symlink(dir, link), 0);
    assert_true(address_check_dir(link, &err) < 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(address_check_dir(dir, &err), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),         cmocka_unit_test(test_length),
        cmocka_unit_test(test_candidates),    cmocka_unit_test(test_control_beside_jobs),
        cmocka_unit_test(test_of_the_system), cmocka_unit_test(test_trust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
