/* Join handles and wakers: every way in which a handle, a task and a waiter may part
 * (K-2). Named by the flaws of the Volt documentation: F-I4 (a cancelled task leaves
 * its waiters behind), F-I10 (a handle dropped twice, or not at all). */
#include "base/atomic.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

static struct volt_runtime *rt;
static vat_u32 flag, count, drops, outputs;
static struct volt_waker waker;

static int setup(void **state)
{
    struct volt_options opt = {.workers = 2, .seed = 3};

    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    vat_u32_init(&drops, 0);
    vat_u32_init(&outputs, 0);
    return volt_runtime_new(&opt, &rt);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

static void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
}

static void counts_drop(struct fn_task *f)
{
    volt_join_fini(&f->join);
    vat_u32_add(&drops, 1, VAT_REL);
}

static void counts_output(struct fn_task *f)
{
    FN_CHECK(f->value == 42);
    vat_u32_add(&outputs, 1, VAT_REL);
}

/* Waits for the flag, of which `waker` tells it. */
static enum volt_poll waits(struct volt_cx *cx, struct fn_task *f)
{
    if (vat_u32_load(&flag, VAT_ACQ)) {
        f->value = 42;
        return VOLT_READY;
    }
    if (!f->at) {
        f->at = 1;
        waker = volt_waker_new(cx);
        vat_u32_add(&count, 1, VAT_REL);
    }
    return VOLT_PENDING;
}

static struct volt_join spawn_waiting(void)
{
    struct fn_task *f = fn_task_new(rt, waits, NULL);
    struct volt_join j;

    f->drop = counts_drop;
    f->drop_output = counts_output;
    assert_int_equal(volt_task_spawn(f, &j), 0);
    wait_count(1);
    return j;
}

static void let_it_end(void)
{
    vat_u32_store(&flag, 1, VAT_REL);
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
}

/* Joins what stands in its own `join` from the beginning. */
static enum volt_poll joins(struct volt_cx *cx, struct fn_task *f)
{
    if (volt_join_poll(cx, &f->join) == VOLT_PENDING) {
        vat_u32_add(&count, 1, VAT_REL);
        return VOLT_PENDING;
    }
    f->value = 42;
    return VOLT_READY;
}

static struct volt_join spawn_joining(struct volt_join of)
{
    struct fn_task *f = fn_task_new(rt, joins, NULL);
    struct volt_join j;

    f->join = of;
    f->drop = counts_drop;
    f->drop_output = counts_output;
    assert_int_equal(volt_task_spawn(f, &j), 0);
    wait_count(2);
    return j;
}

static void empty_handles_are_allowed(void **state)
{
    struct volt_join j = {0};
    struct volt_waker w = {0};

    (void)state;
    volt_join_cancel(&j);
    volt_join_fini(&j);
    volt_waker_wake(&w);
    volt_waker_fini(&w);
}

static void the_output_is_dropped_by_the_last_of_task_and_handle(void **state)
{
    struct volt_join j = spawn_waiting();

    (void)state;
    volt_join_fini(&j); /* gone before the end: the worker drops the output */
    let_it_end();
    while (vat_u32_load(&outputs, VAT_ACQ) == 0)
        vat_pause();
}

static void the_handle_drops_the_output_after_the_end(void **state)
{
    struct volt_join j = spawn_waiting();

    (void)state;
    let_it_end();
    assert_int_equal(volt_join_wait(&j), 0);
    assert_int_equal(volt_join_wait(&j), 0); /* again, at once */
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    assert_int_equal(vat_u32_load(&outputs, VAT_ACQ), 0);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&outputs, VAT_ACQ), 1);
    volt_join_fini(&j); /* F-I10: empty by now */
    assert_int_equal(vat_u32_load(&outputs, VAT_ACQ), 1);
}

static void a_chain_of_joins_resolves(void **state)
{
    struct volt_join j = spawn_joining(spawn_waiting());

    (void)state;
    let_it_end();
    assert_int_equal(volt_join_wait(&j), 0);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 2);
    assert_int_equal(vat_u32_load(&outputs, VAT_ACQ), 2);
}

static void f_i4_a_cancelled_joiner_leaves_nothing_behind(void **state)
{
    struct volt_join inner = spawn_waiting();
    struct volt_join j = spawn_joining(inner);
    struct volt_stats st;

    (void)state;
    volt_join_cancel(&j);
    assert_int_equal(volt_join_wait(&j), -ECANCELED);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    let_it_end(); /* wakes no zombie */
    while (vat_u32_load(&outputs, VAT_ACQ) == 0)
        vat_pause();
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.live, 0);
}

static void a_joiner_is_woken_by_cancellation_too(void **state)
{
    struct volt_join inner = spawn_waiting(), copy = inner;
    struct volt_join j = spawn_joining(inner);

    (void)state;
    volt_join_cancel(&copy); /* the same handle, held by the joiner */
    assert_int_equal(volt_join_wait(&j), 0);
    volt_join_fini(&j);
    volt_waker_fini(&waker);
    assert_int_equal(vat_u32_load(&outputs, VAT_ACQ), 1); /* the joiner's only */
}

static void *waits_in_a_thread(void *arg)
{
    vat_u32_add(&count, 1, VAT_REL);
    FN_CHECK(volt_join_wait(arg) == 0);
    return NULL;
}

static void a_thread_waits_without_polling(void **state)
{
    struct volt_join j = spawn_waiting();
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, waits_in_a_thread, &j), 0);
    wait_count(2);
    let_it_end();
    pthread_join(thread, NULL);
    volt_join_fini(&j);
}

/* Polls the handle in arg once and leaves it to somebody else. */
static enum volt_poll polls_once(struct volt_cx *cx, struct fn_task *f)
{
    if (f->at++ == 0)
        FN_CHECK(volt_join_poll(cx, f->arg) == VOLT_PENDING);
    vat_u32_add(&count, 1, VAT_REL);
    return VOLT_PENDING;
}

static void a_handle_moves_from_a_task_to_a_thread(void **state)
{
    struct volt_join j = spawn_waiting(), first;

    (void)state;
    assert_int_equal(fn_spawn(rt, polls_once, &j, &first), 0);
    wait_count(2);
    /* the task is registered; the thread takes its place */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, waits_in_a_thread, &j), 0);
    wait_count(3);
    let_it_end();
    pthread_join(thread, NULL);
    volt_join_fini(&j);
    volt_join_cancel(&first);
    assert_int_equal(volt_join_wait(&first), -ECANCELED);
    volt_join_fini(&first);
}

static void a_handle_moves_from_task_to_task(void **state)
{
    struct volt_join j = spawn_waiting(), first;

    (void)state;
    assert_int_equal(fn_spawn(rt, polls_once, &j, &first), 0);
    wait_count(2);
    struct volt_join second;
    struct fn_task *f = fn_task_new(rt, joins, NULL);
    f->join = j;
    f->drop = counts_drop;
    assert_int_equal(volt_task_spawn(f, &second), 0);
    wait_count(3);
    let_it_end();
    assert_int_equal(volt_join_wait(&second), 0);
    volt_join_fini(&second);
    volt_join_cancel(&first);
    assert_int_equal(volt_join_wait(&first), -ECANCELED);
    volt_join_fini(&first);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 3); /* the first was not woken */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(empty_handles_are_allowed),
        T(the_output_is_dropped_by_the_last_of_task_and_handle),
        T(the_handle_drops_the_output_after_the_end),
        T(a_chain_of_joins_resolves),
        T(f_i4_a_cancelled_joiner_leaves_nothing_behind),
        T(a_joiner_is_woken_by_cancellation_too),
        T(a_thread_waits_without_polling),
        T(a_handle_moves_from_a_task_to_a_thread),
        T(a_handle_moves_from_task_to_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
