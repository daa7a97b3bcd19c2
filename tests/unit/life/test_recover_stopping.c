/* Recovery of arrays that are stopping: what an earlier voltd had not come to of a cancel
 * that it had begun is cancelled, and nothing of such an array begins. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/core/agenda.h"
#include "daemon/core/state.h"
#include "daemon/dispatch/dispatcher.h"
#include "daemon/dispatch/grant.h"
#include "daemon/keeper/record.h"
#include "daemon/life/life.h"
#include "daemon/life/recover.h"
#include "daemon/life/state.h"
#include "daemon/query/query.h"
#include "daemon/run/state.h"
#include "daemon/run/work.h"
#include "daemon/steer/steer.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "tests/support/replay.h"

#define HOUR UINT64_C(3600000000)
#define ID   7

/* --- what an earlier voltd has left --------------------------------------------------- */

static const struct job_event starting = {
    .type = JOB_EV_STARTING, .at_usec = 200, .attempt = 1};
static const struct job_event deferred = {.type = JOB_EV_DEFERRED, .at_usec = 201};
static const struct job_event started = {
    .type = JOB_EV_STARTED, .at_usec = 201, .pid = 7};
static const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 202};
static const struct job_event exited = {
    .type = JOB_EV_EXITED, .at_usec = 203, .result = JOB_RESULT_EXIT, .code = 5};

static void put(struct store *s, int64_t index, const struct job_event *ev)
{
    const struct store_fact fact = fact_event(ID, index, ev);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

/* So many elements, from 0 on. */
static void submit(struct store *s, enum job_kind kind, uint64_t elements)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = kind;
    if (kind == JOB_KIND_SLEEP) {
        spec->duration_usec = HOUR;
    } else {
        spec->argv = calloc(2, sizeof(*spec->argv));
        spec->argv[0] = strdup("/bin/true");
        spec->retry_times = 3;
        spec->backoff_usec = HOUR;
    }
    spec->is_array = true;
    spec->array_last = elements - 1;
    const struct store_fact fact = fact_submit(ID, 100, spec);
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    job_spec_unref(spec);
}

/* Of its five elements one backs off, one is starting, one runs, one waits anew, and one
 * has never begun. how: of the array, or NULL. */
static void leave(const struct job_event *how)
{
    struct job_event again = exited;
    struct store *s = replay_store(0);

    again.again = true;
    again.wait_usec = HOUR;
    again.at_usec = jobs_now_usec();
    submit(s, JOB_KIND_EXEC, 5);
    if (how)
        put(s, JOB_NO_INDEX, how);
    put(s, 0, &starting);
    put(s, 0, &started);
    put(s, 0, &again);
    put(s, 1, &starting);
    put(s, 2, &starting);
    put(s, 2, &started);
    put(s, 3, &starting);
    put(s, 3, &deferred);
    store_free(s);
}

/* --- the next voltd ------------------------------------------------------------------- */

static struct job *load(struct core *core)
{
    replay_load(core);
    return table_get(&core->table, ID);
}

static void dispatch(struct core *core)
{
    struct tx tx;

    tx_init(&tx, core);
    core->held = (struct quota){0};
    dispatcher_run(&tx);
    core->held = (struct quota){0};
    tx_carry_out(&tx);
}

static void check(const struct job *job, int64_t offset, enum job_state state,
                  enum job_result result)
{
    const struct job_status st = array_element(job->array, offset);

    assert_int_equal(st.state, state);
    assert_int_equal(st.result, result);
    assert_true(st.cancel_asked);
}

static void check_cancelled(const struct job *job)
{
    check(job, 0, JOB_DONE, JOB_RESULT_CANCELLED);
    check(job, 1, JOB_STOPPING, JOB_RESULT_NONE);
    check(job, 2, JOB_STOPPING, JOB_RESULT_NONE);
    check(job, 3, JOB_DONE, JOB_RESULT_CANCELLED);
    check(job, 4, JOB_DONE, JOB_RESULT_CANCELLED);
    assert_int_equal(jobs_status(job, 0)->attempt, 1);
}

static void a_cancel_goes_on(void **state)
{
    struct core core;

    (void)state;
    leave(&cancel);
    struct job *job = load(&core);
    assert_int_equal(job->array->by_state[JOB_QUEUED], 2);
    assert_ptr_equal(core.agenda.first, job);
    dispatch(&core);
    assert_null(core.agenda.first);
    check_cancelled(job);
    replay_unload(&core);
    check_cancelled(load(&core)); /* it is durable */
    replay_unload(&core);
}

/* Neither one that is not cancelled is, nor one of which all has ended. */
static void what_is_not_stopping_is_left_alone(void **state)
{
    struct core core;

    (void)state;
    leave(NULL);
    (void)load(&core);
    assert_null(core.agenda.first);
    replay_unload(&core);
    struct store *s = replay_store(0);
    put(s, JOB_NO_INDEX, &cancel);
    put(s, 0, &cancel);
    put(s, 1, &exited);
    put(s, 2, &exited);
    put(s, 3, &cancel);
    store_free(s);
    assert_true(jobs_done(load(&core)));
    assert_null(core.agenda.first);
    replay_unload(&core);
}

/* A slot comes to an element that waits, before it is ended by its array's: it ends as
 * that has. */
static void nothing_of_it_begins(void **state)
{
    static const struct {
        struct job_event how;
        enum job_result as;
    } cases[] = {
        {{.type = JOB_EV_CANCEL, .at_usec = 202}, JOB_RESULT_CANCELLED},
        {{.type = JOB_EV_EXPIRED, .at_usec = 202}, JOB_RESULT_EXPIRED},
        {{.type = JOB_EV_DEPENDENCY,
          .at_usec = 202,
          .antecedent = 3,
          .result = JOB_RESULT_EXIT},
         JOB_RESULT_DEPENDENCY},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct core core;
        struct tx tx;

        assert_true(i == 0 || (replay_teardown(state) == 0 && replay_setup(state) == 0));
        leave(&cases[i].how);
        struct job *job = load(&core);
        assert_int_equal(core.agenda.first == job, cases[i].as == JOB_RESULT_CANCELLED);
        struct work *w = elements_work(job->elements, 3);
        core.closed = false;
        tx_init(&tx, &core);
        grant_take(&core, w);
        assert_int_equal(work_take_turn(NULL, w, 300, &tx), 1);
        assert_int_equal(jobs_status(job, 3)->result, cases[i].as);
        assert_int_equal(jobs_status(job, 3)->attempt, 0);
        assert_int_equal(jobs_status(job, 3)->ended_usec, 300);
        core.held = (struct quota){0};
        tx_carry_out(&tx);
        work_leaf_fini(w);
        replay_unload(&core);
    }
}

#define MANY 1000

/* The only worker does nothing else between these two. */
static sem_t begun, over;

static enum volt_poll busy_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    (void)sem_post(&begun);
    while (sem_wait(&over) < 0)
        ;
    return VOLT_READY;
}

static const struct volt_task_type busy_type = {"busy", 1, busy_poll, NULL, NULL};

/* By this thread, while the tasks of an earlier voltd's jobs are spawned: whether there is
 * one before all of the agenda is done. */
static _Thread_local struct core *begins;
static bool too_early;

int __real_recover_start(struct core *core);
int __wrap_recover_start(struct core *core);
int __wrap_recover_start(struct core *core)
{
    void *busy = volt_task_new(core->parts.rt, &busy_type);

    assert_non_null(busy);
    assert_int_equal(sem_init(&begun, 0, 0) | sem_init(&over, 0, 0), 0);
    assert_int_equal(volt_task_spawn(busy, NULL), 0);
    while (sem_wait(&begun) < 0)
        ;
    begins = core;
    int r = __real_recover_start(core);
    begins = NULL;
    (void)sem_post(&over);
    return r;
}

int __real_volt_task_spawn(void *state, struct volt_join *ret_join);
int __wrap_volt_task_spawn(void *state, struct volt_join *ret_join);
int __wrap_volt_task_spawn(void *state, struct volt_join *ret_join)
{
    if (begins && begins->parts.life->nresumed &&
        state == begins->parts.life->resumed[0]) {
        core_lock(begins);
        too_early = begins->agenda.first != NULL;
        core_unlock(begins);
    }
    return __real_volt_task_spawn(state, ret_join);
}

/* All of it is done before there is a task that could begin: these would sleep. */
static void many_are_cancelled_before_any_task_runs(void **state)
{
    struct life_options o = {.runtime_dir = replay_dir,
                             .state_dir = replay_dir,
                             .record_dir = replay_records,
                             .socket = "/x"};
    struct volt_error err = {{0}};
    struct core_counts c;
    struct config config;
    struct core *core;

    (void)state;
    struct store *s = replay_store(0);
    submit(s, JOB_KIND_SLEEP, MANY);
    put(s, JOB_NO_INDEX, &cancel);
    for (int64_t i = 0; i < MANY; i++)
        put(s, i, &starting);
    store_free(s);
    config_defaults(&config);
    o.config = &config;
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &o.rt), 0);
    if (life_new(&o, &core, &err) < 0)
        fail_msg("%s", err.text);
    assert_false(too_early);
    query_counts(core, &c);
    assert_int_equal(c.by_state[JOB_STOPPING] + c.by_result[JOB_RESULT_CANCELLED], MANY);
    assert_int_equal(volt_runtime_shutdown(o.rt, UINT64_MAX), 0);
    life_free(core);
    volt_runtime_free(o.rt);
}

/* --- without memory --------------------------------------------------------------------- */

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s, (void)facts, (void)n, (void)commit;
    return -ENOMEM;
}

static void kick(struct store *s, bool patient)
{
    (void)s, (void)patient;
}

static const struct store_log_ops refusing_log = {.append = append, .kick = kick};
static struct store refusing = {.log = &refusing_log};

/* Whoever cancels it is told so, and the dispatcher goes on with the elements. */
static void a_cancel_without_memory_is_left_to_the_dispatcher(void **state)
{
    const struct asker root = auth_voltd();
    struct steer_at at = {.verb = STEER_CANCEL};
    struct core core;

    (void)state;
    leave(NULL);
    struct job *job = load(&core);
    struct store *const store = core.parts.store;
    core.parts.store = &refusing;
    assert_int_equal(steer_step(&core, &root, ID, JOB_NO_INDEX, &at), -ENOMEM);
    assert_null(core.agenda.first); /* nothing has happened */
    core.parts.store = store;
    at = (struct steer_at){.verb = STEER_CANCEL};
    assert_int_equal(steer_step(&core, &root, ID, JOB_NO_INDEX, &at), -EAGAIN);
    assert_null(core.agenda.first);
    core.parts.store = &refusing;
    assert_int_equal(steer_step(&core, &root, ID, JOB_NO_INDEX, &at), -ENOMEM);
    assert_ptr_equal(core.agenda.first, job);
    core.parts.store = store;
    dispatch(&core);
    assert_null(core.agenda.first);
    check_cancelled(job);
    replay_unload(&core);
}

/* --- given up --------------------------------------------------------------------------- */

/* By id, and by filter: between the array and its elements. Nothing is left of other verbs. */
static void a_cancel_that_is_given_up_is_left_to_the_dispatcher(void **state)
{
    const struct asker root = auth_voltd();

    for (int by_filter = 0; by_filter < 2; by_filter++) {
        const struct steer_at none = {.verb = STEER_CANCEL},
                              hold = {.verb = STEER_HOLD, .begun = true};
        struct steer_at at = {.verb = STEER_CANCEL};
        struct core core;

        assert_true(!by_filter ||
                    (replay_teardown(state) == 0 && replay_setup(state) == 0));
        leave(NULL);
        struct job *job = load(&core);
        struct steer_all all = {.core = &core, .asker = root, .nleft = 1, .left = {ID}};
        steer_leave(&core, &root, ID, &none);
        steer_leave(&core, &root, ID, &hold);
        assert_null(core.agenda.first);
        assert_int_equal(steer_step(&core, &root, ID, JOB_NO_INDEX, &at), -EAGAIN);
        assert_null(core.agenda.first);
        if (by_filter)
            steer_all_fini(&all);
        else
            steer_leave(&core, &root, ID, &at);
        assert_ptr_equal(core.agenda.first, job);
        dispatch(&core);
        assert_null(core.agenda.first);
        check_cancelled(job);
        replay_unload(&core);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, replay_setup, replay_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_cancel_goes_on),
        T(what_is_not_stopping_is_left_alone),
        T(nothing_of_it_begins),
        T(many_are_cancelled_before_any_task_runs),
        T(a_cancel_without_memory_is_left_to_the_dispatcher),
        T(a_cancel_that_is_given_up_is_left_to_the_dispatcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
