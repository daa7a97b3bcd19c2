/* The witness of a SQLite store: what is written into it last, and what accepting a store
 * that it refuses makes of the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/store/witness.h"
#include "tests/support/facts.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/stored.h"

static const struct witness another = {.id = {9}, .starts = 7, .facts = 1000};

static uint64_t facts_seen(void)
{
    struct witness w;

    assert_int_equal(witness_read(stored_dir, &w), 0);
    return w.facts;
}

/* Facts that nobody waits for are written when the store is closed. */
static void the_last_witness_has_seen_the_last_fact(void **state)
{
    const struct job_event starting = {
        .type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    const struct store_fact fact = fact_event(1, JOB_NO_INDEX, &starting);
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    assert_int_equal(stored_submit(s, 1, "x", NULL), 0);
    assert_int_equal(store_witness(s, true), 0);
    const uint64_t before = facts_seen();
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    store_free(s);
    assert_int_equal(facts_seen(), before + 1);
    assert_int_equal(stored_reload(1, &found, &err), 0);
}

/* A witness that were ahead of its store would have it refused at the next start. */
static void no_witness_has_seen_what_was_taken_back(void **state)
{
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();
    assert_int_equal(stored_submit(s, 1, "x", NULL), 0);
    assert_int_equal(store_witness(s, true), 0);
    const uint64_t before = facts_seen();
    failing_vfs_set(0, SQLITE_FULL, 1);
    assert_int_equal(stored_submit(s, 2, "never", NULL), -ENOSPC);
    assert_int_equal(store_witness(s, true), 0);
    assert_int_equal(facts_seen(), before);
    store_free(s);
    failing_vfs_take();
    assert_int_equal(stored_reload(1, &found, &err), 0);
}

/* A copy may have been made anywhere: what was starting in it has perhaps run since. */
static void what_was_starting_in_an_accepted_store_is_of_another_life(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    char text[256];

    (void)state;
    stored_fill(s);
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, stored_expected);
    assert_int_equal(witness_write(stored_dir, &another, true, NULL), 0);
    assert_int_equal(stored_reload(1, &found, &err), -STORE_NOT_WITNESSED);
    assert_int_equal(store_sqlite_accept(stored_dir, text, &err), 1);
    assert_int_equal(stored_reload(1, &found, &err), 0); /* of the same boot */
    assert_non_null(strstr(found.text, "2_-1:starting!0"));
}

/* Without a store it is an empty one that is accepted: it is made for that alone. */
static void an_empty_store_that_cannot_be_accepted_is_not_there(void **state)
{
    struct volt_error err = {{0}};
    char path[PATH_MAX], text[256];

    (void)state;
    assert_int_equal(witness_write(stored_dir, &another, true, NULL), 0);
    stored_path("witness.new", path);
    assert_int_equal(mkdir(path, 0700), 0); /* in the place of the next witness */
    assert_true(store_sqlite_accept(stored_dir, text, &err) < 0);
    assert_non_null(strstr(err.text, "nothing has changed"));
    stored_path("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(facts_seen(), another.facts);
    stored_path("witness.new", path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(store_sqlite_accept(stored_dir, text, &err), 1);
    stored_path("jobs.1.db", path);
    assert_int_equal(access(path, F_OK), 0);
}

/* What a check of a store finds: how often, and the latest words. */
static unsigned findings;
static char words[256];

static void note_finding(void *arg, const char *text)
{
    assert_ptr_equal(arg, words);
    findings++;
    (void)snprintf(words, sizeof(words), "%s", text);
}

static int check_store(void)
{
    findings = 0;
    words[0] = '\0';
    return store_sqlite_check(stored_dir, note_finding, words);
}

static void write_file(const char *name, size_t n)
{
    char path[PATH_MAX], bytes[4096];

    stored_path(name, path);
    memset(bytes, 'x', sizeof(bytes));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (; n > 0; n -= sizeof(bytes))
        assert_int_equal(fwrite(bytes, sizeof(bytes), 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

/* Each is one finding, with its words. */
static void a_check_says_what_is_not_there_or_no_store(void **state)
{
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(check_store(), -ENOENT);
    assert_int_equal(findings, 0);
    assert_int_equal(witness_write(stored_dir, &another, true, NULL), 0);
    assert_int_equal(check_store(), 1);
    assert_int_equal(findings, 1);
    assert_non_null(strstr(words, "the store"));
    stored_path("witness", path);
    assert_int_equal(unlink(path), 0);

    write_file("jobs.1.db", 16384);
    assert_int_equal(check_store(), 1);
    assert_int_equal(findings, 1);
    assert_string_not_equal(words, "");

    stored_path("jobs.1.db", path);
    assert_int_equal(unlink(path), 0);
    struct store *s = stored_fresh();
    stored_fill(s);
    store_free(s);
    assert_int_equal(check_store(), 0);
    assert_int_equal(findings, 0);
}

/* The database says itself that its list of free pages is longer than it is. */
static void a_check_looks_at_the_structure_too(void **state)
{
    struct store *s = stored_fresh();
    char path[PATH_MAX];
    uint8_t n;

    (void)state;
    stored_fill(s);
    store_free(s);
    stored_query("PRAGMA wal_checkpoint(TRUNCATE)");
    stored_path("jobs.1.db", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &n, 1, 39), 1);
    n++;
    assert_int_equal(pwrite(fd, &n, 1, 39), 1);
    assert_int_equal(close(fd), 0);
    assert_true(check_store() > 0);
    assert_non_null(strstr(words, "reelist"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_last_witness_has_seen_the_last_fact),
        T(no_witness_has_seen_what_was_taken_back),
        T(what_was_starting_in_an_accepted_store_is_of_another_life),
        T(an_empty_store_that_cannot_be_accepted_is_not_there),
        T(a_check_says_what_is_not_there_or_no_store),
        T(a_check_looks_at_the_structure_too),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
