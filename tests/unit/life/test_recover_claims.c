/* Recovery of what claims locks: what has them, and what asks for them again. And of what
 * has to start by a date: whether it still has to. */
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

#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/admit/named.h"
#include "daemon/admit/timed.h"
#include "daemon/core/cancel.h"
#include "daemon/core/post.h"
#include "daemon/core/state.h"
#include "daemon/dispatch/dooms.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/grant.h"
#include "daemon/keeper/record.h"
#include "daemon/keeper/tree.h"
#include "daemon/life/recover.h"
#include "daemon/link/record_make.h"
#include "daemon/run/kinds.h"
#include "daemon/run/state.h"
#include "daemon/run/survivors.h"
#include "daemon/run/work.h"
#include "daemon/steer/steer.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/facts.h"
#include "tests/support/replay.h"

static void put(struct store *s, uint64_t id, int64_t index, const struct job_event *ev)
{
    const struct store_fact fact = fact_event(id, index, ev);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
}

/* Takes spec. */
static void submit_spec(struct store *s, uint64_t id, struct job_spec *spec)
{
    const struct store_fact fact = fact_submit(id, 100 + id, spec);

    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    job_spec_unref(spec);
}

/* A process, or a sleep, that claims the lock db. */
static void submit_claimant(struct store *s, uint64_t id, bool is_process)
{
    struct job_spec *spec = job_spec_new();

    if (is_process) {
        spec->argv = calloc(2, sizeof(*spec->argv));
        spec->argv[0] = strdup("/bin/true");
    } else {
        spec->kind = JOB_KIND_SLEEP;
        spec->duration_usec = UINT64_C(3600000000);
    }
    spec->claims = calloc(1, sizeof(*spec->claims));
    spec->nclaims = 1;
    spec->claims[0].name = strdup("db");
    submit_spec(s, id, spec);
}

static const struct job_event starting = {
    .type = JOB_EV_STARTING, .at_usec = 200, .attempt = 1};
static const struct job_event started = {
    .type = JOB_EV_STARTED, .at_usec = 201, .pid = 7};

/* STARTING alone is no claim: the sleep has the lock, and what never came to the keeper
 * asks for it again, like all that wait. */
static void what_never_began_claims_anew(void **state)
{
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit_claimant(s, 1, true);
    put(s, 1, JOB_NO_INDEX, &starting);
    submit_claimant(s, 2, true);
    submit_claimant(s, 3, false);
    put(s, 3, JOB_NO_INDEX, &starting);
    submit_claimant(s, 4, false);
    store_free(s);
    replay_load(&core);
    const struct work *w = table_get(&core.table, 1)->live;
    assert_true(work_is_early(w) && !work_has_slot(w) && !w->holds);
    assert_true(waiting_has_to(table_get(&core.table, 2)));
    w = table_get(&core.table, 3)->live;
    assert_true(w->adopted && work_has_slot(w) && w->holds);
    assert_null(table_get(&core.table, 4)->live);
    assert_true(waiting_has_to(table_get(&core.table, 4)));
    assert_int_equal(named_find(core.parts.admit, w->job->owner.uid, "db")->used, 1);
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    replay_unload(&core);
}

/* Its record is there and held: it may begin at any time, and has its lock. */
static void what_may_begin_has_its_claims(void **state)
{
    const struct job_key key = {.id = 1, .index = JOB_NO_INDEX, .attempt = 1};
    struct store *s = replay_store(0);
    uint8_t boot[RECORD_ID_SIZE];
    struct core core;
    uint32_t seed;

    (void)state;
    submit_claimant(s, 1, true);
    put(s, 1, JOB_NO_INDEX, &starting);
    store_free(s);
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(record_boot_id(boot), 0);
    int fd = record_create(dir, NULL, &key, boot, 0, &seed);
    assert_true(fd >= 0);
    replay_load(&core);
    assert_true(table_get(&core.table, 1)->live->holds);
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    replay_unload(&core);
    (void)close(fd);
    (void)close(dir);
}

/* An element of an array with a limit that never began may have given its lock back, when
 * its end could not be stored, and another one has it. */
static void what_never_began_of_an_array_with_a_limit_claims_anew(void **state)
{
    const struct job_key runs = {.id = 1, .index = 1, .attempt = 1};
    struct job_spec *spec = job_spec_new();
    struct store *s = replay_store(0);
    uint8_t boot[RECORD_ID_SIZE];
    struct core core;
    uint32_t seed;

    (void)state;
    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    spec->is_array = true;
    spec->array_last = 1;
    spec->at_once = 2;
    spec->claims = calloc(1, sizeof(*spec->claims));
    spec->nclaims = 1;
    spec->claims[0].name = strdup("db");
    submit_spec(s, 1, spec);
    put(s, 1, 0, &starting);
    put(s, 1, 1, &starting);
    store_free(s);
    int dir = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(record_boot_id(boot), 0);
    int fd = record_create(dir, NULL, &runs, boot, 0, &seed);
    assert_true(fd >= 0);
    replay_load(&core);
    const struct job *job = table_get(&core.table, 1);
    const struct work *w = jobs_live(job, 0);
    assert_true(work_is_early(w) && !work_has_slot(w) && !w->holds);
    w = jobs_live(job, 1);
    assert_true(work_has_slot(w) && w->holds);
    assert_int_equal(named_find(core.parts.admit, job->owner.uid, "db")->used, 1);
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    replay_unload(&core);
    (void)close(fd);
    (void)close(dir);
}

static const struct job_event ended_with_survivors = {
    .type = JOB_EV_EXITED,
    .at_usec = 205,
    .survivors = 1,
    .result = JOB_RESULT_SUCCESS,
    .named = &(const struct job_named){.pid = {4711}}};

/* Until a reboot ends them. */
static void what_is_left_of_a_job_has_its_claims(void **state)
{
    (void)state;
    for (int boot = 0; boot < 2; boot++) {
        struct store *s = replay_store(boot ? 9 : 0);
        const uint64_t id = boot + 1;
        struct core core;

        submit_claimant(s, id, true);
        put(s, id, JOB_NO_INDEX, &starting);
        put(s, id, JOB_NO_INDEX, &started);
        put(s, id, JOB_NO_INDEX, &ended_with_survivors);
        store_free(s);
        replay_load(&core);
        const struct job *job = table_get(&core.table, id);
        assert_true(jobs_done(job) && !job->retired && job->live);
        assert_int_equal(job->live->holds, !boot);
        assert_int_equal(admission_count(core.parts.admit).used, 0);
        replay_unload(&core);
    }
}

/* The process that has the pid by now began later: it is another one. */
static void a_pid_that_another_process_has_keeps_nothing(void **state)
{
    struct job_named named = {.pid = {(uint32_t)getpid()}};
    struct job_event ended = ended_with_survivors;
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    survivors_note(&named, mono_usec());
    assert_true(survivor_lives(&named, 0));
    named.start[0]--;
    ended.named = &named;
    submit_claimant(s, 1, true);
    put(s, 1, JOB_NO_INDEX, &starting);
    put(s, 1, JOB_NO_INDEX, &started);
    put(s, 1, JOB_NO_INDEX, &ended);
    store_free(s);
    replay_load(&core);
    struct work *w = table_get(&core.table, 1)->live;
    assert_true(w->holds);
    assert_int_equal(work_gone_poll(NULL, w), VOLT_READY);
    assert_false(w->holds);
    replay_unload(&core);
}

/* It stands behind more than a portion of others, which leave meanwhile: also that which
 * was looked at latest. */
static void what_is_left_is_found_while_others_leave(void **state)
{
    enum { LEFT = QUOTA_ENTRIES + 100 };
    struct steer_free f = {.name = "db"};
    struct store *s = replay_store(0);
    uid_t owner;
    struct core core;

    (void)state;
    for (uint64_t id = 1; id < LEFT; id++) {
        submit_claimant(s, id, false);
        put(s, id, JOB_NO_INDEX, &starting);
    }
    submit_claimant(s, LEFT, true);
    put(s, LEFT, JOB_NO_INDEX, &starting);
    put(s, LEFT, JOB_NO_INDEX, &started);
    put(s, LEFT, JOB_NO_INDEX, &ended_with_survivors);
    store_free(s);
    replay_load(&core);
    owner = table_get(&core.table, LEFT)->owner.uid;
    assert_true(table_get(&core.table, LEFT)->live->holds);
    assert_true(steer_free_step(&core, owner, &f, NULL));
    core_lock(&core);
    for (uint64_t id = 2; id <= QUOTA_ENTRIES; id += 2)
        grant_release_locks(&core, table_get(&core.table, id)->live);
    core_unlock(&core);
    while (steer_free_step(&core, owner, &f, NULL))
        ;
    assert_int_equal(f.ret_count, 1);
    replay_unload(&core);
}

/* --- what has to start by a date ----------------------------------------------------- */

#define BY 1000 /* long past */

/* Job 1; n: an array of so many elements. */
static void submit_with_date(struct store *s, int64_t n)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    spec->start_by_usec = BY;
    spec->on_lost = JOB_ON_LOST_RETRY;
    spec->is_array = n > 0;
    spec->array_last = n > 0 ? n - 1 : 0;
    submit_spec(s, 1, spec);
}

static uint64_t date_of(struct core *core)
{
    return doom_start_by_of(core->parts.admit, &table_get(&core->table, 1)->waiter);
}

/* Its attempt never began: in the queue again, it expires. */
static void what_was_starting_still_has_its_date(void **state)
{
    const struct job_event deferred = {.type = JOB_EV_DEFERRED, .at_usec = 300};
    struct store *s = replay_store(0);
    struct core core;
    struct tx tx;

    (void)state;
    submit_with_date(s, 0);
    put(s, 1, JOB_NO_INDEX, &starting);
    store_free(s);
    replay_load(&core);
    struct job *job = table_get(&core.table, 1);
    assert_int_equal(date_of(&core), BY);
    tx_init(&tx, &core);
    assert_int_equal(core_post(&tx, job, NO_OFFSET, &deferred), 0);
    grant_set_early(&core, job->live, false);
    assert_true(admission_tick(core.parts.admit, &(struct admission_times){0, BY}, 64));
    assert_int_equal(dooms_run(&tx), 0);
    assert_int_equal(job->status.result, JOB_RESULT_EXPIRED);
    core.held = (struct quota){0};
    tx_carry_out(&tx);
    replay_unload(&core);
}

static void an_array_that_was_starting_still_has_its_date(void **state)
{
    struct store *s = replay_store(0);
    struct core core;

    (void)state;
    submit_with_date(s, 3);
    put(s, 1, 0, &starting);
    store_free(s);
    replay_load(&core);
    assert_int_equal(date_of(&core), BY);
    replay_unload(&core);
}

/* Also where only its loss is known: it may have run. */
static void what_has_started_has_no_date(void **state)
{
    static const struct job_event lost = {
        .type = JOB_EV_EXITED, .result = JOB_RESULT_LOST, .at_usec = 400};
    static const struct {
        int64_t elements;
        bool started, lost;
    } cases[] = {{0, true, false}, {0, true, true}, {0, false, true},
                 {3, true, false}, {3, true, true}, {3, false, true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t item = cases[i].elements ? 0 : JOB_NO_INDEX;
        struct core core;

        assert_true(i == 0 || (replay_teardown(state) == 0 && replay_setup(state) == 0));
        struct store *s = replay_store(0);
        submit_with_date(s, cases[i].elements);
        put(s, 1, item, &starting);
        if (cases[i].started)
            put(s, 1, item, &started);
        if (cases[i].lost)
            put(s, 1, item, &lost);
        store_free(s);
        replay_load(&core);
        assert_true(date_of(&core) == TIMED_NEVER);
        replay_unload(&core);
    }
}

#define MANY 200

/* Its elements were starting when voltd died, and never began; or were lost. */
static struct job *load_array(struct core *core, const struct job_event *end)
{
    struct store *s = replay_store(0);

    submit_with_date(s, MANY);
    for (int64_t k = 0; k < MANY; k++) {
        put(s, 1, k, &starting);
        put(s, 1, k, end);
    }
    store_free(s);
    replay_load(core);
    struct job *job = table_get(&core->table, 1);
    assert_int_equal(job->elements->nwaiting, MANY);
    return job;
}

/* One hold of the lock. Returns whether all that are late have ended. */
static bool expire(struct core *core)
{
    struct tx tx;

    tx_init(&tx, core);
    (void)admission_tick(core->parts.admit, &(struct admission_times){0, BY}, 64);
    bool all = dooms_run(&tx) == 0;
    assert_in_range(core->held.facts, 0, QUOTA_FACTS);
    core->held = (struct quota){0};
    tx_carry_out(&tx);
    return all;
}

static void turn_comes(struct core *core, struct work *w)
{
    struct tx tx;

    tx_init(&tx, core);
    core->closed = false;
    assert_int_equal(work_take_turn(NULL, w, 2 * BY, &tx), 1);
    core->held = (struct quota){0};
    tx_carry_out(&tx);
    work_leaf_fini(w); /* of its commit, which it waits for no more */
}

/* In portions, between which none of it starts. */
static void many_elements_expire(void **state)
{
    const struct job_event deferred = {.type = JOB_EV_DEFERRED, .at_usec = 300};
    const uint64_t *expired;
    struct core core;

    (void)state;
    struct job *job = load_array(&core, &deferred);
    struct work *w = jobs_live(job, MANY - 1);
    expired = &job->array->by_result[JOB_RESULT_EXPIRED];
    assert_false(expire(&core));
    assert_in_range(*expired, 1, QUOTA_FACTS);
    grant_take(&core, w);
    assert_true(expire(&core)); /* one has a slot: nothing ends until its turn */
    assert_in_range(*expired, 1, QUOTA_FACTS);
    turn_comes(&core, w);
    assert_int_equal(jobs_status(job, MANY - 1)->result, JOB_RESULT_EXPIRED);
    doom_set(core.parts.admit, &job->waiter, BY);
    while (!expire(&core))
        assert_false(jobs_done(job));
    assert_true(jobs_done(job));
    assert_int_equal(*expired, MANY);
    replay_unload(&core);
}

/* It has started where one has its slot, but its turn has not come. */
static void an_element_with_a_slot_is_no_late_one(void **state)
{
    const struct job_event deferred = {.type = JOB_EV_DEFERRED, .at_usec = 300};
    struct core core;

    (void)state;
    struct job *job = load_array(&core, &deferred);
    struct work *w = jobs_live(job, 0);
    grant_take(&core, w);
    assert_true(expire(&core));
    turn_comes(&core, w);
    assert_int_equal(jobs_status(job, 0)->state, JOB_STARTING);
    assert_int_equal(job->array->by_state[JOB_DONE], 0);
    replay_unload(&core);
}

/* It is in the list of those that wait until its task has gone. */
static void a_cancelled_element_does_not_expire(void **state)
{
    const struct job_event deferred = {.type = JOB_EV_DEFERRED, .at_usec = 300};
    struct core core;
    struct tx tx;

    (void)state;
    struct job *job = load_array(&core, &deferred);
    tx_init(&tx, &core);
    assert_int_equal(core_cancel(&tx, job, MANY - 1), 0);
    core.held = (struct quota){0};
    tx_carry_out(&tx);
    while (!expire(&core))
        assert_false(jobs_done(job));
    assert_true(jobs_done(job));
    assert_int_equal(job->array->by_result[JOB_RESULT_EXPIRED], MANY - 1);
    assert_int_equal(job->array->by_result[JOB_RESULT_CANCELLED], 1);
    replay_unload(&core);
}

/* Not even with a date, which recovery does not give them. */
static void elements_that_were_lost_do_not_expire(void **state)
{
    static const struct job_event lost = {
        .type = JOB_EV_EXITED, .result = JOB_RESULT_LOST, .at_usec = 400};
    struct core core;

    (void)state;
    struct job *job = load_array(&core, &lost);
    assert_int_equal(doom_start_by(core.parts.admit, &job->waiter, BY), 0);
    assert_true(expire(&core));
    assert_int_equal(job->array->by_state[JOB_QUEUED], MANY);
    assert_true(date_of(&core) == TIMED_NEVER);
    replay_unload(&core);
}

/* Its key is k, which it takes from the job `replaces`, if that is not 0. */
static struct job_spec *keyed(uint64_t replaces)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("/bin/true");
    spec->key = strdup("k");
    spec->on_exists = JOB_ON_EXISTS_REPLACE;
    spec->replaces = replaces;
    return spec;
}

/* Returns spec, which claims so many permits of x; of 0: the lock x. */
static struct job_spec *claiming_x(struct job_spec *spec, uint32_t permits,
                                   uint64_t capacity)
{
    spec->claims = reallocarray(spec->claims, spec->nclaims + 1, sizeof(*spec->claims));
    spec->claims[spec->nclaims++] = (struct job_claim){
        .name = strdup("x"),
        .mode = capacity ? JOB_CLAIM_PERMITS : JOB_CLAIM_EXCLUSIVE,
        .permits = permits,
        .capacity = capacity,
        .had = capacity ? capacity : 1,
    };
    return spec;
}

static const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 300};

/* Job 1 is being cancelled and runs; job 2, which replaces it and claims x, was cancelled
 * in the queue, and job 3 has the key. Both specs are taken. */
static void load_replaced(struct core *core, struct job_spec *second,
                          struct job_spec *third)
{
    const struct store_fact last = fact_last(2, 300, 0);
    struct store *s = replay_store(0);

    submit_spec(s, 1, keyed(0));
    put(s, 1, JOB_NO_INDEX, &starting);
    put(s, 1, JOB_NO_INDEX, &started);
    submit_spec(s, 2, second);
    put(s, 1, JOB_NO_INDEX, &cancel);
    put(s, 2, JOB_NO_INDEX, &cancel);
    assert_int_equal(store_append(s, &last, 1, NULL), 0);
    submit_spec(s, 3, third);
    store_free(s);
    replay_load(core);
    assert_true(table_get(&core->table, 2)->is_history);
    assert_true(waiting_has_to(table_get(&core->table, 3)));
    assert_int_equal(condition_replace_of(&table_get(&core->table, 3)->waiter), 1);
}

static const struct resource *find_x(const struct core *core)
{
    return named_find(core->parts.admit, 0, "x");
}

/* Its lock has gone with it: the name is free for a semaphore, also of another size. */
static void what_was_cancelled_and_replaced_claims_nothing(void **state)
{
    struct core core;

    (void)state;
    load_replaced(&core, claiming_x(keyed(1), 0, 0), claiming_x(keyed(2), 1, 2));
    assert_true(resource_counts(find_x(&core)));
    assert_int_equal(find_x(&core)->capacity, 2);
    replay_unload(&core);
}

static void what_was_cancelled_and_replaced_sizes_nothing(void **state)
{
    struct core core;

    (void)state;
    load_replaced(&core, claiming_x(keyed(1), 1, 2), claiming_x(keyed(2), 4, 5));
    assert_int_equal(find_x(&core)->capacity, 5);
    replay_unload(&core);
}

static const struct claim *claim_of(const struct core *core, uint64_t id)
{
    size_t n;
    const struct claim *claim =
        admission_claims(&table_get(&core->table, id)->waiter, &n);

    assert_int_equal(n, 1);
    return claim;
}

/* Jobs that a store has claim one name as different things: all are recovered, and those
 * that come later never share what the first has made of it. */
static void a_name_of_two_kinds_is_claimed_as_a_whole(void **state)
{
    struct store *s = replay_store(0);
    struct job_spec *rate = claiming_x(job_spec_new(), 1, 7);
    struct core core;

    (void)state;
    rate->kind = JOB_KIND_SLEEP;
    rate->duration_usec = 1;
    rate->claims[0].mode = JOB_CLAIM_RATE;
    rate->claims[0].interval_usec = 1000;
    submit_spec(s, 1, claiming_x(keyed(0), 2, 5));
    submit_spec(s, 2, claiming_x(claiming_x(keyed(0), 0, 0), 0, 0));
    submit_spec(s, 3, rate);
    store_free(s);
    replay_load(&core);
    assert_true(resource_counts(find_x(&core)));
    assert_int_equal(claim_of(&core, 1)->amount, 2);
    for (uint64_t id = 2; id <= 3; id++) {
        assert_ptr_equal(claim_of(&core, id)->resource, find_x(&core));
        assert_int_equal(claim_of(&core, id)->amount, 5);
        assert_true(waiting_has_to(table_get(&core.table, id)));
    }
    replay_unload(&core);
}

#define HOUR UINT64_C(3600000000)

/* Its STARTING has spent one token of the rate x, of whose burst so many are spent; it
 * never began. Returns its work. */
static struct work *load_spent(struct core *core, uint64_t burst, uint64_t spent)
{
    struct job_spec *spec = claiming_x(keyed(0), 1, burst);
    struct store *s = replay_store(0);

    spec->claims[0].mode = JOB_CLAIM_RATE;
    spec->claims[0].interval_usec = HOUR;
    submit_spec(s, 1, spec);
    const struct store_fact facts[] = {
        fact_event(1, JOB_NO_INDEX, &starting),
        {.type = STORE_RESOURCE,
         .resource = {.name = "x",
                      .capacity = burst,
                      .per_usec = HOUR,
                      .full_usec = jobs_now_usec() + spent * HOUR}},
    };
    assert_int_equal(store_append(s, facts, 2, NULL), 0);
    store_free(s);
    replay_load(core);
    core->closed = false;
    struct work *w = table_get(&core->table, 1)->live;
    assert_true(work_is_early(w) && !work_has_slot(w));
    return w;
}

static uint64_t tokens(struct core *core)
{
    return rate_tokens(claim_of(core, 1)->resource, waiting_now(core));
}

static const struct work *next(struct core *core)
{
    unsigned budget = 64;
    struct lease *lease;
    struct work *w = NULL;

    (void)grant_next(core, &w, &lease, &budget);
    return w;
}

/* There are no others: it gets that one back when it is queued again. */
static void what_never_began_waits_for_no_second_token(void **state)
{
    struct core core;
    struct work *w = load_spent(&core, 1, 1);
    struct tx tx;

    (void)state;
    assert_int_equal(tokens(&core), 0);
    assert_null(next(&core));
    tx_init(&tx, &core);
    assert_true(early_defer(&tx, w));
    tx_carry_out(&tx);
    assert_int_equal(tokens(&core), 1);
    assert_ptr_equal(next(&core), w);
    core.closed = true;
    replay_unload(&core);
    replay_load(&core);
    assert_int_equal(tokens(&core), 1);
    replay_unload(&core);
}

/* It goes on as STARTING: what that has spent is all. */
static void what_begins_after_all_spends_no_second_token(void **state)
{
    struct core core;
    struct work *w = load_spent(&core, 2, 1);

    (void)state;
    assert_int_equal(tokens(&core), 1);
    assert_ptr_equal(next(&core), w);
    grant_take(&core, w);
    assert_int_equal(tokens(&core), 1);
    grant_end(&core, w, NEVER_RAN);
    assert_int_equal(tokens(&core), 2);
    core.closed = true;
    replay_unload(&core);
}

static const struct job_event ended_unborn = {
    .type = JOB_EV_EXITED, .at_usec = 400, .result = JOB_RESULT_SUCCESS};

static void what_is_over_and_never_began_has_spent_nothing(void **state)
{
    struct core core;
    struct work *w = load_spent(&core, 2, 2);
    struct tx tx;

    (void)state;
    assert_int_equal(tokens(&core), 0);
    tx_init(&tx, &core);
    assert_int_equal(core_cancel(&tx, w->job, NO_OFFSET), 0);
    work_post_end(w, &ended_unborn, &tx);
    tx_carry_out(&tx);
    assert_int_equal(tokens(&core), 1);
    core.closed = true;
    work_leaf_fini(w); /* of its commit, which it waits for no more */
    replay_unload(&core);
    replay_load(&core);
    assert_int_equal(rate_tokens(find_x(&core), waiting_now(&core)), 1);
    replay_unload(&core);
}

#define T(f) cmocka_unit_test_setup_teardown(f, replay_setup, replay_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_never_began_claims_anew),
        T(what_may_begin_has_its_claims),
        T(what_never_began_of_an_array_with_a_limit_claims_anew),
        T(what_is_left_of_a_job_has_its_claims),
        T(a_pid_that_another_process_has_keeps_nothing),
        T(what_is_left_is_found_while_others_leave),
        T(what_was_cancelled_and_replaced_claims_nothing),
        T(what_was_cancelled_and_replaced_sizes_nothing),
        T(a_name_of_two_kinds_is_claimed_as_a_whole),
        T(what_was_starting_still_has_its_date),
        T(an_array_that_was_starting_still_has_its_date),
        T(what_has_started_has_no_date),
        T(many_elements_expire),
        T(an_element_with_a_slot_is_no_late_one),
        T(a_cancelled_element_does_not_expire),
        T(elements_that_were_lost_do_not_expire),
        T(what_never_began_waits_for_no_second_token),
        T(what_begins_after_all_spends_no_second_token),
        T(what_is_over_and_never_began_has_spent_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
