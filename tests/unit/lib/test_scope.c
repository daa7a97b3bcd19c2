/* Scopes (lib/include/volt/scope.h) on real workers. The models show that nothing is lost
 * or touched too late; here it is what parents and children see. */
#include "base/atomic.h"
#include "runtime/runtime.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

enum { MANY = 10000, DEEP = 200000, TURNS = 100000 };

/* What a child does; the parent's own states are of this type, too. */
struct item {
    int at, n;
    long total;
    struct volt_scope scope;
    struct volt_yield yield;
};

static struct volt_runtime *rt;
static vat_u32 polls, drops, outputs, flag;

static int start(void **state, unsigned workers)
{
    struct volt_options opt = {.workers = workers, .seed = 7};

    (void)state;
    vat_u32_init(&polls, 0);
    vat_u32_init(&drops, 0);
    vat_u32_init(&outputs, 0);
    vat_u32_init(&flag, 0);
    return volt_runtime_new(&opt, &rt);
}

static int one(void **state)
{
    return start(state, 1);
}

static int two(void **state)
{
    return start(state, 2);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    rt = NULL;
    return 0;
}

static void item_drop(void *state)
{
    struct item *f = state;

    volt_scope_fini(&f->scope);
    vat_u32_add(&drops, 1, VAT_RLX);
}

static void item_drop_output(void *state)
{
    (void)state;
    vat_u32_add(&outputs, 1, VAT_RLX);
}

#define ITEM(NAME)                                                                       \
    static enum volt_poll NAME##_poll(struct volt_cx *cx, void *state);                  \
    static const struct volt_task_type NAME##_type = {                                   \
        .name = #NAME,                                                                   \
        .size = sizeof(struct item),                                                     \
        .poll = NAME##_poll,                                                             \
        .drop = item_drop,                                                               \
        .drop_output = item_drop_output,                                                 \
    }

static struct item *child(struct item *f, int i)
{
    return volt_scope_child(&f->scope, (size_t)i);
}

/* Runs an item of this type to its end; returns its total, or an error. */
static long result(const struct volt_task_type *type, int n)
{
    struct item *f = volt_task_new(rt, type);
    struct volt_join join;
    struct volt_stats stats;

    f->n = n;
    assert_int_equal(volt_task_spawn(f, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    long total = ((struct item *)volt_join_state(&join))->total;
    volt_join_fini(&join);
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.spawned, stats.completed);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), vat_u32_load(&outputs, VAT_ACQ));
    return total;
}

/* --- trees */

ITEM(fib);

static enum volt_poll fib_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    vat_u32_add(&polls, 1, VAT_RLX);
    f->total = f->n;
    if (f->n >= 2) {
        FN_CHECK(volt_scope_init(cx, &f->scope, &fib_type, 2) == 0);
        child(f, 0)->n = f->n - 1;
        child(f, 1)->n = f->n - 2;
        VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
        f->total = child(f, 0)->total + child(f, 1)->total;
    }
    VOLT_END(f->at);
}

static void a_tree_of_calls(void **state)
{
    (void)state;
    assert_int_equal(result(&fib_type, 20), 6765);
    assert_int_equal(vat_u32_load(&polls, VAT_ACQ), 21891);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 21891);
}

static void on_a_thread_of_the_pool(void **state)
{
    struct item *f = volt_task_new(rt, &fib_type);
    struct volt_join join;

    (void)state;
    f->n = 12;
    assert_int_equal(volt_task_spawn_blocking(f, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    assert_int_equal(((struct item *)volt_join_state(&join))->total, 144);
    volt_join_fini(&join);
}

/* One child each: as many polls inside each other as would overflow a stack. */
ITEM(chain);

static enum volt_poll chain_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    f->total = 1;
    if (f->n > 1) {
        FN_CHECK(volt_scope_init(cx, &f->scope, &chain_type, 1) == 0);
        child(f, 0)->n = f->n - 1;
        VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
        f->total = 1 + child(f, 0)->total;
    }
    VOLT_END(f->at);
}

static void a_long_chain_needs_no_stack(void **state)
{
    (void)state;
    assert_int_equal(result(&chain_type, DEEP), DEEP);
}

/* --- many children of one parent */

/* Odd ones take turns with the others first. */
ITEM(leaf);

static enum volt_poll leaf_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    if (f->n % 2)
        VOLT_AWAIT(f->at, volt_yield_poll(cx, &f->yield));
    f->total = f->n;
    VOLT_END(f->at);
}

ITEM(wide);

static enum volt_poll wide_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    FN_CHECK(volt_scope_init(cx, &f->scope, &leaf_type, (size_t)f->n) == 0);
    FN_CHECK(f->n == 0 || volt_scope_status(&f->scope, 0) == -EINPROGRESS);
    for (int i = 0; i < f->n; i++)
        child(f, i)->n = i;
    VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
    for (int i = 0; i < f->n; i++) {
        FN_CHECK(volt_scope_status(&f->scope, (size_t)i) == 0);
        FN_CHECK(child(f, i)->total == i);
        f->total += i;
    }
    volt_scope_fini(&f->scope); /* and may be used again */
    FN_CHECK(volt_scope_init(cx, &f->scope, &leaf_type, SIZE_MAX / 8) == -ENOMEM);
    VOLT_END(f->at);
}

static void many_children(void **state)
{
    (void)state;
    assert_int_equal(result(&wide_type, MANY), (long)MANY * (MANY - 1) / 2);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), MANY + 1);
}

static void no_children(void **state)
{
    (void)state;
    assert_int_equal(result(&wide_type, 0), 0);
}

/* --- others meanwhile */

static enum volt_poll set_flag(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&flag, 1, VAT_REL);
    return VOLT_READY;
}

/* Lasts until the flag is raised, but not for ever. */
ITEM(busy);

static enum volt_poll busy_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    (void)cx;
    for (int i = 0; i < 200 && !vat_u32_load(&flag, VAT_ACQ); i++)
        vat_pause();
    f->total = (long)vat_u32_load(&flag, VAT_ACQ);
    return VOLT_READY;
}

ITEM(crowd);

static enum volt_poll crowd_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    FN_CHECK(volt_scope_init(cx, &f->scope, &busy_type, TURNS) == 0);
    FN_CHECK(fn_spawn(rt, set_flag, NULL, NULL) == 0);
    VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
    for (int i = 0; i < TURNS; i++)
        f->total += child(f, i)->total;
    VOLT_END(f->at);
}

/* Before the last child, with one worker: no clock is asked. */
static void other_tasks_have_their_turn(void **state)
{
    (void)state;
    assert_true(result(&crowd_type, 0) > 0);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* The worker is given away in the midst of a scope. */
ITEM(blocks);

static enum volt_poll blocks_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    volt_block_in_place(cx, nothing, NULL);
    f->total = 1;
    return VOLT_READY;
}

ITEM(blockers);

static enum volt_poll blockers_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    FN_CHECK(volt_scope_init(cx, &f->scope, &blocks_type, (size_t)f->n) == 0);
    VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
    for (int i = 0; i < f->n; i++)
        f->total += child(f, i)->total;
    VOLT_END(f->at);
}

static void a_worker_given_away(void **state)
{
    (void)state;
    assert_int_equal(result(&blockers_type, 50), 50);
}

/* --- what the parent knew before */

static struct volt_waker waker;

/* Until it is woken by the parent. */
ITEM(sleeper);

static enum volt_poll sleeper_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    if (f->at++ > 0)
        return VOLT_READY;
    waker = volt_waker_new(cx);
    return VOLT_PENDING;
}

/* Has woken itself before it awaits, and goes on for that. */
ITEM(restless);

static enum volt_poll restless_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    f->n++;
    if (f->n == 1) {
        FN_CHECK(volt_scope_init(cx, &f->scope, &sleeper_type, 1) == 0);
        volt_cx_wake(cx);
    } else if (f->n == 2) {
        volt_waker_wake(&waker);
        volt_waker_fini(&waker);
    }
    if (volt_scope_poll(cx, &f->scope) == VOLT_PENDING)
        return VOLT_PENDING;
    f->total = f->n;
    return VOLT_READY;
}

static void a_wake_of_its_own_is_kept(void **state)
{
    (void)state;
    assert_true(result(&restless_type, 0) >= 2);
}

/* --- cancelling */

ITEM(never);

static enum volt_poll never_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    vat_u32_add(&polls, 1, VAT_REL);
    return VOLT_PENDING;
}

ITEM(waits);

static enum volt_poll waits_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    FN_CHECK(volt_scope_init(cx, &f->scope, f->n ? &waits_type : &never_type, 2) == 0);
    for (int i = 0; i < 2; i++)
        child(f, i)->n = f->n - 1;
    VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
    for (int i = 0; i < 2; i++)
        FN_CHECK(f->n > 0 || volt_scope_status(&f->scope, (size_t)i) == -ECANCELED);
    VOLT_END(f->at);
}

/* The whole tree: one, two, and four that wait for ever. */
static void start_waits(struct volt_join *join)
{
    struct item *f = volt_task_new(rt, &waits_type);

    f->n = 1;
    assert_int_equal(volt_task_spawn(f, join), 0);
    while (vat_u32_load(&polls, VAT_ACQ) < 4)
        vat_pause();
}

static void cancelling_ends_the_tree(void **state)
{
    struct volt_join join;

    (void)state;
    start_waits(&join);
    volt_join_cancel(&join);
    (void)volt_join_wait(&join);
    volt_join_fini(&join);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 7);
}

/* Under a shield, and cancelled before it has children. */
ITEM(shielded);

static enum volt_poll shielded_poll(struct volt_cx *cx, void *state)
{
    struct item *f = state;

    VOLT_BEGIN(f->at);
    volt_shield_begin(cx);
    vat_u32_store(&flag, 1, VAT_REL);
    while (vat_u32_load(&flag, VAT_ACQ) != 2)
        VOLT_AWAIT(f->at, volt_yield_poll(cx, &f->yield));
    FN_CHECK(volt_scope_init(cx, &f->scope, &never_type, 2) == 0);
    VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->scope));
    for (int i = 0; i < 2; i++)
        f->total += volt_scope_status(&f->scope, (size_t)i) == -ECANCELED;
    volt_shield_end(cx);
    VOLT_END(f->at);
}

static void so_it_does_before_the_tree_has_grown(void **state)
{
    struct volt_join join;

    (void)state;
    assert_int_equal(volt_task_spawn(volt_task_new(rt, &shielded_type), &join), 0);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    volt_join_cancel(&join);
    vat_u32_store(&flag, 2, VAT_REL);
    assert_int_equal(volt_join_wait(&join), 0); /* its last poll was under way */
    assert_int_equal(((struct item *)volt_join_state(&join))->total, 2);
    volt_join_fini(&join);
}

static void so_does_the_end_of_the_runtime(void **state)
{
    struct volt_join join;

    start_waits(&join);
    teardown(state);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 7);
    volt_join_fini(&join);
}

#define BOTH(test)                                                                       \
    cmocka_unit_test_setup_teardown(test, one, teardown),                                \
        cmocka_unit_test_setup_teardown(test, two, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_tree_of_calls),
        BOTH(on_a_thread_of_the_pool),
        BOTH(a_long_chain_needs_no_stack),
        BOTH(many_children),
        BOTH(no_children),
        cmocka_unit_test_setup_teardown(other_tasks_have_their_turn, one, teardown),
        BOTH(a_worker_given_away),
        BOTH(a_wake_of_its_own_is_kept),
        BOTH(cancelling_ends_the_tree),
        BOTH(so_it_does_before_the_tree_has_grown),
        BOTH(so_does_the_end_of_the_runtime),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
