/* Room that is kept for completions: it is there, is given back, and what cannot be had is an error
 * that takes nothing. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/store/reserve.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], file[SCRATCH_MAX + 16];

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(file, sizeof(file), "%s/reserve", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

/* -1: there is no file. */
static long long size_of(void)
{
    struct stat st;

    return stat(file, &st) < 0 ? -1 : (long long)st.st_size;
}

static void it_is_taken_and_given_back(void **state)
{
    (void)state;
    reserve_release(dir);
    assert_int_equal(size_of(), -1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(reserve_take(dir), 0);
        assert_int_equal(size_of(), RESERVE_BYTES);
        assert_int_equal(reserve_take(dir), 0); /* it has its room */
        assert_int_equal(size_of(), RESERVE_BYTES);
        reserve_release(dir);
        assert_int_equal(size_of(), 0);
    }
}

/* A file of that length without its blocks is no room. */
static void a_hole_is_filled(void **state)
{
    struct stat st;

    (void)state;
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), RESERVE_BYTES), 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(reserve_take(dir), 0);
    assert_int_equal(stat(file, &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 >= RESERVE_BYTES);
}

static void without_room_it_takes_none(void **state)
{
    struct rlimit old, small;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = reserve_take(dir);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(r, -EFBIG);
    assert_int_equal(size_of(), 0);
}

static void what_is_no_file_is_refused(void **state)
{
    char path[PATH_MAX + 1];

    (void)state;
    assert_int_equal(mkdir(file, 0700), 0);
    assert_int_equal(reserve_take(dir), -EISDIR);
    reserve_release(dir);
    assert_int_equal(rmdir(file), 0);
    assert_int_equal(symlink("elsewhere", file), 0);
    assert_int_equal(reserve_take(dir), -ELOOP);
    assert_int_equal(unlink(file), 0);
    memset(path, 'x', PATH_MAX);
    path[PATH_MAX] = '\0';
    assert_int_equal(reserve_take(path), -ENAMETOOLONG);
    reserve_release(path);
    (void)snprintf(path, sizeof(path), "%s/none", dir);
    assert_int_equal(reserve_take(path), -ENOENT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_is_taken_and_given_back),
        T(a_hole_is_filled),
        T(without_room_it_takes_none),
        T(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
