/* Addresses: parsing, candidates and their order, the trust in a directory below /tmp. */
#include "wire/address.h"
#include "wire/user_dirs.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
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
    struct address list[ADDRESS_CANDIDATES];
    struct volt_error err;
    struct address_choice any = {.scope = ADDRESS_ANY};
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("XDG_STATE_HOME", "/nowhere", 1);
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

static void put_link(const char *state_home, const char *target)
{
    char dir[128];
    assert_true(snprintf(dir, sizeof(dir), "%s/voltd", state_home) < (int)sizeof(dir));
    assert_true(mkdir(dir, 0700) == 0 || errno == EEXIST);
    assert_int_equal(user_link_put(dir, target), 0);
}

/* The directory that the user's voltd names in its state directory, if it can be trusted. */
static void test_linked(void **state)
{
    (void)state;
    struct address list[ADDRESS_CANDIDATES];
    struct address_choice any = {.scope = ADDRESS_ANY}, user = {.scope = ADDRESS_USER};
    struct address_choice named = {.jobs = "/srv/x.sock"};
    char base[] = "/tmp/test-address-XXXXXX", runtime[64], path[96];
    assert_non_null(mkdtemp(base));
    (void)snprintf(runtime, sizeof(runtime), "%s/run", base);
    (void)snprintf(path, sizeof(path), "%s/voltd.sock", runtime);
    assert_int_equal(mkdir(runtime, 0700), 0);
    setenv("XDG_STATE_HOME", base, 1);
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    put_link(base, runtime);
    assert_int_equal(address_candidates(&any, ADDRESS_JOBS, list, NULL), 3);
    assert_string_equal(list[0].path, "/run/user/7/voltd/voltd.sock");
    assert_string_equal(list[1].path, path);
    assert_string_equal(list[2].path, "/run/voltd/voltd.sock");
    assert_int_equal(address_candidates(&user, ADDRESS_CONTROL, list, NULL), 2);
    assert_int_equal(address_candidates(&named, ADDRESS_JOBS, list, NULL), 1);
    assert_int_equal(chmod(runtime, 0755), 0); /* others could look into it */
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, NULL), 1);
    assert_int_equal(chmod(runtime, 0700), 0);
    setenv("XDG_RUNTIME_DIR", base, 1); /* the same directory is tried once */
    (void)snprintf(path, sizeof(path), "%s/voltd", base);
    put_link(base, path);
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, NULL), 1);
    user_link_remove(path);
    user_link_remove(path);
    put_link(base, runtime);
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, NULL), 2);
    user_link_remove(path);
    assert_int_equal(address_candidates(&user, ADDRESS_JOBS, list, NULL), 1);
    assert_int_equal(rmdir(path) | rmdir(runtime) | rmdir(base), 0);
    unsetenv("XDG_STATE_HOME");
}

/* Whether the entry of this directory has gone for a moment, since inotify fd watches it.
 * There is something to read. */
static bool was_deleted(int fd, const char *name)
{
    _Alignas(struct inotify_event) char buf[4096];
    ssize_t n = read(fd, buf, sizeof(buf));
    bool deleted = false;

    assert_true(n > 0);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *ev = (const void *)(buf + at);

        deleted |= ev->mask & (IN_DELETE | IN_MOVED_FROM) && strcmp(ev->name, name) == 0;
        at += (ssize_t)(sizeof(*ev) + ev->len);
    }
    return deleted;
}

/* A client that looks meanwhile finds the old link or the new one. What a voltd that died
 * has left does not matter. */
static void test_link_is_replaced_at_once(void **state)
{
    (void)state;
    char base[] = "/tmp/test-address-XXXXXX", path[64], target[PATH_MAX] = "";
    assert_non_null(mkdtemp(base));
    assert_int_equal(user_link_put(base, "/old"), 0);
    (void)snprintf(path, sizeof(path), "%s/runtime.new", base);
    assert_int_equal(symlink("/left", path), 0);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, base, IN_ALL_EVENTS) >= 0);
    assert_int_equal(user_link_put(base, "/new"), 0);
    assert_false(was_deleted(fd, "runtime"));
    (void)close(fd);
    (void)snprintf(path, sizeof(path), "%s/runtime", base);
    assert_true(readlink(path, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/new");
    user_link_remove(base);
    assert_int_equal(mkdir(path, 0700), 0); /* that cannot be replaced, and nothing is left */
    assert_int_equal(user_link_put(base, "/new"), -EISDIR);
    assert_int_equal(rmdir(path) | rmdir(base), 0);
}

static void test_control_beside_jobs(void **state)
{
    (void)state;
    struct address list[ADDRESS_CANDIDATES];
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
    const struct address control = {"/run/voltd/control.sock"};
    const struct address deeper = {"/run/voltd/x/voltd.sock"}, near = {"/run/voltd2/v"};
    assert_true(address_is_system(&system));
    assert_true(address_is_system(&control));
    assert_false(address_is_system(&deeper));
    assert_false(address_is_system(&near));
    assert_false(address_is_system(&own));
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
        cmocka_unit_test(test_linked),
        cmocka_unit_test(test_link_is_replaced_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
