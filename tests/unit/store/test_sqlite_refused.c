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
#include <stdlib.h>
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

static int pass_over(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
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

static unsigned ends; /* of voltd, by the store */

static void note_end(void)
{
    ends++;
}

/* As `ends` counts: in a process that goes on. */
static struct store *open_to_end(void)
{
    const struct store_sqlite_options o = {
        .dir = stored_dir, .boot_id = {1}, .generation = {7}, .failed = note_end};
    struct volt_error err = {{0}};
    struct store *s = NULL;

    assert_int_equal(store_sqlite_open(&o, &s, &err), 0);
    assert_int_equal(store_load(s, pass_over, NULL, &err), 0);
    ends = 0;
    return s;
}

/* Nothing is acknowledged from the failed commit on, whatever the disk says later; what was
 * before is there. */
static void a_failed_sync_ends_voltd(void **state)
{
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    failing_vfs_put();
    struct store *s = open_to_end();
    assert_int_equal(stored_submit(s, 1, "a", "E=1"), 0);
    failing_vfs_set(0, SQLITE_IOERR_FSYNC, 1);
    assert_int_equal(stored_submit(s, 2, "b", "E=1"), -EIO);
    assert_int_equal(ends, 1);
    assert_int_equal(stored_submit(s, 3, "c", NULL), -EIO);
    assert_int_equal(stored_starting(s, 1), -EIO);
    assert_int_equal(ends, 1);
    assert_int_equal(store_has(s, 1), 1);
    store_free(s);
    failing_vfs_take();
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "1:submit:a:E=1"));
    assert_null(strstr(found.text, "3:submit"));
    assert_null(strstr(found.text, "1_-1:starting"));
}

/* What a failed sync has left in the journal is written again before anything follows it:
 * where that fails, voltd does not begin. */
static void a_start_writes_the_journal_through(void **state)
{
    struct volt_error err = {{0}};
    struct found found;
    uint8_t *file, *journal;

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    stored_fill(s);
    size_t n = stored_read("jobs.1.db", &file);
    size_t journal_n = stored_read("jobs.1.db-wal", &journal);
    store_free(s);
    stored_remove_journal();
    stored_write("jobs.1.db", file, n);
    stored_write("jobs.1.db-wal", journal, journal_n);
    assert_int_equal(stored_open(1, &s, &err), 0);
    failing_vfs_set(0, SQLITE_IOERR_FSYNC, 1);
    assert_int_equal(store_load(s, pass_over, NULL, &err), -EIO);
    assert_non_null(strstr(err.text, stored_dir));
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
    failing_vfs_take();
    free(file);
    free(journal);
}

/* What SQLite will never have ends with the submission that brought it. */
static void a_submission_that_cannot_be_kept_holds_up_nothing(void **state)
{
    struct found found;

    (void)state;
    struct store *s = open_to_end();
    stored_fill(s);
    assert_int_equal(stored_submit(s, 1, "never", NULL), -EIO); /* the id is taken */
    wait_until_sound(s);
    assert_int_equal(stored_submit(s, 4, "d", NULL), 0);
    assert_int_equal(stored_end(s, 2, 0), 0);
    close_and_find(s, "4:submit:d", &found);
    assert_int_equal(ends, 0);
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
        T(a_failed_sync_ends_voltd),
        T(a_start_writes_the_journal_through),
        T(a_submission_that_cannot_be_kept_holds_up_nothing),
        T(a_lock_of_somebody_else_is_borne),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
