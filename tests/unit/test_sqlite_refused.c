/* The SQLite store when it cannot be written: a full disk, a failing one, somebody else's
 * lock, rows that SQLite will not have. Nothing that was acknowledged is lost, nobody who
 * submits waits for ever, and it goes on by itself. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/volt.h>

#include "tests/support/failing_vfs.h"
#include "tests/support/stored.h"

static void wait_until_sound(struct store *s)
{
    struct store_health h;

    for (store_health(s, &h); h.full || h.failing; store_health(s, &h))
        (void)usleep(1000);
}

/* Closes: a load finds what came later, and nothing that was refused. */
static void close_and_find(struct store *s, const char *later, struct found *ret)
{
    struct volt_error err = {{0}};

    store_free(s);
    assert_int_equal(stored_reload(1, ret, &err), 0);
    assert_null(strstr(ret->text, "never"));
    assert_non_null(strstr(ret->text, later));
}

/* Ends the fault when the store has felt it. */
static void *room_later(void *store)
{
    struct store_health h;

    do {
        (void)usleep(1000);
        store_health(store, &h);
    } while (!h.full && !h.failing);
    failing_vfs_set(0, 0, 0);
    return NULL;
}

static void a_full_disk_refuses_submissions_and_keeps_the_rest(void **state)
{
    struct store_health h;
    struct found found;
    pthread_t thread;

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(stored_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(stored_submit(s, 3, "c", NULL), 0);
    assert_int_equal(stored_starting(s, 1), 0);
    failing_vfs_set(SQLITE_FULL, 0, 0);
    assert_int_equal(stored_submit(s, 4, "never", "E=4"), -ENOSPC);
    store_health(s, &h);
    assert_true(h.full);
    pthread_create(&thread, NULL, room_later, s);
    assert_int_equal(stored_starting(s, 2), 0); /* waited for the room */
    assert_int_equal(stored_end(s, 1, 3), 0);
    pthread_join(thread, NULL);
    wait_until_sound(s); /* the reserve is back */
    assert_int_equal(stored_submit(s, 5, "later", "E=4"), 0);
    close_and_find(s, "5:submit:later:E=4", &found);
    failing_vfs_take();
    assert_memory_equal(found.text, stored_expected, strlen(stored_expected) - 1);
}

/* Room alone does not end it: the next completions would have none of their own. */
static void jobs_are_taken_when_the_reserve_is_back(void **state)
{
    struct found found;
    char path[PATH_MAX];

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "a", NULL), 0);
    stored_path("reserve", path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); /* in its way */
    failing_vfs_set(SQLITE_FULL, 0, 0);
    assert_int_equal(stored_submit(s, 2, "never", NULL), -ENOSPC);
    failing_vfs_set(0, 0, 0);
    assert_int_equal(stored_starting(s, 1), 0);
    assert_int_equal(stored_end(s, 1, 0), 0);
    assert_int_equal(stored_submit(s, 3, "never", NULL), -ENOSPC);
    assert_int_equal(rmdir(path), 0);
    wait_until_sound(s);
    assert_int_equal(stored_submit(s, 4, "later", NULL), 0);
    close_and_find(s, "4:submit:later", &found);
    failing_vfs_take();
}

static void a_failed_sync_is_answered_by_a_full_copy(void **state)
{
    struct volt_error err = {{0}};
    struct found found;
    char path[PATH_MAX];

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "a", "E=1"), 0);
    assert_int_equal(stored_submit(s, 2, "b", "E=1"), 0);
    assert_int_equal(stored_starting(s, 1), 0);
    failing_vfs_set(0, SQLITE_IOERR_FSYNC, 1);
    assert_int_equal(stored_submit(s, 3, "c", NULL), 0); /* acknowledged by the copy */
    stored_path("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), -1);
    stored_path("jobs.2.db", path);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(stored_starting(s, 2), 0);
    failing_vfs_set(0, SQLITE_IOERR_FSYNC, 3); /* also the copy fails, twice */
    assert_int_equal(stored_end(s, 1, 3), 0);
    store_free(s);
    failing_vfs_take();
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
}

/* No copy can be made either: who submits is told, and the rest is kept when it can be. */
static void a_disk_that_goes_on_failing_keeps_nobody_who_submits(void **state)
{
    struct store_health h;
    struct found found;
    pthread_t thread;

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    stored_fill(s);
    failing_vfs_set(SQLITE_IOERR_WRITE, 0, 0);
    assert_int_equal(stored_submit(s, 4, "never", NULL),
                     -EIO); /* which was in the group */
    assert_int_equal(stored_submit(s, 5, "never", NULL), -EIO); /* at once */
    store_health(s, &h);
    assert_true(h.failing && !h.full);
    assert_int_equal(store_has(s, 1), 1); /* reads go on */
    pthread_create(&thread, NULL, room_later, s);
    assert_int_equal(stored_starting(s, 3), 0);
    pthread_join(thread, NULL);
    wait_until_sound(s);
    assert_int_equal(stored_submit(s, 6, "later", NULL), 0);
    close_and_find(s, "6:submit:later", &found);
    failing_vfs_take();
    assert_non_null(strstr(found.text, "3_-1:starting"));
}

/* What SQLite will never have ends with the submission that brought it. */
static void a_submission_that_cannot_be_kept_holds_up_nothing(void **state)
{
    struct found found;
    char path[PATH_MAX];

    (void)state;
    struct store *s = stored_fresh();
    stored_fill(s);
    assert_int_equal(stored_submit(s, 1, "never", NULL), -EIO); /* the id is taken */
    wait_until_sound(s);
    assert_int_equal(stored_submit(s, 4, "d", NULL), 0);
    assert_int_equal(stored_end(s, 2, 0), 0);
    close_and_find(s, "4:submit:d", &found);
    stored_path("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), 0); /* a copy would not have helped */
}

/* Somebody else has locked the file, and keeps it for longer than anybody waits. */
static void a_lock_of_somebody_else_is_borne(void **state)
{
    struct store_health h;
    struct found found;
    char path[PATH_MAX];
    sqlite3 *other;

    (void)state;
    struct store *s = stored_fresh();
    stored_fill(s);
    stored_path("jobs.1.db", path);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(stored_submit(s, 4, "never", NULL), -EIO);
    assert_int_equal(stored_submit(s, 5, "never", NULL), -EIO);
    store_health(s, &h);
    assert_true(h.failing);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(stored_end(s, 2, 0), 0);
    wait_until_sound(s);
    assert_int_equal(stored_submit(s, 6, "later", NULL), 0);
    close_and_find(s, "6:submit:later", &found);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_full_disk_refuses_submissions_and_keeps_the_rest),
        T(jobs_are_taken_when_the_reserve_is_back),
        T(a_failed_sync_is_answered_by_a_full_copy),
        T(a_disk_that_goes_on_failing_keeps_nobody_who_submits),
        T(a_submission_that_cannot_be_kept_holds_up_nothing),
        T(a_lock_of_somebody_else_is_borne),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
