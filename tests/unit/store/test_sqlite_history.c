/* What the store keeps of history: by number, in which an array counts as its elements,
 * also when it was there at the start. What is to go goes when the writer has time: a
 * promise that is not kept hangs the test. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "daemon/job/env.h"
#include "daemon/job/spec_pack.h"
#include "daemon/store/reader.h"
#include "daemon/store/store.h"
#include "tests/support/facts.h"
#include "tests/support/stored.h"

enum { LIMIT = 1500 };

static struct store *with_limit(uint64_t jobs)
{
    struct store *s = stored_fresh();

    store_retain(s, &(struct store_retention){.jobs = jobs, .usec = UINT64_MAX});
    return s;
}

static struct job_spec *array_spec(uint64_t n)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(3, sizeof(*spec->argv));
    spec->argv[0] = strdup("echo");
    spec->argv[1] = strdup("x");
    spec->is_array = true;
    spec->array_first = 1;
    spec->array_last = n;
    return spec;
}

static void end_array(struct store *s, uint64_t id, uint64_t n)
{
    struct job_spec *spec = array_spec(n);
    struct store_fact submit = fact_submit(id, 1000 + id, spec);
    const struct store_fact end = {
        .type = STORE_ARRAY_END,
        .array_end = {.id = id,
                      .at_usec = 2000 + id,
                      .count = n,
                      .after = {.state = JOB_DONE, .owner = stored_owner}}};

    submit.submit.uid = stored_owner;
    assert_int_equal(stored_keep(s, &submit, 1), 0);
    assert_int_equal(stored_keep(s, &end, 1), 0);
    job_spec_unref(spec);
}

static void end_jobs(struct store *s, uint64_t first, uint64_t last)
{
    for (uint64_t id = first; id <= last; id++) {
        assert_int_equal(stored_submit(s, id, "x", NULL), 0);
        assert_int_equal(stored_starting(s, id), 0);
        assert_int_equal(stored_end(s, id, 0), 0);
    }
}

static void await_gone(struct store *s, uint64_t id)
{
    int there;

    while ((there = store_has(s, id)) > 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(there, 0);
}

static void an_array_counts_as_its_elements(void **state)
{
    struct store *s = with_limit(LIMIT);

    (void)state;
    end_array(s, 1, 1000);
    end_jobs(s, 2, 11);
    end_array(s, 12, 1000);
    await_gone(s, 1);
    assert_int_equal(store_has(s, 2), 1);
    end_array(s, 13, 1000);
    await_gone(s, 12);
    assert_int_equal(store_has(s, 11), 0);
    assert_int_equal(store_has(s, 13), 1);
    store_free(s);
}

/* Of two users, before and after a restart, and whatever the array counts for. */
static void an_array_pushes_out_its_owners_alone(void **state)
{
    struct store *s = with_limit(LIMIT);

    (void)state;
    stored_owner = 2;
    end_jobs(s, 1, 100);
    stored_owner = 1;
    end_jobs(s, 101, 110);
    end_array(s, 111, 100 * LIMIT);
    await_gone(s, 110);
    store_free(s);
    s = with_limit(LIMIT);
    end_jobs(s, 112, 113);
    await_gone(s, 111);
    assert_int_equal(store_has(s, 112), 1);
    for (uint64_t id = 1; id <= 100; id++)
        assert_int_equal(store_has(s, id), 1);
    stored_owner = 2;
    end_array(s, 114, 2 * LIMIT);
    await_gone(s, 100);
    assert_int_equal(store_has(s, 113), 1);
    stored_owner = 1;
    store_free(s);
}

static size_t all_but_the_first(void *arg, const uint64_t *ids, size_t n)
{
    (void)arg;
    return ids[0] == 1 ? 0 : n;
}

static void what_is_waited_for_keeps_its_owners_alone(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    store_retain(s, &(struct store_retention){
                        .jobs = 20, .usec = UINT64_MAX, .unneeded = all_but_the_first});
    end_jobs(s, 1, 40);
    stored_owner = 2;
    end_jobs(s, 41, 80);
    end_array(s, 81, 1000); /* enough to go at once */
    await_gone(s, 41);
    assert_int_equal(store_has(s, 1), 1);
    assert_int_equal(store_has(s, 2), 1);
    stored_owner = 1;
    store_free(s);
}

static int note_id(void *arg, const struct store_loaded *loaded)
{
    uint64_t **at = arg;

    if (loaded->type == STORE_LOADED_JOB)
        *(*at)++ = loaded->job.id;
    return 0;
}

static void a_range_may_be_of_one_owner(void **state)
{
    struct store *s = with_limit(LIMIT);
    struct store_range range = {.first = 1, .last = 100, .max = 3, .of_owner = true};
    struct volt_error err;
    uint64_t ids[64], *end = ids, at;

    (void)state;
    for (uint64_t id = 1; id <= 12; id++) {
        stored_owner = 1 + id % 3;
        end_jobs(s, id, id);
    }
    range.owner = stored_owner = 1;
    assert_int_equal(store_history(s, &range, note_id, &end, &at, &err), 3);
    assert_int_equal(at, 9);
    range.first = 4;
    range.newest_first = true;
    assert_int_equal(store_history(s, &range, note_id, &end, &at, &err), 3);
    const uint64_t expected[] = {3, 6, 9, 12, 9, 6};
    assert_memory_equal(ids, expected, sizeof(expected));
    range.owner = 77;
    assert_int_equal(store_history(s, &range, note_id, &end, &at, &err), 0);
    store_free(s);
}

static int count_loaded(void *arg, const struct store_loaded *loaded)
{
    unsigned *counts = arg;

    counts[loaded->type]++;
    return 0;
}

/* The others of a range have ended. */
static void one_is_read_that_has_not_ended(void **state)
{
    struct store *s = with_limit(LIMIT);
    struct store_range range = {.first = 2, .last = 2, .max = 1};
    unsigned counts[8] = {0};
    struct volt_error err;
    uint64_t at;

    (void)state;
    end_jobs(s, 1, 1);
    assert_int_equal(stored_submit(s, 2, "x", NULL), 0);
    assert_int_equal(stored_starting(s, 2), 0);
    assert_int_equal(store_history(s, &range, count_loaded, counts, &at, &err), 0);
    range.one = true;
    assert_int_equal(store_history(s, &range, count_loaded, counts, &at, &err), 1);
    assert_int_equal(counts[STORE_LOADED_JOB], 1);
    assert_int_equal(counts[STORE_LOADED_EVENT], 1);
    range.first = range.last = 3; /* there is none */
    assert_int_equal(store_history(s, &range, count_loaded, counts, &at, &err), 1);
    assert_int_equal(counts[STORE_LOADED_JOB], 1);
    store_free(s);
}

static void also_one_that_was_there_at_the_start(void **state)
{
    struct store *s = with_limit(LIMIT);

    (void)state;
    end_array(s, 1, 1000);
    end_jobs(s, 2, 6);
    end_array(s, 7, 490);
    store_free(s);
    s = with_limit(LIMIT);
    end_jobs(s, 8, 12);
    assert_int_equal(store_has(s, 1), 1); /* they are 1,500 */
    end_array(s, 13, 1000);
    await_gone(s, 1);
    assert_int_equal(store_has(s, 2), 1);
    store_free(s);
}

static void what_was_forgotten_on_demand_counts_no_more(void **state)
{
    struct store *s = with_limit(LIMIT);

    (void)state;
    end_jobs(s, 1, 1);
    end_array(s, 2, 1000);
    assert_int_equal(stored_forget(s, 2), 0);
    end_array(s, 3, 1000);
    end_array(s, 4, 499);
    /* Had 2 been counted still, 4 would go too. */
    end_array(s, 5, 1000);
    await_gone(s, 3);
    assert_int_equal(store_has(s, 4), 1);
    assert_int_equal(store_has(s, 5), 1);
    store_free(s);
}

/* Whoever asks for it: a job that waits, or that runs, is more than its history. */
static void what_has_not_ended_is_not_forgotten(void **state)
{
    struct store *s = with_limit(LIMIT);
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    assert_int_equal(stored_submit(s, 1, "waits", "E=1"), 0);
    assert_int_equal(stored_submit(s, 2, "runs", "E=1"), 0);
    assert_int_equal(stored_starting(s, 2), 0);
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(stored_forget(s, id), 0);
        assert_int_equal(store_has(s, id), 1);
    }
    assert_int_equal(stored_forget(s, 3), 0); /* nor is what is not there */
    store_free(s);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_non_null(strstr(found.text, "1:submit:waits:E=1"));
    assert_non_null(strstr(found.text, "2_-1:starting0"));
}

static void the_newest_stays_whatever_it_counts_for(void **state)
{
    struct store *s = with_limit(LIMIT);

    (void)state;
    end_jobs(s, 1, 1);
    end_array(s, 2, 5000);
    await_gone(s, 1);
    assert_int_equal(store_has(s, 2), 1);
    end_jobs(s, 3, 3);
    await_gone(s, 2);
    assert_int_equal(store_has(s, 3), 1);
    store_free(s);
}

/* Job 1 ends while it is asked which of those behind it may go. */
static struct late {
    struct store *s;
    vat_u32 ended, over; /* over: nobody waits for job 1 any more */
} late;

static size_t end_meanwhile(void *arg, const uint64_t *ids, size_t n)
{
    const struct job_event exited = {.type = JOB_EV_EXITED, .at_usec = 7};
    const struct store_fact facts[] = {fact_event(1, JOB_NO_INDEX, &exited),
                                       fact_last(1, exited.at_usec, stored_owner)};
    struct late *l = arg;

    if (ids[0] == 1)
        return vat_u32_load(&l->over, VAT_ACQ) ? n : 0;
    if (!vat_u32_load(&l->ended, VAT_RLX))
        assert_int_equal(store_append(l->s, facts, 2, NULL), 0);
    vat_u32_store(&l->ended, 1, VAT_REL);
    return n;
}

/* It is older than those that may go, and others wait for it: it was not asked about. */
static void what_was_not_asked_about_stays(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    late = (struct late){.s = s};
    assert_int_equal(stored_submit(s, 1, "x", NULL), 0);
    assert_int_equal(stored_starting(s, 1), 0);
    store_retain(s, &(struct store_retention){.jobs = 10,
                                              .usec = UINT64_MAX,
                                              .unneeded = end_meanwhile,
                                              .unneeded_arg = &late});
    end_array(s, 2, 1000);
    end_array(s, 3, 1000);
    while (!vat_u32_load(&late.ended, VAT_ACQ))
        (void)poll(NULL, 0, 1);
    assert_int_equal(stored_submit(s, 4, "x", NULL), 0); /* behind the end of 1 */
    assert_int_equal(stored_query("SELECT count(*) FROM ended WHERE id=1"), 1);
    assert_int_equal(stored_submit(s, 5, "x", NULL), 0);
    assert_int_equal(store_has(s, 1), 1);
    vat_u32_store(&late.over, 1, VAT_REL);
    assert_int_equal(stored_submit(s, 6, "x", NULL), 0);
    await_gone(s, 1);
    store_free(s);
}

static void none_stays_where_none_is_to(void **state)
{
    struct store *s = with_limit(0);

    (void)state;
    end_array(s, 1, 1000);
    await_gone(s, 1);
    store_free(s);
}

static uint64_t count_of(const struct job_spec *spec)
{
    struct spec_pack pack = {.own = {0}};
    uint64_t n = 0;

    assert_int_equal(job_spec_pack(spec, &pack), 0);
    assert_int_equal(spec_pack_count(pack.own.bytes, pack.own.n, &n), 0);
    for (size_t i = 0; i < pack.own.n; i++) /* what is cut off is no spec */
        assert_int_equal(spec_pack_count(pack.own.bytes, i, &(uint64_t){0}), -EBADMSG);
    spec_pack_fini(&pack);
    return n;
}

/* Whatever else the job has, in parts of their own. */
static void the_count_of_a_packed_job(void **state)
{
    struct job_spec *spec = array_spec(77);
    char text[600];

    (void)state;
    assert_int_equal(count_of(spec), 77);
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    free(spec->argv[1]);
    spec->argv[1] = strdup(text);
    spec->env = job_env_new((char *const[]){"E=1", NULL});
    spec->rlimits = calloc(1, sizeof(*spec->rlimits));
    spec->rlimits->given = 1;
    spec->name = strdup("name");
    assert_int_equal(count_of(spec), 77);
    spec->input = calloc(1, sizeof(*spec->input) + 3);
    spec->input->n = 3;
    assert_int_equal(count_of(spec), 77);
    spec->ranges = calloc(2, sizeof(*spec->ranges));
    spec->ranges[0] = (struct job_range){.first = 3, .last = 9, .step = 2};
    spec->ranges[1] = (struct job_range){.first = 20, .last = 20, .step = 1};
    spec->nranges = 2;
    assert_int_equal(job_spec_set_ranges(spec), 0);
    assert_int_equal(count_of(spec), 5);
    job_spec_unref(spec);
    spec = job_spec_new();
    spec->kind = JOB_KIND_NOOP;
    assert_int_equal(count_of(spec), 1);
    job_spec_unref(spec);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_array_counts_as_its_elements),
        T(an_array_pushes_out_its_owners_alone),
        T(what_is_waited_for_keeps_its_owners_alone),
        T(a_range_may_be_of_one_owner),
        T(one_is_read_that_has_not_ended),
        T(also_one_that_was_there_at_the_start),
        T(what_was_forgotten_on_demand_counts_no_more),
        T(what_has_not_ended_is_not_forgotten),
        T(the_newest_stays_whatever_it_counts_for),
        T(what_was_not_asked_about_stays),
        T(none_stays_where_none_is_to),
        cmocka_unit_test(the_count_of_a_packed_job),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
