/* Polls that last: nothing that is queued behind one waits for it, whatever it lies in,
 * and a poll that must block gives its worker away (F-D3, W-8). Nothing depends
 * on time: a promise that is not kept hangs the test. */
#include "base/atomic.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static struct volt_runtime *rt;
static vat_u32 flag, count;
static int fds[2];

static void runtime(unsigned workers, unsigned blocking)
{
    struct volt_options opt = {
        .workers = workers, .seed = 42, .max_blocking_threads = blocking};

    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
}

static int setup(void **state)
{
    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    return pipe2(fds, O_NONBLOCK | O_CLOEXEC);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    close(fds[0]);
    close(fds[1]);
    return 0;
}

static void join(struct volt_join *j)
{
    assert_int_equal(volt_join_wait(j), 0);
    volt_join_fini(j);
}

static void until_flag(void *arg)
{
    (void)arg;
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
}

static enum volt_poll raise_flag(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&flag, 1, VAT_REL);
    return VOLT_READY;
}

static enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    until_flag(NULL);
    return VOLT_READY;
}

/* --- behind a long poll ------------------------------------------------------------- */

/* Its child lies in the slot, which is announced to nobody. */
static enum volt_poll hogs_over_the_slot(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), raise_flag, NULL, NULL) == 0);
    until_flag(NULL);
    return VOLT_READY;
}

static void f_d3_a_task_in_the_slot_does_not_wait(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    runtime(2, 0);
    for (uint64_t i = 1; i <= 5; i++) {
        vat_u32_store(&flag, 0, VAT_RLX);
        assert_int_equal(fn_spawn(rt, hogs_over_the_slot, NULL, &j), 0);
        join(&j);
        volt_runtime_stats(rt, &st);
        assert_int_equal(st.total.lifo_stolen, i);
    }
    assert_int_equal(st.total.rescues, 0);
}

/* Both workers have gone to sleep for good, not only for a moment: somebody must be woken
 * to look round. */
static void f_d3_nor_after_a_long_rest(void **state)
{
    struct volt_join j;

    (void)state;
    runtime(3, 0);
    usleep(150000);
    assert_int_equal(fn_spawn(rt, hogs_over_the_slot, NULL, &j), 0);
    join(&j);
}

/* The worker that the event wakes was in the event loop, and keeps away from it. */
static enum volt_poll reads_and_hogs(struct volt_cx *cx, struct fn_task *f)
{
    char c;
    ssize_t n;

    if (volt_io_read_poll(cx, f->arg, &c, 1, &n) == VOLT_PENDING) {
        vat_u32_add(&count, 1, VAT_REL);
        return VOLT_PENDING;
    }
    FN_CHECK(n == 1);
    vat_u32_add(&count, 1, VAT_REL);
    until_flag(NULL);
    return VOLT_READY;
}

static enum volt_poll reads_and_raises(struct volt_cx *cx, struct fn_task *f)
{
    char c;
    ssize_t n;

    if (volt_io_read_poll(cx, f->arg, &c, 1, &n) == VOLT_PENDING) {
        vat_u32_add(&count, 1, VAT_REL);
        return VOLT_PENDING;
    }
    return raise_flag(cx, f);
}

static void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
}

static void d9_events_do_not_wait_for_the_poll_of_the_last(void **state)
{
    struct volt_join hog, j;
    struct volt_io io[2];
    int other[2];

    (void)state;
    runtime(2, 0);
    assert_int_equal(pipe2(other, O_NONBLOCK | O_CLOEXEC), 0);
    assert_int_equal(volt_io_init(&io[0], rt, fds[0]), 0);
    assert_int_equal(volt_io_init(&io[1], rt, other[0]), 0);
    assert_int_equal(fn_spawn(rt, reads_and_hogs, &io[0], &hog), 0);
    assert_int_equal(fn_spawn(rt, reads_and_raises, &io[1], &j), 0);
    wait_count(2);
    assert_int_equal(write(fds[1], "x", 1), 1);
    wait_count(3);
    assert_int_equal(write(other[1], "x", 1), 1);
    join(&j);
    join(&hog);
    for (int i = 0; i < 2; i++)
        volt_io_fini(&io[i]);
    close(other[0]);
    close(other[1]);
}

static enum volt_poll reads_then_sleeps_over_a_hog(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    volt_sleep_init(&f->sleep, 1000);
    /* Behind this one in the slot, and so on its worker, unless it is stolen. */
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), hogs, NULL, NULL) == 0);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    vat_u32_store(&flag, 1, VAT_REL);
    VOLT_END(f->at);
}

static void d9_timers_do_not_wait_for_the_poll_of_their_worker(void **state)
{
    struct volt_join j;

    (void)state;
    runtime(2, 0);
    assert_int_equal(fn_spawn(rt, reads_then_sleeps_over_a_hog, NULL, &j), 0);
    join(&j);
}

/* --- volt_block_in_place ------------------------------------------------------------ */

static enum volt_poll blocks(struct volt_cx *cx, struct fn_task *f)
{
    for (int i = 0; i < 3; i++)
        FN_CHECK(fn_spawn(volt_cx_runtime(cx), raise_flag, NULL, NULL) == 0);
    volt_block_in_place(cx, until_flag, NULL);
    FN_CHECK(volt_cx_runtime(cx) == rt);
    f->value = 42;
    return VOLT_READY;
}

static void blocking_in_place_gives_the_worker_away(void **state)
{
    struct volt_join j;

    (void)state;
    runtime(1, 1);
    for (int i = 0; i < 20; i++) { /* the stand-in does so in its turn */
        vat_u32_store(&flag, 0, VAT_RLX);
        assert_int_equal(fn_spawn(rt, blocks, NULL, &j), 0);
        assert_int_equal(volt_join_wait(&j), 0);
        assert_int_equal(((struct fn_task *)volt_join_state(&j))->value, 42);
        volt_join_fini(&j);
    }
}

/* After the call it waits like any other task. */
static enum volt_poll blocks_then_waits(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), raise_flag, NULL, &f->join) == 0);
    volt_block_in_place(cx, until_flag, NULL);
    volt_block_in_place(cx, until_flag, NULL); /* no worker any more: a call */
    volt_cx_wake(cx);
    VOLT_AWAIT(f->at, volt_join_poll(cx, &f->join));
    volt_join_fini(&f->join);
    volt_sleep_init(&f->sleep, 100);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    VOLT_END(f->at);
}

static void the_poll_goes_on_after_it(void **state)
{
    struct volt_join j[10];

    (void)state;
    runtime(2, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fn_spawn(rt, blocks_then_waits, NULL, &j[i]), 0);
    for (int i = 0; i < 10; i++)
        join(&j[i]);
}

static enum volt_poll blocking(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    volt_block_in_place(cx, until_flag, NULL);
    return VOLT_READY;
}

/* Stand-ins are not part of the pool's limit, here 1. */
static void stand_ins_leave_the_pool_its_threads(void **state)
{
    struct volt_join j[3], call;
    struct fn_task *f;

    (void)state;
    runtime(2, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fn_spawn(rt, blocking, NULL, &j[i]), 0);
    f = fn_task_new(rt, raise_flag, NULL);
    assert_int_equal(volt_task_spawn_blocking(f, &call), 0);
    join(&call);
    for (int i = 0; i < 3; i++)
        join(&j[i]);
}

static void on_a_thread_of_the_pool_it_is_a_call(void **state)
{
    struct volt_join j;

    (void)state;
    runtime(1, 1);
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(volt_task_spawn_blocking(fn_task_new(rt, blocking, NULL), &j), 0);
    join(&j);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(f_d3_a_task_in_the_slot_does_not_wait),
        T(f_d3_nor_after_a_long_rest),
        T(d9_events_do_not_wait_for_the_poll_of_the_last),
        T(d9_timers_do_not_wait_for_the_poll_of_their_worker),
        T(blocking_in_place_gives_the_worker_away),
        T(the_poll_goes_on_after_it),
        T(stand_ins_leave_the_pool_its_threads),
        T(on_a_thread_of_the_pool_it_is_a_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
