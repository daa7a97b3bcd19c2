/* The journal after power cuts: what is left of a transaction that was not on disk takes
 * nothing away, whatever had happened to the one before; and how the journal grows. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/sqlite_wal.h"
#include "daemon/store/witness.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/facts.h"
#include "tests/support/stored.h"

#define SECTOR 512
#define BIG    40000 /* ten pages and more: longer than the transactions behind it */

static unsigned syncs; /* of the journal, by others than SQLite */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    syncs++;
    return __real_fdatasync(fd);
}

static int pass_over(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

struct image {
    uint8_t *bytes;
    size_t n;
};

/* A store before and behind a transaction that was not synced. */
struct moment {
    struct image file, before, after; /* the file, the journal */
};

static struct image take(const char *name)
{
    struct image i;

    i.n = stored_read(name, &i.bytes);
    return i;
}

static void moment_fini(struct moment *m)
{
    free(m->file.bytes);
    free(m->before.bytes);
    free(m->after.bytes);
}

static bool differs(const struct moment *m, size_t at)
{
    for (size_t i = at; i < at + SECTOR && i < m->after.n; i++)
        if (m->after.bytes[i] != (i < m->before.n ? m->before.bytes[i] : 0))
            return true;
    return false;
}

/* What is on disk if all but the n-th sector of the transaction has come there; false: it
 * has not so many. */
static bool cut_power(const struct moment *m, size_t n)
{
    size_t at = 0;

    while (at < m->after.n && !(differs(m, at) && n-- == 0))
        at += SECTOR;
    if (at >= m->after.n)
        return false;
    struct image torn = {malloc(m->after.n), m->after.n};
    memcpy(torn.bytes, m->after.bytes, torn.n);
    for (size_t i = at; i < at + SECTOR && i < torn.n; i++)
        torn.bytes[i] = i < m->before.n ? m->before.bytes[i] : 0;
    stored_remove_journal();
    stored_write("jobs.1.db", m->file.bytes, m->file.n);
    stored_write("jobs.1.db-wal", torn.bytes, torn.n);
    free(torn.bytes);
    return true;
}

/* Each of its sectors in turn is missing: the store has what it had, with or without it. */
static void cut_everywhere(const struct moment *m, const char *less, const char *more)
{
    struct volt_error err = {{0}};
    struct found found;
    size_t n = 0;

    for (; cut_power(m, n); n++) {
        if (stored_reload(1, &found, &err) < 0)
            fail_msg("sector %zu: %s", n, err.text);
        if (strcmp(found.text, less) != 0 && strcmp(found.text, more) != 0)
            fail_msg("sector %zu: %s", n, found.text);
    }
    assert_true(n > 1);
}

static int submit_big(struct store *s, uint64_t id)
{
    static char env[BIG];

    memset(env, 'e', sizeof(env) - 1);
    return stored_submit(s, id, "never", env);
}

/* The second voltd commits where the first cut has left some of a longer transaction. */
static void a_power_cut_behind_a_power_cut(void **state)
{
    struct store *s = stored_fresh();
    struct moment first, second;

    (void)state;
    stored_fill(s);
    first.file = take("jobs.1.db");
    first.before = take("jobs.1.db-wal");
    assert_int_equal(submit_big(s, 4), 0);
    first.after = take("jobs.1.db-wal");
    store_free(s);
    assert_true(cut_power(&first, 0));

    s = stored_fresh();
    second.file = take("jobs.1.db");
    second.before = (struct image){NULL, 0};
    second.after = take("jobs.1.db-wal");
    store_free(s);
    cut_everywhere(&second, stored_expected, stored_expected);
    moment_fini(&first);
    moment_fini(&second);
}

/* Its frames were all written when its sync found no room; those who submitted were told. */
static void a_power_cut_behind_a_commit_that_failed(void **state)
{
    struct store_health h;
    struct moment m;
    char less[256], more[320];

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    stored_fill(s);
    failing_vfs_set(0, SQLITE_FULL, 1);
    assert_int_equal(submit_big(s, 4), -ENOSPC);
    for (store_health(s, &h); h.full; store_health(s, &h))
        (void)usleep(1000);
    assert_int_equal(stored_starting(s, 3), 0);
    m.before = take("jobs.1.db-wal");
    assert_int_equal(stored_submit(s, 5, "e", NULL), 0);
    m.file = take("jobs.1.db");
    m.after = take("jobs.1.db-wal");
    store_free(s);
    failing_vfs_take();
    (void)snprintf(less, sizeof(less), "%s3_-1:starting0 ", stored_expected);
    (void)snprintf(more, sizeof(more), "%s5:submit:e: ", less);
    cut_everywhere(&m, less, more);
    moment_fini(&m);
}

#define MANY 600 /* ended jobs: more than go in two transactions */

/* The first transaction that forgets has been kept: the sync of the second one fails. */
static void fail_next(void *arg, uint64_t id)
{
    (void)id;
    if (!*(bool *)arg)
        failing_vfs_set(0, SQLITE_IOERR_FSYNC, 1);
    *(bool *)arg = true;
}

/* As after that of a group: nothing more is written. */
static void a_failed_sync_while_it_forgets(void **state)
{
    static struct store_fact ends[2 * MANY];
    const struct job_event exited = {.type = JOB_EV_EXITED, .at_usec = 7};
    struct volt_error err = {{0}};
    struct found found;
    bool armed = false;

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    store_retain(s, &(struct store_retention){.jobs = MANY, .usec = UINT64_MAX});
    stored_fill(s);
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(stored_submit(s, 10 + i, "f", NULL), 0);
        ends[2 * i] = fact_event(10 + i, JOB_NO_INDEX, &exited);
        ends[2 * i + 1] = fact_last(10 + i, exited.at_usec, stored_owner);
    }
    assert_int_equal(stored_keep(s, ends, 2 * MANY), 0);
    store_retain(
        s, &(struct store_retention){
               .jobs = 0, .usec = UINT64_MAX, .gone = fail_next, .gone_arg = &armed});
    assert_int_equal(stored_starting(s, 3), 0); /* behind which it forgets */
    while (failing_vfs_failed() == 0)
        (void)usleep(1000);
    assert_int_equal(stored_end(s, 2, 0), -EIO); /* behind that */
    store_free(s);
    failing_vfs_take();
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "3_-1:starting0"));
    assert_null(strstr(found.text, " 2_-1:exited"));
}

/* What it has got of the room is worth more to others. */
static void a_journal_without_room_stays_as_long_as_it_was(void **state)
{
    const char zeros[4096] = {0};
    char path[PATH_MAX], journal[PATH_MAX];
    struct rlimit old, small;
    struct stat st;

    (void)state;
    stored_path("some.db", path);
    stored_path("some.db-wal", journal);
    int fd = open(journal, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 3 * sizeof(zeros), .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = wal_extend(path, 1 << 20);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(r, -EFBIG);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, sizeof(zeros));
    assert_int_equal(wal_extend(path, 1 << 20), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 1 << 20);
    close(fd);
}

/* The next one is told only what is on disk by then; a crash of the process loses nothing. */
static void a_store_that_does_not_wait_for_the_disk(void **state)
{
    const struct store_sqlite_options o = {
        .dir = stored_dir, .boot_id = {1}, .generation = {7}, .no_sync = true};
    struct volt_error err = {{0}};
    struct witness seen;
    struct found found;
    struct store *s;

    (void)state;
    failing_vfs_put();
    assert_int_equal(store_sqlite_open(&o, &s, &err), 0);
    assert_int_equal(store_load(s, pass_over, NULL, &err), 0);
    assert_false(store_durable(s));
    failing_vfs_set(0, SQLITE_IOERR_FSYNC, 1);
    stored_fill(s);
    assert_int_equal(failing_vfs_failed(), 0);
    syncs = 0;
    assert_int_equal(store_witness(s, true), 0);
    assert_int_equal(syncs, 1);
    assert_int_equal(witness_read(stored_dir, &seen), 0);
    assert_true(seen.facts > 3);
    failing_vfs_set(0, 0, 0);
    store_free(s);
    failing_vfs_take();
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_power_cut_behind_a_power_cut),
        T(a_power_cut_behind_a_commit_that_failed),
        T(a_failed_sync_while_it_forgets),
        T(a_journal_without_room_stays_as_long_as_it_was),
        T(a_store_that_does_not_wait_for_the_disk),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
