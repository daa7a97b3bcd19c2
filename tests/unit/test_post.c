/* core_post(), row by row: each event in each state, of kinds with and without a process,
 * in a store that takes facts and in one that refuses them. When an event counts is
 * written down here a second time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"
#include "daemon/store/fact.h"

/* --- a store that remembers what is appended, or refuses it ------------------------- */

#define FACTS_MAX 4

static struct {
    struct store store;
    bool refuses;
    unsigned appends;
    size_t n; /* of the latest append: events, ... */
    enum job_event_type type[FACTS_MAX];
    struct store_fact_event fact[FACTS_MAX];
    uint8_t kept[FACTS_MAX];
    const struct store_piece *output; /* ... and what came with the last of them */
    bool last;
} told;

static void note(const struct store_fact *f)
{
    switch (f->type) {
    case STORE_EVENT:
        assert_true(told.n < FACTS_MAX);
        assert_null(told.output);
        assert_false(told.last);
        told.type[told.n] = f->event.event->type;
        told.kept[told.n] = f->event.event->kept;
        told.fact[told.n++] = f->event;
        return;
    case STORE_OUTPUT:
        told.output = f->output.piece;
        return;
    case STORE_LAST:
        assert_int_equal(f->last.id, 7);
        told.last = true;
        return;
    case STORE_SUBMIT:
    case STORE_ARRAY_END:
    case STORE_NEWS:
        break;
    }
    fail_msg("a fact of type %d", f->type);
}

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  store_fill_fn *fill, void *arg, struct store_commit *commit)
{
    (void)s;
    (void)fill;
    (void)arg;
    (void)commit;
    if (told.refuses)
        return -ENOMEM;
    told.appends++;
    told.n = 0;
    told.output = NULL;
    told.last = false;
    for (size_t i = 0; i < n; i++)
        note(&facts[i]);
    return 0;
}

static const struct store_log_ops taking = {.append = append};

/* --- a job in some state, with its work --------------------------------------------- */

static struct manager m;
static struct job job;
static struct work work;
static struct output_end printed;

static void begin(enum job_kind kind, enum job_state state, bool refuses)
{
    memset(&told, 0, sizeof(told));
    told.store.log = &taking;
    told.refuses = refuses;
    users_fini(&m.users);
    m = (struct manager){.lock = PTHREAD_MUTEX_INITIALIZER, .store = &told.store};
    queue_init(&m.queue, 1);
    event_ring_init(&m.ring, 0);
    work = (struct work){.manager = &m, .job = &job, .offset = NO_OFFSET};
    work.kept_starting = kind == JOB_KIND_EXEC && state != JOB_QUEUED;
    job = (struct job){.id = 7, .kind = (uint8_t)kind, .live = &work};
    job.status = (struct job_status){
        .state = (uint8_t)state, .submitted_usec = 1, .attempt = state != JOB_QUEUED};
    if (state == JOB_RUNNING || state == JOB_STOPPING)
        job.status.started_usec = 2;
    m.counts.by_state[state] = 1;
    struct user *user = users_get(&m.users, job.owner.uid);
    assert_non_null(user);
    users_add(&m.users, user, 3, 0);
}

static struct job_event event_of(enum job_event_type type)
{
    struct job_event ev = {.type = type, .at_usec = 9, .result = JOB_RESULT_SUCCESS};

    if (type == JOB_EV_STARTING)
        ev.attempt = job.status.attempt + 1;
    return ev;
}

static int post(const struct job_event *ev)
{
    struct tx tx;

    tx_init(&tx, &m);
    return core_post(&tx, &job, NO_OFFSET, ev);
}

static int settle(const struct job_event *ev)
{
    struct tx tx;

    tx_init(&tx, &m);
    return core_settle(&tx, &job, NO_OFFSET, ev);
}

enum counts { NEVER, NOW, OWED, AT_COMMIT };

static enum counts counts_of(enum job_kind kind, enum job_event_type type)
{
    switch (type) {
    case JOB_EV_SUBMIT: /* is committed before there is a job */
    case JOB_EV_COUNT:
        return NEVER;
    case JOB_EV_STARTING:
        return kind == JOB_KIND_EXEC ? NOW : OWED;
    case JOB_EV_STARTED:
        return OWED;
    case JOB_EV_EXITED:
        return AT_COMMIT;
    case JOB_EV_TIMEOUT:
    case JOB_EV_CANCEL:
    case JOB_EV_OUTPUT_LIMIT:
    case JOB_EV_DEFERRED:
        break;
    }
    return NOW;
}

/* What an append holds: what was owed, in its order, then the event. */
static void check_facts(const struct job_status *before, const struct job_event *ev,
                        bool owed_starting, bool owed_started)
{
    size_t n = 0;

    if (owed_starting)
        assert_int_equal(told.type[n++], JOB_EV_STARTING);
    if (owed_started)
        assert_int_equal(told.type[n++], JOB_EV_STARTED);
    assert_int_equal(told.type[n], ev->type);
    assert_int_equal(told.n, n + 1);
    assert_int_equal(told.appends, 1);
    assert_int_equal(told.fact[n].after.state,
                     job_event_rows[ev->type].next[before->state]);
    assert_int_equal(told.last, told.fact[n].after.state == JOB_DONE);
    if (n)
        assert_int_equal(told.fact[0].after.state, owed_starting ? JOB_STARTING
                                                   : before->state == JOB_STOPPING
                                                       ? JOB_STOPPING
                                                       : JOB_RUNNING);
}

static void check_post(enum job_kind kind, enum job_state state, enum job_event_type type,
                       bool refuses)
{
    begin(kind, state, refuses);
    const struct job_event ev = event_of(type);
    const struct job_status before = job.status;
    const struct work had = work;
    int next = job_event_rows[type].next[state];
    enum counts counts = next == JOB_EVENT_NO ? NEVER : counts_of(kind, type);
    bool appends = !refuses && (counts == NOW || counts == AT_COMMIT);
    bool changes = counts == OWED || (counts == NOW && !refuses);
    int r = post(&ev);

    assert_int_equal(r, counts == NEVER             ? -EPROTO
                        : refuses && counts != OWED ? -ENOMEM
                                                    : 0);
    assert_int_equal(job.status.state, changes ? next : (int)state);
    if (!changes)
        assert_memory_equal(&job.status, &before, sizeof(before));
    assert_int_equal(m.counts.by_state[job.status.state], 1);
    assert_int_equal(m.ring.seq, changes); /* news of it, or none */
    if (!appends) {
        assert_int_equal(told.appends, 0);
        if (counts != OWED)
            assert_int_equal(work.kept_started, had.kept_started); /* is owed still */
    } else {
        bool attempt = state != JOB_QUEUED;

        check_facts(&before, &ev, attempt && !had.kept_starting,
                    attempt && before.started_usec);
    }
    if (job_event_rows[type].awaited && counts != OWED)
        assert_int_equal(work.leaf.commit.status, r);
    assert_int_equal(work.ending, counts == AT_COMMIT);
    if (counts != AT_COMMIT || refuses)
        return;
    assert_int_equal(settle(&ev), 0);
    assert_int_equal(job.status.state, next);
}

static void each_event_in_each_state(void **state)
{
    static const enum job_kind kinds[] = {JOB_KIND_EXEC, JOB_KIND_SLEEP};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int s = 0; s < JOB_STATE_COUNT; s++)
            for (int t = 0; t < JOB_EV_COUNT; t++) {
                check_post(kinds[k], (enum job_state)s, (enum job_event_type)t, false);
                check_post(kinds[k], (enum job_state)s, (enum job_event_type)t, true);
            }
}

/* The kinds that begin anew owe all of their start until the end. */
static void what_is_owed_comes_first(void **state)
{
    struct job_event starting, started = {.type = JOB_EV_STARTED, .at_usec = 5};

    (void)state;
    begin(JOB_KIND_NOOP, JOB_QUEUED, false);
    starting = event_of(JOB_EV_STARTING);
    assert_int_equal(post(&starting), 0);
    assert_int_equal(post(&started), 0);
    assert_int_equal(told.appends, 0);
    const struct job_event exited = event_of(JOB_EV_EXITED);
    assert_int_equal(post(&exited), 0);
    assert_int_equal(told.n, 3);
    assert_int_equal(told.type[0], JOB_EV_STARTING);
    assert_int_equal(told.type[1], JOB_EV_STARTED);
    assert_int_equal(told.type[2], JOB_EV_EXITED);
    assert_true(told.last);
}

/* A watcher does not wait for the end to hear of the start. */
static void a_watched_start_is_appended_at_once(void **state)
{
    const struct job_event started = {.type = JOB_EV_STARTED, .at_usec = 5};

    (void)state;
    begin(JOB_KIND_SLEEP, JOB_STARTING, true);
    m.watchers = 1;
    assert_int_equal(post(&started), 0); /* no memory: it is owed still */
    assert_int_equal(job.status.state, JOB_RUNNING);
    told.refuses = false;
    const struct job_event cancel = event_of(JOB_EV_CANCEL);
    assert_int_equal(post(&cancel), 0);
    assert_int_equal(told.n, 3);
    begin(JOB_KIND_SLEEP, JOB_STARTING, false);
    m.watchers = 1;
    assert_int_equal(post(&started), 0);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.type[1], JOB_EV_STARTED);
    assert_int_equal(told.fact[1].after.state, JOB_RUNNING);
}

/* It counts at once, so that a cancel behind it is one of a queued job. */
static void a_lost_attempt_before_another_counts_now(void **state)
{
    (void)state;
    for (int refuses = 0; refuses < 2; refuses++) {
        begin(JOB_KIND_EXEC, JOB_RUNNING, refuses);
        job.status.retry_lost = true;
        work.printed = &printed;
        struct job_event lost = event_of(JOB_EV_EXITED);
        lost.result = JOB_RESULT_LOST;
        lost.kept = 3;
        assert_int_equal(post(&lost), refuses ? -ENOMEM : 0);
        assert_true(work.again);
        assert_false(work.ending);
        assert_int_equal(job.status.state, refuses ? JOB_RUNNING : JOB_QUEUED);
        if (refuses)
            continue;
        assert_int_equal(told.type[1], JOB_EV_EXITED);
        assert_int_equal(told.fact[1].after.end.result, JOB_RESULT_LOST);
        assert_false(told.last);
        assert_null(told.output); /* it is the next attempt's to bring */
        assert_int_equal(told.kept[1], 0);
        assert_false(work.kept_starting);
        const struct job_event cancel = event_of(JOB_EV_CANCEL);
        assert_int_equal(post(&cancel), 0);
        assert_int_equal(told.n, 1); /* of the next attempt nothing is owed */
        assert_true(told.last);
    }
}

static void an_end_brings_its_output(void **state)
{
    (void)state;
    begin(JOB_KIND_EXEC, JOB_RUNNING, false);
    work.printed = &printed;
    struct job_event exited = event_of(JOB_EV_EXITED);
    exited.kept = JOB_KEPT_STORE(JOB_STDOUT);
    assert_int_equal(post(&exited), 0);
    assert_ptr_equal(told.output, printed.piece);
    assert_int_equal(told.kept[1], exited.kept);
}

static void a_deferred_attempt_is_told_with_its_number(void **state)
{
    (void)state;
    begin(JOB_KIND_EXEC, JOB_STARTING, false);
    const struct job_event deferred = event_of(JOB_EV_DEFERRED);
    assert_int_equal(post(&deferred), 0);
    assert_int_equal(told.fact[0].key.attempt, 1);
    assert_int_equal(job.status.attempt, 0);
    assert_false(work.kept_starting);
}

/* Its elements that have begun are posted to one by one. */
static void an_array_takes_one_cancel(void **state)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT, .at_usec = 1};
    struct job_spec spec = {.is_array = true, .array_last = 2};

    (void)state;
    for (int refuses = 0; refuses < 2; refuses++) {
        begin(JOB_KIND_NOOP, JOB_QUEUED, refuses);
        job.spec = &spec;
        job.array = array_new(3);
        assert_non_null(job.array);
        m.counts.by_state[JOB_QUEUED] = 3;
        assert_int_equal(settle(&submit), 0);
        const struct job_event cancel = event_of(JOB_EV_CANCEL);
        assert_int_equal(post(&cancel), refuses ? -ENOMEM : 0);
        assert_int_equal(array_done(job.array), !refuses);
        assert_int_equal(m.counts.by_state[JOB_DONE], refuses ? 0 : 3);
        if (!refuses) {
            assert_int_equal(told.fact[0].after.state, JOB_STOPPING);
            assert_false(told.last); /* that is told when its last task goes */
            assert_int_equal(post(&cancel), -EPROTO);
        }
        array_free(job.array);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_in_each_state),
        cmocka_unit_test(what_is_owed_comes_first),
        cmocka_unit_test(a_watched_start_is_appended_at_once),
        cmocka_unit_test(a_lost_attempt_before_another_counts_now),
        cmocka_unit_test(an_end_brings_its_output),
        cmocka_unit_test(a_deferred_attempt_is_told_with_its_number),
        cmocka_unit_test(an_array_takes_one_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
