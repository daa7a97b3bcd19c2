/* Every transition of the task word and its verdict. Named by the flaws of the Volt
 * documentation: F-I1 (cancel only sets a flag), F-I2 (a shielded task cannot be woken),
 * F-I3 (decision and token in one step), F-I8 (a wake while queued costs a poll), F-I9
 * (shield carries into the references), F-I11 (cancelled tasks report success). */
#include "task/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct volt_task_type type = {.name = "test", .size = 16};
static struct volt_task *t;

static int setup(void **state)
{
    (void)state;
    t = task_of(volt_task_new(NULL, &type));
    vat_u64_init(&t->state, TASK_REF_ONE); /* live, and idle */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    task_unref(t);
    return 0;
}

static uint64_t word(void)
{
    return vat_u64_load(&t->state, VAT_RLX);
}

static uint64_t refs(void)
{
    return word() / TASK_REF_ONE;
}

static void k2_state_is_zeroed_and_aligned(void **state)
{
    (void)state;
    unsigned char *p = task_state(t);

    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < type.size; i++)
        assert_int_equal(p[i], 0);
    assert_ptr_equal(task_of(p), t);
    assert_int_equal(refs(), 1);
}

static void the_first_wake_yields_the_token(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_false(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    assert_true(word() & TASK_RUNNING);
    assert_false(task_pending(t));
    assert_true(task_notify(t));
}

static void k4_a_wake_while_running_is_a_token_at_its_end(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    assert_false(task_notify(t)); /* no token yet: the poller has it coming */
    assert_true(task_pending(t)); /* F-I3: one step, decision and token */
    assert_false(task_notify(t)); /* it is out */
}

static void f_i8_a_wake_while_queued_is_consumed_by_the_start(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_false(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    assert_false(task_pending(t));
}

static void f_i1_cancel_of_an_idle_task_yields_the_token(void **state)
{
    (void)state;
    assert_true(task_cancel(t));
    assert_false(task_cancel(t));
    assert_int_equal(task_start(t), TASK_CANCEL);
}

static void f_i1_cancel_of_a_running_task_is_seen_at_its_next_start(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    assert_false(task_cancel(t));
    assert_true(task_pending(t));
    assert_int_equal(task_start(t), TASK_CANCEL);
}

static void f_i2_a_shielded_task_is_polled_although_cancelled(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    task_shield_begin(t);
    task_shield_begin(t);
    assert_false(task_pending(t));
    assert_true(task_cancel(t));
    assert_int_equal(task_start(t), TASK_POLL);
    assert_false(task_pending(t));
    assert_true(task_notify(t)); /* it can be woken */
    assert_int_equal(task_start(t), TASK_POLL);
    task_shield_end(t);
    assert_false(word() & TASK_NOTIFIED);
    task_shield_end(t);
    assert_true(task_pending(t)); /* the end of the shield wakes it */
    assert_int_equal(task_start(t), TASK_CANCEL);
}

static void f_i9_the_shield_saturates(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    for (int i = 0; i < 1000; i++)
        task_shield_begin(t);
    assert_int_equal(refs(), 1);
    assert_int_equal(word() & TASK_SHIELD_MASK, TASK_SHIELD_MASK);
    for (int i = 0; i < 1000; i++)
        task_shield_end(t);
    assert_int_equal(refs(), 1);
    assert_int_equal(word() & TASK_SHIELD_MASK, TASK_SHIELD_MASK);
}

static void one_end_too_many_changes_nothing(void **state)
{
    uint64_t before = word();

    (void)state;
    task_shield_end(t);
    assert_int_equal(word(), before);
}

static void a_wake_of_an_ended_task_does_nothing(void **state)
{
    (void)state;
    assert_true(task_notify(t));
    assert_int_equal(task_start(t), TASK_POLL);
    struct task_ended e = task_complete(t, false);
    assert_true(e.drop_output);
    assert_null(e.joiner);
    assert_false(task_notify(t));
    assert_false(task_cancel(t));
}

static void f_i11_a_dropped_task_says_so(void **state)
{
    (void)state;
    assert_true(task_cancel(t));
    assert_int_equal(task_start(t), TASK_CANCEL);
    struct task_ended e = task_complete(t, true);
    assert_false(e.drop_output); /* there is none */
    assert_true(word() & TASK_DROPPED);
}

static void late_cancel_of_a_ready_task_keeps_its_output(void **state)
{
    (void)state;
    (void)vat_u64_or(&t->state, TASK_JOIN_INTEREST | TASK_NOTIFIED, VAT_RLX);
    assert_int_equal(task_start(t), TASK_POLL);
    assert_false(task_cancel(t)); /* its poll is just answering READY */
    struct task_ended e = task_complete(t, false);
    void *joiner;
    assert_false(e.drop_output);
    assert_true(task_join_leave(t, &joiner)); /* the handle's holder drops it */
    assert_null(joiner);
}

static void join_stores_and_takes_one_joiner(void **state)
{
    int me;

    (void)state;
    (void)vat_u64_or(&t->state, TASK_JOIN_INTEREST | TASK_NOTIFIED, VAT_RLX);
    assert_int_equal(task_start(t), TASK_POLL);
    assert_null(task_join_take(t));
    assert_true(task_join_store(t, &me));
    assert_ptr_equal(task_join_take(t), &me);
    assert_null(task_join_take(t));
    assert_true(task_join_store(t, &me));
    struct task_ended e = task_complete(t, false);
    assert_ptr_equal(e.joiner, &me); /* the completer's now */
    assert_null(task_join_take(t));
    assert_false(task_join_store(t, &me));
    void *joiner;
    assert_true(task_join_leave(t, &joiner));
    assert_null(joiner);
}

static void leaving_before_the_end_takes_the_joiner_out(void **state)
{
    int me;
    void *joiner;

    (void)state;
    (void)vat_u64_or(&t->state, TASK_JOIN_INTEREST | TASK_NOTIFIED, VAT_RLX);
    assert_int_equal(task_start(t), TASK_POLL);
    assert_true(task_join_store(t, &me));
    assert_false(task_join_leave(t, &joiner));
    assert_ptr_equal(joiner, &me);
    struct task_ended e = task_complete(t, false);
    assert_true(e.drop_output);
    assert_null(e.joiner);
}

static void chain_is_first_in_first_out(void **state)
{
    struct volt_task a, b;
    struct task_chain c = {0};

    (void)state;
    assert_null(task_chain_pop(&c));
    task_chain_push(&c, &a);
    task_chain_push(&c, &b);
    assert_int_equal(c.count, 2);
    assert_ptr_equal(task_chain_pop(&c), &a);
    assert_ptr_equal(task_chain_pop(&c), &b);
    assert_null(task_chain_pop(&c));
    assert_null(c.tail);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(k2_state_is_zeroed_and_aligned),
        T(the_first_wake_yields_the_token),
        T(k4_a_wake_while_running_is_a_token_at_its_end),
        T(f_i8_a_wake_while_queued_is_consumed_by_the_start),
        T(f_i1_cancel_of_an_idle_task_yields_the_token),
        T(f_i1_cancel_of_a_running_task_is_seen_at_its_next_start),
        T(f_i2_a_shielded_task_is_polled_although_cancelled),
        T(f_i9_the_shield_saturates),
        T(one_end_too_many_changes_nothing),
        T(a_wake_of_an_ended_task_does_nothing),
        T(f_i11_a_dropped_task_says_so),
        T(late_cancel_of_a_ready_task_keeps_its_output),
        T(join_stores_and_takes_one_joiner),
        T(leaving_before_the_end_takes_the_joiner_out),
        T(chain_is_first_in_first_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
