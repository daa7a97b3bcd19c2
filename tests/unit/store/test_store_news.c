/* News of the store: told after the commit, under numbers that are kept. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/sqlite_store.h"
#include "tests/support/facts.h"
#include "tests/support/stored.h"

static struct store *open_store(void)
{
    struct volt_error err = {{0}};
    struct store *s = NULL;

    if (stored_open(1, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void keep(struct store *s, const struct store_fact *facts, size_t n)
{
    assert_int_equal(store_append(s, facts, n, NULL), 0);
}

static void keep_submit(struct store *s, uint64_t id)
{
    struct job_spec *spec = job_spec_new();
    const struct store_fact fact = fact_submit(id, 1000 + id, spec);

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("true");
    keep(s, &fact, 1);
    job_spec_unref(spec);
}

static void keep_starting(struct store *s, uint64_t id)
{
    struct job_event ev = {.type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    struct store_fact fact = fact_event(id, JOB_NO_INDEX, &ev);

    fact.event.after.state = JOB_STARTING;
    keep(s, &fact, 1);
}

/* Two events in one row. */
static void keep_end(struct store *s, uint64_t id)
{
    const struct job_event ev[2] = {
        {.type = JOB_EV_STARTED, .at_usec = 6, .pid = 3},
        {.type = JOB_EV_EXITED, .at_usec = 7, .result = JOB_RESULT_SUCCESS}};
    struct store_fact facts[] = {fact_event(id, JOB_NO_INDEX, &ev[0]),
                                 fact_event(id, JOB_NO_INDEX, &ev[1]),
                                 fact_last(id, 7, 0)};

    facts[0].event.after.state = JOB_RUNNING;
    facts[1].event.after.state = JOB_DONE;
    keep(s, facts, 3);
}

static void fill(struct store *s)
{
    for (uint64_t id = 1; id <= 3; id++)
        keep_submit(s, id);
    keep_starting(s, 1);
    keep_starting(s, 2);
    keep_end(s, 1);
}

static void fail_on_finding(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

/* "number=id:type:state", the number relative to the first. */
struct heard {
    char text[1024];
    uint64_t first, n, last;
    bool gap, woken;
};

static void hear(void *arg, const struct job_news *news, size_t n)
{
    struct heard *h = arg;

    h->woken = n == 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(h->text);

        h->gap |= news[i].seq != h->last + 1;
        h->n++;
        h->last = news[i].seq;
        if (at < 900)
            (void)snprintf(h->text + at, sizeof(h->text) - at, "%llu=%llu:%s:%s ",
                           (unsigned long long)(news[i].seq - h->first),
                           (unsigned long long)news[i].key.id,
                           job_event_name(news[i].type), job_state_name(news[i].state));
    }
}

/* The number of all that a load brings. */
static int number(void *arg, const struct store_loaded *loaded)
{
    struct job_news news = {.seq = loaded->seq};

    switch (loaded->type) {
    case STORE_LOADED_JOB:
        news.key.id = loaded->job.id;
        news.type = JOB_EV_SUBMIT;
        break;
    case STORE_LOADED_EVENT:
        news.key = loaded->event.key;
        news.type = (uint8_t)loaded->event.event->type;
        break;
    case STORE_LOADED_RESOURCE:
    case STORE_LOADED_QUEUE:
    case STORE_LOADED_KEY:
        return 0;
    }
    hear(arg, &news, 1);
    return 0;
}

/* Opens, subscribes h and loads; loaded hears of the load. */
static struct store *begin(struct heard *h, struct heard *loaded)
{
    struct store *s = open_store();
    struct volt_error err;

    *h = (struct heard){.n = 0};
    store_numbers(s, &h->first, &h->last);
    *loaded = (struct heard){.first = h->first};
    store_subscribe(s, hear, h);
    assert_int_equal(store_load(s, number, loaded, &err), 0);
    return s;
}

static uint64_t gone[4];
static unsigned ngone;

static void note_gone(void *arg, uint64_t id)
{
    assert_ptr_equal(arg, gone);
    gone[ngone++] = id;
}

static void told_with_their_numbers(void **state)
{
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);
    uint64_t first = h.first;

    (void)state;
    assert_int_equal(h.first, h.last);
    fill(s);
    store_free(s);
    assert_string_equal(h.text, "1=1:submit:queued 2=2:submit:queued 3=3:submit:queued "
                                "4=1:starting:starting 5=2:starting:starting "
                                "6=1:started:running 7=1:exited:done ");
    assert_true(h.woken && !h.gap);

    s = begin(&h, &loaded);
    assert_int_equal(h.first, first);
    assert_int_equal(h.last, first + 7);
    assert_string_equal(loaded.text, "1=1:submit:queued 4=1:starting:queued "
                                     "6=1:started:queued 7=1:exited:queued "
                                     "2=2:submit:queued 5=2:starting:queued "
                                     "3=3:submit:queued ");
    for (uint64_t id = 4; id <= 6; id++) /* each in a group of its own, and told once */
        assert_int_equal(stored_submit(s, id, "true", NULL), 0);
    store_free(s);
    assert_string_equal(h.text,
                        "8=4:submit:queued 9=5:submit:queued 10=6:submit:queued ");
    assert_true(h.woken && !h.gap);
}

/* Brought in portions, and kept together or not at all. */
static void a_draft(void **state)
{
    struct job_spec *spec = job_spec_new();
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);
    struct store_draft *kept = store_draft(s), *dropped = store_draft(s);

    (void)state;
    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("true");
    for (uint64_t id = 1; id <= 3; id++) {
        const struct store_fact fact = fact_submit(id, id, spec);
        const struct store_fact other = fact_submit(10 + id, id, spec);

        store_draft_add(kept, &fact, 1);
        store_draft_add(dropped, &other, 1);
    }
    job_spec_unref(spec);
    struct store_commit c;
    assert_int_equal(store_draft_append(kept, &c), 0);
    store_commit_fini(&c);
    store_draft_free(dropped);
    store_free(s);
    assert_string_equal(h.text, "1=1:submit:queued 2=2:submit:queued 3=3:submit:queued ");
    store_free(begin(&h, &loaded));
    assert_string_equal(loaded.text,
                        "1=1:submit:queued 2=2:submit:queued 3=3:submit:queued ");
}

/* What is not kept has a number all the same, and takes no other's. */
static void not_kept_and_the_end_of_an_array(void **state)
{
    const struct job_news news = {
        .key = {.id = 77, .index = JOB_NO_INDEX}, .type = JOB_EV_EXITED, .at_usec = 3};
    const struct store_fact only = {.type = STORE_NEWS, .news = &news};
    const struct store_fact end = {
        .type = STORE_ARRAY_END,
        .array_end = {.id = 1, .at_usec = 9, .count = 1, .after = {.state = JOB_DONE}}};
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);

    (void)state;
    keep_submit(s, 1);
    keep(s, &only, 1);
    keep(s, &end, 1);
    keep_submit(s, 2);
    store_free(s);
    assert_string_equal(h.text, "1=1:submit:queued 2=77:exited:queued 3=1:exited:done "
                                "4=2:submit:queued ");
    assert_int_equal(stored_query("SELECT max(seq)-min(seq) FROM job"), 3);
    assert_int_equal(stored_query("SELECT (SELECT seq FROM ended) - min(seq) FROM job"),
                     2);
    store_free(begin(&h, &loaded));
    assert_string_equal(loaded.text, "1=1:submit:queued 4=2:submit:queued ");
    assert_int_equal(store_sqlite_check(stored_dir, fail_on_finding, NULL), 0);
}

/* Of a transaction with more than anybody reads the newest are told, in order. */
static void many_at_once(void **state)
{
    enum { N = NEWS_MAX * 2 + 100 };
    const struct job_news news = {
        .key = {.id = 1, .index = JOB_NO_INDEX}, .type = JOB_EV_CANCEL, .at_usec = 3};
    struct store_fact *facts = calloc(N, sizeof(*facts));
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        facts[i] = (struct store_fact){.type = STORE_NEWS, .news = &news};
    uint64_t from = h.last;
    h.last += N - NEWS_MAX;
    keep(s, facts, N);
    store_free(s);
    assert_int_equal(h.last, from + N);
    assert_int_equal(h.n, NEWS_MAX);
    assert_false(h.gap);
    s = begin(&h, &loaded);
    assert_int_equal(h.last, from + N);
    keep(s, facts, 10);
    store_free(s);
    assert_int_equal(h.last, from + N + 10);
    assert_false(h.gap);
    free(facts);
}

/* On demand, and only what has ended: rows go, and nobody is told. */
static void forgetting_is_no_news(void **state)
{
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);
    const uint64_t ids[] = {1, 2, 3, 4}; /* 4 has never been */
    struct store_commit commit;

    (void)state;
    fill(s);
    store_retain(s, &(struct store_retention){UINT64_MAX, UINT64_MAX, .gone = note_gone,
                                              .gone_arg = gone});
    assert_int_equal(store_forget(s, ids, 4, &commit), 0);
    store_commit_fini(&commit);
    keep_end(s, 2);
    store_free(s);
    assert_int_equal(h.last - h.first, 9);
    assert_int_equal(ngone, 1);
    assert_int_equal(gone[0], 1);
    assert_int_equal(stored_query("SELECT count(*) FROM job"), 2);
    assert_int_equal(stored_query("SELECT count(*) FROM event WHERE job=1"), 0);
    assert_int_equal(store_sqlite_check(stored_dir, fail_on_finding, NULL), 0);
    store_free(begin(&h, &loaded));
    assert_string_equal(loaded.text, "2=2:submit:queued 5=2:starting:queued "
                                     "8=2:started:queued 9=2:exited:queued "
                                     "3=3:submit:queued ");
}

/* The hold is the array's: its elements start without a RELEASE of their own. */
static void an_array_that_was_held_is_sound(void **state)
{
    const struct job_event release = {.type = JOB_EV_RELEASE, .at_usec = 4};
    const struct job_event starting = {
        .type = JOB_EV_STARTING, .at_usec = 5, .attempt = 1};
    struct job_spec *spec = job_spec_new();
    struct heard h, loaded;
    struct store *s = begin(&h, &loaded);

    (void)state;
    spec->kind = JOB_KIND_NOOP;
    spec->hold = spec->is_array = true;
    const struct store_fact facts[] = {fact_submit(1, 3, spec),
                                       fact_event(1, JOB_NO_INDEX, &release),
                                       fact_event(1, 0, &starting)};
    keep(s, facts, 3);
    store_free(s);
    job_spec_unref(spec);
    assert_int_equal(store_sqlite_check(stored_dir, fail_on_finding, NULL), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(told_with_their_numbers),
        T(a_draft),
        T(not_kept_and_the_end_of_an_array),
        T(many_at_once),
        T(forgetting_is_no_news),
        T(an_array_that_was_held_is_sound),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
