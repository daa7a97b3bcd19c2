/* Jobs that wait inside each other and are to start after each other, element to element
 * too; arrays at their limit; and edits that would close a circle. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/conditions.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/each.h"
#include "daemon/core/edit.h"
#include "daemon/core/inner_wait.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/each_run.h"
#include "daemon/job/spec_edit.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { N = 3, CALLS = 4, WHOLE = JOB_NO_INDEX };

static const struct job_owner user = {.uid = 1000};
static struct core core;
static struct store *memory;
static struct job_spec *changes;
static struct tx tx;
static struct volt_error err;

/* --- jobs -------------------------------------------------------------------------- */

static struct job_spec *new_spec(uint64_t elements)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->argv = calloc(2, sizeof(char *));
    assert_non_null(spec->argv);
    spec->argv[0] = strdup("true");
    spec->is_array = elements > 0;
    spec->array_last = elements ? elements - 1 : 0;
    return spec;
}

static struct job *enter(uint64_t id, struct job_spec *spec)
{
    struct job *j = job_new(&core, spec, &user, true);

    assert_non_null(j);
    users_add(&core.users, users_get(&core.users, user.uid), job_spec_count(spec),
              j->bytes);
    assert_int_equal(core_wait_for(&core, j, &err), 0);
    assert_int_equal(core_enter(&tx, j, id, 1), 0);
    job_spec_unref(spec);
    core.held = (struct quota){0};
    assert_int_equal(each_run(&tx), 0);
    return j;
}

/* elements 0: a job; after 0: of none. */
static struct job *enter_after(uint64_t id, uint64_t elements, uint64_t after,
                               enum job_after when, bool each)
{
    struct job_spec *spec = new_spec(elements);

    spec->nafter = after != 0;
    spec->after = calloc(1, sizeof(*spec->after));
    assert_non_null(spec->after);
    spec->after[0] = (struct job_edge){.job = after, .when = when, .each = each};
    return enter(id, spec);
}

/* A letter each: locks. */
static void add_claims(struct job_spec *spec, const char *names)
{
    spec->nclaims = strlen(names);
    spec->claims = calloc(spec->nclaims, sizeof(*spec->claims));
    assert_non_null(spec->claims);
    for (size_t i = 0; i < spec->nclaims; i++)
        spec->claims[i].name = strndup(&names[i], 1);
}

static struct job *enter_claiming(uint64_t id, const char *names)
{
    struct job_spec *spec = new_spec(0);

    add_claims(spec, names);
    return enter(id, spec);
}

static void begin_element(struct job *j, int64_t offset)
{
    const struct job_event starting = {.type = JOB_EV_STARTING, .attempt = 1};
    struct array_effects fx;

    assert_int_equal(array_reserve(j->array, offset), 0);
    assert_int_equal(array_update(j->array, offset, &starting, &fx), 0);
    each_follow(&core, j, offset);
}

/* It leaves the line, and has nothing. */
static void begin_job(struct job *j)
{
    waiting_leave(&core, j);
    j->status.state = JOB_RUNNING;
}

static void end_job(struct job *j)
{
    j->status.state = JOB_DONE;
}

/* --- calls ------------------------------------------------------------------------- */

static struct inner_wait call[CALLS];
static struct job_key waits_for[CALLS];

static struct job_key key_of_call(const void *arg, size_t i)
{
    (void)i;
    return *(const struct job_key *)arg;
}

static struct inner_wait new_call(struct job_key *of, uint64_t in, int64_t in_index,
                                  uint64_t id, int64_t index)
{
    *of = (struct job_key){.id = id, .index = index};
    return (struct inner_wait){.uid = user.uid,
                               .in_job = {.id = in, .index = in_index},
                               .job = key_of_call,
                               .arg = of,
                               .n = 1};
}

/* Inside the one, a call waits for the other from now on. */
static void waits(size_t nr, uint64_t in, int64_t in_index, uint64_t id, int64_t index)
{
    call[nr] = new_call(&waits_for[nr], in, in_index, id, index);
    inner_wait_add(&core, &call[nr]);
}

/* Whether one is refused. */
static bool refused(uint64_t in, int64_t in_index, uint64_t id, int64_t index)
{
    struct job_key of;
    const struct inner_wait n = new_call(&of, in, in_index, id, index);

    return deadlock_of_wait(&core, &n, &err);
}

static int setup(void **state)
{
    static struct queue_config config;

    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 9);
    queue_config_init(&config, "default");
    assert_int_equal(queues_configure(&core, &config, 1), 0);
    admission_resize(core.parts.admit, 9);
    tx_init(&tx, &core);
    changes = job_spec_new();
    assert_non_null(changes);
    memset(call, 0, sizeof(call));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLS; i++)
        inner_wait_remove(&core, &call[i]);
    job_spec_unref(changes);
    store_free(memory);
    bare_core_fini(&core);
    return 0;
}

/* --- element to element ------------------------------------------------------------ */

static void elements_that_follow_others(void **state)
{
    struct job *a = enter_after(8, N, 0, 0, false);

    (void)state;
    (void)enter_after(9, N, 8, JOB_AFTER_ANY, true);
    begin_element(a, 1);
    assert_true(refused(8, 1, 9, WHOLE));
    assert_string_equal(err.text, "it would wait for ever: job 9, which waits for job "
                                  "8_1, which waits for this");
    assert_true(refused(8, 1, 9, 1));
    assert_string_equal(err.text, "it would wait for ever: job 9_1, which waits for job "
                                  "8_1, which waits for this");
    assert_false(refused(8, 1, 9, 0)); /* which waits for 8_0 alone */
    assert_false(refused(8, 1, 9, 2));
    begin_element(a, 2);
    waits(0, 8, 1, 9, 2);
    assert_true(refused(8, 2, 9, 1));
    assert_string_equal(err.text,
                        "it would wait for ever: job 9_1, which waits for job 8_1, which "
                        "waits for job 9_2, which waits for job 8_2, which waits for "
                        "this");
}

/* What has begun waits for nothing of it. */
static void elements_that_have_begun(void **state)
{
    struct job *a = enter_after(8, N, 0, 0, false);
    struct job *b = enter_after(9, N, 8, JOB_AFTER_ANY, true);

    (void)state;
    begin_element(a, 1);
    begin_element(b, 1);
    assert_false(refused(8, 1, 9, 1));
    assert_false(refused(8, 1, 9, WHOLE));
}

static void elements_that_follow_starts(void **state)
{
    struct job *a = enter_after(8, N, 0, 0, false);

    (void)state;
    (void)enter_after(9, N, 8, JOB_AFTER_START, true);
    begin_element(a, 1);
    assert_false(refused(8, 1, 9, 1));
    assert_false(refused(8, 1, 9, WHOLE));
}

/* --- what waits for a start -------------------------------------------------------- */

static void what_follows_a_start(void **state)
{
    struct job *a = enter_after(7, 0, 0, 0, false), *b;

    (void)state;
    b = enter_after(8, 0, 7, JOB_AFTER_START, false);
    assert_true(conditions_any(b));
    (void)enter_after(9, 0, 8, JOB_AFTER_START, false);
    begin_job(a); /* nothing has looked at that yet */
    assert_false(refused(7, WHOLE, 8, WHOLE));
    assert_false(refused(7, WHOLE, 9, WHOLE));
}

/* It does not start: what it is to start after waits for it. */
static void what_follows_the_start_of_one_that_waits(void **state)
{
    struct job *a = enter_after(7, 0, 0, 0, false);

    (void)state;
    (void)enter_after(8, 0, 7, JOB_AFTER_ANY, false);
    (void)enter_after(9, 0, 8, JOB_AFTER_START, false);
    begin_job(a);
    assert_true(refused(7, WHOLE, 9, WHOLE));
    assert_string_equal(err.text, "it would wait for ever: job 9, which waits for job 8, "
                                  "which waits for job 7, which waits for this");
}

/* An earlier voltd may have begun 7: a call inside of it waits for 8, which waits for no
 * more than the start of 7. */
static void what_has_begun_unknown_to_us(void **state)
{
    (void)state;
    (void)enter_after(7, 0, 0, 0, false);
    (void)enter_after(8, 0, 7, JOB_AFTER_START, false);
    (void)enter_after(9, 0, 7, JOB_AFTER_ANY, false);
    begin_job(enter_after(6, 0, 0, 0, false));
    waits(0, 7, WHOLE, 8, WHOLE);
    assert_false(refused(6, WHOLE, 7, WHOLE));
    assert_false(refused(6, WHOLE, 8, WHOLE));
    waits(1, 7, WHOLE, 9, WHOLE);
    assert_true(refused(6, WHOLE, 7, WHOLE));
    assert_string_equal(err.text, "it would wait for ever: job 7, which waits for job 9, "
                                  "which waits for job 7");
    assert_false(refused(6, WHOLE, 8, WHOLE));
}

/* Any element of it may be the first to start. */
static void what_follows_the_start_of_an_array(void **state)
{
    struct job *a = enter_after(7, N, 0, 0, false);

    (void)state;
    (void)enter_after(8, N, 7, JOB_AFTER_ANY, true);
    (void)enter_after(9, 0, 8, JOB_AFTER_START, false);
    begin_element(a, 0);
    assert_false(refused(7, 0, 9, WHOLE));
    assert_true(refused(7, 0, 8, WHOLE));
    for (int64_t i = 1; i < N; i++) {
        begin_element(a, i);
        assert_false(refused(7, 0, 9, WHOLE));
        waits((size_t)i, 7, i, 9, WHOLE);
    }
    assert_true(refused(7, 0, 9, WHOLE));
}

/* --- the limit of an array --------------------------------------------------------- */

static struct job *array_of(uint64_t id, unsigned at_once)
{
    struct job_spec *spec = new_spec(N + 1);

    spec->at_once = at_once;
    return enter(id, spec);
}

static void an_array_at_its_limit(void **state)
{
    struct job *a = array_of(8, 1);

    (void)state;
    begin_element(a, 0);
    assert_true(refused(8, 0, 8, 1));
    assert_string_equal(err.text,
                        "it would wait for ever: job 8_1, which waits for the limit of "
                        "its array: job 8_0 is in it, and waits for this");
    assert_false(refused(9, WHOLE, 8, 1));
}

static void an_array_that_is_not_at_its_limit(void **state)
{
    struct job *a = array_of(8, 2), *free = array_of(9, 0);

    (void)state;
    begin_element(a, 0);
    assert_false(refused(8, 0, 8, 3));
    begin_element(a, 1);
    assert_false(refused(8, 0, 8, 3)); /* 8_1 may end */
    waits(0, 8, 1, 8, 3);
    assert_true(refused(8, 0, 8, 3));
    assert_string_equal(err.text,
                        "it would wait for ever: job 8_3, which waits for the limit of "
                        "its array: job 8_1 is in it, and waits for job 8_3");
    begin_element(free, 0);
    assert_false(refused(9, 0, 9, 1));
}

/* --- how much is looked at --------------------------------------------------------- */

struct again {
    struct job_key of, last;
    size_t n;
};

static struct job_key key_of_again(const void *arg, size_t i)
{
    const struct again *a = arg;

    return i + 1 < a->n ? a->of : a->last;
}

/* Whether it is found that a job waits for itself behind so many others. */
static bool finds_itself(uint64_t in, uint64_t others, size_t n)
{
    const struct again again = {.of = {.id = others, .index = WHOLE},
                                .last = {.id = in, .index = WHOLE},
                                .n = n + 1};
    const struct inner_wait w = {.uid = user.uid,
                                 .in_job = {.id = in, .index = WHOLE},
                                 .job = key_of_again,
                                 .arg = &again,
                                 .n = again.n};

    core.held = (struct quota){0};
    return deadlock_of_wait(&core, &w, &err);
}

enum { PASSED = DEADLOCK_LOOKS / 10 }; /* chunks, or words */

static void chunks_that_are_passed_over(void **state)
{
    const int64_t total = (int64_t)PASSED * ARRAY_CHUNK;
    struct job_spec *spec = new_spec((uint64_t)total);

    (void)state;
    spec->at_once = 2;
    struct job *a = enter(8, spec);
    begin_job(enter_after(7, 0, 0, 0, false));
    begin_element(a, 0);
    begin_element(a, total - 1);
    assert_true(finds_itself(7, 8, 1));
    assert_in_range(core.held.entries, PASSED, PASSED + 3 * ARRAY_CHUNK);
    assert_true(finds_itself(7, 8, 5));
    assert_false(finds_itself(7, 8, 10));
}

static void words_that_are_passed_over(void **state)
{
    const uint64_t total = (uint64_t)PASSED * 64;
    struct job *a = enter_after(8, total, 0, 0, false);
    struct job *b = enter_after(9, total, 8, JOB_AFTER_ANY, true);

    (void)state;
    begin_job(enter_after(7, 0, 0, 0, false));
    begin_element(a, 1);
    waits(0, 8, 1, 7, WHOLE);
    each_enter(&core, b);
    for (uint64_t i = 0; i + 1 < total; i++)
        assert_false(each_decide(&b->elements->each->edges[0], i, false));
    assert_true(finds_itself(7, 9, 1));
    assert_in_range(core.held.entries, PASSED, PASSED + 2 * 64);
    assert_true(finds_itself(7, 9, 5));
    assert_false(finds_itself(7, 9, 10));
    core.held = (struct quota){0};
    assert_false(refused(7, WHOLE, 9, 1)); /* it alone is looked at */
    assert_in_range(core.held.entries, 1, 20);
}

static void claims_of_what_is_not_in_the_line(void **state)
{
    struct job_spec *spec = new_spec(0);

    (void)state;
    begin_job(enter_after(7, 0, 0, 0, false));
    (void)enter_after(8, 0, 0, 0, false);
    (void)enter_after(9, 0, 8, JOB_AFTER_ANY, false);
    assert_true(finds_itself(7, 9, 1));
    const uint64_t none = core.held.entries;
    add_claims(spec, "abc");
    spec->nafter = 1;
    spec->after = calloc(1, sizeof(*spec->after));
    assert_non_null(spec->after);
    spec->after[0] = (struct job_edge){.job = 8, .when = JOB_AFTER_ANY};
    (void)enter(10, spec);
    assert_true(finds_itself(7, 10, 1));
    assert_int_equal(core.held.entries, none + 3);
}

/* --- edits ------------------------------------------------------------------------- */

static int edit(struct job *j, uint64_t tags)
{
    const struct job_edit e = {.changes = changes, .tags = tags, .uid = user.uid};

    return core_edit(&tx, j, &e, &user, &err);
}

static void change_after(uint64_t id)
{
    free(changes->after);
    changes->after = calloc(1, sizeof(*changes->after));
    assert_non_null(changes->after);
    changes->nafter = 1;
    changes->after[0] = (struct job_edge){.job = id, .when = JOB_AFTER_ANY};
}

static int edit_after(struct job *j, uint64_t after, bool each)
{
    change_after(after);
    changes->after[0].each = each;
    return edit(j, TAGS_OF_AFTER);
}

static void an_edit_of_what_is_waited_for_inside(void **state)
{
    struct job *a = enter_after(8, 0, 0, 0, false), *b = enter_after(9, 0, 0, 0, false);
    struct job *c = enter_after(10, 0, 9, JOB_AFTER_ANY, false);

    (void)state;
    begin_job(a);
    waits(0, 8, WHOLE, 10, WHOLE);
    assert_int_equal(edit_after(b, 8, false), -EINVAL);
    assert_string_equal(err.text,
                        "it would wait for ever: job 8, which waits for job 10, "
                        "which waits for this");
    assert_int_equal(edit_after(c, 8, false), -EINVAL);
    assert_string_equal(err.text, "it would wait for ever: job 8, which waits for this");
    inner_wait_remove(&core, &call[0]);
    assert_int_equal(edit_after(b, 8, false), 0);
    waits(0, 8, WHOLE, 11, WHOLE); /* which is not there */
    assert_int_equal(edit_after(c, 8, false), 0);
}

static void an_edit_of_elements(void **state)
{
    struct job *a = enter_after(8, N, 0, 0, false), *b = enter_after(9, N, 0, 0, false);

    (void)state;
    begin_element(a, 1);
    begin_element(a, 2);
    waits(0, 8, 1, 9, 2);
    waits(1, 8, 2, 9, 0);
    assert_int_equal(edit_after(b, 8, false), -EINVAL);
    assert_int_equal(edit_after(b, 8, true), 0); /* 9_2 for 8_2 for 9_0 for 8_0 */
    waits(2, 8, 2, 9, 1);
    changes->after[0].when = JOB_AFTER_OK;
    assert_int_equal(edit(b, TAGS_OF_AFTER), -EINVAL);
    assert_string_equal(err.text,
                        "it would wait for ever: job 8_1, which waits for job 9_2, which "
                        "waits for job 8_2, which waits for this");
}

static int edit_claims(struct job *j, const char *names, uint64_t tags)
{
    add_claims(changes, names);
    const int r = edit(j, SPEC_TAG(TAG_CLAIMS) | SPEC_TAG(TAG_HAD) | tags);
    for (size_t i = 0; i < changes->nclaims; i++)
        free(changes->claims[i].name);
    free(changes->claims);
    changes->claims = NULL;
    changes->nclaims = 0;
    return r;
}

static int edit_lock(struct job *j, const char *names)
{
    return edit_claims(j, names, 0);
}

/* It has what it claims, and runs. */
static void hold(struct job *j, struct work *w)
{
    *w = (struct work){.core = &core, .job = j, .offset = NO_OFFSET};
    waiting_leave(&core, j);
    admission_take(core.parts.admit, &j->waiter, false, waiting_now(&core));
    j->status.state = JOB_RUNNING;
    list_add_last(&users_find(&core.users, user.uid)->holders, &w->held);
}

static void let_go(struct job *j, struct work *w)
{
    list_remove(&users_find(&core.users, user.uid)->holders, &w->held);
    admission_ended(core.parts.admit, &j->waiter, 1, 0, waiting_now(&core));
    admission_release_locks(core.parts.admit, &j->waiter, 1, waiting_now(&core));
    end_job(j);
}

static void an_edit_of_claims(void **state)
{
    struct job *a = enter_claiming(8, "a"), *b = enter_claiming(9, "b");
    struct work has_a;

    (void)state;
    hold(a, &has_a);
    waits(0, 8, WHOLE, 9, WHOLE);
    assert_int_equal(edit_lock(b, "a"), -EINVAL);
    assert_string_equal(
        err.text, "it would wait for ever: lock a: job 8 has it, and waits for this");
    assert_int_equal(edit_lock(b, "c"), 0);
    inner_wait_remove(&core, &call[0]);
    assert_int_equal(edit_lock(b, "a"), 0);
    let_go(a, &has_a);
}

/* What is waited for is behind it in a line, with its new claims and its new place. */
static void an_edit_of_claims_before_others(void **state)
{
    struct job *a = enter_claiming(8, "a"), *b = enter_claiming(9, "m");
    struct job *m = enter_claiming(11, "m"), *z = enter_claiming(12, "z");
    struct work has_a, has_m, has_z;

    (void)state;
    (void)enter_claiming(10, "m");
    hold(a, &has_a);
    hold(m, &has_m);
    hold(z, &has_z);
    waits(0, 8, WHOLE, 10, WHOLE);
    assert_int_equal(edit_lock(b, "ma"), -EINVAL);
    assert_string_equal(
        err.text, "it would wait for ever: lock a: job 8 has it, and waits for job "
                  "10, which waits for lock m: left to job 9, which waits for this");
    assert_int_equal(edit_lock(b, "a"), 0); /* m is not left to it */
    assert_int_equal(edit_lock(b, "m"), 0);
    change_after(11); /* until which it is not in the line */
    assert_int_equal(edit_claims(b, "ma", TAGS_OF_AFTER), 0);
    changes->nafter = 0;
    assert_int_equal(edit_claims(b, "m", TAGS_OF_AFTER), 0);
    assert_int_equal(conditions_hold(&core, b, &(struct hold){.by = user.uid}), 0);
    assert_int_equal(edit_lock(b, "ma"), 0);
    assert_int_equal(edit_lock(b, "m"), 0);
    conditions_release(&core, b);
    waits(1, 12, WHOLE, 10, WHOLE);
    assert_int_equal(edit_lock(b, "mz"), -EINVAL);
    changes->priority = -1; /* behind job 10 */
    assert_int_equal(edit_claims(b, "ma", SPEC_TAG(TAG_PRIORITY)), 0);
    let_go(z, &has_z);
    let_go(a, &has_a);
    let_go(m, &has_m);
}

/* It is not behind itself. */
static void an_edit_that_ends_a_circle(void **state)
{
    struct job *a = enter_claiming(8, "a"), *b = enter_claiming(9, "am");
    struct job *m = enter_claiming(11, "m");
    struct work has_a, has_m;

    (void)state;
    hold(a, &has_a);
    hold(m, &has_m);
    waits(0, 8, WHOLE, 9, WHOLE);
    changes->priority = -1;
    assert_int_equal(edit_claims(b, "m", SPEC_TAG(TAG_PRIORITY)), 0);
    let_go(a, &has_a);
    let_go(m, &has_m);
}

/* Of an earlier voltd, which may have begun it. */
static void what_may_have_begun(void **state)
{
    struct job *a = enter_claiming(8, "a");
    struct job_spec *spec = new_spec(N);
    struct work has_a, unknown = {.core = &core, .offset = 0, .place = PLACE_WAITS};

    (void)state;
    add_claims(spec, "a");
    struct job *b = enter(9, spec);
    hold(a, &has_a);
    begin_element(b, 0);
    assert_false(refused(8, WHOLE, 9, 0));
    assert_int_equal(elements_reserve(b->elements, 0), 0);
    elements_set(b->elements, 0, &unknown);
    assert_true(refused(8, WHOLE, 9, 0));
    unknown.place = PLACE_EARLY;
    assert_true(refused(8, WHOLE, 9, 0));
    unknown.place = PLACE_SLOT;
    assert_false(refused(8, WHOLE, 9, 0));
    elements_set(b->elements, 0, NULL);
    let_go(a, &has_a);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(elements_that_follow_others),
        T(elements_that_have_begun),
        T(elements_that_follow_starts),
        T(what_follows_a_start),
        T(what_follows_the_start_of_one_that_waits),
        T(what_has_begun_unknown_to_us),
        T(what_follows_the_start_of_an_array),
        T(an_array_at_its_limit),
        T(an_array_that_is_not_at_its_limit),
        T(chunks_that_are_passed_over),
        T(words_that_are_passed_over),
        T(claims_of_what_is_not_in_the_line),
        T(an_edit_of_what_is_waited_for_inside),
        T(an_edit_of_elements),
        T(an_edit_of_claims),
        T(an_edit_of_claims_before_others),
        T(an_edit_that_ends_a_circle),
        T(what_may_have_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
