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

#include "daemon/core/cancel.h"
#include "daemon/core/state.h"
#include "daemon/core/post.h"
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
    uint64_t at[FACTS_MAX];
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
        told.at[told.n] = f->event.event->at_usec;
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
    case STORE_RESOURCE:
    case STORE_QUEUE:
    case STORE_KEY:
        break;
    }
    fail_msg("a fact of type %d", f->type);
}

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s;
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

static struct core core;
static struct job job;
static struct work work;
static struct output_end printed;

static void begin(enum job_kind kind, enum job_state state, bool refuses)
{
    memset(&told, 0, sizeof(told));
    told.store.log = &taking;
    told.refuses = refuses;
    users_fini(&core.users);
    event_log_free(core.parts.log);
    admission_free(core.parts.admit);
    memset(&core, 0, sizeof(core));
    core_init(&core, NULL, NULL, &(struct siphash_key){0});
    core.parts.store = &told.store;
    core.parts.admit = admission_new(&(struct siphash_key){1, 2}, 1);
    assert_non_null(core.parts.admit);
    core.parts.log = event_log_new();
    assert_non_null(core.parts.log);
    event_ring_init(&core.ring, 0);
    work = (struct work){.core = &core, .job = &job, .offset = NO_OFFSET};
    work.kept_starting = kind == JOB_KIND_EXEC && state != JOB_QUEUED;
    job = (struct job){.id = 7, .kind = (uint8_t)kind, .live = &work};
    job.status = (struct job_status){
        .state = (uint8_t)state, .submitted_usec = 1, .attempt = state != JOB_QUEUED};
    if (state == JOB_RUNNING || state == JOB_PAUSED || state == JOB_STOPPING)
        job.status.started_usec = 2;
    core.counts.by_state[state] = 1;
    struct user *user = users_get(&core.users, job.owner.uid);
    assert_non_null(user);
    users_add(&core.users, user, 3, 0);
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

    tx_init(&tx, &core);
    return core_post(&tx, &job, NO_OFFSET, ev);
}

static int settle(const struct job_event *ev)
{
    struct tx tx;

    tx_init(&tx, &core);
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
    case JOB_EV_HOLD:
    case JOB_EV_RELEASE:
    case JOB_EV_EXPIRED:
    case JOB_EV_DEPENDENCY:
    case JOB_EV_MET:
    case JOB_EV_PAUSE:
    case JOB_EV_RESUME:
    case JOB_EV_EDIT:
        break;
    }
    return NOW;
}

/* What an append holds: what was owed, in its order, then the event. */
static void check_facts(const struct job_status *before, const struct job_event *ev,
                        bool owed_starting, bool owed_started)
{
    size_t n = 0;

    if (owed_starting) {
        assert_true(told.at[0] >= before->submitted_usec); /* also of what never began */
        assert_int_equal(told.type[n++], JOB_EV_STARTING);
    }
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
    job.status.held = type == JOB_EV_RELEASE;
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
    assert_int_equal(core.counts.by_state[job.status.state], 1);
    assert_int_equal(core.ring.seq, changes); /* news of it, or none */
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
/* As voltd ends its tasks go one by one: a cancel of what has none, which would be the first
 * fact of its start, comes too late. */
static void what_is_owed_goes_with_its_task(void **state)
{
    struct tx tx;

    (void)state;
    for (int with = 0; with < 2; with++) {
        begin(JOB_KIND_NOOP, JOB_RUNNING, false);
        core.closed = true;
        job.live = with ? &work : NULL;
        tx_init(&tx, &core);
        assert_int_equal(core_cancel(&tx, &job, NO_OFFSET), with ? 0 : -ESHUTDOWN);
        assert_int_equal(told.n, with ? 3 : 0);
        assert_int_equal(job.status.state, with ? JOB_STOPPING : JOB_RUNNING);
    }
    begin(JOB_KIND_EXEC, JOB_STOPPING, false);
    job.status.cancel_asked = true;
    core.closed = true;
    job.live = NULL;
    tx_init(&tx, &core);
    assert_int_equal(core_cancel(&tx, &job, NO_OFFSET), 0);
}

static void a_watched_start_is_appended_at_once(void **state)
{
    const struct job_event started = {.type = JOB_EV_STARTED, .at_usec = 5};

    (void)state;
    begin(JOB_KIND_SLEEP, JOB_STARTING, true);
    event_log_watch(core.parts.log);
    assert_int_equal(post(&started), 0); /* no memory: it is owed still */
    assert_int_equal(job.status.state, JOB_RUNNING);
    told.refuses = false;
    const struct job_event cancel = event_of(JOB_EV_CANCEL);
    assert_int_equal(post(&cancel), 0);
    assert_int_equal(told.n, 3);
    begin(JOB_KIND_SLEEP, JOB_STARTING, false);
    event_log_watch(core.parts.log);
    assert_int_equal(post(&started), 0);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.type[1], JOB_EV_STARTED);
    assert_int_equal(told.fact[1].after.state, JOB_RUNNING);
    begin(JOB_KIND_NOOP, JOB_STARTING, false); /* it ends in the same section */
    event_log_watch(core.parts.log);
    assert_int_equal(post(&started), 0);
    assert_int_equal(told.appends, 0);
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

static uint64_t read_on_from(void)
{
    return event_log_counted(core.parts.log);
}

/* A watcher that looks at the jobs between the two sees a running one: the log has to
 * tell him of the end. */
static void an_end_is_read_again_until_it_counts(void **state)
{
    const struct job_news news[] = {{.seq = 1}, {.seq = 2}};

    (void)state;
    begin(JOB_KIND_EXEC, JOB_RUNNING, true);
    event_log_put(core.parts.log, &news[0], 1);
    assert_int_equal(read_on_from(), 1);
    const struct job_event exited = event_of(JOB_EV_EXITED);
    assert_int_equal(post(&exited), -ENOMEM);
    told.refuses = false;
    assert_int_equal(post(&exited), 0);
    event_log_put(core.parts.log, &news[1], 1);
    assert_int_equal(job.status.state, JOB_RUNNING);
    assert_int_equal(read_on_from(), 1);
    assert_int_equal(settle(&exited), 0);
    assert_int_equal(read_on_from(), 2);
}

/* One that waits for a slot, with the jobs that start early beside it. */
static void let_one_wait(struct waiter *w)
{
    const struct admission_ask ask = {.slot = true};

    assert_int_equal(admission_assign(core.parts.admit, w, &ask, 8), 0);
    admission_enter(core.parts.admit, w, 0);
}

/* Ends and early starts are committed several at a time while jobs wait for slots; the start
 * of what has a slot is not, as the slot is empty until then. */
static void ends_and_early_starts_are_patient_while_jobs_wait(void **state)
{
    (void)state;
    for (int crowds = 0; crowds < 2; crowds++)
        for (int early = 0; early < 2; early++)
            for (int ends = 0; ends < 2; ends++) {
                struct waiter w = {0};

                begin(JOB_KIND_EXEC, ends ? JOB_RUNNING : JOB_QUEUED, false);
                const struct job_event ev =
                    event_of(ends ? JOB_EV_EXITED : JOB_EV_STARTING);
                work.place = early ? PLACE_EARLY : PLACE_SLOT;
                if (crowds)
                    let_one_wait(&w);
                assert_int_equal(post(&ev), 0);
                assert_int_equal(work.leaf.commit.patient, crowds && (ends || early));
                admission_forget(core.parts.admit, &w);
            }
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
        core.counts.by_state[JOB_QUEUED] = 3;
        assert_int_equal(settle(&submit), 0);
        const struct job_event cancel = event_of(JOB_EV_CANCEL);
        assert_int_equal(post(&cancel), refuses ? -ENOMEM : 0);
        assert_int_equal(array_done(job.array), !refuses);
        assert_int_equal(core.counts.by_state[JOB_DONE], refuses ? 0 : 3);
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
        cmocka_unit_test(what_is_owed_goes_with_its_task),
        cmocka_unit_test(a_watched_start_is_appended_at_once),
        cmocka_unit_test(a_lost_attempt_before_another_counts_now),
        cmocka_unit_test(an_end_brings_its_output),
        cmocka_unit_test(an_end_is_read_again_until_it_counts),
        cmocka_unit_test(ends_and_early_starts_are_patient_while_jobs_wait),
        cmocka_unit_test(a_deferred_attempt_is_told_with_its_number),
        cmocka_unit_test(an_array_takes_one_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
