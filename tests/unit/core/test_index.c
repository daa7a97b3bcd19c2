/* The index against the table: random histories of jobs, arrays and elements of several
 * users, with and without memory; after each change the index has what a recount gives,
 * and what it says to each question holds what a walk through the table finds. And how
 * few jobs a walk looks at that can go by it. */
#include "tests/support/alloc_hook.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/auth/auth.h"
#include "daemon/core/state.h"
#include "daemon/query/candidates.h"
#include "daemon/query/view.h"
#include "daemon/core/post.h"
#include "tests/support/recount.h"

/* --- a core with a table and without tasks --------------------------------------- */

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s;
    (void)facts;
    (void)n;
    (void)commit;
    return 0;
}

static const struct store_log_ops taking = {.append = append};
static struct store store = {.log = &taking};
static struct core core;
static uint64_t last_id;

static int setup(void **state)
{
    (void)state;
    memset(&core, 0, sizeof(core));
    core_init(&core, NULL, NULL, &(struct siphash_key){1, 2});
    core.parts.store = &store;
    core.parts.admit = admission_new(&core.keys.secret, 1);
    assert_non_null(core.parts.admit);
    event_ring_init(&core.ring, 0);
    last_id = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    core_forget_all(&core);
    users_fini(&core.users);
    shares_fini(&core.shares);
    admission_free(core.parts.admit);
    return 0;
}

/* Nothing waits for what a change leads to. */
static void forget_news(void)
{
    core.news_due = false;
    core.held = (struct quota){0};
}

static uint32_t chance(uint32_t n)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x % n;
}

static char *text(const char *what, uint32_t n)
{
    char buffer[32];

    (void)snprintf(buffer, sizeof(buffer), "%s-%u", what, n);
    return strdup(buffer);
}

/* Names and labels that many have, some have, or one has. */
static uint32_t some(void)
{
    static uint32_t unique = 1000;

    switch (chance(3)) {
    case 0:
        return 0;
    case 1:
        return chance(10);
    default:
        return unique++;
    }
}

static struct job_spec *some_spec(bool array)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(2, sizeof(char *));
    spec->argv[0] = strdup("/bin/true");
    spec->name = chance(4) ? text("name", some()) : NULL;
    spec->labels = calloc(3, sizeof(*spec->labels));
    for (uint32_t n = chance(4); spec->nlabels < n; spec->nlabels++) {
        spec->labels[spec->nlabels].name = text("label", (uint32_t)spec->nlabels);
        spec->labels[spec->nlabels].value = text("value", some());
    }
    spec->on_lost = JOB_ON_LOST_RETRY;
    spec->is_array = array;
    spec->array_last = array ? chance(4) : 0;
    return spec;
}

/* Takes spec. 0: there was no memory. */
static uint64_t enter(struct job_spec *spec, uid_t uid, bool dormant)
{
    const struct job_owner owner = {.uid = uid};
    struct job *job = job_new_bare(&core, spec, &owner, false, false);
    struct tx tx;

    job_spec_unref(spec);
    if (!job)
        return 0;
    struct user *u = users_get(&core.users, uid);
    if (u)
        users_add(&core.users, u, job->array ? job->array->total : 1, job->bytes);
    tx_init(&tx, &core);
    if ((dormant && !job->array && job_slumber(&core, job) < 0) || !u ||
        waiting_assign(&core, job, NULL) < 0 ||
        core_enter(&tx, job, last_id + 1, 1) < 0) {
        job_free(job);
        return 0;
    }
    if (job->packed) {
        job_spec_unref(job->spec);
        job->spec = NULL;
    }
    forget_news();
    return ++last_id;
}

static struct job *some_job(void)
{
    return last_id ? table_get(&core.table, 1 + chance((uint32_t)last_id)) : NULL;
}

static void post(struct job *job, enum job_event_type type, bool lost)
{
    const int64_t item = job->array && chance(5)
                             ? (int64_t)chance((uint32_t)job->array->total)
                             : NO_OFFSET;
    struct job_event ev = {.type = type,
                           .at_usec = 1,
                           .result = lost ? JOB_RESULT_LOST : JOB_RESULT_SUCCESS};
    struct tx tx;

    if (item != NO_OFFSET && array_reserve(job->array, item) < 0)
        return;
    if (type == JOB_EV_STARTING)
        ev.attempt = jobs_any_status(job, item).attempt + 1;
    tx_init(&tx, &core);
    (void)core_settle(&tx, job, item, &ev); /* or it takes no such event now */
    forget_news();
}

/* Of an element, a job, or what is left of an array. */
static void end_item(struct job *job, int64_t item)
{
    const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 1};
    const struct job_event exited = {
        .type = JOB_EV_EXITED, .at_usec = 1, .result = JOB_RESULT_SUCCESS};
    struct tx tx;

    tx_init(&tx, &core);
    (void)core_settle(&tx, job, item, &cancel);
    (void)core_settle(&tx, job, item, &exited);
    forget_news();
}

static void end(struct job *job)
{
    end_item(job, NO_OFFSET);
    for (int64_t at = 0; job->array && array_find_own(job->array, &at); at++)
        end_item(job, at);
    assert_true(jobs_done(job));
}

static void leave(struct job *job)
{
    struct tx tx;

    tx_init(&tx, &core);
    job_retire(&tx, job);
    job_leave(&tx, job);
    assert_ptr_equal(tx.garbage, job);
    job_free(job);
    forget_news();
}

/* --- what the index says, and what a walk through the table finds ------------------- */

static struct job_filter some_filter(struct job_label *label)
{
    const struct job *job = some_job();
    struct job_filter f = {.newest_first = chance(2)};

    f.states = chance(2) ? chance(1u << JOB_STATE_COUNT) : 0;
    f.of_user = chance(4) == 0;
    f.uid = chance(4);
    if (!job || job->packed || chance(3) == 0)
        return f;
    if (chance(2))
        f.name = job_spec_display_name(job->spec);
    if (chance(2) && job->spec->nlabels) {
        *label = job->spec->labels[chance((uint32_t)job->spec->nlabels)];
        if (chance(3) == 0)
            label->value = NULL; /* any */
        f.labels = label;
        f.nlabels = 1;
    }
    return f;
}

static struct asker asker_of(uid_t uid)
{
    return (struct asker){{.uid = uid}, uid == 0 ? AUTH_ROOT : AUTH_MEMBER};
}

static bool is_wanted(const struct job_filter *f, uid_t uid, uint64_t id)
{
    const struct asker asker = asker_of(uid);
    struct job *job = table_get(&core.table, id);
    struct job_view v;

    if (!job || !auth_sees(&asker, job->owner.uid) ||
        !jobs_view_wanted(&core, job, f, QUERY_SPECS_NONE, &v))
        return false;
    job_view_fini(&v);
    return true;
}

static void compare(const struct job_filter *f, uid_t asker, uint64_t after)
{
    const struct asker as = asker_of(asker);
    struct candidates c;

    if (!candidates_begin(&c, &core, &as, f, after)) {
        assert_true(core.index.missing || (asker == 0 && !f->of_user && !f->name &&
                                           (!f->nlabels || !f->labels->value)));
        return;
    }
    assert_int_equal(core.index.missing, 0);
    uint64_t at = after, id;
    do {
        id = candidates_next(&c);
        assert_true(!id || (f->newest_first ? id < at : id > at));
        /* None that is wanted is passed by. */
        while (f->newest_first ? --at > id : ++at < (id ? id : last_id + 1))
            assert_false(is_wanted(f, asker, at));
    } while (id);
}

static void ask(void)
{
    struct job_label label;
    const struct job_filter f = some_filter(&label);

    compare(&f, chance(4),
            f.newest_first ? 1 + chance((uint32_t)last_id + 1)
                           : chance((uint32_t)last_id + 1));
}

/* --- tests -------------------------------------------------------------------------- */

static void change(bool fails)
{
    struct job *job = some_job();
    struct job_spec *spec = chance(3) == 0 ? some_spec(chance(4) == 0) : NULL;
    const uint32_t type = chance(JOB_EV_COUNT);

    if (fails && chance(3) == 0)
        hook_arm(1 + chance(6), true);
    if (spec)
        (void)enter(spec, chance(4), chance(2));
    else if (job && jobs_done(job) && chance(4) == 0)
        leave(job);
    else if (job)
        post(job, (enum job_event_type)type, chance(4) == 0);
    hook_arm(0, false);
}

static void a_random_history(bool fails)
{
    uint64_t without = 0;

    for (int i = 0; i < 6000; i++) {
        change(fails);
        if (i % 16 == 0) /* what is wrong once stays wrong */
            recount_index(&core, fails);
        ask();
        without += core.index.missing != 0;
    }
    assert_int_equal(without != 0, fails);
    assert_true(core.table.count > 500);
}

static void as_a_recount_of_the_table(void **state)
{
    (void)state;
    a_random_history(false);
}

static void without_memory_the_table_answers(void **state)
{
    (void)state;
    a_random_history(true);
    /* Those that are missing leave, and the index is complete again. */
    for (uint64_t id = 1; id <= last_id; id++) {
        struct job *job = table_get(&core.table, id);

        if (job && job->indexed == INDEX_MISSING) {
            end(job);
            leave(job);
        }
    }
    recount_index(&core, true);
    assert_int_equal(core.index.missing, 0);
}

/* --- how few a walk looks at -------------------------------------------------------- */

enum { MANY = 20000 };

static struct job_spec *spec_of(const char *name, const char *value)
{
    struct job_spec *spec = job_spec_new();

    spec->argv = calloc(2, sizeof(char *));
    spec->argv[0] = strdup("/bin/true");
    spec->name = strdup(name);
    if (!value)
        return spec;
    spec->labels = calloc(1, sizeof(*spec->labels));
    spec->labels[0] = (struct job_label){strdup("of"), strdup(value)};
    spec->nlabels = 1;
    return spec;
}

static int tell(void *arg, const struct job_view *v)
{
    *(uint64_t *)arg = v->key.id;
    return 0;
}

/* Jobs that a whole walk looks at; *ret_told: the last one that it tells of. */
static size_t looks(uid_t uid, const struct job_filter *f, uint64_t *ret_told)
{
    const struct asker asker = asker_of(uid);
    struct quota quota;
    struct query_walk w = {.quota = &quota, .limit = SIZE_MAX};
    size_t n = 0;

    do {
        quota = (struct quota){0};
        assert_int_equal(query_walk_step(NULL, &core, &asker, f, &w, tell, ret_told), 0);
        n += quota.entries;
    } while (!w.end);
    return n;
}

static void few_are_looked_at(void **state)
{
    struct job_label rare = {"of", "rare"};
    const struct job_filter all = {0}, running = {.states = 1u << JOB_RUNNING},
                            named = {.name = "rare"},
                            labelled = {.labels = &rare, .nlabels = 1},
                            both = {.name = "many", .labels = &rare, .nlabels = 1};
    const struct job_filter *each[] = {&running, &named, &labelled, &both};
    uint64_t told = 0;

    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_not_equal(enter(spec_of("many", "much"), 1, true), 0);
    const uint64_t theirs = enter(spec_of("many", "much"), 2, true);
    const uint64_t runs = enter(spec_of("many", "much"), 1, false);
    const uint64_t is_named = enter(spec_of("rare", "much"), 1, true);
    const uint64_t is_labelled = enter(spec_of("many", "rare"), 1, true);
    const uint64_t expected[] = {runs, is_named, is_labelled, is_labelled};
    post(table_get(&core.table, runs), JOB_EV_STARTING, false);
    post(table_get(&core.table, runs), JOB_EV_STARTED, false);
    for (uid_t uid = 0; uid < 2; uid++)
        for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
            for (int down = 0; down < 2; down++) {
                struct job_filter f = *each[i];

                f.newest_first = down;
                told = 0;
                assert_int_equal(looks(uid, &f, &told), 1);
                assert_int_equal(told, expected[i]);
            }
    assert_int_equal(looks(2, &all, &told), 1); /* not those of the other */
    assert_int_equal(told, theirs);
    assert_int_equal(looks(3, &all, &told), 0);
    const struct job_filter of_the_other = {.of_user = true, .uid = 2};
    assert_int_equal(looks(0, &of_the_other, &told), 1);
    assert_int_equal(told, theirs);
    assert_int_equal(looks(1, &all, &told), MANY + 3);
    core.index.missing++; /* no memory for one: the table is walked */
    assert_true(looks(1, &named, &told) >= MANY);
    assert_int_equal(told, is_named);
    core.index.missing--;
}

/* More users than root's questions bring together. */
static void jobs_of_many_users(void **state)
{
    const struct job_filter named = {.name = "rare"};
    uint64_t told = 0;

    (void)state;
    for (uid_t uid = 1; uid <= CANDIDATES_USERS; uid++)
        (void)enter(spec_of("many", NULL), uid, false);
    const uint64_t first = enter(spec_of("rare", NULL), 7, false);
    const uint64_t second = enter(spec_of("rare", NULL), 9, false);
    assert_int_equal(looks(0, &named, &told), 2);
    assert_int_equal(told, second);
    (void)enter(spec_of("many", NULL), 1000, false);
    assert_true(looks(0, &named, &told) > CANDIDATES_USERS);
    assert_int_equal(told, second);
    assert_int_equal(looks(7, &named, &told), 1);
    assert_int_equal(told, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_a_recount_of_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_the_table_answers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(few_are_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_of_many_users, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
