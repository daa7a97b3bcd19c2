/* Keys in the SQLite store: they outlive their jobs, and leave by age or on demand. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/store/sqlite_store.h"
#include "tests/support/stored.h"

static struct store_fact key_of(uint64_t id, uint64_t at_usec)
{
    return (struct store_fact){.type = STORE_KEY,
                               .key = {.id = id,
                                       .uid = stored_owner,
                                       .at_usec = at_usec,
                                       .name = {id * 3, id * 5},
                                       .body = {id * 7, id * 11},
                                       .end = {.code = (int32_t)id,
                                               .code_is = 2,
                                               .result = JOB_RESULT_EXIT,
                                               .exit_code = 9}}};
}

static void end_keyed(struct store *s, uint64_t id, uint64_t at_usec)
{
    const struct store_fact key = key_of(id, at_usec);

    assert_int_equal(stored_submit(s, id, "x", NULL), 0);
    assert_int_equal(stored_starting(s, id), 0);
    assert_int_equal(stored_end(s, id, 0), 0);
    assert_int_equal(stored_keep(s, &key, 1), 0);
}

static const char *found_again(struct found *found)
{
    struct volt_error err = {{0}};

    assert_int_equal(stored_reload(1, found, &err), 0);
    return found->text;
}

static void await_gone(struct store *s, uint64_t id)
{
    while (store_has(s, id) > 0)
        (void)poll(NULL, 0, 1);
}

static void find_nothing(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

static void a_key_outlives_its_job(void **state)
{
    struct store *s = stored_fresh();
    const struct store_fact free_key = {.type = STORE_KEY, .key = {.id = 2}};
    struct found found;

    (void)state;
    store_retain(s, &(struct store_retention){
                        .jobs = 1, .usec = UINT64_MAX, .key_usec = UINT64_MAX});
    end_keyed(s, 1, 100);
    end_keyed(s, 2, 200);
    end_keyed(s, 3, 300);
    for (uint64_t id = 4; id < 300; id++)
        end_keyed(s, id, 300);
    await_gone(s, 3);
    store_free(s);
    assert_int_equal(store_sqlite_check(stored_dir, find_nothing, NULL), 0);
    assert_non_null(strstr(found_again(&found), "1:key:1 2:key:2 3:key:3 "));
    s = stored_fresh();
    assert_int_equal(stored_forget(s, 1), 0); /* its job has gone */
    assert_int_equal(stored_forget(s, 299), 0);
    assert_int_equal(stored_keep(s, &free_key, 1), 0);
    store_free(s);
    assert_null(strstr(found_again(&found), "1:key:1 "));
    assert_null(strstr(found.text, "2:key:2 "));
    assert_null(strstr(found.text, "299:key"));
    assert_int_equal(store_sqlite_check(stored_dir, find_nothing, NULL), 0);
}

static int note_key(void *arg, const struct store_loaded *loaded)
{
    if (loaded->type == STORE_LOADED_KEY)
        *(struct store_key *)arg = loaded->key;
    return 0;
}

/* One is asked for, or keys are, from the newest on. */
static void a_range_has_it_where_it_is_asked_for(void **state)
{
    struct store *s = stored_fresh();
    struct store_range range = {.first = 1, .last = 500, .max = 64, .newest_first = true};
    const struct store_key want = key_of(1, 100).key;
    struct store_key got = {.id = 0};
    struct volt_error err;
    uint64_t at = 0;

    (void)state;
    store_retain(s, &(struct store_retention){
                        .jobs = 1, .usec = UINT64_MAX, .key_usec = UINT64_MAX});
    end_keyed(s, 1, 100);
    for (uint64_t id = 2; id < 300; id++)
        assert_int_equal(stored_submit(s, id, "x", NULL) | stored_starting(s, id) |
                             stored_end(s, id, 0),
                         0);
    await_gone(s, 1);
    range.last = 1;
    assert_int_equal(store_history(s, &range, note_key, &got, &at, &err), 0);
    range.keys = true;
    assert_int_equal(store_history(s, &range, note_key, &got, &at, &err), 1);
    assert_int_equal(at, 1);
    assert_memory_equal(&got.name, &want.name, sizeof(want.name));
    assert_memory_equal(&got.body, &want.body, sizeof(want.body));
    assert_int_equal(got.uid, want.uid);
    assert_int_equal(got.at_usec, 100);
    assert_int_equal(got.end.code, 1);
    assert_int_equal(got.end.result, JOB_RESULT_EXIT);
    assert_int_equal(got.end.code_is, 2);
    assert_int_equal(got.end.exit_code, 9);
    range.of_owner = true;
    range.owner = stored_owner;
    assert_int_equal(store_history(s, &range, note_key, &got, &at, &err), 1);
    range.owner++;
    assert_int_equal(store_history(s, &range, note_key, &got, &at, &err), 0);
    store_free(s);
}

/* Without a writer: it would wait for an hour. */
static void old_keys_of_an_owner_expire(void **state)
{
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;
    int n;

    (void)state;
    for (uint64_t id = 1; id <= 8; id++) {
        stored_owner = 1 + id % 2;
        end_keyed(s, id, 100 * id);
    }
    stored_owner = 1;
    store_free(s);
    assert_int_equal(stored_open(1, &s, &err), 0);
    struct sqlite_store *sq = sqlite_of(s);
    const struct owner_change has = {.uid = 1, .keys = 4};
    assert_int_equal(owners_change(&sq->owners, &has), 0);
    assert_int_equal(db_run(sq->db.statement[DB_BEGIN]), SQLITE_OK);
    const struct owner owner = {.uid = 1};
    assert_int_equal(sqlite_expire_keys(sq, &owner, 600, &n), SQLITE_OK);
    assert_int_equal(n, 2); /* 2 and 4 */
    assert_int_equal(sq->expired[1].id, 4);
    assert_int_equal(sqlite_save_sums(sq), SQLITE_OK);
    assert_int_equal(db_run(sq->db.statement[DB_COMMIT]), SQLITE_OK);
    store_free(s);
    assert_non_null(
        strstr(found_again(&found), "1:key:1 3:key:3 5:key:5 6:key:6 7:key:7 8:key:8 "));
}

static vat_u64 ahead_secs; /* of CLOCK_BOOTTIME */

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = __real_clock_gettime(clock, ts);

    if (clock == CLOCK_BOOTTIME)
        ts->tv_sec += (time_t)vat_u64_load(&ahead_secs, VAT_RLX);
    return r;
}

static void count_gone(void *arg, const struct store_key *key)
{
    (void)key;
    (void)vat_u64_add(arg, 1, VAT_RLX);
}

/* One group follows the other: each interrupts the pass by age, which goes on behind it. */
static void keys_expire_under_load(void **state)
{
    enum { OLD = 2000 };
    static vat_u64 gone;
    static struct store_fact old[OLD];
    struct store *s = stored_fresh();
    const struct store_fact none = {.type = STORE_KEY, .key = {.id = OLD + 1}};

    (void)state;
    vat_u64_store(&gone, 0, VAT_RLX);
    store_retain(s, &(struct store_retention){.jobs = 1,
                                              .usec = UINT64_MAX,
                                              .key_usec = 1,
                                              .key_gone = count_gone,
                                              .key_gone_arg = &gone});
    for (uint64_t i = 0; i < OLD; i++)
        old[i] = key_of(1 + i, 100);
    assert_int_equal(stored_keep(s, old, OLD), 0);
    vat_u64_store(&ahead_secs, 61, VAT_RLX);
    while (vat_u64_load(&gone, VAT_RLX) < OLD)
        assert_int_equal(stored_keep(s, &none, 1), 0);
    store_free(s);
    vat_u64_store(&ahead_secs, 0, VAT_RLX);
}

/* As a voltd before rows of keys left it. */
static void make_format_27(void)
{
    struct pack sums = {0};
    struct row_sums want;
    struct db db;
    char path[PATH_MAX];

    stored_path("jobs.1.db", path);
    assert_int_equal(db_open(&db, path, DB_WRITE, NULL), 0);
    assert_int_equal(db_meta_get(&db, "sums", &sums), 0);
    assert_true(row_sums_unpack(&want, sums.bytes, sums.n));
    want.key = (struct row_sum){0};
    pack_clear(&sums);
    row_sums_pack(&want, &sums);
    assert_int_equal(db_meta_put(&db, "sums", &sums), SQLITE_OK);
    db_close(&db);
    pack_fini(&sums);
    stored_query("DROP TABLE key");
    stored_query("DROP INDEX ended_of");
    stored_query("ALTER TABLE ended DROP COLUMN uid");
    stored_query("PRAGMA user_version=27");
}

static int count_lacking(void *arg, const struct store_loaded *loaded)
{
    if (loaded->type == STORE_LOADED_JOB && loaded->job.ended)
        *(unsigned *)arg += loaded->job.lacks_key_row;
    return 0;
}

static unsigned lacking(void)
{
    struct volt_error err = {{0}};
    struct store *s;
    unsigned n = 0;

    assert_int_equal(stored_open(1, &s, &err), 0);
    assert_int_equal(store_load(s, count_lacking, &n, &err), 0);
    store_free(s);
    return n;
}

/* The first start with rows of keys is told whose rows are to be made; and whose the ended
 * jobs are, so that each owner loses only his own. */
static void jobs_of_format_27_lack_their_rows_once(void **state)
{
    struct store *s = stored_fresh();
    struct found found;

    (void)state;
    end_keyed(s, 1, 100);
    stored_owner = 2;
    end_keyed(s, 2, 200);
    stored_owner = 1;
    store_free(s);
    make_format_27();
    assert_int_equal(lacking(), 2);
    assert_int_equal(lacking(), 0);
    assert_int_equal(stored_query("SELECT uid FROM ended WHERE id=2"), 2);
    s = stored_fresh();
    const struct store_fact key = key_of(1, 100);
    assert_int_equal(stored_keep(s, &key, 1), 0);
    store_free(s);
    assert_non_null(strstr(found_again(&found), "1:key:1 "));
    assert_int_equal(store_sqlite_check(stored_dir, find_nothing, NULL), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_key_outlives_its_job),
        T(a_range_has_it_where_it_is_asked_for),
        T(old_keys_of_an_owner_expire),
        T(keys_expire_under_load),
        T(jobs_of_format_27_lack_their_rows_once),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
