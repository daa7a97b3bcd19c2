/* Lists of the jobs of some time: all of them, from memory and from the store, and no
 * further than needed; also when the clock was wrong in between. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "daemon/core/state.h"
#include "daemon/keeper/record.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "tests/support/managed.h"

#define JOBS   2000
#define STRAY  1500 /* submitted in 1970 */
#define MINUTE UINT64_C(60000000)
#define BEGIN  UINT64_C(1795000000000000)

static struct volt_runtime *rt;
static struct core *core;

static uint64_t submitted(uint64_t id)
{
    return id == STRAY ? 1 : BEGIN + id * MINUTE;
}

static int nothing(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

/* Every third one waits still. */
static void fill(void)
{
    struct store_sqlite_options o = {.dir = managed_dir};
    struct volt_error err = {{0}};
    struct job_spec *spec = job_spec_new();
    struct store *s = NULL;

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = UINT64_C(3600000000);
    assert_int_equal(record_boot_id(o.boot_id), 0);
    if (store_sqlite_open(&o, &s, &err) < 0 || store_load(s, nothing, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (uint64_t id = 1; id <= JOBS; id++) {
        const struct job_event cancel = {.type = JOB_EV_CANCEL,
                                         .at_usec = submitted(id) + 1};
        const struct store_fact facts[] = {fact_submit(id, submitted(id), spec),
                                           fact_event(id, JOB_NO_INDEX, &cancel),
                                           fact_last(id, cancel.at_usec, 0)};

        assert_int_equal(store_append(s, facts, id % 3 ? 3 : 1, NULL), 0);
    }
    job_spec_unref(spec);
    store_free(s);
}

static void start(uint64_t keep)
{
    struct config config;

    config_defaults(&config);
    config.keep_ended_jobs = keep;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    core = managed_start_with(&config, rt, NULL);
}

static void stop(void)
{
    managed_stop(core, rt);
}

static bool seen[JOBS + 1];

static int see(void *arg, const struct job_view *v)
{
    (void)arg;
    assert_false(seen[v->key.id]);
    seen[v->key.id] = true;
    return 0;
}

/* 0 or what the list ended with. */
static int list(const struct job_filter *f, size_t limit)
{
    const struct asker root = auth_voltd();
    uint64_t cursor = 0;
    int r;

    memset(seen, 0, sizeof(seen));
    do
        r = managed_list(core, &root, f, cursor, limit, see, NULL, &cursor);
    while (r == 0 && cursor);
    return r;
}

/* The same in portions of any size: none looks at more than it may. */
static int list_in_portions(const struct job_filter *f, size_t looks)
{
    const struct asker root = auth_voltd();
    struct quota quota;
    struct query_walk w = {
        .quota = &quota, .kept = true, .limit = SIZE_MAX, .at_once = looks};
    int r;

    memset(seen, 0, sizeof(seen));
    do {
        quota = (struct quota){.entries = QUOTA_ENTRIES - looks};
        r = query_walk_step(NULL, core, &root, f, &w, see, NULL);
        assert_true(quota.entries <= QUOTA_ENTRIES + 1 + QUERY_KEPT_COST);
    } while (r == 0 && w.cursor);
    return r;
}

static void expect(uint64_t since, uint64_t until, bool newest_first)
{
    const struct job_filter f = {
        .since_usec = since, .until_usec = until, .newest_first = newest_first};

    for (size_t limit = 7; limit <= 5000 * 25; limit *= 25) {
        assert_int_equal(limit <= 5000 ? list(&f, limit) : list_in_portions(&f, 500), 0);
        for (uint64_t id = 1; id <= JOBS; id++) {
            bool wanted = submitted(id) >= since && (!until || submitted(id) <= until);

            if (seen[id] != wanted)
                fail_msg("job %d: %d", (int)id, seen[id]);
        }
    }
}

static void expect_all(void)
{
    for (int newest_first = 0; newest_first <= 1; newest_first++) {
        expect(submitted(1400), 0, newest_first);
        expect(0, submitted(1600), newest_first);
        expect(submitted(900) + 1, submitted(1100) - 1, newest_first);
        expect(submitted(1000), submitted(1000), newest_first);
        expect(submitted(JOBS) + 1, 0, newest_first);
        expect(2, submitted(1) - 1, newest_first);
    }
}

static void from_memory_and_from_the_store(void **state)
{
    (void)state;
    fill();
    for (uint64_t keep = 10; keep <= 100000; keep *= 100) {
        start(keep);
        expect_all();
        stop();
    }
}

/* What lies beyond is not read: one of it is damaged, and nobody notices. */
static void no_further_than_needed(void **state)
{
    const struct job_filter recent = {.since_usec = submitted(1400),
                                      .newest_first = true};
    const struct job_filter early = {.until_usec = submitted(300)};
    const struct job_filter all = {.newest_first = true};
    char path[80];
    sqlite3 *db;

    (void)state;
    fill();
    start(10);
    (void)snprintf(path, sizeof(path), "%s/jobs.1.db", managed_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE job SET body = x'00' WHERE id = 850", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    for (size_t limit = 10; limit <= 5000; limit *= 10) {
        assert_int_equal(list(&recent, limit), 0);
        assert_int_equal(list(&early, limit), 0);
        assert_int_equal(list(&all, limit), -EBADMSG);
    }
    assert_int_equal(list_in_portions(&recent, 500), 0);
    assert_int_equal(list_in_portions(&early, 500), 0);
    assert_int_equal(list_in_portions(&all, 500), -EBADMSG);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_memory_and_from_the_store, managed_make,
                                        managed_remove),
        cmocka_unit_test_setup_teardown(no_further_than_needed, managed_make,
                                        managed_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
