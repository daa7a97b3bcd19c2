/* What the store keeps of a job that is tried again and again: the latest attempts, and
 * with them the same state as if all were there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/event.h"
#include "daemon/store/store.h"
#include "tests/support/facts.h"
#include "tests/support/stored.h"

#define MANY (5 * JOB_ATTEMPTS_KEPT + 7)

static void put(struct store *s, int64_t item, const struct job_event *ev)
{
    const struct store_fact fact = fact_event(1, item, ev);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

/* What happens to *st and is put into the store. */
static void happens(struct store *s, int64_t item, struct job_status *st,
                    const struct job_event *ev)
{
    put(s, item, ev);
    assert_int_equal(job_update(st, ev), 0);
}

static void fail_once(struct store *s, int64_t item, struct job_status *st, uint64_t at)
{
    const struct job_event starting = job_starting(st, at);
    const struct job_event started = {.type = JOB_EV_STARTED, .at_usec = at, .pid = 7};
    const struct job_event exited = {.type = JOB_EV_EXITED,
                                     .at_usec = at + 1,
                                     .result = JOB_RESULT_EXIT,
                                     .code = 1,
                                     .again = true,
                                     .wait_usec = 30 + at};

    happens(s, item, st, &starting);
    happens(s, item, st, &started);
    happens(s, item, st, &exited);
}

static void lose_once(struct store *s, int64_t item, struct job_status *st, uint64_t at)
{
    const struct job_event starting = job_starting(st, at);
    const struct job_event lost = {
        .type = JOB_EV_EXITED, .at_usec = at, .result = JOB_RESULT_LOST};

    happens(s, item, st, &starting);
    happens(s, item, st, &lost);
}

/* Job 1, or an array of three; it is held first, and waits for another one. */
static struct store *submit(uint64_t elements, struct job_status *ret)
{
    struct job_spec *spec = job_spec_new();
    struct store *s = stored_fresh();

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("false");
    spec->on_lost = JOB_ON_LOST_RETRY;
    spec->hold = elements == 0;
    spec->is_array = elements > 0;
    spec->array_last = elements > 0 ? elements - 1 : 0;
    const struct store_fact fact = fact_submit(1, 100, spec);
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    const struct job_event event = job_spec_submission(spec, 100);
    *ret = (struct job_status){0};
    assert_int_equal(job_update(ret, &event), 0);
    job_spec_unref(spec);
    return s;
}

struct loaded {
    struct job_status status;
    int64_t item;
    unsigned events, met, edits, others;
};

static int load(void *arg, const struct store_loaded *it)
{
    struct loaded *l = arg;

    if (it->type == STORE_LOADED_JOB) {
        const struct job_event event =
            job_spec_submission(it->job.spec, it->job.submitted_usec);

        assert_int_equal(job_update(&l->status, &event), 0);
        return 0;
    }
    assert_int_equal(it->type, STORE_LOADED_EVENT);
    if (it->event.key.index != l->item) {
        l->others++;
        return 0;
    }
    l->events++;
    l->met += it->event.event->type == JOB_EV_MET;
    l->edits += it->event.event->type == JOB_EV_EDIT;
    assert_int_equal(job_update(&l->status, it->event.event), 0);
    return 0;
}

/* What is there of the item when the store is opened again; its sums are proved. */
static struct loaded reload(struct store *s, int64_t item)
{
    struct loaded l = {.item = item};
    struct volt_error err;

    store_free(s);
    assert_int_equal(stored_open(0, &s, &err), 0);
    assert_int_equal(store_load(s, load, &l, &err), 0);
    store_free(s);
    return l;
}

static void check_equal(const struct job_status *a, const struct job_status *b)
{
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->lost, b->lost);
    assert_int_equal(a->last, b->last);
    assert_int_equal(a->held, b->held);
    assert_int_equal(a->edited, b->edited);
    assert_int_equal(a->has_started, b->has_started);
    assert_int_equal(a->retry_lost, b->retry_lost);
    assert_true(a->submitted_usec == b->submitted_usec);
    assert_true(a->again.first_usec == b->again.first_usec);
    assert_true(a->again.ended_usec == b->again.ended_usec);
    assert_true(a->again.wait_usec == b->again.wait_usec);
}

static void attempts_that_are_long_over_are_forgotten(void **state)
{
    const struct job_event release = {.type = JOB_EV_RELEASE, .at_usec = 120},
                           met = {.type = JOB_EV_MET, .at_usec = 121, .antecedent = 9},
                           edit = {.type = JOB_EV_EDIT,
                                   .at_usec = 122,
                                   .changes = {.front = 300}};
    struct job_status st;
    struct store *s = submit(0, &st);

    (void)state;
    happens(s, JOB_NO_INDEX, &st, &release);
    happens(s, JOB_NO_INDEX, &st, &met);
    happens(s, JOB_NO_INDEX, &st, &edit);
    lose_once(s, JOB_NO_INDEX, &st, 150);
    for (uint64_t i = 2; i < MANY; i++)
        fail_once(s, JOB_NO_INDEX, &st, 1000 * i);
    const struct loaded l = reload(s, JOB_NO_INDEX);
    check_equal(&l.status, &st);
    assert_int_equal(l.status.attempt, MANY - 1);
    assert_int_equal(l.status.lost, 1);
    assert_true(l.status.again.first_usec == 150);
    assert_int_equal(l.met, 1);
    assert_int_equal(l.edits, 1);
    assert_in_range(l.events, 3 * JOB_ATTEMPTS_KEPT, 3 * 2 * JOB_ATTEMPTS_KEPT + 2);
}

/* One attempt has more events than are forgotten in one portion: all of them go, as a replay
 * cannot begin in the middle of an attempt. */
static void many_events_of_one_attempt_are_forgotten(void **state)
{
    const struct job_event release = {.type = JOB_EV_RELEASE, .at_usec = 120},
                           starting = {.type = JOB_EV_STARTING,
                                       .at_usec = 121,
                                       .attempt = 1},
                           started = {.type = JOB_EV_STARTED, .at_usec = 122, .pid = 7},
                           pause = {.type = JOB_EV_PAUSE, .at_usec = 123},
                           resume = {.type = JOB_EV_RESUME, .at_usec = 124},
                           exited = {.type = JOB_EV_EXITED,
                                     .at_usec = 125,
                                     .result = JOB_RESULT_EXIT,
                                     .code = 1,
                                     .again = true};
    struct job_status st;
    struct store *s = submit(0, &st);

    (void)state;
    happens(s, JOB_NO_INDEX, &st, &release);
    happens(s, JOB_NO_INDEX, &st, &starting);
    happens(s, JOB_NO_INDEX, &st, &started);
    for (int i = 0; i < 8 * JOB_ATTEMPTS_KEPT; i++) {
        happens(s, JOB_NO_INDEX, &st, &pause);
        happens(s, JOB_NO_INDEX, &st, &resume);
    }
    happens(s, JOB_NO_INDEX, &st, &exited);
    for (uint64_t i = 2; i <= 2 * JOB_ATTEMPTS_KEPT + 2; i++)
        fail_once(s, JOB_NO_INDEX, &st, 1000 * i);
    const struct loaded l = reload(s, JOB_NO_INDEX);
    check_equal(&l.status, &st);
    assert_in_range(l.events, 3 * JOB_ATTEMPTS_KEPT, 3 * 2 * JOB_ATTEMPTS_KEPT);
}

/* The base before is of the same attempt, which never began: that is none. */
static void an_attempt_that_was_put_off_is_no_base_before_itself(void **state)
{
    const struct job_event release = {.type = JOB_EV_RELEASE, .at_usec = 120},
                           deferred = {.type = JOB_EV_DEFERRED, .at_usec = 130};
    struct job_status st;
    struct store *s = submit(0, &st);

    (void)state;
    happens(s, JOB_NO_INDEX, &st, &release);
    for (uint64_t i = 1; i <= 3 * JOB_ATTEMPTS_KEPT; i++)
        fail_once(s, JOB_NO_INDEX, &st, 1000 * i);
    for (int i = 0; i < 2; i++) {
        const struct job_event starting = job_starting(&st, 1000000);

        assert_true(starting.is_base);
        happens(s, JOB_NO_INDEX, &st, &starting);
        happens(s, JOB_NO_INDEX, &st, &deferred);
    }
    const struct loaded l = reload(s, JOB_NO_INDEX);
    check_equal(&l.status, &st);
    assert_int_equal(l.events, 3 * JOB_ATTEMPTS_KEPT + 4);
}

static void each_element_has_its_own(void **state)
{
    struct job_status st, other;
    struct store *s = submit(3, &st);

    (void)state;
    other = st;
    for (uint64_t i = 1; i < MANY; i++) {
        fail_once(s, 1, &st, 1000 * i);
        if (i % JOB_ATTEMPTS_KEPT == 2)
            fail_once(s, 2, &other, 1000 * i);
    }
    const struct loaded l = reload(s, 1);
    check_equal(&l.status, &st);
    assert_in_range(l.events, 3 * JOB_ATTEMPTS_KEPT, 3 * 2 * JOB_ATTEMPTS_KEPT);
    assert_int_equal(l.others, 3 * other.attempt);
}

/* What follows a gap says what was there; nothing else may. */
static void a_base_alone_stands_for_what_is_missing(void **state)
{
    const struct job_event submit_held = {
        .type = JOB_EV_SUBMIT, .at_usec = 1, .held = JOB_HELD_BY_USER};
    struct job_event ev = {
        .type = JOB_EV_STARTING,
        .at_usec = 9,
        .attempt = 2 * JOB_ATTEMPTS_KEPT + 1,
        .base = {
            .again = {3, 4, 5}, .lost = 2, .last = JOB_RESULT_LOST, .has_started = true}};
    struct job_status st = {0};

    (void)state;
    assert_int_equal(job_update(&st, &submit_held), 0);
    assert_int_equal(job_update(&st, &ev), -EPROTO);
    ev.is_base = true;
    ev.attempt = 1;
    assert_int_equal(job_update(&st, &ev),
                     -EPROTO); /* it is held, and nothing is missing */
    ev.attempt = 2 * JOB_ATTEMPTS_KEPT + 1;
    assert_int_equal(job_update(&st, &ev), 0);
    assert_int_equal(st.state, JOB_STARTING);
    assert_int_equal(st.attempt, ev.attempt);
    assert_int_equal(st.held, JOB_HELD_NO);
    assert_int_equal(st.lost, 2);
    assert_int_equal(st.last, JOB_RESULT_LOST);
    assert_true(st.has_started);
    assert_true(st.again.first_usec == 3 && st.again.ended_usec == 4 &&
                st.again.wait_usec == 5);
    st.state = JOB_QUEUED;
    assert_int_equal(job_update(&st, &ev), -EPROTO); /* it goes back */
    ev.attempt += 2;                                 /* one is missing */
    assert_int_equal(job_update(&st, &ev), 0);
    assert_false(job_starting(&(struct job_status){.attempt = 0}, 5).is_base);
    assert_true(
        job_starting(&(struct job_status){.attempt = JOB_ATTEMPTS_KEPT}, 5).is_base);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(attempts_that_are_long_over_are_forgotten),
        T(many_events_of_one_attempt_are_forgotten),
        T(an_attempt_that_was_put_off_is_no_base_before_itself),
        T(each_element_has_its_own),
        T(a_base_alone_stands_for_what_is_missing),
    };

    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
