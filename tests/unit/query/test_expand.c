/* Lists with elements of arrays: each that is wanted once and in order, from memory and
 * from the store, both ways, wherever the portions end; and how much a portion looks at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/state.h"
#include "daemon/keeper/record.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "tests/support/managed.h"

#define LARGE 30000 /* elements of one that waits, of which some have been cancelled */
#define ENDED 3000  /* of one that has ended */
#define SMALL 300   /* jobs and arrays of a few elements */
#define HOUR  UINT64_C(3600000000)
#define BEGIN UINT64_C(1795000000000000)
#define EVERY 997 /* elements of the large one between two that were cancelled */
#define MOST  50000

static struct volt_runtime *rt;
static struct core *core;

/* What there is, in order: of the elements, and of the jobs that are no arrays. */
static struct row {
    struct job_key key;
    enum job_state state;
} rows[MOST];
static size_t nrows;

static void add_row(uint64_t id, int64_t index, enum job_state state)
{
    rows[nrows++] = (struct row){{.id = id, .index = index}, state};
}

static int nothing(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

/* Arrays of every other index, and a gap. */
static struct job_spec *sleeper(uint64_t count)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = HOUR;
    spec->is_array = count > 0;
    if (count > 0) {
        spec->nranges = count > 1 ? 2 : 1;
        spec->ranges = calloc(2, sizeof(*spec->ranges));
        spec->ranges[0] = (struct job_range){.first = 3, .last = 3, .step = 1};
        spec->ranges[1] = (struct job_range){
            .first = 1000000001, .last = 1000000001 + 2 * (count - 2), .step = 2};
        assert_int_equal(job_spec_set_ranges(spec), 0);
        assert_int_equal(job_spec_count(spec), count);
    }
    return spec;
}

static void put(struct store *s, const struct store_fact *fact)
{
    assert_int_equal(store_append(s, fact, 1, NULL), 0);
}

/* Elements that are cancelled one by one; the rest waits, or ends with the array. */
static void add_array(struct store *s, uint64_t id, uint64_t count, uint64_t every,
                      bool ended)
{
    const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = BEGIN + id};
    struct job_spec *spec = sleeper(count);
    struct store_fact fact = fact_submit(id, BEGIN, spec);

    put(s, &fact);
    for (uint64_t i = 0; i < count; i++) {
        int64_t index = job_spec_index(spec, (int64_t)i);
        bool cancelled = i % every == every - 1;

        add_row(id, index, ended || cancelled ? JOB_DONE : JOB_QUEUED);
        fact = fact_event(id, index, &cancel);
        if (cancelled)
            put(s, &fact);
    }
    fact = fact_event(id, JOB_NO_INDEX, &cancel);
    if (ended)
        put(s, &fact);
    fact = fact_last(id, cancel.at_usec, 0);
    if (ended)
        put(s, &fact);
    job_spec_unref(spec);
}

static void add_job(struct store *s, uint64_t id, bool ended)
{
    const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = BEGIN + id};
    struct job_spec *spec = sleeper(0);
    struct store_fact fact = fact_submit(id, BEGIN, spec);

    put(s, &fact);
    fact = fact_event(id, JOB_NO_INDEX, &cancel);
    if (ended)
        put(s, &fact);
    fact = fact_last(id, cancel.at_usec, 0);
    if (ended)
        put(s, &fact);
    add_row(id, JOB_NO_INDEX, ended ? JOB_DONE : JOB_QUEUED);
    job_spec_unref(spec);
}

static void fill(void)
{
    struct store_sqlite_options o = {.dir = managed_dir};
    struct volt_error err = {{0}};
    struct store *s = NULL;
    uint64_t id = 1;

    nrows = 0;
    assert_int_equal(record_boot_id(o.boot_id), 0);
    if (store_sqlite_open(&o, &s, &err) < 0 || store_load(s, nothing, NULL, &err) < 0)
        fail_msg("%s", err.text);
    add_array(s, id++, LARGE, EVERY, false);
    for (int i = 0; i < SMALL; i++, id++)
        if (i % 3 == 0)
            add_job(s, id, i % 2);
        else
            add_array(s, id, 2 + (uint64_t)i % 9, 4, i % 2);
    add_array(s, id++, ENDED, 5, true);
    add_array(s, id++, 200, 5, false);
    store_free(s);
}

/* Nothing ends, and no element that waits is cancelled: those that are wanted stay so. But
 * sleepers begin, from the first one on. */
static void start(uint64_t keep)
{
    struct config config;

    config_defaults(&config);
    config.keep_ended_jobs = keep;
    config.slots = 1;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    core = managed_start_with(&config, rt, NULL);
}

/* --- walks -------------------------------------------------------------------------- */

static const struct job_filter *asked;
static size_t next_row, told; /* of the rows; in the portion */

static bool is_wanted(const struct row *r)
{
    const struct job_key array = {.id = r->key.id, .index = JOB_NO_INDEX};

    if (asked->states && !(asked->states & 1u << r->state))
        return false;
    if (asked->results && r->state != JOB_DONE)
        return false;
    for (size_t i = 0; i < asked->nkeys; i++)
        if (job_key_compare(&asked->keys[i], &r->key) == 0 ||
            job_key_compare(&asked->keys[i], &array) == 0)
            return true;
    return !asked->keys;
}

static const struct row *row_at(size_t i)
{
    return &rows[asked->newest_first ? nrows - 1 - i : i];
}

static void pass_over(void)
{
    while (next_row < nrows && !is_wanted(row_at(next_row)))
        next_row++;
}

/* The first one that has a slot starts at once. */
static bool same_state(uint32_t state, enum job_state want)
{
    return state == want || (want == JOB_QUEUED && state != JOB_DONE);
}

static int see(void *arg, const struct job_view *v)
{
    const struct row *r;

    (void)arg;
    pass_over();
    assert_true(next_row < nrows);
    r = row_at(next_row++);
    if (v->key.id != r->key.id || v->key.index != r->key.index)
        fail_msg("%d_%d instead of %d_%d", (int)v->key.id, (int)v->key.index,
                 (int)r->key.id, (int)r->key.index);
    assert_true(same_state(v->status.state, r->state));
    assert_non_null(v->spec);
    assert_true(!v->has_counts && v->status.submitted_usec == BEGIN);
    told++;
    return 0;
}

/* The walk is taken up by its cursor alone, as by calls that follow each other, after so
 * many rows. */
static uint64_t walk(const struct job_filter *f, size_t looks, size_t at_once,
                     size_t limit)
{
    const struct asker root = auth_voltd();
    struct query_walk w = {.cursor = 0};
    struct quota quota;
    uint64_t looked = 0;

    asked = f;
    next_row = 0;
    do {
        w = (struct query_walk){.quota = &quota,
                                .kept = true,
                                .cursor = w.cursor,
                                .within = w.within,
                                .index = w.index,
                                .limit = limit,
                                .at_once = at_once};
        do {
            told = 0;
            quota = (struct quota){.entries = QUOTA_ENTRIES - looks};
            assert_int_equal(query_walk_step(NULL, core, &root, f, &w, see, NULL), 0);
            const size_t cost = quota.entries - (QUOTA_ENTRIES - looks);
            if (cost > looks + QUERY_KEPT_COST || told > at_once)
                fail_msg("%d entries of %d; %d told of %d", (int)cost, (int)looks,
                         (int)told, (int)at_once);
            looked += cost;
        } while (!w.end);
    } while (w.cursor);
    pass_over();
    assert_int_equal(next_row, nrows);
    return looked;
}

static void walk_all_ways(struct job_filter f)
{
    static const size_t sizes[][3] = {
        {500, 64, SIZE_MAX}, {500, 64, 1000}, {500, 64, 7}, {40, 5, SIZE_MAX},
        {24, 1, 100},        {500, 3, 10},    {60, 64, 65},
    };

    f.elements = true;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int newest = 0; newest <= 1; newest++) {
            f.newest_first = newest;
            (void)walk(&f, sizes[i][0], sizes[i][1], sizes[i][2]);
        }
}

static void each_once_and_in_order(void **state)
{
    static const struct job_key keys[] = {
        {.id = 1, .index = 1000000003},
        {.id = 2, .index = JOB_NO_INDEX},
        {.id = 3, .index = JOB_NO_INDEX},
        {.id = 3, .index = 3},
        {.id = 4, .index = JOB_NO_INDEX},
        {.id = 9, .index = 1000000001},
        {.id = SMALL + 2, .index = JOB_NO_INDEX},
        {.id = SMALL + 3, .index = JOB_NO_INDEX},
        {.id = 5000000, .index = JOB_NO_INDEX},
    };
    const uint32_t done = 1u << JOB_DONE, cancelled = 1u << JOB_RESULT_CANCELLED;

    (void)state;
    fill();
    for (uint64_t keep = 10; keep <= 1000000; keep *= 100000) {
        start(keep);
        walk_all_ways((struct job_filter){.states = done});
        walk_all_ways((struct job_filter){.results = cancelled});
        walk_all_ways((struct job_filter){.states = ~done});
        walk_all_ways(
            (struct job_filter){.keys = keys, .nkeys = sizeof(keys) / sizeof(keys[0])});
        walk_all_ways((struct job_filter){
            .keys = keys, .nkeys = sizeof(keys) / sizeof(keys[0]), .states = done});
        walk_all_ways((struct job_filter){.states = 0});
        managed_stop(core, rt);
    }
}

/* Chunks of the elements of an array to which something has happened. */
static size_t touched(uint64_t id)
{
    size_t n = 0;

    core_lock(core);
    const struct array *a = table_get(&core->table, id)->array;
    for (uint64_t i = 0; i * ARRAY_CHUNK < a->total; i++)
        n += a->chunks[i] != NULL;
    core_unlock(core);
    return n;
}

/* Elements to which nothing has happened are passed over by the chunk, and arrays that
 * have none of those wanted are not looked into. */
static void few_of_many(void **state)
{
    struct job_filter f = {.elements = true, .results = 1u << JOB_RESULT_SUCCESS};
    const struct job_key large = {.id = 1, .index = JOB_NO_INDEX};

    (void)state;
    fill();
    start(10);
    const size_t all = nrows;
    nrows = 0; /* none of them is wanted */
    assert_true(walk(&f, 500, 64, SIZE_MAX) < 12 * SMALL);
    nrows = all;
    f = (struct job_filter){
        .elements = true, .states = 1u << JOB_DONE, .keys = &large, .nkeys = 1};
    const uint64_t looked = walk(&f, 500, 64, SIZE_MAX);
    assert_true(looked <= LARGE / ARRAY_CHUNK + 1 + touched(large.id) * ARRAY_CHUNK);
    managed_stop(core, rt);
}

/* A cursor that no walk has given; the last two are places, but of another user. */
static void places_that_are_none(void **state)
{
    static const struct {
        uint64_t cursor;
        int64_t index;
    } places[] = {{1, 4},         {2, 3},         {0, 3}, {99999999, 3},
                  {1, INT64_MAX}, {SMALL + 2, 4}, {1, 3}, {SMALL + 2, 3}};
    const struct asker root = auth_voltd(), other = auth_user(77);
    struct job_filter f = {.elements = true};
    const size_t n = sizeof(places) / sizeof(places[0]);

    (void)state;
    fill();
    start(10);
    asked = &f;
    for (size_t i = 0; i < n; i++)
        for (int newest = 0; newest <= 1; newest++)
            for (int foreign = i >= n - 2; foreign <= 1; foreign++) {
                struct query_walk w = {.kept = true,
                                       .cursor = places[i].cursor,
                                       .within = true,
                                       .index = places[i].index,
                                       .limit = 5,
                                       .at_once = 5};

                f.newest_first = newest;
                next_row = nrows; /* nothing is told */
                assert_int_equal(query_walk_step(NULL, core, foreign ? &other : &root, &f,
                                                 &w, see, NULL),
                                 0);
                assert_false(w.within);
            }
    managed_stop(core, rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_once_and_in_order, managed_make,
                                        managed_remove),
        cmocka_unit_test_setup_teardown(few_of_many, managed_make, managed_remove),
        cmocka_unit_test_setup_teardown(places_that_are_none, managed_make,
                                        managed_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
