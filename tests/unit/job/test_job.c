/* The job machine: every state x event, the verdicts, exit codes and names. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/job.h"
#include "daemon/job/news.h"
#include "daemon/job/spec_edit.h"

#define NO (-1)

/* The table of job.h, written down a second time. */
static const struct {
    enum job_state from;
    enum job_event_type event;
    int to;
} rows[] = {
    {JOB_QUEUED, JOB_EV_SUBMIT, NO}, /* already submitted */
    {JOB_QUEUED, JOB_EV_STARTING, JOB_STARTING},
    {JOB_QUEUED, JOB_EV_STARTED, NO},
    {JOB_QUEUED, JOB_EV_TIMEOUT, NO},
    {JOB_QUEUED, JOB_EV_CANCEL, JOB_DONE},
    {JOB_QUEUED, JOB_EV_EXITED, NO},
    {JOB_QUEUED, JOB_EV_OUTPUT_LIMIT, NO},
    {JOB_QUEUED, JOB_EV_DEFERRED, NO},
    {JOB_QUEUED, JOB_EV_HOLD, JOB_QUEUED},
    {JOB_QUEUED, JOB_EV_RELEASE, JOB_QUEUED},
    {JOB_QUEUED, JOB_EV_EXPIRED, JOB_DONE},
    {JOB_QUEUED, JOB_EV_DEPENDENCY, JOB_DONE},
    {JOB_QUEUED, JOB_EV_MET, JOB_QUEUED},
    {JOB_QUEUED, JOB_EV_PAUSE, NO},
    {JOB_QUEUED, JOB_EV_RESUME, NO},
    {JOB_QUEUED, JOB_EV_EDIT, JOB_QUEUED},
    {JOB_STARTING, JOB_EV_SUBMIT, NO},
    {JOB_STARTING, JOB_EV_STARTING, NO},
    {JOB_STARTING, JOB_EV_STARTED, JOB_RUNNING},
    {JOB_STARTING, JOB_EV_TIMEOUT, NO},
    {JOB_STARTING, JOB_EV_CANCEL, JOB_STOPPING},
    {JOB_STARTING, JOB_EV_EXITED, JOB_DONE},
    {JOB_STARTING, JOB_EV_OUTPUT_LIMIT, NO},
    {JOB_STARTING, JOB_EV_DEFERRED, JOB_QUEUED},
    {JOB_STARTING, JOB_EV_HOLD, NO},
    {JOB_STARTING, JOB_EV_RELEASE, NO},
    {JOB_STARTING, JOB_EV_EXPIRED, NO},
    {JOB_STARTING, JOB_EV_DEPENDENCY, NO},
    {JOB_STARTING, JOB_EV_MET, NO},
    {JOB_STARTING, JOB_EV_PAUSE, NO},
    {JOB_STARTING, JOB_EV_RESUME, NO},
    {JOB_STARTING, JOB_EV_EDIT, NO},
    {JOB_RUNNING, JOB_EV_SUBMIT, NO},
    {JOB_RUNNING, JOB_EV_STARTING, NO},
    {JOB_RUNNING, JOB_EV_STARTED, NO},
    {JOB_RUNNING, JOB_EV_TIMEOUT, JOB_STOPPING},
    {JOB_RUNNING, JOB_EV_CANCEL, JOB_STOPPING},
    {JOB_RUNNING, JOB_EV_EXITED, JOB_DONE},
    {JOB_RUNNING, JOB_EV_OUTPUT_LIMIT, JOB_STOPPING},
    {JOB_RUNNING, JOB_EV_DEFERRED, NO},
    {JOB_RUNNING, JOB_EV_HOLD, NO},
    {JOB_RUNNING, JOB_EV_RELEASE, NO},
    {JOB_RUNNING, JOB_EV_EXPIRED, NO},
    {JOB_RUNNING, JOB_EV_DEPENDENCY, NO},
    {JOB_RUNNING, JOB_EV_MET, NO},
    {JOB_RUNNING, JOB_EV_PAUSE, JOB_PAUSED},
    {JOB_RUNNING, JOB_EV_RESUME, NO},
    {JOB_RUNNING, JOB_EV_EDIT, NO},
    {JOB_PAUSED, JOB_EV_SUBMIT, NO},
    {JOB_PAUSED, JOB_EV_STARTING, NO},
    {JOB_PAUSED, JOB_EV_STARTED, NO},
    {JOB_PAUSED, JOB_EV_TIMEOUT, JOB_STOPPING},
    {JOB_PAUSED, JOB_EV_CANCEL, JOB_STOPPING},
    {JOB_PAUSED, JOB_EV_EXITED, JOB_DONE},
    {JOB_PAUSED, JOB_EV_OUTPUT_LIMIT, JOB_STOPPING},
    {JOB_PAUSED, JOB_EV_DEFERRED, NO},
    {JOB_PAUSED, JOB_EV_HOLD, NO},
    {JOB_PAUSED, JOB_EV_RELEASE, NO},
    {JOB_PAUSED, JOB_EV_EXPIRED, NO},
    {JOB_PAUSED, JOB_EV_DEPENDENCY, NO},
    {JOB_PAUSED, JOB_EV_MET, NO},
    {JOB_PAUSED, JOB_EV_PAUSE, NO},
    {JOB_PAUSED, JOB_EV_RESUME, JOB_RUNNING},
    {JOB_PAUSED, JOB_EV_EDIT, NO},
    {JOB_STOPPING, JOB_EV_SUBMIT, NO},
    {JOB_STOPPING, JOB_EV_STARTING, NO},
    {JOB_STOPPING, JOB_EV_STARTED, JOB_STOPPING},
    {JOB_STOPPING, JOB_EV_TIMEOUT, NO},
    {JOB_STOPPING, JOB_EV_CANCEL, JOB_STOPPING},
    {JOB_STOPPING, JOB_EV_EXITED, JOB_DONE},
    {JOB_STOPPING, JOB_EV_OUTPUT_LIMIT, NO},
    {JOB_STOPPING, JOB_EV_DEFERRED, NO},
    {JOB_STOPPING, JOB_EV_HOLD, NO},
    {JOB_STOPPING, JOB_EV_RELEASE, NO},
    {JOB_STOPPING, JOB_EV_EXPIRED, NO},
    {JOB_STOPPING, JOB_EV_DEPENDENCY, NO},
    {JOB_STOPPING, JOB_EV_MET, NO},
    {JOB_STOPPING, JOB_EV_PAUSE, NO},
    {JOB_STOPPING, JOB_EV_RESUME, NO},
    {JOB_STOPPING, JOB_EV_EDIT, NO},
    {JOB_DONE, JOB_EV_SUBMIT, NO},
    {JOB_DONE, JOB_EV_STARTING, NO},
    {JOB_DONE, JOB_EV_STARTED, NO},
    {JOB_DONE, JOB_EV_TIMEOUT, NO},
    {JOB_DONE, JOB_EV_CANCEL, NO},
    {JOB_DONE, JOB_EV_EXITED, NO},
    {JOB_DONE, JOB_EV_OUTPUT_LIMIT, NO},
    {JOB_DONE, JOB_EV_DEFERRED, NO},
    {JOB_DONE, JOB_EV_HOLD, NO},
    {JOB_DONE, JOB_EV_RELEASE, NO},
    {JOB_DONE, JOB_EV_EXPIRED, NO},
    {JOB_DONE, JOB_EV_DEPENDENCY, NO},
    {JOB_DONE, JOB_EV_MET, NO},
    {JOB_DONE, JOB_EV_PAUSE, NO},
    {JOB_DONE, JOB_EV_RESUME, NO},
    {JOB_DONE, JOB_EV_EDIT, NO},
};

/* on_lost: every way in which a lost attempt is followed by another, or is the end. */
static void lost_attempts(void **state)
{
    static const struct {
        bool retry, cancel, timed_out;
        enum job_result seen;
        uint32_t survivors;
        uint8_t lost;
        enum job_state to;
    } cases[] = {
        {false, false, false, JOB_RESULT_LOST, 0, 0, JOB_DONE},
        {true, false, false, JOB_RESULT_LOST, 0, 0, JOB_QUEUED},
        {true, false, false, JOB_RESULT_LOST, 0, JOB_LOST_MAX - 1, JOB_QUEUED},
        {true, false, false, JOB_RESULT_LOST, 0, JOB_LOST_MAX, JOB_DONE},
        {true, true, false, JOB_RESULT_LOST, 0, 0, JOB_DONE},
        {true, false, true, JOB_RESULT_LOST, 0, 0, JOB_DONE},
        {true, false, false, JOB_RESULT_LOST, 1, 0, JOB_DONE},
        {true, false, false, JOB_RESULT_EXIT, 0, 0, JOB_DONE},
        {true, false, false, JOB_RESULT_SIGNAL, 0, 0, JOB_DONE},
        {true, false, false, JOB_RESULT_EXEC_FAILED, 0, 0, JOB_DONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_status st = {.state = JOB_RUNNING,
                                .submitted_usec = 1,
                                .started_usec = 2,
                                .attempt = 3,
                                .pid = 42,
                                .other_life = true,
                                .retry_lost = cases[i].retry,
                                .cancel_asked = cases[i].cancel,
                                .timed_out = cases[i].timed_out,
                                .lost = cases[i].lost};
        struct job_event ev = {.type = JOB_EV_EXITED,
                               .at_usec = 9,
                               .result = cases[i].seen,
                               .survivors = cases[i].survivors,
                               .step = "reboot"};

        assert_int_equal(job_goes_again(&st, &ev), cases[i].to == JOB_QUEUED);
        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.state, cases[i].to);
        if (cases[i].to == JOB_DONE) {
            assert_int_equal(st.lost, cases[i].lost);
            continue;
        }
        /* As if it had never begun, but for the numbers. */
        const struct job_status want = {.submitted_usec = 1,
                                        .attempt = 3,
                                        .retry_lost = true,
                                        .lost = (uint8_t)(cases[i].lost + 1),
                                        .last = JOB_RESULT_LOST,
                                        .again = {.first_usec = 2, .ended_usec = 9}};
        assert_memory_equal(&st, &want, sizeof(st));
        ev = (struct job_event){.type = JOB_EV_STARTING, .attempt = 3};
        assert_int_equal(job_update(&st, &ev), -EPROTO); /* never the same attempt */
        ev.attempt = 4;
        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.attempt, 4);
    }
}

/* Each pause counts, and lasts: also one of no time, or behind a clock that was set back. */
static void pauses_add_up(void **state)
{
    struct job_status st = {.state = JOB_RUNNING, .submitted_usec = 1};
    static const struct {
        uint64_t from, to, total;
    } pauses[] = {{10, 25, 15}, {30, 30, 16}, {40, 39, 17}, {50, 1050, 1017}};

    (void)state;
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        const uint64_t before = st.paused_usec;
        struct job_event ev = {.type = JOB_EV_PAUSE, .at_usec = pauses[i].from};

        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.paused_at_usec, pauses[i].from);
        assert_int_equal(st.paused_usec, before);
        assert_int_equal(job_update(&st, &ev), -EPROTO);
        ev = (struct job_event){.type = JOB_EV_RESUME, .at_usec = pauses[i].to};
        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.paused_at_usec, 0);
        assert_int_equal(st.paused_usec, pauses[i].total);
        assert_int_equal(job_update(&st, &ev), -EPROTO);
    }
}

/* What stops a job ends its pause, as its processes go on then. */
static void what_stops_it_ends_the_pause(void **state)
{
    static const enum job_event_type asks[] = {JOB_EV_CANCEL, JOB_EV_TIMEOUT,
                                               JOB_EV_OUTPUT_LIMIT, JOB_EV_RESUME};

    (void)state;
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        struct job_status st = {.state = JOB_RUNNING, .submitted_usec = 1, .pid = 2};
        struct job_event ev = {.type = JOB_EV_PAUSE, .at_usec = 10};

        assert_int_equal(job_update(&st, &ev), 0);
        ev = (struct job_event){.type = asks[i], .at_usec = 25};
        assert_int_equal(job_update(&st, &ev), 0);
        ev = (struct job_event){.type = JOB_EV_EXITED,
                                .at_usec = 90,
                                .result = JOB_RESULT_SUCCESS,
                                .usage = {5, 6, 7, 8}};
        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.state, JOB_DONE);
        assert_int_equal(job_paused_at(&st), 0);
        assert_int_equal(st.paused_usec, 15);
        assert_int_equal(st.usage.max_rss_bytes, 7);
    }
}

/* Watchers are told what another attempt waits for, or which job was waited for. */
static void news_of_others(void **state)
{
    struct job_news news = {.seq = 1};
    struct job_event ev = {.type = JOB_EV_EXITED, .again = true, .wait_usec = 70};

    (void)state;
    job_news_set_more(&news, &ev);
    assert_int_equal(news.again_usec, 70);
    ev = (struct job_event){
        .type = JOB_EV_DEPENDENCY, .antecedent = 9, .result = JOB_RESULT_LOST};
    job_news_set_more(&news, &ev);
    assert_int_equal(news.cause, 9);
    assert_int_equal(news.cause_result, JOB_RESULT_LOST);
    ev = (struct job_event){.type = JOB_EV_MET, .antecedent = 8};
    job_news_set_more(&news, &ev);
    assert_int_equal(news.cause, 8);
    assert_int_equal(news.cause_result, JOB_RESULT_NONE);
}

/* A STARTING with a base stands for all before it: what that says counts, and a hold is
 * over. Without one in between nothing changes but the attempt. */
static void a_base_stands_for_what_was_before(void **state)
{
    struct job_event ev = {
        .type = JOB_EV_STARTING,
        .at_usec = 5,
        .attempt = 33,
        .is_base = true,
        .base = {{100, 200, 300}, JOB_LOST_MAX, JOB_RESULT_NONE, true}};
    struct job_status st;

    (void)state;
    for (uint8_t last = JOB_RESULT_NONE; last < JOB_RESULT_COUNT; last++) {
        st = (struct job_status){.submitted_usec = 1, .held = JOB_HELD_BY_ADMIN};
        ev.base.last = last;
        assert_int_equal(job_update(&st, &ev), 0);
        assert_int_equal(st.state, JOB_STARTING);
        assert_int_equal(st.attempt, 33);
        assert_int_equal(st.held, JOB_HELD_NO);
        assert_int_equal(st.lost, JOB_LOST_MAX);
        assert_int_equal(st.last, last);
        assert_true(st.has_started);
        assert_memory_equal(&st.again, &ev.base.again, sizeof(st.again));
    }

    st = (struct job_status){.submitted_usec = 1, .attempt = 32, .lost = 1};
    assert_int_equal(job_update(&st, &ev), 0);
    assert_int_equal(st.attempt, 33);
    assert_int_equal(st.lost, 1);
    assert_int_equal(st.last, JOB_RESULT_NONE);
    assert_false(st.has_started);
}

/* Which fields were edited adds up; how often, up to a bound. */
static void edits_add_up(void **state)
{
    uint16_t edited = 1u << 9, edits = JOB_EDITS_MAX - 1;
    const struct job_event ev = {.type = JOB_EV_EDIT, .changes = {.front = 7}};
    const unsigned fields = job_edit_fields(&ev.changes);

    (void)state;
    assert_true(fields && !(fields & edited));
    for (int i = 0; i < 2; i++) {
        job_edited_update(&edited, &edits, &ev);
        assert_int_equal(edited, 1u << 9 | fields);
        assert_int_equal(edits, JOB_EDITS_MAX);
    }
}

static void table_row_by_row(void **state)
{
    (void)state;
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), JOB_STATE_COUNT * JOB_EV_COUNT);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_status st = {.state = (uint8_t)rows[i].from,
                                .held = rows[i].event == JOB_EV_RELEASE,
                                .submitted_usec = 1};
        struct job_event ev = {.type = rows[i].event,
                               .at_usec = 9,
                               .attempt = 1,
                               .pid = 42,
                               .result = JOB_RESULT_SUCCESS};
        struct job_status before = st;
        int r = job_update(&st, &ev);

        if (rows[i].to == NO) {
            assert_int_equal(r, -EPROTO);
            assert_memory_equal(&st, &before, sizeof(st));
        } else {
            assert_int_equal(r, 0);
            assert_int_equal(st.state, rows[i].to);
        }
    }
}

/* Folds the events over a fresh, submitted status; every one must be allowed. */
static struct job_status fold(const struct job_event *ev, size_t n)
{
    struct job_status st = {0};
    struct job_event submit = {.type = JOB_EV_SUBMIT, .at_usec = 1};

    assert_int_equal(job_update(&st, &submit), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(job_update(&st, &ev[i]), 0);
    return st;
}

#define STARTING                                                                         \
    {                                                                                    \
        .type = JOB_EV_STARTING, .attempt = 1, .at_usec = 2                              \
    }
#define STARTED                                                                          \
    {                                                                                    \
        .type = JOB_EV_STARTED, .attempt = 1, .at_usec = 3, .pid = 42                    \
    }
#define TIMEOUT                                                                          \
    {                                                                                    \
        .type = JOB_EV_TIMEOUT, .at_usec = 4                                             \
    }
#define OUTPUT_LIMIT                                                                     \
    {                                                                                    \
        .type = JOB_EV_OUTPUT_LIMIT, .at_usec = 4                                        \
    }
#define CANCEL                                                                           \
    {                                                                                    \
        .type = JOB_EV_CANCEL, .at_usec = 5                                              \
    }
#define EXITED(res, c, s)                                                                \
    {                                                                                    \
        .type = JOB_EV_EXITED, .at_usec = 6, .result = (res), .code = (c), .step = (s)   \
    }
#define FOLD(...)                                                                        \
    fold((struct job_event[]){__VA_ARGS__},                                              \
         sizeof((struct job_event[]){__VA_ARGS__}) / sizeof(struct job_event))

/* One that never began does not count: its number is that of the next, in this life or in
 * another. */
static void deferred(void **state)
{
    (void)state;
    struct job_event starting = STARTING, later = {.type = JOB_EV_DEFERRED, .at_usec = 3};
    struct job_status st = FOLD(STARTING);

    st.other_life = true;
    assert_int_equal(job_update(&st, &later), 0);
    assert_int_equal(st.state, JOB_QUEUED);
    assert_int_equal(st.attempt, 0);
    assert_false(st.other_life);
    assert_int_equal(job_update(&st, &starting), 0);
    assert_int_equal(st.attempt, 1);
}

/* Of two holds that of the admin counts, and one release ends both. */
static void held_until_released(void **state)
{
    (void)state;
    const struct job_event submit = {
        .type = JOB_EV_SUBMIT, .at_usec = 1, .held = JOB_HELD_BY_USER};
    const struct job_event starting = STARTING, cancel = CANCEL;
    const struct job_event own = {.type = JOB_EV_HOLD, .held = JOB_HELD_BY_USER};
    const struct job_event admins = {.type = JOB_EV_HOLD, .held = JOB_HELD_BY_ADMIN};
    const struct job_event release = {.type = JOB_EV_RELEASE};
    struct job_status st = {0};

    assert_int_equal(job_update(&st, &submit), 0);
    assert_int_equal(st.held, JOB_HELD_BY_USER);
    assert_int_equal(job_update(&st, &admins), 0);
    assert_int_equal(job_update(&st, &own), 0);
    assert_int_equal(st.held, JOB_HELD_BY_ADMIN);
    assert_int_equal(st.holds, 1);
    assert_int_equal(job_update(&st, &starting), -EPROTO);
    assert_int_equal(job_update(&st, &release), 0);
    assert_int_equal(st.held, JOB_HELD_NO);
    assert_int_equal(job_update(&st, &release), -EPROTO);
    assert_int_equal(job_update(&st, &own), 0);
    assert_int_equal(job_update(&st, &cancel), 0);
    assert_int_equal(st.held, JOB_HELD_NO);
}

static void verdicts(void **state)
{
    (void)state;
    struct job_status st;

    st = FOLD(STARTING, STARTED, EXITED(JOB_RESULT_EXIT, 7, NULL));
    assert_int_equal(st.result, JOB_RESULT_EXIT);
    assert_int_equal(st.code, 7);
    assert_int_equal(st.code_is, JOB_CODE_STATUS);
    assert_int_equal(st.pid, 42);
    assert_int_equal(st.started_usec, 3);
    assert_int_equal(st.ended_usec, 6);

    st = FOLD(STARTING, STARTED, TIMEOUT, EXITED(JOB_RESULT_SIGNAL, SIGTERM, NULL));
    assert_int_equal(st.result, JOB_RESULT_TIMEOUT);
    assert_int_equal(st.code, SIGTERM);

    /* TERM was handled and the job left with 0: it timed out all the same. */
    st = FOLD(STARTING, STARTED, TIMEOUT, CANCEL, EXITED(JOB_RESULT_SUCCESS, 0, NULL));
    assert_int_equal(st.result, JOB_RESULT_TIMEOUT);
    assert_true(st.cancel_asked);

    st = FOLD(STARTING, STARTED, OUTPUT_LIMIT, CANCEL,
              EXITED(JOB_RESULT_SIGNAL, SIGKILL, NULL));
    assert_int_equal(st.result, JOB_RESULT_OUTPUT_LIMIT);
    assert_int_equal(st.code, SIGKILL);

    st = FOLD(STARTING, CANCEL, STARTED, EXITED(JOB_RESULT_SIGNAL, SIGKILL, NULL));
    assert_int_equal(st.result, JOB_RESULT_CANCELLED);
    assert_int_equal(st.pid, 42);

    st = FOLD(STARTING, STARTED, CANCEL, EXITED(JOB_RESULT_LOST, 0, NULL));
    assert_int_equal(st.result, JOB_RESULT_LOST); /* cancelled or not: unknown */

    st = FOLD(STARTING, EXITED(JOB_RESULT_EXEC_FAILED, ENOENT, "exec"));
    assert_int_equal(st.result, JOB_RESULT_EXEC_FAILED);
    assert_string_equal(st.step, "exec");

    st = FOLD(STARTING, STARTED, EXITED(JOB_RESULT_OOM, SIGKILL, "job"));
    assert_int_equal(st.result, JOB_RESULT_OOM);
    assert_int_equal(st.code_is, JOB_CODE_SIGNAL);
    assert_string_equal(st.step, "job");

    /* Somebody had asked for its end: it is that. */
    st = FOLD(STARTING, STARTED, TIMEOUT, EXITED(JOB_RESULT_OOM, SIGKILL, "job"));
    assert_int_equal(st.result, JOB_RESULT_TIMEOUT);
    assert_null(st.step);
    st = FOLD(STARTING, STARTED, CANCEL, EXITED(JOB_RESULT_OOM, SIGKILL, "job"));
    assert_int_equal(st.result, JOB_RESULT_CANCELLED);

    st = FOLD(CANCEL);
    assert_int_equal(st.result, JOB_RESULT_CANCELLED);
    assert_int_equal(st.attempt, 0);
    assert_int_equal(st.ended_usec, 5);
}

/* What the code of an end is does not follow from the result. */
static void codes(void **state)
{
    (void)state;
    struct job_event seen[] = {
        EXITED(JOB_RESULT_SUCCESS, 0, NULL),
        EXITED(JOB_RESULT_EXIT, 9, NULL),
        EXITED(JOB_RESULT_SIGNAL, SIGKILL, NULL),
    };
    static const enum job_code is[] = {JOB_CODE_STATUS, JOB_CODE_STATUS, JOB_CODE_SIGNAL};
    struct job_event asked[] = {TIMEOUT, OUTPUT_LIMIT, CANCEL};
    static const enum job_result result[] = {JOB_RESULT_TIMEOUT, JOB_RESULT_OUTPUT_LIMIT,
                                             JOB_RESULT_CANCELLED};

    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            struct job_status st = FOLD(STARTING, STARTED, asked[j], seen[i]);
            struct job_end end = job_end_of(&st);

            assert_int_equal(end.result, result[j]);
            assert_int_equal(end.code_is, is[i]);
            assert_int_equal(end.code, seen[i].code);
            assert_int_equal(end.exit_code, job_exit_code(&st));
        }

    /* One that never began, or has no process, has exited with nothing. */
    struct job_status st = FOLD(STARTING, CANCEL, EXITED(JOB_RESULT_SUCCESS, 0, NULL));
    assert_int_equal(st.code_is, JOB_CODE_NONE);
    st = FOLD(CANCEL);
    assert_int_equal(st.code_is, JOB_CODE_NONE);
    st = FOLD(STARTING, STARTED, EXITED(JOB_RESULT_LOST, 0, NULL));
    assert_int_equal(st.code_is, JOB_CODE_NONE);
    st = FOLD(STARTING, EXITED(JOB_RESULT_EXEC_FAILED, ENOENT, "exec"));
    assert_int_equal(st.code_is, JOB_CODE_ERROR);
    st = FOLD(STARTING, STARTED);
    assert_int_equal(job_end_of(&st).result, JOB_RESULT_NONE);
    assert_int_equal(job_end_of(&st).exit_code, 0);
}

/* Events that carry nonsense change nothing. */
static void refused_contents(void **state)
{
    (void)state;
    struct job_status st = FOLD(STARTING, STARTED);
    struct job_status before = st;
    struct job_event ev = EXITED(JOB_RESULT_CANCELLED, 0, NULL);

    assert_int_equal(job_update(&st, &ev), -EPROTO); /* policy's word, not a process's */
    ev.result = JOB_RESULT_NONE;
    assert_int_equal(job_update(&st, &ev), -EPROTO);
    ev.type = JOB_EV_COUNT;
    assert_int_equal(job_update(&st, &ev), -EPROTO);
    assert_memory_equal(&st, &before, sizeof(st));

    st = fold(NULL, 0);
    ev = (struct job_event){.type = JOB_EV_STARTING, .attempt = 2};
    assert_int_equal(job_update(&st, &ev), -EPROTO); /* attempts count from 1 */
    ev.attempt = 0;
    assert_int_equal(job_update(&st, &ev), -EPROTO);
}

static void exit_codes(void **state)
{
    (void)state;
    static const struct {
        struct job_status st;
        int code;
    } cases[] = {
        {{.result = JOB_RESULT_SUCCESS}, 0},
        {{.result = JOB_RESULT_EXIT, .code = 7}, 7},
        {{.result = JOB_RESULT_SIGNAL, .code = SIGKILL}, 137},
        {{.result = JOB_RESULT_OOM, .code = SIGKILL}, 137},
        {{.result = JOB_RESULT_TIMEOUT, .code = SIGTERM}, 124},
        {{.result = JOB_RESULT_OUTPUT_LIMIT, .code = SIGKILL}, 125},
        {{.result = JOB_RESULT_EXEC_FAILED, .code = ENOENT, .step = "exec"}, 127},
        {{.result = JOB_RESULT_EXEC_FAILED, .code = EACCES, .step = "exec"}, 126},
        {{.result = JOB_RESULT_EXEC_FAILED, .code = ENOENT, .step = "chdir"}, 125},
        {{.result = JOB_RESULT_EXEC_FAILED, .code = ENOENT}, 125},
        {{.result = JOB_RESULT_CANCELLED}, 125},
        {{.result = JOB_RESULT_LOST}, 125},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(job_exit_code(&cases[i].st), cases[i].code);
}

static void names(void **state)
{
    (void)state;
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        assert_non_null(job_state_name((enum job_state)s));
    for (int r = 0; r < JOB_RESULT_COUNT; r++)
        assert_non_null(job_result_name((enum job_result)r));
    assert_null(job_state_names[JOB_STATE_COUNT]);
    assert_null(job_result_names[JOB_RESULT_COUNT]);
    assert_string_equal(job_state_name(JOB_DONE), "done");
    assert_string_equal(job_result_name(JOB_RESULT_OUTPUT_LIMIT), "output_limit");
    assert_string_equal(job_event_name(JOB_EV_EXITED), "exited");
    assert_string_equal(job_wait_name(JOB_WAIT_SLOT), "slot");
    assert_string_equal(job_wait_name(JOB_WAIT_ARRAY), "array");
    assert_string_equal(job_wait_name(JOB_WAIT_PAUSED), "paused");
    assert_string_equal(job_wait_name(JOB_WAIT_KEEPER), "keeper");
    assert_null(job_wait_name(JOB_WAIT_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_base_stands_for_what_was_before),
        cmocka_unit_test(edits_add_up),
        cmocka_unit_test(table_row_by_row),
        cmocka_unit_test(pauses_add_up),
        cmocka_unit_test(what_stops_it_ends_the_pause),
        cmocka_unit_test(news_of_others),
        cmocka_unit_test(lost_attempts),
        cmocka_unit_test(deferred),
        cmocka_unit_test(held_until_released),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(codes),
        cmocka_unit_test(refused_contents),
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
