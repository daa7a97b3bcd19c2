/* The files of a store: which is in force, who may read them, and that what SQLite removes
 * when a store gets the mode of its journal is removed on disk before anything is
 * acknowledged: the directory is synced behind it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/stored.h"

#define READ_VERSION 19 /* the byte in the header of the file; 2: it has that mode */

static bool fails;     /* the sync of the directory, once the file has the mode */
static unsigned syncs; /* of the directory, with the mode and without another journal */

/* The file that was synced last under a name that is not its own yet, and whether that of
 * `expected` was in a directory that was synced later. */
static ino_t complete;
static const char *expected;
static bool named;

static void note_sync(int fd, const struct stat *st)
{
    char link[32], path[PATH_MAX] = "";
    struct stat now;

    if (S_ISREG(st->st_mode)) {
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof(path) - 1);
        if (n > 4 && strcmp(path + n - 4, ".new") == 0)
            complete = st->st_ino;
    } else if (expected) {
        stored_path(expected, path);
        named |= stat(path, &now) == 0 && now.st_ino == complete;
    }
}

static bool has_mode(void)
{
    char path[PATH_MAX];
    uint8_t mode = 0;

    stored_path("jobs.1.db", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &mode, 1, READ_VERSION) < 1)
        mode = 0;
    if (fd >= 0)
        (void)close(fd);
    stored_path("jobs.1.db-journal", path);
    return mode == 2 && access(path, F_OK) < 0;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0)
        note_sync(fd, &st);
    if (!S_ISDIR(st.st_mode) || !has_mode())
        return __real_fsync(fd);
    syncs++;
    if (!fails)
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

static int setup(void **state)
{
    fails = false;
    syncs = 0;
    complete = 0;
    expected = NULL;
    named = false;
    return stored_setup(state);
}

static void its_removal_is_on_disk(void **state)
{
    (void)state;
    struct store *s = stored_fresh();
    assert_true(syncs > 0);
    store_free(s);
}

/* Whoever opens it is told which directory cannot be synced; and can the next time. */
static void without_that_it_is_not_opened(void **state)
{
    struct volt_error err = {""};
    struct store *s;

    (void)state;
    fails = true;
    assert_int_equal(stored_open(1, &s, &err), -EIO);
    assert_non_null(strstr(err.text, stored_dir));
    assert_non_null(strstr(err.text, strerror(EIO)));
    fails = false;
    s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "a", NULL), 0);
    store_free(s);
}

/* First the file, then its name: a power cut leaves no half of one in force. */
static void a_new_file_is_on_disk_before_it_has_its_name(void **state)
{
    (void)state;
    expected = "jobs.1.db";
    struct store *s = stored_fresh();
    assert_true(named);
    store_free(s);
}

/* Asked for: otherwise whoever syncs the directory next does it. */
static void the_name_of_a_witness_is_on_disk_where_it_is_to_last(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    expected = "witness";
    assert_int_equal(store_witness(s, false), 0);
    assert_false(named);
    assert_int_equal(store_witness(s, true), 0);
    assert_true(named);
    store_free(s);
}

/* An earlier voltd copied its store, and died before it could remove the old file. */
static void the_highest_number_is_in_force(void **state)
{
    struct volt_error err = {""};
    struct store *s = stored_fresh();
    struct found found;
    uint8_t *old, *copy;
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(stored_submit(s, 1, "a", NULL), 0);
    store_free(s);
    size_t old_n = stored_read("jobs.1.db", &old);
    s = stored_fresh();
    assert_int_equal(stored_submit(s, 2, "b", NULL), 0);
    store_free(s);
    size_t copy_n = stored_read("jobs.1.db", &copy);
    stored_write("jobs.10.db", copy, copy_n);
    for (unsigned i = 1; i < 10; i += 8) { /* 1, 9 */
        (void)snprintf(path, sizeof(path), "jobs.%u.db", i);
        stored_write(path, old, old_n);
    }
    free(old);
    free(copy);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "2:submit:b"));
    stored_path("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), -1);
    stored_path("jobs.9.db", path);
    assert_int_equal(access(path, F_OK), -1);
}

static void assert_private(const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    stored_path(name, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* Environments are in them, whatever the mask of voltd is. */
static void nobody_else_may_read_them(void **state)
{
    const mode_t mask = umask(0);

    (void)state;
    struct store *s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "a", "SECRET=1"), 0);
    assert_private("jobs.1.db");
    assert_private("jobs.1.db-wal");
    assert_private("jobs.1.db-shm");
    store_free(s);
    (void)umask(mask);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(its_removal_is_on_disk),
        T(without_that_it_is_not_opened),
        T(a_new_file_is_on_disk_before_it_has_its_name),
        T(the_name_of_a_witness_is_on_disk_where_it_is_to_last),
        T(the_highest_number_is_in_force),
        T(nobody_else_may_read_them),
    };

    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
