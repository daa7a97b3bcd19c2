/* Further attempts: which ends lead to one, when it may begin, and what a restart knows of
 * that (daemon/job/retry.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "daemon/job/event.h"
#include "daemon/job/retry.h"

#define SECOND UINT64_C(1000000)

static const struct job_key key = {.id = 17, .index = JOB_NO_INDEX, .attempt = 1};

static void exit_codes_are_a_set(void **state)
{
    struct job_codes codes = {{0}};

    (void)state;
    assert_false(job_codes_any(&codes));
    for (int code = -1; code <= 256; code++)
        assert_false(job_codes_has(&codes, code));
    static const int some[] = {0, 63, 64, 200, 255};
    for (size_t i = 0; i < 5; i++) {
        codes = (struct job_codes){{0}};
        job_codes_add(&codes, some[i]);
        assert_true(job_codes_any(&codes));
        for (int code = -1; code <= 256; code++)
            assert_int_equal(job_codes_has(&codes, code), code == some[i]);
    }
}

static void a_spec_says_what_success_is(void **state)
{
    struct job_spec spec = {0};

    (void)state;
    assert_int_equal(job_exit_means(&spec, 0), JOB_RESULT_SUCCESS);
    assert_int_equal(job_exit_means(&spec, 3), JOB_RESULT_EXIT);
    job_codes_add(&spec.success, 3);
    assert_int_equal(job_exit_means(&spec, 0), JOB_RESULT_EXIT);
    assert_int_equal(job_exit_means(&spec, 3), JOB_RESULT_SUCCESS);
    const struct job_status st = {.state = JOB_DONE, .result = JOB_RESULT_EXIT};
    assert_int_equal(job_exit_code(&st), 1); /* its code is 0 */
}

/* The wait without what is added to it. */
static void expect_wait(const struct job_spec *s, unsigned n, uint64_t least)
{
    const uint64_t wait = job_retry_wait(s, &key, n);

    assert_true(wait >= least);
    assert_true(wait <= least + least / 4);
    assert_int_equal(wait, job_retry_wait(s, &key, n));
}

static void waits_double_up_to_the_most(void **state)
{
    struct job_spec spec = {.backoff_usec = SECOND, .backoff_max_usec = 5 * SECOND};

    (void)state;
    expect_wait(&spec, 1, SECOND);
    expect_wait(&spec, 2, 2 * SECOND);
    expect_wait(&spec, 3, 4 * SECOND);
    expect_wait(&spec, 4, 5 * SECOND);
    expect_wait(&spec, 1000, 5 * SECOND);
    spec.backoff_max_usec = 0;
    expect_wait(&spec, 6, 32 * SECOND);
    expect_wait(&spec, 7, JOB_BACKOFF_MAX_USEC_DEFAULT);
    spec.backoff_usec = JOB_BACKOFF_MAX_USEC_DEFAULT + 1; /* more than that */
    expect_wait(&spec, 1, JOB_BACKOFF_MAX_USEC_DEFAULT + 1);
    expect_wait(&spec, 2, JOB_BACKOFF_MAX_USEC_DEFAULT + 1);
    spec.backoff_usec = spec.backoff_max_usec = JOB_USEC_MAX;
    expect_wait(&spec, 3, JOB_USEC_MAX);
    spec.backoff_usec = spec.backoff_max_usec = 0;
    assert_int_equal(job_retry_wait(&spec, &key, 9), 0);
}

/* Of 1,000 jobs that failed together, evenly over the quarter. */
static void what_is_added_differs(void **state)
{
    const struct job_spec spec = {.backoff_usec = 4 * SECOND};
    unsigned in_part[10] = {0};

    (void)state;
    for (uint64_t id = 1; id <= 1000; id++) {
        const struct job_key one = {.id = id, .index = JOB_NO_INDEX};

        in_part[(job_retry_wait(&spec, &one, 1) - 4 * SECOND) / (SECOND / 10)]++;
    }
    for (size_t i = 0; i < 10; i++)
        assert_true(in_part[i] > 50 && in_part[i] < 200);
    const struct job_key first = {.id = 17, .index = 0}, second = {.id = 17, .index = 1};
    assert_int_not_equal(job_retry_wait(&spec, &first, 1),
                         job_retry_wait(&spec, &second, 1));
    assert_int_not_equal(job_retry_wait(&spec, &first, 5) - 60 * SECOND,
                         job_retry_wait(&spec, &first, 6) - 60 * SECOND);
}

#define ON(result) .on = JOB_RETRY_BIT(result)

static void which_ends_lead_to_another(void **state)
{
    static const struct {
        uint64_t times, max_total;
        uint32_t on, attempt, lost, survivors;
        int only_code;
        bool cancel, timed_out, printed_too_much;
        enum job_result seen;
        int code;
        bool again;
    } cases[] = {
        {.times = 0, .attempt = 1, .seen = JOB_RESULT_EXIT, .again = false},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_EXIT, .again = true},
        {.times = 1, .attempt = 2, .seen = JOB_RESULT_EXIT, .again = false},
        {.times = 2, .attempt = 2, .seen = JOB_RESULT_EXIT, .again = true},
        {.times = 1, .attempt = 3, .lost = 2, .seen = JOB_RESULT_EXIT, .again = true},
        {.times = 1, .attempt = 4, .lost = 2, .seen = JOB_RESULT_EXIT, .again = false},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_SUCCESS, .again = false},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_SIGNAL, .again = true},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_LOST, .again = false},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_EXEC_FAILED, .again = false},
        {.times = 1,
         .attempt = 1,
         ON(EXEC_FAILED),
         .seen = JOB_RESULT_EXEC_FAILED,
         .again = true},
        {.times = 1, .attempt = 1, ON(SIGNAL), .seen = JOB_RESULT_EXIT, .again = false},
        {.times = 1, .attempt = 1, .seen = JOB_RESULT_OOM, .again = false},
        {.times = 1, .attempt = 1, ON(SIGNAL), .seen = JOB_RESULT_OOM, .again = false},
        {.times = 1, .attempt = 1, ON(OOM), .seen = JOB_RESULT_OOM, .again = true},
        {.times = 1, .attempt = 1, ON(OOM), .seen = JOB_RESULT_SIGNAL, .again = false},
        {.times = 1,
         .attempt = 1,
         .timed_out = true,
         .seen = JOB_RESULT_SIGNAL,
         .again = true},
        {.times = 1,
         .attempt = 1,
         ON(SIGNAL),
         .timed_out = true,
         .seen = JOB_RESULT_SIGNAL,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .printed_too_much = true,
         .seen = JOB_RESULT_SIGNAL,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .cancel = true,
         .seen = JOB_RESULT_SIGNAL,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .cancel = true,
         .timed_out = true,
         .seen = JOB_RESULT_SIGNAL,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .survivors = 1,
         .seen = JOB_RESULT_EXIT,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .only_code = 75,
         .seen = JOB_RESULT_EXIT,
         .code = 75,
         .again = true},
        {.times = 1,
         .attempt = 1,
         .only_code = 75,
         .seen = JOB_RESULT_EXIT,
         .code = 74,
         .again = false},
        {.times = 1,
         .attempt = 1,
         .only_code = 75,
         .seen = JOB_RESULT_SIGNAL,
         .code = 9,
         .again = true},
        /* It began at 100 s, ends at 110 s, and waits for a second at least. */
        {.times = 1,
         .max_total = 10 * SECOND,
         .attempt = 1,
         .seen = JOB_RESULT_EXIT,
         .again = false},
        {.times = 1,
         .max_total = 12 * SECOND,
         .attempt = 1,
         .seen = JOB_RESULT_EXIT,
         .again = true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_spec spec = {.retry_times = cases[i].times,
                                .retry_on = cases[i].on,
                                .backoff_usec = SECOND,
                                .max_total_usec = cases[i].max_total};
        const struct job_status st = {.state = JOB_RUNNING,
                                      .submitted_usec = 1,
                                      .started_usec = 100 * SECOND,
                                      .attempt = cases[i].attempt,
                                      .lost = cases[i].lost & 0xf,
                                      .cancel_asked = cases[i].cancel,
                                      .timed_out = cases[i].timed_out,
                                      .printed_too_much = cases[i].printed_too_much};
        struct job_event ev = {.type = JOB_EV_EXITED,
                               .at_usec = 110 * SECOND,
                               .result = cases[i].seen,
                               .code = cases[i].code,
                               .survivors = cases[i].survivors,
                               .again = true,
                               .wait_usec = 5};

        if (cases[i].only_code)
            job_codes_add(&spec.retry_codes, cases[i].only_code);
        job_retry_choose(&spec, &st, &key, &ev);
        if (ev.again != cases[i].again)
            fail_msg("case %zu: again is %d", i, ev.again);
        assert_int_equal(
            ev.wait_usec,
            ev.again ? job_retry_wait(&spec, &key, cases[i].attempt - cases[i].lost) : 0);
    }
}

/* Not the start of the latest attempt: that of the first counts. */
static void the_first_start_counts(void **state)
{
    struct job_spec spec = {
        .retry_times = 9, .backoff_usec = SECOND, .max_total_usec = 50 * SECOND};
    struct job_status st = {.state = JOB_RUNNING,
                            .submitted_usec = 1,
                            .started_usec = 145 * SECOND,
                            .attempt = 2,
                            .again = {.first_usec = 100 * SECOND}};
    struct job_event ev = {
        .type = JOB_EV_EXITED, .at_usec = 149 * SECOND, .result = JOB_RESULT_EXIT};

    (void)state;
    job_retry_choose(&spec, &st, &key, &ev); /* it waits for two seconds */
    assert_false(ev.again);
    spec.max_total_usec = 49 * SECOND + job_retry_wait(&spec, &key, 2);
    job_retry_choose(&spec, &st, &key, &ev);
    assert_true(ev.again);
    spec.max_total_usec--;
    job_retry_choose(&spec, &st, &key, &ev);
    assert_false(ev.again);
    st.again.first_usec = 0; /* one that was not started began when it failed */
    st.started_usec = 0;
    job_retry_choose(&spec, &st, &key, &ev);
    assert_true(ev.again);
}

static void too_late_is_behind_the_total(void **state)
{
    struct job_spec spec = {.max_total_usec = 50 * SECOND};
    struct job_status st = {.state = JOB_QUEUED, .again = {.first_usec = 100 * SECOND}};

    (void)state;
    assert_false(job_retry_is_too_late(&spec, &st, 150 * SECOND));
    assert_true(job_retry_is_too_late(&spec, &st, 150 * SECOND + 1));
    spec.max_total_usec = 0;
    assert_false(job_retry_is_too_late(&spec, &st, 999 * SECOND));
    spec.max_total_usec = 50 * SECOND;
    st.again.first_usec = 0; /* its first attempt may begin at any time */
    assert_false(job_retry_is_too_late(&spec, &st, 999 * SECOND));
}

static void what_is_left_goes_by_the_dates(void **state)
{
    struct job_status st = {
        .state = JOB_QUEUED,
        .again = {.ended_usec = 100 * SECOND, .wait_usec = 10 * SECOND}};

    (void)state;
    assert_int_equal(job_retry_left(&st, 100 * SECOND), 10 * SECOND);
    assert_int_equal(job_retry_left(&st, 103 * SECOND), 7 * SECOND);
    assert_int_equal(job_retry_left(&st, 110 * SECOND), 0);
    assert_int_equal(job_retry_left(&st, 999 * SECOND), 0);
    assert_int_equal(job_retry_left(&st, 50 * SECOND), 10 * SECOND); /* set back */
    st.state = JOB_RUNNING;
    assert_int_equal(job_retry_left(&st, 100 * SECOND), 0);
}

/* --- the fact ----------------------------------------------------------------------- */

static const struct job_event failed = {.type = JOB_EV_EXITED,
                                        .at_usec = 110 * SECOND,
                                        .result = JOB_RESULT_EXIT,
                                        .code = 75,
                                        .again = true,
                                        .wait_usec = 3 * SECOND,
                                        .printed = {300, 7}};

static void it_leads_back_to_queued(void **state)
{
    struct job_status st = {.state = JOB_RUNNING,
                            .submitted_usec = 1,
                            .started_usec = 100 * SECOND,
                            .has_started = true,
                            .attempt = 3,
                            .pid = 42,
                            .lost = 2};
    const struct job_status want = {.state = JOB_QUEUED,
                                    .submitted_usec = 1,
                                    .has_started = true,
                                    .attempt = 3,
                                    .lost = 2,
                                    .last = JOB_RESULT_EXIT,
                                    .again = {100 * SECOND, 110 * SECOND, 3 * SECOND}};

    (void)state;
    assert_true(job_goes_again(&st, &failed));
    assert_int_equal(job_update(&st, &failed), 0);
    assert_memory_equal(&st, &want, sizeof(st));
    assert_true(job_has_begun(&st));
    const struct job_end told = job_end_notified(&failed, &st);
    assert_int_equal(told.result, JOB_RESULT_EXIT);
    assert_int_equal(told.code, 75);
    assert_int_equal(told.code_is, JOB_CODE_STATUS);
    assert_int_equal(told.exit_code, 75);
    const struct job_event starting = {.type = JOB_EV_STARTING, .attempt = 4};
    const struct job_event started = {.type = JOB_EV_STARTED, .at_usec = 120 * SECOND};
    assert_int_equal(job_update(&st, &starting), 0);
    assert_int_equal(job_update(&st, &started), 0);
    assert_int_equal(st.again.first_usec, 100 * SECOND);
    st.timed_out = true;
    assert_int_equal(job_update(&st, &failed), 0);
    assert_int_equal(st.last, JOB_RESULT_TIMEOUT);
    assert_int_equal(st.again.first_usec, 100 * SECOND);
    st = (struct job_status){.state = JOB_STARTING, .attempt = 1};
    assert_int_equal(job_update(&st, &started), 0);
    assert_true(st.has_started);
}

static void the_last_one_is_told_as_it_is(void **state)
{
    struct job_status st = {.state = JOB_RUNNING, .submitted_usec = 1, .pid = 42};
    struct job_event ev = failed;

    (void)state;
    ev.again = false;
    assert_int_equal(job_update(&st, &ev), 0);
    assert_int_equal(st.state, JOB_DONE);
    assert_int_equal(job_end_notified(&ev, &st).result, JOB_RESULT_EXIT);
    assert_int_equal(job_end_notified(&ev, &st).code, 75);
}

static void none_follows_a_cancel_or_survivors(void **state)
{
    struct job_status st = {
        .state = JOB_STOPPING, .submitted_usec = 1, .cancel_asked = true};
    struct job_event ev = failed;

    (void)state;
    assert_int_equal(job_update(&st, &ev), -EPROTO);
    st.cancel_asked = false;
    ev.survivors = 1;
    assert_int_equal(job_update(&st, &ev), -EPROTO);
    ev.survivors = 0;
    assert_int_equal(job_update(&st, &ev), 0);
}

/* What it counts from is no part of its end. */
static void an_end_while_it_waits(void **state)
{
    static const enum job_event_type types[] = {JOB_EV_CANCEL, JOB_EV_EXPIRED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct job_status st = {.state = JOB_QUEUED,
                                .submitted_usec = 1,
                                .attempt = 1,
                                .last = JOB_RESULT_EXIT,
                                .again = {1, 2, 3}};
        const struct job_event ev = {.type = types[i], .at_usec = 9};

        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.state, JOB_DONE);
        assert_int_equal(st.usage.user_usec, 0);
        assert_int_equal(st.usage.max_rss_bytes, 0);
        assert_true(job_has_begun(&st));
    }
}

static void its_bytes_come_back(void **state)
{
    struct pack p = {0};
    struct job_event got, without = failed;
    struct job_event_room room;
    uint64_t life;

    (void)state;
    without.again = false;
    job_event_pack(&p, &without, 0);
    const size_t less = p.n;
    job_event_pack(&p, &failed, 0);
    struct unpack u = unpack_of(p.bytes, p.n);
    assert_int_equal(job_event_unpack(&u, &got, &life, &room), 0);
    assert_false(got.again);
    assert_int_equal(got.wait_usec, 0);
    assert_int_equal(got.printed[0], 0);
    assert_int_equal(u.at - p.bytes, less);
    assert_int_equal(job_event_unpack(&u, &got, &life, &room), 0);
    assert_true(got.again);
    assert_int_equal(got.wait_usec, 3 * SECOND);
    assert_int_equal(got.printed[0], 300);
    assert_int_equal(got.printed[1], 7);
    assert_ptr_equal(u.at, u.end);
    pack_fini(&p);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(exit_codes_are_a_set),
        T(a_spec_says_what_success_is),
        T(waits_double_up_to_the_most),
        T(what_is_added_differs),
        T(which_ends_lead_to_another),
        T(the_first_start_counts),
        T(too_late_is_behind_the_total),
        T(what_is_left_goes_by_the_dates),
        T(it_leads_back_to_queued),
        T(the_last_one_is_told_as_it_is),
        T(none_follows_a_cancel_or_survivors),
        T(an_end_while_it_waits),
        T(its_bytes_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
