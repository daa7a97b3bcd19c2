/* Steps of a pause and of its end: of jobs that wait, start, run, are paused, end; of
 * arrays, a portion at a time. What an earlier voltd has left stands for the jobs; no task
 * runs, so the test says when processes stand still. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/state.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/grant.h"
#include "daemon/run/work.h"
#include "daemon/steer/pausing.h"
#include "daemon/steer/steer.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "tests/support/replay.h"
#include "tests/support/unwell.h"

#define ELEMENTS 5
#define BY       1234

static const struct job_event starting = {
    .type = JOB_EV_STARTING, .at_usec = 200, .attempt = 1};
static const struct job_event started = {
    .type = JOB_EV_STARTED, .at_usec = 201, .pid = 7};

static void put(struct store *s, uint64_t id, int64_t index, const struct job_event *ev)
{
    const struct store_fact fact = fact_event(id, index, ev);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

/* elements: of an array from 0 on; 0: one job. */
static void submit(struct store *s, uint64_t id, enum job_kind kind, uint64_t elements)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = kind;
    if (kind == JOB_KIND_EXEC) {
        spec->argv = calloc(2, sizeof(*spec->argv));
        spec->argv[0] = strdup("/bin/true");
    } else {
        spec->duration_usec = UINT64_C(3600000000);
    }
    spec->is_array = elements > 0;
    spec->array_last = elements > 0 ? elements - 1 : 0;
    const struct store_fact fact = fact_submit(id, 100, spec);
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    job_spec_unref(spec);
}

static void run(struct store *s, uint64_t id, int64_t index)
{
    put(s, id, index, &starting);
    put(s, id, index, &started);
}

static struct job *job_of(struct core *core, uint64_t id)
{
    return table_get(parts_of(core)->table, id);
}

/* One hold of the lock, within what is left of the quota. */
static int step_of(struct core *core, uint64_t id, int64_t offset, struct pausing *p,
                   struct quota quota)
{
    struct tx tx;

    tx_init(&tx, core);
    core_charge(core, &quota);
    int r = pausing_step(&tx, job_of(core, id), offset, p);
    core_charge(core, NULL);
    *parts_of(core)->held = (struct quota){0};
    tx_carry_out(&tx);
    return r;
}

static int step(struct core *core, uint64_t id, int64_t offset, struct pausing *p)
{
    return step_of(core, id, offset, p, (struct quota){0});
}

static struct pausing to_pause(void)
{
    return (struct pausing){.on = true, .by = BY};
}

static struct pausing to_resume(void)
{
    return (struct pausing){.by = BY};
}

/* Job 1 runs, 2 waits, 3 starts, 4 is a sleep that runs. */
static void load_four(struct core *core)
{
    struct store *s = replay_store(0);

    submit(s, 1, JOB_KIND_EXEC, 0);
    run(s, 1, JOB_NO_INDEX);
    submit(s, 2, JOB_KIND_EXEC, 0);
    submit(s, 3, JOB_KIND_EXEC, 0);
    put(s, 3, JOB_NO_INDEX, &starting);
    submit(s, 4, JOB_KIND_SLEEP, 0);
    run(s, 4, JOB_NO_INDEX);
    store_free(s);
    replay_load(core);
}

static void a_step_is_due_until_its_processes_stand_still(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;

    (void)state;
    load_four(&core);
    struct work *w = job_of(&core, 1)->live;
    const struct job_status *st = &job_of(&core, 1)->status;
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -ESRCH);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    assert_int_equal(st->state, JOB_PAUSED);
    assert_true(on.any && on.rests);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    w->halted = true;
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), 0);
    on = to_pause(); /* another one finds it so */
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), 0);
    assert_true(on.any);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    assert_int_equal(st->state, JOB_RUNNING);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    w->halted = false;
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), 0);
    replay_unload(&core);
}

/* It was paused, and another one has resumed it since: it is not paused again. */
static void what_was_undone_is_not_done_again(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;

    (void)state;
    load_four(&core);
    const struct job_status *st = &job_of(&core, 1)->status;
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), 0);
    assert_int_equal(st->state, JOB_RUNNING);
    on = to_pause();
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), 0);
    assert_int_equal(st->state, JOB_PAUSED);
    replay_unload(&core);
}

/* Its end follows its resume at once: the request was fulfilled, and the next job's turn
 * comes. */
static void what_ends_as_soon_as_it_goes_on_was_resumed(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;

    (void)state;
    load_four(&core);
    struct work *w = job_of(&core, 1)->live;
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    w->ending = true;
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), 0);
    off = to_resume(); /* another one comes too late */
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EALREADY);
    replay_unload(&core);
}

/* By the time of the next step the job is no longer in memory. */
static void what_is_purged_as_soon_as_it_goes_on_was_resumed(void **state)
{
    const struct asker asker = {.who = {0}};
    struct steer_at at = {.verb = STEER_RESUME, .begun = true};
    struct core core;

    (void)state;
    load_four(&core);
    assert_int_equal(steer_step(&core, &asker, 99, JOB_NO_INDEX, &at), -ENOENT);
    at.pausing.any = true;
    assert_int_equal(steer_step(&core, &asker, 99, JOB_NO_INDEX, &at), 0);
    replay_unload(&core);
}

static void what_does_not_run_says_why(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;

    (void)state;
    load_four(&core);
    assert_int_equal(step(&core, 2, NO_OFFSET, &on), -EBUSY);
    assert_int_equal(step(&core, 2, NO_OFFSET, &off), -ESRCH);
    assert_int_equal(step(&core, 3, NO_OFFSET, &on), -EBUSY); /* it has no slot */
    assert_int_equal(step(&core, 4, NO_OFFSET, &on), -EOPNOTSUPP);
    assert_int_equal(step(&core, 4, NO_OFFSET, &off), -EOPNOTSUPP);
    grant_take(&core, job_of(&core, 3)->live); /* it runs in a moment */
    assert_int_equal(step(&core, 3, NO_OFFSET, &on), -EAGAIN);
    assert_int_equal(step(&core, 3, NO_OFFSET, &off), -ESRCH);
    assert_false(on.any || off.any);
    job_of(&core, 1)->live->ending = true;
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EALREADY);
    replay_unload(&core);
}

/* The fact says by whom; it is in the store. */
static int find_pause(void *arg, const struct store_loaded *loaded)
{
    unsigned *n = arg;

    if (loaded->type == STORE_LOADED_EVENT && loaded->event.event->type == JOB_EV_PAUSE) {
        assert_int_equal(loaded->event.event->by, BY);
        ++*n;
    }
    return 0;
}

/* Array 1: element 0 waits, the others run. */
static void load_array(struct core *core)
{
    struct store *s = replay_store(0);

    submit(s, 1, JOB_KIND_EXEC, ELEMENTS);
    for (int64_t i = 1; i < ELEMENTS; i++)
        run(s, 1, i);
    store_free(s);
    replay_load(core);
}

static unsigned paused(struct core *core)
{
    return (unsigned)job_of(core, 1)->array->by_state[JOB_PAUSED];
}

static void halt(struct core *core, int64_t from, int64_t to, bool halted)
{
    for (int64_t i = from; i < to; i++)
        jobs_live(job_of(core, 1), i)->halted = halted;
}

static void an_array_is_paused_where_it_runs(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;
    unsigned n = 0;

    (void)state;
    load_array(&core);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -ESRCH);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN);
    assert_true(on.rests);
    assert_int_equal(paused(&core), ELEMENTS - 1);
    halt(&core, 1, ELEMENTS - 1, true);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EAGAIN); /* the last runs still */
    halt(&core, ELEMENTS - 1, ELEMENTS, true);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), 0);
    off = to_resume();
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    assert_int_equal(paused(&core), 0);
    halt(&core, 1, ELEMENTS, false);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), 0);
    replay_unload(&core);
    struct store *s;
    struct volt_error err;
    const struct store_sqlite_options o = {.dir = replay_dir};
    assert_int_equal(store_sqlite_open(&o, &s, &err), 0);
    assert_int_equal(store_load(s, find_pause, &n, &err), 0);
    store_free(s);
    assert_int_equal(n, ELEMENTS - 1);
}

static void nothing_of_an_array_runs(void **state)
{
    struct pausing on = to_pause();
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit(s, 1, JOB_KIND_EXEC, ELEMENTS);
    store_free(s);
    replay_load(&core);
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EBUSY);
    assert_int_equal(step(&core, 1, 2, &on), -EBUSY);
    replay_unload(&core);
}

/* So many elements are looked at in a step, and so many facts appended. */
static void an_array_is_paused_in_portions(void **state)
{
    const struct quota two = {.entries = QUOTA_ENTRIES - 2};
    struct pausing on = to_pause();
    struct core core;

    (void)state;
    load_array(&core);
    for (unsigned i = 1; i < ELEMENTS / 2 + 1; i++) {
        assert_int_equal(step_of(&core, 1, NO_OFFSET, &on, two), -EAGAIN);
        assert_false(on.rests);
        assert_int_equal(paused(&core), 2 * i);
    }
    replay_unload(&core);
    assert_int_equal(replay_teardown(state), 0);
    assert_int_equal(replay_setup(state), 0);
    load_array(&core);
    on = to_pause();
    const struct quota three = {.facts = QUOTA_FACTS - 3};
    assert_int_equal(step_of(&core, 1, NO_OFFSET, &on, three), -EAGAIN);
    assert_false(on.rests);
    assert_in_range(paused(&core), 1, 3);
    replay_unload(&core);
}

/* Of an array what is paused already is so. */
static void a_full_store_takes_resumes_only(void **state)
{
    struct pausing on = to_pause(), off = to_resume();
    struct core core;

    (void)state;
    load_array(&core);
    unwell_put(parts_of(&core)->store);
    const struct quota one = {.facts = QUOTA_FACTS - 1};
    assert_int_equal(step_of(&core, 1, NO_OFFSET, &on, one), -EAGAIN);
    const size_t before = paused(&core);
    unwell.full = true;
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -ENOSPC);
    unwell = (struct store_health){.failing = true};
    assert_int_equal(step(&core, 1, NO_OFFSET, &on), -EIO);
    assert_int_equal(paused(&core), before);
    assert_int_equal(step(&core, 1, NO_OFFSET, &off), -EAGAIN);
    assert_int_equal(paused(&core), 0);
    replay_unload(&core);
}

#define T(f) cmocka_unit_test_setup_teardown(f, replay_setup, replay_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_step_is_due_until_its_processes_stand_still),
        T(what_was_undone_is_not_done_again),
        T(what_ends_as_soon_as_it_goes_on_was_resumed),
        T(what_is_purged_as_soon_as_it_goes_on_was_resumed),
        T(what_does_not_run_says_why),
        T(an_array_is_paused_where_it_runs),
        T(nothing_of_an_array_runs),
        T(an_array_is_paused_in_portions),
        T(a_full_store_takes_resumes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
