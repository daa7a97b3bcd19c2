/* Recovery by replay: the state of a store is one state, however often it is read, and it
 * is the state that was; events that cannot have happened are damage. */
#include <errno.h>
#include <fcntl.h>
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

#include "daemon/admit/explain.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/config/config.h"
#include "daemon/core/cancel.h"
#include "daemon/core/agenda.h"
#include "daemon/core/state.h"
#include "daemon/dispatch/dependents.h"
#include "daemon/dispatch/state.h"
#include "daemon/keeper/record.h"
#include "daemon/life/life.h"
#include "daemon/life/recover.h"
#include "daemon/link/record_make.h"
#include "daemon/run/state.h"
#include "daemon/submit/ids.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"
#include "daemon/store/sqlite.h"
#include "tests/support/managed.h"
#include "tests/support/facts.h"
#include "tests/support/replay.h"
#include "tests/support/steering.h"

static struct config config;

static int setup(void **state)
{
    config_defaults(&config);
    return replay_setup(state);
}

/* --- a store written by hand -------------------------------------------------------- */

static void put(struct store *s, uint64_t id, int64_t index, const struct job_event *ev)
{
    const struct store_fact fact = fact_event(id, index, ev);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

static enum job_on_lost on_lost;

/* Takes spec. */
static void submit_spec(struct store *s, uint64_t id, struct job_spec *spec)
{
    struct store_fact fact = fact_submit(id, 100 + id, spec);

    fact.submit.uid = 1000 + (uid_t)id % 3;
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    job_spec_unref(spec);
}

static void submit(struct store *s, uint64_t id, uint64_t array)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = UINT64_C(3600000000);
    spec->on_lost = on_lost;
    spec->is_array = array > 0;
    spec->array_first = 1;
    spec->array_last = array;
    submit_spec(s, id, spec);
}

static void submit_limited(struct store *s, uint64_t id, uint64_t array, uint64_t at_once)
{
    struct job_spec *spec = job_spec_new();

    spec->is_array = array > 0;
    spec->array_first = 1;
    spec->array_last = array;
    spec->at_once = at_once;
    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    spec->on_lost = JOB_ON_LOST_RETRY;
    submit_spec(s, id, spec);
}

static void submit_processes(struct store *s, uint64_t id, uint64_t array)
{
    submit_limited(s, id, array, 0);
}

static const struct job_event starting = {
    .type = JOB_EV_STARTING, .at_usec = 200, .attempt = 1};
static const struct job_event started = {
    .type = JOB_EV_STARTED, .at_usec = 201, .pid = 7};
static const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 202};
static const struct job_event exited = {.type = JOB_EV_EXITED,
                                        .at_usec = 203,
                                        .result = JOB_RESULT_EXIT,
                                        .code = 5,
                                        .usage = {1, 2, 3}};
static const struct job_event lost = {
    .type = JOB_EV_EXITED, .at_usec = 204, .result = JOB_RESULT_LOST, .step = "reboot"};

static void end(struct store *s, uint64_t id, int64_t index, const struct job_event *how)
{
    put(s, id, index, &starting);
    put(s, id, index, &started);
    put(s, id, index, how);
}

/* Lost twice and begun again; of the array one element, too. */
static void fill_retried(struct store *s)
{
    const struct job_event second = {
        .type = JOB_EV_STARTING, .at_usec = 300, .attempt = 2};

    on_lost = JOB_ON_LOST_RETRY;
    submit(s, 7, 0);
    end(s, 7, JOB_NO_INDEX, &lost);
    put(s, 7, JOB_NO_INDEX, &second);
    put(s, 7, JOB_NO_INDEX, &lost);
    submit(s, 8, 2);
    end(s, 8, 1, &lost);
    submit(s, 9, 0);
    end(s, 9, JOB_NO_INDEX, &lost);
    put(s, 9, JOB_NO_INDEX, &second);
    put(s, 9, JOB_NO_INDEX, &exited);
    on_lost = JOB_ON_LOST_FAIL;
}

static void fill(struct store *s)
{
    submit(s, 1, 0);
    end(s, 1, JOB_NO_INDEX, &exited);
    submit(s, 2, 0);
    end(s, 2, JOB_NO_INDEX, &lost);
    submit(s, 3, 0);
    submit(s, 4, 300); /* some of its elements have begun, one was cancelled */
    for (int64_t i = 1; i <= 140; i++)
        end(s, 4, i, i % 2 ? &exited : &lost);
    put(s, 4, 299, &cancel);
    submit(s, 5, 10); /* cancelled as a whole */
    put(s, 5, JOB_NO_INDEX, &cancel);
    submit(s, 6, 0);
    put(s, 6, JOB_NO_INDEX, &cancel);
}

/* --- the live jobs on it ------------------------------------------------------------- */

struct life {
    struct volt_runtime *rt;
    struct core *core;
};

static int begin(struct life *l, struct volt_error *err)
{
    struct life_options o = {.config = &config,
                             .runtime_dir = replay_dir,
                             .state_dir = replay_dir,
                             .record_dir = replay_records,
                             .socket = "/x"};

    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &l->rt), 0);
    o.rt = l->rt;
    return life_new(&o, &l->core, err);
}

static void finish(struct life *l)
{
    assert_int_equal(volt_runtime_shutdown(l->rt, UINT64_MAX), 0);
    life_free(l->core);
    volt_runtime_free(l->rt);
    *l = (struct life){NULL, NULL};
}

static void the_state_is_that_of_the_events(void **state)
{
    const struct asker root = auth_voltd();
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    struct core_counts c;
    struct job_view v;
    struct life l;

    (void)state;
    fill(s);
    store_free(s);
    if (begin(&l, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(query_get(l.core, &root, 1, -1, &v), 0);
    assert_int_equal(v.exit_code, 5);
    assert_int_equal(v.status.usage.max_rss_bytes, 3);
    job_view_fini(&v);
    assert_int_equal(query_get(l.core, &root, 2, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_LOST);
    assert_string_equal(v.status.step, "reboot");
    job_view_fini(&v);
    assert_int_equal(query_get(l.core, &root, 4, -1, &v), 0);
    assert_int_equal(v.total, 300);
    assert_int_equal(v.done, 141);
    assert_int_equal(v.failed, 140); /* the one that was cancelled has not */
    job_view_fini(&v);
    assert_int_equal(query_get(l.core, &root, 5, -1, &v), 0);
    assert_int_equal(v.done, 10);
    assert_int_equal(v.status.result, JOB_RESULT_CANCELLED);
    job_view_fini(&v);
    query_counts(l.core, &c);
    assert_int_equal(c.submitted, 314);
    assert_int_equal(c.ended, 2 + 141 + 10 + 1);
    assert_int_equal(c.recovered_queued, 1 + 159);
    assert_int_equal(c.by_state[JOB_DONE], c.ended);
    assert_int_equal(c.by_result[JOB_RESULT_LOST], 1 + 70);
    finish(&l);
}

/* --- history ------------------------------------------------------------------------ */

static void mark_ended(struct store *s, uint64_t id)
{
    const struct store_fact fact = fact_last(id, 300, 1000 + (uid_t)id % 3);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

#define PAST_JOBS 140

/* Ended jobs of all kinds, and between them some that wait. */
static void fill_past(struct store *s)
{
    const struct job_event *const ends[] = {&exited, &lost, &cancel};

    for (uint64_t id = 1; id <= PAST_JOBS; id++) {
        submit(s, id, id % 20 ? 0 : id == 40 ? 1600 : 100);
        if (id % 9 == 0)
            continue;
        if (id % 20 == 0)
            for (int64_t i = 1; i <= (id == 60 ? 70 : id == 40 ? 1600 : 100); i++)
                end(s, id, i, i % 3 ? &exited : &lost);
        else if (id % 3 == 2)
            put(s, id, JOB_NO_INDEX, &cancel);
        else
            end(s, id, JOB_NO_INDEX, ends[id % 3]);
        if (id == 60)
            put(s, id, JOB_NO_INDEX, &cancel);
        mark_ended(s, id);
    }
}

struct seen {
    char *text;
    size_t n;
    FILE *out;
};

static int see(void *arg, const struct job_view *v)
{
    const struct job_status *st = &v->status;
    struct seen *seen = arg;
    char key[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(&v->key, key);
    if (st->state != JOB_DONE)
        return fprintf(seen->out, "%s lives\n", key) < 0;
    (void)job_key_format(&v->key, key);
    (void)fprintf(
        seen->out, "%s %u %s %d %d %d %u %s %d %llu %llu %llu %llu", key, v->owner.uid,
        v->spec ? job_spec_display_name(v->spec) : "-", st->state, st->result, st->code,
        st->attempt, st->step ? st->step : "-", st->cancel_asked,
        (unsigned long long)st->submitted_usec, (unsigned long long)st->started_usec,
        (unsigned long long)st->ended_usec, (unsigned long long)st->usage.user_usec);
    (void)fprintf(seen->out, " %d %d %d %d: %llu %llu %llu %llu %llu\n", v->durable,
                  v->forgotten, v->orphan, v->exit_code, (unsigned long long)v->total,
                  (unsigned long long)v->queued, (unsigned long long)v->running,
                  (unsigned long long)v->done, (unsigned long long)v->failed);
    return 0;
}

static void see_list(struct life *l, struct seen *seen, const struct job_filter *f,
                     size_t limit)
{
    const struct asker user = auth_user(1001), root = auth_voltd();
    uint64_t cursor = 0;

    do {
        assert_int_equal(managed_list(l->core, f->name ? &user : &root,
                                      f, cursor, limit, see, seen, &cursor),
                         0);
        (void)fprintf(seen->out, "-- %zu\n", limit);
    } while (cursor);
}

/* All answers of a voltd that keeps so many ended jobs in memory. */
static char *answers(uint64_t keep)
{
    const struct asker root = auth_voltd();
    struct volt_error err = {{0}};
    struct seen seen = {NULL, 0, NULL};
    struct job_view v;
    struct life l;
    const struct job_key named[] = {{.id = 141, .index = -1},
                                    {.id = 7, .index = -1},
                                    {.id = 60, .index = 80},
                                    {.id = 60, .index = -1},
                                    {.id = 9, .index = -1}};

    config.keep_ended_jobs = keep;
    seen.out = open_memstream(&seen.text, &seen.n);
    if (begin(&l, &err) < 0)
        fail_msg("%s", err.text);
    for (uint64_t id = 1; id <= PAST_JOBS + 1; id++) {
        for (int64_t index = -1; index <= 101; index += index < 3 ? 1 : 49) {
            int r = query_look(NULL, l.core, &root, id, index, &v);

            (void)fprintf(seen.out, "%d ", r);
            if (r == 0) {
                (void)see(&seen, &v);
                job_view_fini(&v);
            }
        }
    }
    for (int down = 0; down < 2; down++) {
        see_list(&l, &seen, &(struct job_filter){.newest_first = down}, 7);
        see_list(&l, &seen, &(struct job_filter){.newest_first = down}, 1000);
        see_list(&l, &seen,
                 &(struct job_filter){.newest_first = down,
                                      .states = 1u << JOB_DONE,
                                      .results = 1u << JOB_RESULT_CANCELLED},
                 3);
        see_list(&l, &seen,
                 &(struct job_filter){.newest_first = down, .keys = named, .nkeys = 5},
                 2);
        see_list(&l, &seen, &(struct job_filter){.newest_first = down, .name = "sleep"},
                 64);
    }
    finish(&l);
    (void)fclose(seen.out);
    return seen.text;
}

static void what_has_left_memory_is_answered_from_the_store(void **state)
{
    struct store *s = replay_store(0);

    (void)state;
    fill_past(s);
    store_free(s);
    char *kept = answers(1000000), *read = answers(1);
    assert_true(strlen(kept) > 10000);
    for (size_t i = 0; kept[i] || read[i]; i++)
        if (kept[i] != read[i])
            fail_msg("at %zu: %.60s instead of %.60s", i, &read[i < 60 ? 0 : i - 60],
                     &kept[i < 60 ? 0 : i - 60]);
    free(kept);
    free(read);
}

/* The end of the runtime wakes whoever sleeps, and no job ends for it. */
static void a_sleep_does_not_end_with_the_daemon(void **state)
{
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    struct core_counts c;
    struct life l;

    (void)state;
    for (uint64_t id = 1; id <= 3000; id++)
        submit(s, id, 0);
    store_free(s);
    for (int i = 0; i < 10; i++) {
        if (begin(&l, &err) < 0)
            fail_msg("%s", err.text);
        query_counts(l.core, &c);
        assert_int_equal(c.ended, 0);
        finish(&l);
    }
}

static uint64_t replayed(void)
{
    struct core core;

    replay_load(&core);
    uint64_t hash = recover_hash(&core);
    replay_unload(&core);
    return hash;
}

static void submit_replacement(struct store *s, uint64_t id, uint64_t replaces)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_SLEEP;
    spec->duration_usec = 1;
    spec->key = strdup("nightly");
    spec->replaces = replaces;
    submit_spec(s, id, spec);
}

static void submit_after(struct store *s, uint64_t id, uint64_t first, uint64_t second)
{
    struct job_spec *spec = job_spec_new();

    spec->kind = JOB_KIND_NOOP;
    spec->after = calloc(2, sizeof(*spec->after));
    spec->after[spec->nafter++] = (struct job_edge){.job = first, .when = JOB_AFTER_OK};
    spec->after[spec->nafter++] = (struct job_edge){.job = second, .when = JOB_AFTER_OK};
    submit_spec(s, id, spec);
}

/* Waits for one job: that of this id. */
static void check_waits_for(struct core *core, uint64_t id, uint64_t antecedent)
{
    const struct condition *c = condition_first(&table_get(&core->table, id)->waiter);
    enum job_after when;

    assert_null(doom_first(core->parts.admit));
    assert_non_null(c);
    assert_null(c->next);
    assert_int_equal(condition_after_of(c, &when), antecedent);
}

/* voltd died when a job had ended, and before MET of the one that waits was in the store.
 * The next voltd makes it a fact, so the job that has ended may leave the store. */
static void what_was_met_before_a_crash_stays_so(void **state)
{
    const struct job_event success = {
        .type = JOB_EV_EXITED, .at_usec = 203, .result = JOB_RESULT_SUCCESS};
    struct store *s = replay_store(0);
    struct store_commit commit;
    struct core core;
    struct tx tx;

    (void)state;
    submit(s, 3, 0);
    submit(s, 6, 0);
    submit_after(s, 9, 3, 6);
    end(s, 3, NO_OFFSET, &success);
    mark_ended(s, 3);
    store_free(s);
    replay_load(&core);
    tx_init(&tx, &core);
    assert_int_equal(dependents_run(&tx), 0);
    check_waits_for(&core, 9, 6);
    tx_carry_out(&tx);
    replay_unload(&core);
    s = replay_store(0);
    assert_int_equal(store_forget(s, (uint64_t[]){3}, 1, &commit), 0);
    store_commit_fini(&commit);
    store_free(s);
    replay_load(&core);
    assert_null(table_get(&core.table, 3));
    check_waits_for(&core, 9, 6);
    replay_unload(&core);
}

/* An edit has made a job wait for a later one, an array whose cancel is all that the store
 * has of its end. */
static void a_later_array_that_was_cancelled_has_ended(void **state)
{
    struct store *s = replay_store(0);
    struct core core;
    struct tx tx;

    (void)state;
    submit_after(s, 3, 6, 9);
    submit(s, 6, 4);
    put(s, 6, NO_OFFSET, &cancel);
    submit(s, 9, 0);
    store_free(s);
    replay_load(&core);
    assert_true(jobs_done(table_get(&core.table, 6)));
    tx_init(&tx, &core);
    assert_int_equal(dependents_run(&tx), 0);
    const struct doom *doom = doom_first(core.parts.admit);
    assert_non_null(doom);
    assert_ptr_equal(doom->waiter, &table_get(&core.table, 3)->waiter);
    tx_carry_out(&tx);
    replay_unload(&core);
}

/* The store says of two jobs that they replace job 1: one is of its user, and one of
 * another, as a store may say that was written when keys of two users could collide. */
static void a_job_is_replaced_by_its_owner_alone(void **state)
{
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit(s, 1, 0);
    submit_replacement(s, 2, 1);
    submit(s, 3, 0);
    submit_replacement(s, 4, 1);
    store_free(s);
    replay_load(&core);
    assert_int_equal(table_get(&core.table, 4)->owner.uid,
                     table_get(&core.table, 1)->owner.uid);
    assert_int_not_equal(table_get(&core.table, 2)->owner.uid,
                         table_get(&core.table, 1)->owner.uid);
    assert_false(waiting_has_to(table_get(&core.table, 2)));
    assert_true(waiting_has_to(table_get(&core.table, 4)));
    assert_ptr_equal(core.agenda.first, table_get(&core.table, 1));
    assert_null(core.agenda.first->next);
    replay_unload(&core);
}

/* Its turn has come once more, and it is cancelled before it begins: nothing of the lost
 * attempt is owed to the store, which would be told of it twice. */
/* Of the first element nothing was durable when voltd ended, so it waits once more. */
static void an_array_is_cancelled_with_elements_behind_one_that_waits(void **state)
{
    const struct asker root = auth_voltd();
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit(s, 1, 4);
    put(s, 1, 2, &starting);
    put(s, 1, 2, &started);
    end(s, 1, 3, &exited);
    store_free(s);
    replay_load(&core);
    struct job *job = table_get(&core.table, 1);
    assert_int_equal(array_next(job->array), 0);
    assert_int_equal(job->array->rest, 2);
    assert_non_null(elements_work(job->elements, 1));
    assert_null(elements_work(job->elements, 2)); /* it has ended */
    assert_int_equal(jobs_status(job, 1)->state, JOB_RUNNING);
    assert_int_equal(cancel_now(&core, &root, 1, JOB_NO_INDEX), 0);
    assert_int_equal(jobs_status(job, 1)->state, JOB_STOPPING);
    assert_int_equal(array_element(job->array, 0).result, JOB_RESULT_CANCELLED);
    assert_int_equal(array_status(job->array).state, JOB_STOPPING);
    replay_unload(&core);
}

static void a_retry_may_be_cancelled_before_it_begins(void **state)
{
    struct store *s = replay_store(0);
    struct core core;
    struct tx tx;

    (void)state;
    submit_processes(s, 1, 0);
    end(s, 1, JOB_NO_INDEX, &lost);
    store_free(s);
    replay_load(&core);
    struct job *job = table_get(&core.table, 1);
    assert_int_equal(job->status.state, JOB_QUEUED);
    assert_int_equal(job->status.attempt, 1);
    tx_init(&tx, &core);
    assert_true(jobs_give_task(&tx, job));
    assert_int_equal(core_cancel(&tx, job, NO_OFFSET), 0);
    assert_int_equal(tx.nspawn, 1);
    volt_task_discard(tx.spawn[0]);
    replay_unload(&core);
    replay_load(&core);
    job = table_get(&core.table, 1);
    assert_int_equal(job->status.result, JOB_RESULT_CANCELLED);
    assert_int_equal(job->status.attempt, 1);
    replay_unload(&core);
}

/* What ran before a reboot runs no more: it has no slot until it gets one for its next
 * attempt. Neither has an element whose attempt was lost. */
static void what_a_reboot_has_ended_holds_no_slot(void **state)
{
    struct store *s = replay_store(9);
    struct core core;

    (void)state;
    for (uint64_t id = 1; id < 4; id++) {
        submit_processes(s, id, 0);
        put(s, id, JOB_NO_INDEX, &starting);
    }
    submit_processes(s, 4, 3);
    end(s, 4, 1, &lost);
    put(s, 4, 2, &starting);
    store_free(s);
    replay_load(&core);
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    for (uint64_t id = 1; id < 4; id++) {
        const struct work *w = table_get(&core.table, id)->live;

        assert_true(w->adopted);
        assert_false(work_has_slot(w) || work_is_early(w));
    }
    const struct elements *e = table_get(&core.table, 4)->elements;
    assert_int_equal(elements_work(e, 0)->place, PLACE_WAITS);
    assert_false(work_has_slot(elements_work(e, 1)));
    replay_unload(&core);
}

/* Its record is there and held, and nothing of it has begun: its shim may begin it at any
 * moment. Where its shim has gone before that it asks for a slot. */
static void what_may_begin_at_the_keeper_holds_its_slot(void **state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX, .attempt = 1};
    struct store *s = replay_store(0);
    uint8_t boot[RECORD_ID_SIZE];
    struct core core;
    uint32_t seed;

    (void)state;
    submit_processes(s, 1, 0);
    put(s, 1, JOB_NO_INDEX, &starting);
    store_free(s);
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(record_boot_id(boot), 0);
    int fd = record_create(dir, NULL, &key, boot, 0, &seed);
    assert_true(fd >= 0);
    replay_load(&core);
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    assert_true(table_get(&core.table, 1)->live->assumed);
    replay_unload(&core);
    (void)close(fd);
    replay_load(&core);
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    assert_true(work_is_early(table_get(&core.table, 1)->live));
    replay_unload(&core);
    assert_int_equal(unlinkat(dir, "1.1", 0), 0);
    fd = record_create(dir, NULL, &key, boot, 0, &seed);
    assert_true(fd >= 0);
    struct record_started slot = {.pid = 5, .shim_pid = (uint32_t)getpid()};
    assert_int_equal(record_write_started(fd, seed, &slot), 0);
    replay_load(&core); /* its shim is not there: what it started may be */
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    replay_unload(&core);
    (void)close(fd);
    (void)close(dir);
}

/* As many elements of the array, which is in the line, run as may at once. */
static bool is_at_limit(struct core *in, const struct job *array)
{
    struct explain_brief brief;
    uint64_t place;

    return waiting_place(in, array, &place, &brief) && brief.kind == REASON_ARRAY;
}

/* Its elements are STARTING with their slots: one whose record is there has its slot, and
 * one that never came to the keeper asks for it again. */
static void an_array_with_a_limit_has_its_slots(void **state)
{
    const struct job_key key = {.id = 1, .index = 1, .attempt = 1};
    struct store *s = replay_store(0);
    uint8_t boot[RECORD_ID_SIZE];
    struct core core;
    uint32_t seed;

    (void)state;
    submit_limited(s, 1, 3, 1);
    put(s, 1, 1, &starting);
    store_free(s);
    replay_load(&core);
    const struct job *job = table_get(&core.table, 1);
    assert_true(work_is_early(elements_work(job->elements, 0)));
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    assert_false(is_at_limit(&core, job));
    replay_unload(&core);
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(record_boot_id(boot), 0);
    int fd = record_create(dir, NULL, &key, boot, 0, &seed);
    assert_true(fd >= 0);
    replay_load(&core);
    job = table_get(&core.table, 1);
    assert_true(work_has_slot(elements_work(job->elements, 0)));
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    assert_true(is_at_limit(&core, job));
    assert_int_equal(core.parts.dispatch->early.n, 0);
    replay_unload(&core);
    (void)close(fd);
    (void)close(dir);
}

/* Their records are gone: that of 2 was there once. */
static void what_had_begun_is_adopted(void **state)
{
    struct store *s = replay_store(0);
    struct core core;
    const struct work *w;

    (void)state;
    submit_processes(s, 1, 0);
    put(s, 1, JOB_NO_INDEX, &starting);
    submit_processes(s, 2, 0);
    put(s, 2, JOB_NO_INDEX, &starting);
    put(s, 2, JOB_NO_INDEX, &started);
    submit(s, 3, 0);
    put(s, 3, JOB_NO_INDEX, &starting);
    put(s, 3, JOB_NO_INDEX, &started);
    store_free(s);
    replay_load(&core);
    w = table_get(&core.table, 1)->live;
    assert_true(w->adopted && w->kept_starting && !w->kept_started);
    assert_true(work_is_early(w) && !work_has_slot(w) && waiting_has_to(w->job));
    w = table_get(&core.table, 2)->live;
    assert_true(w->adopted && w->kept_starting && w->kept_started);
    assert_true(!work_has_slot(w) && !work_is_early(w) && !waiting_has_to(w->job));
    w = table_get(&core.table, 3)->live;
    assert_true(w->adopted && w->kept_starting && w->kept_started);
    assert_true(!work_has_slot(w) && !work_is_early(w) && !waiting_has_to(w->job));
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    assert_int_equal(core.counts.recovered_unstarted, 1);
    assert_int_equal(core.counts.recovered_lost, 1);
    assert_int_equal(core.counts.recovered_running, 1);
    replay_unload(&core);
}

/* Ended, durable, and out of memory as soon as it is read: its record is a leftover, and
 * no orphan. */
static void a_record_of_a_job_that_has_left_memory_is_no_orphan(void **state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX, .attempt = 1};
    struct record_started slot_1 = {.pid = 5, .shim_pid = 6};
    struct record_exited slot_2 = {.end = RECORD_END_EXIT};
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    uint8_t boot[RECORD_ID_SIZE];
    struct core_counts c;
    struct life l;
    uint32_t seed;

    (void)state;
    for (uint64_t id = 1; id < 4; id++) {
        submit_processes(s, id, 0);
        end(s, id, JOB_NO_INDEX, &exited);
        mark_ended(s, id);
    }
    store_free(s);
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(record_boot_id(boot), 0);
    int fd = record_create(dir, NULL, &key, boot, 0, &seed);
    assert_int_equal(record_write_started(fd, seed, &slot_1), 0);
    assert_int_equal(record_write_exited(fd, seed, &slot_2), 0);
    (void)close(fd);
    (void)close(dir);
    config.keep_ended_jobs = 1;
    if (begin(&l, &err) < 0)
        fail_msg("%s", err.text);
    query_counts(l.core, &c);
    assert_int_equal(c.orphans, 0);
    finish(&l);
}

static void lost_attempts_go_on(void **state)
{
    const struct asker root = auth_voltd();
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    struct core_counts c;
    struct job_view v;
    struct life l;

    (void)state;
    fill_retried(s);
    store_free(s);
    if (begin(&l, &err) < 0)
        fail_msg("%s", err.text);
    query_counts(l.core, &c);
    assert_int_equal(c.recovered_queued, 3);
    assert_int_equal(c.recovered_running, 0);
    assert_int_equal(c.ended, 1);
    assert_int_equal(query_get(l.core, &root, 9, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_EXIT);
    assert_int_equal(v.status.attempt, 2);
    assert_int_equal(v.status.lost, 1);
    job_view_fini(&v);
    assert_int_equal(query_get(l.core, &root, 7, -1, &v), 0);
    assert_int_equal(v.status.lost, 2);
    job_view_fini(&v);
    assert_int_equal(query_get(l.core, &root, 8, -1, &v), 0);
    assert_int_equal(v.queued + v.running, 2);
    job_view_fini(&v);
    finish(&l);
}

/* The first start finds all elements ended, and makes the array history; the next one needs
 * no more of them. */
static void an_ended_array_is_loaded_as_counts(void **state)
{
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit(s, 1, 3);
    for (int64_t i = 1; i <= 3; i++)
        end(s, 1, i, i == 2 ? &lost : &exited);
    store_free(s);
    for (int life = 0; life < 3; life++) {
        replay_load(&core);
        const struct job *job = table_get(&core.table, 1);
        assert_int_equal(array_is_counts(job->array), life > 0);
        assert_int_equal(job->elements == NULL, life > 0);
        assert_int_equal(job->array->by_result[JOB_RESULT_LOST], 1);
        assert_int_equal(job->array->worst.result, JOB_RESULT_LOST);
        assert_int_equal(core.counts.ended, 3);
        assert_int_equal(core.ended_weight, 1);
        replay_unload(&core);
    }
}

static void two_replays_give_the_same_state(void **state)
{
    struct store *s = replay_store(0);

    (void)state;
    fill(s);
    fill_retried(s);
    store_free(s);
    uint64_t first = replayed();
    assert_true(replayed() == first);
    s = replay_store(0);
    put(s, 3, JOB_NO_INDEX, &cancel);
    store_free(s);
    assert_true(replayed() != first);
}

/* Whoever removes the file of ids, or sets an older one back, does not get them twice. */
static void ids_are_above_those_of_the_store(void **state)
{
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    uint64_t first;
    struct life l;

    (void)state;
    submit(s, 5, 0);
    submit(s, 3000, 0);
    end(s, 3000, JOB_NO_INDEX, &exited);
    store_free(s);
    if (begin(&l, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(ids_reserve(l.core->parts.ids, 1, NULL), 0);
    assert_true(ids_take(l.core->parts.ids, 1, &first));
    assert_int_equal(first, 3001);
    finish(&l);
}

static void what_cannot_have_happened_is_damage(void **state)
{
    struct store *s = replay_store(0);
    struct volt_error err = {{0}};
    struct life l = {NULL, NULL};

    (void)state;
    submit(s, 1, 0);
    put(s, 1, JOB_NO_INDEX, &exited); /* it never started */
    store_free(s);
    assert_int_equal(begin(&l, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "job 1: exited"));
    volt_runtime_free(l.rt);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, replay_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_state_is_that_of_the_events),
        T(what_has_left_memory_is_answered_from_the_store),
        T(a_sleep_does_not_end_with_the_daemon),
        T(what_a_reboot_has_ended_holds_no_slot),
        T(what_may_begin_at_the_keeper_holds_its_slot),
        T(an_array_with_a_limit_has_its_slots),
        T(a_record_of_a_job_that_has_left_memory_is_no_orphan),
        T(lost_attempts_go_on),
        T(what_had_begun_is_adopted),
        T(an_ended_array_is_loaded_as_counts),
        T(two_replays_give_the_same_state),
        T(what_cannot_have_happened_is_damage),
        T(an_array_is_cancelled_with_elements_behind_one_that_waits),
        T(a_retry_may_be_cancelled_before_it_begins),
        T(a_job_is_replaced_by_its_owner_alone),
        T(what_was_met_before_a_crash_stays_so),
        T(a_later_array_that_was_cancelled_has_ended),
        T(ids_are_above_those_of_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
