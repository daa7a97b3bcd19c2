/* The array machine: a row for each event, what follows from the counts, and random
 * histories beside a list of elements that is counted again after every event. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "daemon/job/array.h"

#define SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct job_event submission = {
    .type = JOB_EV_SUBMIT, .at_usec = 5, .retry_lost = true};

static struct job_event event(enum job_event_type type)
{
    return (struct job_event){.type = type,
                              .at_usec = 9,
                              .attempt = 1,
                              .pid = 42,
                              .result = JOB_RESULT_SUCCESS};
}

static struct array_effects must(struct array *a, int64_t item, struct job_event ev)
{
    struct array_effects fx;

    if (item != ARRAY_WHOLE)
        assert_int_equal(array_reserve(a, item), 0);
    assert_int_equal(array_update(a, item, &ev, &fx), 0);
    return fx;
}

static struct array *live_array(uint64_t total)
{
    struct array *a = array_new(total);

    assert_non_null(a);
    (void)must(a, ARRAY_WHOLE, submission);
    return a;
}

/* Its element ends with this exit code, from wherever it is. */
static struct array_effects end_at(struct array *a, int64_t item, int code,
                                   uint64_t at_usec)
{
    struct job_event ev = event(JOB_EV_EXITED);

    ev.at_usec = at_usec;
    if (!array_own(a, item) || array_own(a, item)->state == JOB_QUEUED)
        (void)must(a, item, event(JOB_EV_STARTING));
    ev.result = code ? JOB_RESULT_EXIT : JOB_RESULT_SUCCESS;
    ev.code = code;
    return must(a, item, ev);
}

static struct array_effects end_with(struct array *a, int64_t item, int code)
{
    return end_at(a, item, code, 9);
}

/* --- rows --------------------------------------------------------------------------- */

#define NO (-1) /* refused */

enum stage { BEFORE, LIVE, CANCELLED, OVER };

/* Three elements: 0 runs, 1 and 2 are the rest. */
static struct array *array_in(enum stage stage)
{
    struct array *a = stage == BEFORE ? array_new(3) : live_array(3);

    assert_non_null(a);
    if (stage == BEFORE)
        return a;
    (void)must(a, 0, event(JOB_EV_STARTING));
    (void)must(a, 0, event(JOB_EV_STARTED));
    if (stage >= CANCELLED)
        (void)must(a, ARRAY_WHOLE, event(JOB_EV_CANCEL));
    if (stage == OVER)
        (void)must(a, 0, event(JOB_EV_EXITED));
    return a;
}

/* The table of array.h, written down a second time: the elements that an event of the
 * array moves. */
static void rows_of_the_array(void **state)
{
    static const int moved[][JOB_EV_COUNT] = {
        [BEFORE] = {0, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
        [LIVE] = {NO, NO, NO, NO, 2, NO, NO, NO, 0, NO, 2, 2, 0, NO, NO, 0},
        [CANCELLED] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
        [OVER] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    };

    (void)state;
    for (int stage = BEFORE; stage <= OVER; stage++) {
        for (int type = 0; type < JOB_EV_COUNT; type++) {
            struct array *a = array_in((enum stage)stage);
            struct array before = *a;
            struct job_event ev = event((enum job_event_type)type);
            struct array_effects fx;
            int r = array_update(a, ARRAY_WHOLE, &ev, &fx);

            if (moved[stage][type] == NO) {
                assert_int_equal(r, -EPROTO);
                assert_memory_equal(a, &before, sizeof(before));
            } else {
                assert_int_equal(r, 0);
                assert_int_equal(fx.moved, moved[stage][type]);
                assert_false(fx.over);
            }
            array_free(a);
        }
    }
}

/* One without a status: the state that follows, in the rest, and after the rest ended. */
static void rows_of_the_rest(void **state)
{
    static const int next[JOB_EV_COUNT] = {
        JOB_QUEUED, JOB_STARTING, NO,       NO,       JOB_DONE, NO, NO, NO,
        NO,         NO,           JOB_DONE, JOB_DONE, NO,       NO, NO, NO};

    (void)state;
    for (int stage = LIVE; stage <= OVER; stage++) {
        for (int type = 0; type < JOB_EV_COUNT; type++) {
            struct array *a = array_in((enum stage)stage);
            struct array before = *a;
            struct job_event ev = event((enum job_event_type)type);
            struct array_effects fx;
            int r = array_update(a, 1, &ev, &fx);

            if (stage != LIVE || next[type] == NO) {
                assert_int_equal(r, -EPROTO);
                assert_memory_equal(a, &before, sizeof(before));
                assert_null(array_own(a, 1));
            } else {
                assert_int_equal(r, 0);
                assert_int_equal(fx.moved, 1);
                assert_int_equal(fx.from, JOB_QUEUED);
                assert_int_equal(fx.to, next[type]);
                assert_int_equal(array_own(a, 1)->state, next[type]);
                /* Time and policy are the array's. */
                assert_int_equal(array_own(a, 1)->submitted_usec, 5);
                assert_true(array_own(a, 1)->retry_lost);
                assert_int_equal(a->rest, 1);
                assert_int_equal(array_next(a), 2);
            }
            array_free(a);
        }
    }
}

/* One with a status goes as job.h says; the array counts it. */
static void rows_of_an_element(void **state)
{
    static const struct {
        enum job_state state;
        enum job_event_type way[3];
        int n;
    } ways[] = {
        {JOB_QUEUED, {JOB_EV_SUBMIT}, 1},
        {JOB_STARTING, {JOB_EV_STARTING}, 1},
        {JOB_RUNNING, {JOB_EV_STARTING, JOB_EV_STARTED}, 2},
        {JOB_PAUSED, {JOB_EV_STARTING, JOB_EV_STARTED, JOB_EV_PAUSE}, 3},
        {JOB_STOPPING, {JOB_EV_STARTING, JOB_EV_CANCEL}, 2},
        {JOB_DONE, {JOB_EV_STARTING, JOB_EV_EXITED}, 2},
    };

    (void)state;
    for (size_t i = 0; i < SIZE(ways); i++) {
        for (int type = 0; type < JOB_EV_COUNT; type++) {
            struct array *a = live_array(2);
            struct job_event ev = event((enum job_event_type)type);
            struct array_effects fx;

            for (int k = 0; k < ways[i].n; k++)
                (void)must(a, 0, event(ways[i].way[k]));
            struct job_status st = *array_own(a, 0);
            assert_int_equal(st.state, ways[i].state);
            bool of_whole = type == JOB_EV_HOLD || type == JOB_EV_RELEASE ||
                            type == JOB_EV_MET || type == JOB_EV_EDIT;
            int want = of_whole ? -EPROTO : job_update(&st, &ev);
            assert_int_equal(array_update(a, 0, &ev, &fx), want);
            assert_memory_equal(array_own(a, 0), &st, sizeof(st));
            if (want == 0) {
                assert_int_equal(fx.moved, 1);
                assert_int_equal(fx.from, ways[i].state);
                assert_int_equal(fx.to, st.state);
                assert_int_equal(fx.result, st.result);
                assert_false(fx.over);
            }
            for (int s = 0; s < JOB_STATE_COUNT; s++)
                assert_int_equal(a->by_state[s], (s == st.state) + (s == JOB_QUEUED));
            array_free(a);
        }
    }
}

/* --- what follows ------------------------------------------------------------------- */

static void the_state_follows_from_the_counts(void **state)
{
    struct array *a = live_array(3);

    (void)state;
    assert_int_equal(array_status(a).state, JOB_QUEUED);
    assert_int_equal(array_status(a).submitted_usec, 5);
    (void)must(a, 0, event(JOB_EV_SUBMIT)); /* it has a task, and waits */
    assert_int_equal(array_status(a).state, JOB_QUEUED);
    (void)must(a, 0, event(JOB_EV_STARTING));
    assert_int_equal(array_status(a).state, JOB_RUNNING);
    assert_int_equal(array_busy(a), 1);
    (void)must(a, 0, event(JOB_EV_DEFERRED));
    assert_int_equal(array_status(a).state, JOB_QUEUED);
    assert_false(end_with(a, 0, 3).over);
    assert_int_equal(array_status(a).state, JOB_RUNNING); /* some have ended */
    assert_int_equal(array_status(a).result, JOB_RESULT_NONE);
    (void)must(a, 1, event(JOB_EV_STARTING));
    (void)must(a, ARRAY_WHOLE, event(JOB_EV_CANCEL));
    assert_int_equal(array_status(a).state, JOB_STOPPING);
    assert_true(array_status(a).cancel_asked);
    assert_int_equal(array_element(a, 2).state, JOB_DONE);
    assert_int_equal(array_element(a, 2).result, JOB_RESULT_CANCELLED);
    assert_int_equal(array_element(a, 2).ended_usec, 9);
    assert_true(end_with(a, 1, 0).over);
    assert_int_equal(array_status(a).state, JOB_DONE);
    assert_int_equal(array_status(a).result, JOB_RESULT_CANCELLED);
    assert_int_equal(array_failed(a), 1);
    assert_int_equal(a->by_result[JOB_RESULT_CANCELLED], 1);
    array_free(a);
}

/* The hold is the array's, whatever its elements do, until its release or its cancel. */
static void an_array_is_held_as_a_whole(void **state)
{
    struct job_event hold = event(JOB_EV_HOLD), release = event(JOB_EV_RELEASE);
    struct array *a = array_in(LIVE);
    struct array_effects fx;

    (void)state;
    hold.held = JOB_HELD_BY_ADMIN;
    assert_int_equal(must(a, ARRAY_WHOLE, hold).moved, 0);
    assert_int_equal(array_status(a).held, JOB_HELD_BY_ADMIN);
    assert_int_equal(array_status(a).state, JOB_RUNNING);
    (void)must(a, 1, event(JOB_EV_STARTING)); /* as one that could not be called back */
    (void)must(a, ARRAY_WHOLE, release);
    assert_int_equal(array_status(a).held, JOB_HELD_NO);
    assert_int_equal(array_update(a, ARRAY_WHOLE, &release, &fx), -EPROTO);
    hold.held = JOB_HELD_BY_USER;
    (void)must(a, ARRAY_WHOLE, hold);
    (void)must(a, ARRAY_WHOLE, event(JOB_EV_CANCEL));
    assert_int_equal(array_status(a).held, JOB_HELD_NO);
    assert_int_equal(array_status(a).holds, 1); /* that of the admin does not count */
    array_free(a);
}

/* What was edited adds up, and is told of the array as a whole. */
static void an_array_is_edited_as_a_whole(void **state)
{
    struct job_event edit = event(JOB_EV_EDIT);
    struct array *a = array_in(LIVE);

    (void)state;
    edit.changes = (struct job_changes){.front = 2, .bytes = "\0", .n = 2};
    assert_int_equal(must(a, ARRAY_WHOLE, edit).moved, 0);
    assert_int_equal(array_status(a).edited, 1);
    edit.changes = (struct job_changes){.bytes = "\x80\x20", .n = 3}; /* its priority */
    (void)must(a, ARRAY_WHOLE, edit);
    assert_int_equal(array_status(a).edited, 5);
    array_free(a);
}

static void a_cancel_is_the_end_where_nothing_runs(void **state)
{
    struct array *a = live_array(1000);

    (void)state;
    struct array_effects fx = must(a, ARRAY_WHOLE, event(JOB_EV_CANCEL));
    assert_int_equal(fx.moved, 1000);
    assert_int_equal(fx.from, JOB_QUEUED);
    assert_int_equal(fx.to, JOB_DONE);
    assert_int_equal(fx.result, JOB_RESULT_CANCELLED);
    assert_true(fx.over);
    assert_int_equal(a->exit_code, 125);
    assert_int_equal(array_next(a), ARRAY_WHOLE);
    array_free(a);
}

/* Of the same code the earliest; at the same time the lowest offset. The order in which the
 * ends come does not count. */
static void the_worst_result_is_the_earliest_of_its_code(void **state)
{
    static const int codes[] = {0, 0, 3, 7, 7, 7, 7, 5};
    static const uint64_t at[] = {9, 10, 9, 20, 10, 10, 11, 1};
    static const int worst[] = {0, 0, 2, 3, 4, 5, 5, 5};
    struct array *a = live_array(SIZE(codes));

    (void)state;
    for (size_t i = 0; i < SIZE(codes); i++) {
        struct job_event started = event(JOB_EV_STARTED);
        int64_t item = (int64_t)(SIZE(codes) - 1 - i); /* not in the order of offsets */

        (void)must(a, item, event(JOB_EV_STARTING));
        started.pid = 100 + (int)i;
        (void)must(a, item, started);
        (void)end_at(a, item, codes[i], at[i]);
        assert_int_equal(a->worst.pid, 100 + worst[i]);
        assert_int_equal(a->exit_code, codes[worst[i]]);
    }
    assert_int_equal(array_failed(a), 6);
    assert_int_equal(array_status(a).code, 7);
    array_free(a);
}

static void the_first_element_behind_an_empty_chunk_is_found(void **state)
{
    struct array *a = live_array(2 * ARRAY_CHUNK + 3);
    int64_t at = 1;

    (void)state;
    (void)must(a, 2 * ARRAY_CHUNK, event(JOB_EV_CANCEL));
    assert_ptr_equal(array_find_own(a, &at), array_own(a, 2 * ARRAY_CHUNK));
    assert_int_equal(at, 2 * ARRAY_CHUNK);
    array_free(a);
}

/* One for each element, and for a chunk that is passed over. */
static void so_many_looks_find_an_element(void **state)
{
    struct array *a = live_array(3 * ARRAY_CHUNK);
    unsigned looks = 9;
    int64_t at = 0;

    (void)state;
    (void)must(a, 2 * ARRAY_CHUNK + 1, event(JOB_EV_CANCEL));
    assert_non_null(array_find_own_within(a, &at, &looks));
    assert_int_equal(looks, 5);
    looks = 4;
    at = 0;
    assert_non_null(array_find_own_within(a, &at, &looks));
    looks = 3;
    at = 0;
    assert_null(array_find_own_within(a, &at, &looks));
    assert_int_equal(looks, 0);
    array_free(a);
}

static void the_next_element_passes_over_those_cancelled(void **state)
{
    struct array *a = live_array(2 * ARRAY_CHUNK + 3);
    int64_t at = 0;

    (void)state;
    assert_null(array_find_own(a, &at));
    (void)must(a, 1, event(JOB_EV_CANCEL));
    (void)must(a, 2, event(JOB_EV_CANCEL));
    assert_int_equal(array_next(a), 0);
    (void)must(a, 0, event(JOB_EV_SUBMIT));
    assert_int_equal(array_next(a), 3);
    (void)must(a, 2 * ARRAY_CHUNK + 2, event(JOB_EV_CANCEL)); /* the last */
    assert_int_equal(array_next(a), 3);
    at = 3;
    assert_ptr_equal(array_find_own(a, &at), array_own(a, 2 * ARRAY_CHUNK + 2));
    assert_int_equal(at, 2 * ARRAY_CHUNK + 2);
    at++;
    assert_null(array_find_own(a, &at));
    for (int64_t i = 3; i < 2 * ARRAY_CHUNK + 2; i++) {
        assert_int_equal(array_next(a), i);
        (void)must(a, i, event(JOB_EV_SUBMIT));
    }
    assert_int_equal(array_next(a), ARRAY_WHOLE);
    array_free(a);
}

/* --- beside a list ------------------------------------------------------------------ */

#define HISTORIES 20000
#define MOST      300 /* elements */
#define STEPS     400

struct listed {
    struct job_status st;
    bool touched, ended;
};

struct list {
    uint64_t total;
    enum job_held held;
    enum job_result rest; /* what the untouched ones ended with */
    struct job_cause cause;
    uint64_t cancelled_usec;
    uint64_t first_start; /* of all attempts */
    struct listed element[MOST];
};

struct fact {
    int64_t item;
    struct job_event ev;
};

static unsigned long long seed;
static unsigned history, step;

#define CHECK(what)                                                                      \
    do {                                                                                 \
        if (!(what))                                                                     \
            fail_msg("SEED=%llu, history %u, step %u: %s", seed, history, step, #what);  \
    } while (0)

static void list_init(struct list *l, uint64_t total, const struct job_event *submit)
{
    *l = (struct list){.total = total, .held = submit->held};
    for (uint64_t i = 0; i < total; i++)
        (void)job_update(&l->element[i].st, submit);
}

static enum job_result rest_of(enum job_event_type type)
{
    return type == JOB_EV_CANCEL    ? JOB_RESULT_CANCELLED
           : type == JOB_EV_EXPIRED ? JOB_RESULT_EXPIRED
                                    : JOB_RESULT_DEPENDENCY;
}

static void list_end_untouched(struct list *l)
{
    for (uint64_t i = 0; i < l->total; i++) {
        struct listed *e = &l->element[i];

        if (e->touched || e->ended)
            continue;
        e->st = (struct job_status){.state = JOB_DONE,
                                    .result = (uint8_t)l->rest,
                                    .cancel_asked = l->rest == JOB_RESULT_CANCELLED,
                                    .submitted_usec = e->st.submitted_usec,
                                    .ended_usec = l->cancelled_usec};
        if (l->rest == JOB_RESULT_DEPENDENCY)
            e->st.cause = l->cause;
        e->ended = true;
    }
}

static bool list_all_ended(const struct list *l)
{
    for (uint64_t i = 0; i < l->total; i++)
        if (!l->element[i].ended)
            return false;
    return true;
}

static bool list_update_whole(struct list *l, const struct job_event *ev)
{
    if (l->cancelled_usec || list_all_ended(l))
        return false;
    switch (ev->type) {
    case JOB_EV_CANCEL:
    case JOB_EV_EXPIRED:
    case JOB_EV_DEPENDENCY:
        l->cancelled_usec = ev->at_usec;
        l->rest = rest_of(ev->type);
        l->cause = (struct job_cause){ev->antecedent, ev->result};
        l->held = JOB_HELD_NO;
        list_end_untouched(l);
        return true;
    case JOB_EV_MET:
    case JOB_EV_EDIT:
        return true;
    case JOB_EV_HOLD:
        l->held = l->held < ev->held ? ev->held : l->held;
        return true;
    case JOB_EV_RELEASE:
        if (!l->held)
            return false;
        l->held = JOB_HELD_NO;
        return true;
    default:
        return false;
    }
}

/* What array.h says, done to each element. False: refused. */
static bool list_update(struct list *l, int64_t item, const struct job_event *ev)
{
    struct listed *e = item == ARRAY_WHOLE ? NULL : &l->element[item];

    if (!e)
        return list_update_whole(l, ev);
    if (e->ended || ev->type == JOB_EV_HOLD || ev->type == JOB_EV_RELEASE ||
        ev->type == JOB_EV_MET || ev->type == JOB_EV_EDIT)
        return false;
    if (ev->type == JOB_EV_SUBMIT) {
        bool fresh = !e->touched;

        e->touched = true;
        return fresh;
    }
    if (job_update(&e->st, ev) < 0)
        return false;
    e->touched = true;
    if (e->st.started_usec && (!l->first_start || e->st.started_usec < l->first_start))
        l->first_start = e->st.started_usec;
    if (e->st.state == JOB_DONE)
        e->ended = true;
    return true;
}

/* By the definition; the rest, which has not been touched, is behind all others. */
static bool is_worse(const struct listed *a, const struct listed *b)
{
    int x = job_exit_code(&a->st), y = job_exit_code(&b->st);

    if (x != y)
        return x > y;
    if (a->st.ended_usec != b->st.ended_usec)
        return a->st.ended_usec < b->st.ended_usec;
    return a->touched && !b->touched;
}

static const struct listed *list_worst(const struct list *l)
{
    const struct listed *worst = NULL;

    for (uint64_t i = 0; i < l->total; i++)
        if (l->element[i].ended && (!worst || is_worse(&l->element[i], worst)))
            worst = &l->element[i];
    return worst;
}

static enum job_state list_state(const struct list *l, const uint64_t *by_state)
{
    if (by_state[JOB_DONE] == l->total)
        return JOB_DONE;
    if (l->cancelled_usec)
        return JOB_STOPPING;
    if (by_state[JOB_PAUSED] &&
        by_state[JOB_PAUSED] + by_state[JOB_QUEUED] + by_state[JOB_DONE] == l->total)
        return JOB_PAUSED;
    return by_state[JOB_QUEUED] == l->total ? JOB_QUEUED : JOB_RUNNING;
}

static void compare_worst(const struct array *a, const struct list *l)
{
    const struct listed *worst = list_worst(l);
    const struct job_status st = array_status(a);

    if (!worst) {
        CHECK(a->exit_code == 0 && a->worst.result == JOB_RESULT_NONE);
        return;
    }
    CHECK(a->exit_code == job_exit_code(&worst->st));
    CHECK(a->worst.result == worst->st.result && a->worst.code == worst->st.code);
    CHECK(a->worst.pid == worst->st.pid && a->worst.attempt == worst->st.attempt);
    CHECK(st.result == (st.state == JOB_DONE ? worst->st.result : JOB_RESULT_NONE));
}

static void compare_counts(const struct array *a, const struct list *l)
{
    uint64_t by_state[JOB_STATE_COUNT] = {0}, by_result[JOB_RESULT_COUNT] = {0};
    uint64_t last_end = 0;

    for (uint64_t i = 0; i < l->total; i++) {
        const struct listed *e = &l->element[i];

        if (e->st.state == JOB_DONE && e->st.ended_usec > last_end)
            last_end = e->st.ended_usec;
        by_state[e->st.state]++;
        by_result[e->st.result] += e->st.state == JOB_DONE;
    }
    CHECK(memcmp(a->by_state, by_state, sizeof(by_state)) == 0);
    CHECK(memcmp(a->by_result, by_result, sizeof(by_result)) == 0);
    CHECK(array_done(a) == list_all_ended(l));
    CHECK(array_failed(a) + by_result[JOB_RESULT_CANCELLED] ==
          by_state[JOB_DONE] - by_result[JOB_RESULT_SUCCESS]);
    CHECK(array_busy(a) == l->total - by_state[JOB_QUEUED] - by_state[JOB_DONE]);
    CHECK(array_status(a).state == list_state(l, by_state));
    CHECK(array_status(a).cancel_asked == (l->rest == JOB_RESULT_CANCELLED));
    CHECK(array_status(a).held == l->held);
    CHECK(array_status(a).started_usec == l->first_start);
    CHECK(array_status(a).has_started == (l->first_start != 0));
    CHECK(array_status(a).ended_usec == (array_done(a) ? last_end : 0));
    compare_worst(a, l);
}

static void compare(const struct array *a, const struct list *l)
{
    uint64_t rest = 0;
    int64_t next = ARRAY_WHOLE, at = 0;

    for (uint64_t i = 0; i < l->total; i++) {
        const struct listed *e = &l->element[i];
        const struct job_status own = array_element(a, (int64_t)i);

        if (!e->touched && !e->ended && rest++ == 0)
            next = (int64_t)i;
        CHECK(own.state == e->st.state);
        CHECK(own.result == e->st.result && own.code == e->st.code);
        CHECK(own.attempt == e->st.attempt && own.pid == e->st.pid);
        CHECK(own.cancel_asked == e->st.cancel_asked);
        CHECK(own.result != JOB_RESULT_DEPENDENCY || own.cause.job == e->st.cause.job);
        CHECK(own.submitted_usec == e->st.submitted_usec);
        CHECK(own.ended_usec == e->st.ended_usec);
        CHECK(own.lost == e->st.lost &&
              (own.retry_lost == e->st.retry_lost || !e->touched));
        CHECK(!array_own(a, (int64_t)i) == !e->touched);
        if (e->touched) {
            CHECK(array_find_own(a, &at) == array_own(a, (int64_t)i));
            CHECK(at++ == (int64_t)i);
        }
    }
    CHECK(!array_find_own(a, &at));
    CHECK(a->rest == rest && array_next(a) == next);
    compare_counts(a, l);
}

/* The counters of a caller who goes by the effects alone. */
struct counters {
    uint64_t by_state[JOB_STATE_COUNT], by_result[JOB_RESULT_COUNT];
};

static void count(struct counters *c, const struct array_effects *fx)
{
    c->by_state[fx->from] -= fx->moved;
    c->by_state[fx->to] += fx->moved;
    if (fx->to == JOB_DONE)
        c->by_result[fx->result] += fx->moved;
}

static struct job_event random_event(struct rng *r, const struct job_status *st)
{
    static const enum job_result results[] = {JOB_RESULT_SUCCESS,     JOB_RESULT_EXIT,
                                              JOB_RESULT_EXIT,        JOB_RESULT_SIGNAL,
                                              JOB_RESULT_EXEC_FAILED, JOB_RESULT_LOST,
                                              JOB_RESULT_CANCELLED}; /* none of an end */
    struct job_event ev = {.type = (enum job_event_type)rng_below(r, JOB_EV_COUNT),
                           .at_usec = 100 + step,
                           .attempt = st->attempt + (rng_below(r, 8) != 0),
                           .pid = 1 + (int)rng_below(r, 1000),
                           .result = results[rng_below(r, SIZE(results))],
                           .survivors = rng_below(r, 4) == 0,
                           .antecedent = 1 + rng_below(r, 9),
                           .held = 1 + rng_below(r, JOB_HELD_BY_ADMIN)};

    if (ev.result == JOB_RESULT_EXIT || ev.result == JOB_RESULT_SIGNAL)
        ev.code = 1 + (int)rng_below(r, 4);
    return ev;
}

static int64_t random_item(struct rng *r, const struct array *a)
{
    uint32_t kind = rng_below(r, 40);

    if (kind == 0)
        return ARRAY_WHOLE;
    if (kind < 12 && array_next(a) != ARRAY_WHOLE)
        return array_next(a);
    return rng_below(r, (uint32_t)a->total);
}

/* One event for both. True: it was allowed. */
static bool take_step(struct array *a, struct list *l, struct counters *c, int64_t item,
                      const struct job_event *ev)
{
    struct array_effects fx;
    bool before = list_all_ended(l);
    bool allowed = list_update(l, item, ev);

    if (item != ARRAY_WHOLE)
        CHECK(array_reserve(a, item) == 0);
    CHECK(array_update(a, item, ev, &fx) == (allowed ? 0 : -EPROTO));
    if (allowed) {
        count(c, &fx);
        CHECK(fx.over == (!before && list_all_ended(l)));
    }
    compare(a, l);
    CHECK(memcmp(a->by_state, c->by_state, sizeof(c->by_state)) == 0);
    CHECK(memcmp(a->by_result, c->by_result, sizeof(c->by_result)) == 0);
    return allowed;
}

static int by_item(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    return (x->ev.at_usec > y->ev.at_usec) - (x->ev.at_usec < y->ev.at_usec);
}

/* The same facts into counts alone. What has no end is lost. */
static void fold(struct list *l, const struct job_event *submit, const struct fact *facts,
                 size_t n)
{
    struct array *a = array_new_counts(l->total);
    struct array_effects fx;
    struct array_fold f;

    assert_non_null(a);
    assert_true(array_is_counts(a));
    CHECK(array_update(a, ARRAY_WHOLE, submit, &fx) == 0);
    array_fold_begin(&f, a);
    for (size_t i = 0; i < n; i++) {
        CHECK(array_fold_event(&f, facts[i].item, &facts[i].ev) == 0);
        if (facts[i].item == ARRAY_WHOLE && facts[i].ev.type != JOB_EV_HOLD &&
            facts[i].ev.type != JOB_EV_MET && facts[i].ev.type != JOB_EV_EDIT)
            CHECK(array_fold_event(&f, ARRAY_WHOLE, &facts[i].ev) == -EPROTO);
    }
    array_fold_end(&f);
    for (uint64_t i = 0; i < l->total; i++) {
        struct listed *e = &l->element[i];

        if (e->ended)
            continue;
        e->st = e->touched ? array_ended_as(&e->st) : array_ended_without(a);
        CHECK(e->st.state == JOB_DONE && e->st.result == JOB_RESULT_LOST);
        e->ended = true;
    }
    compare_counts(a, l);
    CHECK(array_done(a) && a->rest == 0);
    array_free(a);
}

/* The facts as a store gives them: without the SUBMIT of elements, those of the array
 * first, and of some elements not the last ones, which were not durable yet. */
static void replay(struct rng *r, uint64_t total, const struct job_event *submit,
                   struct fact *facts, size_t n)
{
    static struct list l;
    struct array *a = array_new(total);
    struct array_effects fx;
    uint64_t cancelled = 0;
    size_t taken = 0;

    assert_non_null(a);
    list_init(&l, total, submit);
    array_replay_begin(a);
    CHECK(array_update(a, ARRAY_WHOLE, submit, &fx) == 0);
    qsort(facts, n, sizeof(*facts), by_item);
    for (size_t i = 0; i < n; i++) {
        if (facts[i].item == ARRAY_WHOLE) {
            CHECK(array_update(a, ARRAY_WHOLE, &facts[i].ev, &fx) == 0);
            if (facts[i].ev.type != JOB_EV_HOLD && facts[i].ev.type != JOB_EV_MET &&
                facts[i].ev.type != JOB_EV_EDIT)
                CHECK(array_update(a, ARRAY_WHOLE, &facts[i].ev, &fx) == -EPROTO);
            if (facts[i].ev.type == JOB_EV_CANCEL || facts[i].ev.type == JOB_EV_EXPIRED ||
                facts[i].ev.type == JOB_EV_DEPENDENCY) {
                cancelled = facts[i].ev.at_usec;
                l.rest = rest_of(facts[i].ev.type);
                l.cause = (struct job_cause){facts[i].ev.antecedent, facts[i].ev.result};
            } else
                CHECK(list_update(&l, ARRAY_WHOLE, &facts[i].ev));
            facts[taken++] = facts[i];
            continue;
        }
        if (rng_below(r, 8) == 0) { /* the rest of its facts is missing */
            while (i + 1 < n && facts[i + 1].item == facts[i].item)
                i++;
            continue;
        }
        CHECK(array_reserve(a, facts[i].item) == 0);
        CHECK(array_update(a, facts[i].item, &facts[i].ev, &fx) == 0);
        CHECK(list_update(&l, facts[i].item, &facts[i].ev));
        facts[taken++] = facts[i];
    }
    l.cancelled_usec = cancelled;
    if (cancelled) {
        list_end_untouched(&l);
        l.held = JOB_HELD_NO;
    }
    array_replay_end(a);
    compare(a, &l);
    array_free(a);
    fold(&l, submit, facts, taken);
}

static void one_history(struct rng *r)
{
    static struct fact facts[STEPS];
    static struct list l;
    const struct job_event submit = {
        .type = JOB_EV_SUBMIT, .at_usec = 5, .retry_lost = rng_below(r, 2)};
    uint64_t total = 1 + rng_below(r, rng_below(r, 50) ? 6 : MOST);
    unsigned steps = 1 + rng_below(r, total < 7 ? 60 : STEPS);
    struct counters c = {.by_state = {[JOB_QUEUED] = total}};
    struct array *a = array_new(total);
    struct array_effects fx;
    size_t n = 0;

    assert_non_null(a);
    list_init(&l, total, &submit);
    CHECK(array_update(a, ARRAY_WHOLE, &submit, &fx) == 0 && fx.moved == 0);
    for (step = 0; step < steps; step++) {
        int64_t item = random_item(r, a);
        const struct job_status none = {0};
        struct job_event ev =
            random_event(r, item == ARRAY_WHOLE ? &none : &l.element[item].st);

        if (item == ARRAY_WHOLE && rng_below(r, 3))
            ev.type = rng_below(r, 2)   ? JOB_EV_CANCEL
                      : rng_below(r, 4) ? JOB_EV_HOLD + rng_below(r, 3)
                                        : JOB_EV_EDIT;
        if (take_step(a, &l, &c, item, &ev) && ev.type != JOB_EV_SUBMIT)
            facts[n++] = (struct fact){item, ev};
    }
    array_free(a);
    replay(r, total, &submit, facts, n);
}

static void random_histories(void **state)
{
    const char *text = getenv("SEED");
    struct rng r;

    (void)state;
    seed = text ? strtoull(text, NULL, 10) : 1;
    for (history = 0; history < HISTORIES; history++) {
        rng_init(&r, seed, history);
        one_history(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_array),
        cmocka_unit_test(rows_of_the_rest),
        cmocka_unit_test(rows_of_an_element),
        cmocka_unit_test(the_state_follows_from_the_counts),
        cmocka_unit_test(an_array_is_held_as_a_whole),
        cmocka_unit_test(an_array_is_edited_as_a_whole),
        cmocka_unit_test(a_cancel_is_the_end_where_nothing_runs),
        cmocka_unit_test(the_worst_result_is_the_earliest_of_its_code),
        cmocka_unit_test(the_first_element_behind_an_empty_chunk_is_found),
        cmocka_unit_test(so_many_looks_find_an_element),
        cmocka_unit_test(the_next_element_passes_over_those_cancelled),
        cmocka_unit_test(random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
