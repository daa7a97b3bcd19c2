/* Oneshot: every order in which two ends can meet or part. Leaks and uses after free are
 * the sanitizers' to find. */
#include "tests/support/lone.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct receiver {
    struct volt_oneshot_recv recv;
    int *status;
};

static enum volt_poll receiver_poll(struct volt_cx *cx, void *state)
{
    struct receiver *s = state;

    if (volt_oneshot_recv_poll(cx, &s->recv) == VOLT_PENDING)
        return VOLT_PENDING;
    *s->status = volt_oneshot_recv_status(&s->recv);
    return VOLT_READY;
}

static void receiver_drop(void *state)
{
    struct receiver *s = state;

    volt_oneshot_recv_fini(&s->recv);
}

static const struct volt_task_type receiver_type = {
    .name = "receiver",
    .size = sizeof(struct receiver),
    .poll = receiver_poll,
    .drop = receiver_drop,
};

static void spawn_receiver(struct volt_runtime *rt, struct volt_oneshot *o, int *value,
                           int *status, struct volt_join *join)
{
    struct receiver *s = volt_task_new(rt, &receiver_type);

    assert_non_null(s);
    s->status = status;
    volt_oneshot_recv_init(&s->recv, o, value);
    lone_spawn(s, join);
}

static struct volt_oneshot *new_int(void)
{
    struct volt_oneshot *o = volt_oneshot_new(sizeof(int));

    assert_non_null(o);
    return o;
}

static void test_value_before_or_after_the_receiver(void **state)
{
    struct volt_runtime *rt = lone_runtime();

    (void)state;
    for (int early = 0; early < 2; early++) {
        struct volt_oneshot *o = new_int();
        int value = 42, got = 0, status = -1;
        struct volt_join join;

        if (early)
            assert_int_equal(volt_oneshot_try_send(o, &value), 0);
        spawn_receiver(rt, o, &got, &status, &join);
        lone_settle(rt);
        if (!early) {
            assert_int_equal(status, -1);
            assert_int_equal(volt_oneshot_try_send(o, &value), 0);
        }
        assert_int_equal(lone_join(&join), 0);
        assert_int_equal(status, 0);
        assert_int_equal(got, 42);
    }
    volt_runtime_free(rt);
}

static void test_sender_gives_up(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_oneshot *o = new_int();
    int got = 7, status = 0;
    struct volt_join join;

    (void)state;
    spawn_receiver(rt, o, &got, &status, &join);
    lone_settle(rt);
    volt_oneshot_send_fini(o);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(status, -EPIPE);
    assert_int_equal(got, 7);
    volt_runtime_free(rt);
}

static void test_receiver_gives_up(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_oneshot *o = new_int();
    struct volt_oneshot_recv recv;
    int value = 1, status = 0;
    struct volt_join join;

    (void)state;
    spawn_receiver(rt, o, &value, &status, &join);
    lone_settle(rt);
    volt_join_cancel(&join); /* while it waits: nobody may wake it afterwards */
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(volt_oneshot_try_send(o, &value), -EPIPE);

    o = new_int();
    volt_oneshot_recv_init(&recv, o, &value);
    volt_oneshot_recv_fini(&recv);
    volt_oneshot_recv_fini(&recv); /* gives nothing up twice */
    volt_oneshot_send_fini(o);
    volt_oneshot_send_fini(NULL);
    o = new_int();
    volt_oneshot_send_fini(o);
    volt_oneshot_recv_init(&recv, o, &value);
    volt_oneshot_recv_fini(&recv);
    volt_runtime_free(rt);
}

static void test_no_bytes_is_a_value(void **state)
{
    struct volt_oneshot *o = volt_oneshot_new(0);
    struct volt_oneshot_recv recv;

    (void)state;
    assert_non_null(o);
    assert_int_equal(volt_oneshot_try_send(o, ""), 0);
    volt_oneshot_recv_init(&recv, o, NULL);
    assert_int_equal(volt_oneshot_recv_wait(&recv), 0);
    volt_oneshot_recv_fini(&recv);
    assert_null(volt_oneshot_new(SIZE_MAX));
}

static void *send_42(void *arg)
{
    int value = 42;

    return volt_oneshot_try_send(arg, &value) == 0 ? arg : NULL;
}

static void test_thread_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct volt_oneshot *o = new_int();
        struct volt_oneshot_recv recv;
        pthread_t sender;
        int got = 0;
        void *sent;

        assert_int_equal(pthread_create(&sender, NULL, send_42, o), 0);
        volt_oneshot_recv_init(&recv, o, &got);
        assert_int_equal(volt_oneshot_recv_wait(&recv), 0);
        assert_int_equal(got, 42);
        volt_oneshot_recv_fini(&recv);
        assert_int_equal(pthread_join(sender, &sent), 0);
        assert_non_null(sent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_before_or_after_the_receiver),
        cmocka_unit_test(test_sender_gives_up),
        cmocka_unit_test(test_receiver_gives_up),
        cmocka_unit_test(test_no_bytes_is_a_value),
        cmocka_unit_test(test_thread_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
