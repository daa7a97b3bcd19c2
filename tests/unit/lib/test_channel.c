/* The channel: order, both sides waiting, giving up, closing. */
#include "base/atomic.h"
#include "tests/support/fn_task.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

/* --- without tasks ------------------------------------------------------------------ */

static void test_first_in_first_out_with_room_for_a_power_of_two(void **state)
{
    struct volt_channel *ch = volt_channel_new(sizeof(int), 3);
    int got;

    (void)state;
    assert_non_null(ch);
    for (int lap = 0; lap < 3; lap++) {
        assert_int_equal(volt_channel_try_recv(ch, &got), -EAGAIN);
        for (int i = 0; i < 4; i++)
            assert_int_equal(volt_channel_try_send(ch, &i), 0);
        assert_int_equal(volt_channel_try_send(ch, &lap), -EAGAIN);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(volt_channel_try_recv(ch, &got), 0);
            assert_int_equal(got, i);
        }
    }
    volt_channel_free(ch);
}

static void test_sizes(void **state)
{
    struct {
        char bytes[77];
    } big = {"x"}, got;
    struct volt_channel *ch;

    (void)state;
    assert_null(volt_channel_new(SIZE_MAX / 2, 4));
    assert_null(volt_channel_new(1 << 20, SIZE_MAX / 8));
    volt_channel_free(NULL);
    ch = volt_channel_new(0, 0); /* only counts, and has room for 2 */
    assert_non_null(ch);
    assert_int_equal(volt_channel_try_send(ch, NULL), 0);
    assert_int_equal(volt_channel_try_send(ch, NULL), 0);
    assert_int_equal(volt_channel_try_send(ch, NULL), -EAGAIN);
    assert_int_equal(volt_channel_try_recv(ch, NULL), 0);
    volt_channel_free(ch);
    ch = volt_channel_new(sizeof(big), 2);
    assert_non_null(ch);
    big.bytes[76] = 'y';
    assert_int_equal(volt_channel_try_send(ch, &big), 0);
    assert_int_equal(volt_channel_try_recv(ch, &got), 0);
    assert_memory_equal(&big, &got, sizeof(big));
    volt_channel_free(ch);
}

static void test_closed_refuses_and_gives_what_is_there(void **state)
{
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    int value = 7, got = 0;

    (void)state;
    assert_int_equal(volt_channel_try_send(ch, &value), 0);
    volt_channel_close(ch);
    volt_channel_close(ch);
    assert_int_equal(volt_channel_try_send(ch, &value), -EPIPE);
    assert_int_equal(volt_channel_try_recv(ch, &got), 0);
    assert_int_equal(got, 7);
    assert_int_equal(volt_channel_try_recv(ch, &got), -EPIPE);
    volt_channel_free(ch);
}

/* --- one worker: who waits, and in which order -------------------------------------- */

struct sender {
    struct volt_channel *ch;
    struct volt_channel_send send;
    int value, status;
};

static enum volt_poll sender_poll(struct volt_cx *cx, void *state)
{
    struct sender *s = state;

    if (!s->send.channel)
        volt_channel_send_init(&s->send, s->ch, &s->value);
    if (volt_channel_send_poll(cx, &s->send) == VOLT_PENDING)
        return VOLT_PENDING;
    s->status = volt_channel_send_status(&s->send);
    return VOLT_READY;
}

static void sender_drop(void *state)
{
    struct sender *s = state;

    volt_channel_send_fini(&s->send);
}

static const struct volt_task_type sender_type = {
    .name = "sender",
    .size = sizeof(struct sender),
    .poll = sender_poll,
    .drop = sender_drop,
};

static void send_in_task(struct volt_runtime *rt, struct volt_channel *ch, int value,
                         struct volt_join *ret_join)
{
    struct sender *s = volt_task_new(rt, &sender_type);

    assert_non_null(s);
    s->ch = ch;
    s->value = value;
    lone_spawn(s, ret_join);
    lone_settle(rt);
}

static int status_of(struct volt_join *join)
{
    int r = volt_join_wait(join);

    if (r == 0)
        r = ((struct sender *)volt_join_state(join))->status;
    volt_join_fini(join);
    return r;
}

static void expect(struct volt_channel *ch, int value)
{
    int got = -1;

    assert_int_equal(volt_channel_try_recv(ch, &got), 0);
    assert_int_equal(got, value);
}

static void test_A_3_senders_wait_in_order_and_nobody_passes(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    struct volt_join join[5];
    int late = 99;

    (void)state;
    for (int i = 0; i < 5; i++)
        send_in_task(rt, ch, i, &join[i]);
    assert_int_equal(volt_join_status(&join[1]), 0);
    assert_int_equal(volt_join_status(&join[2]), -EINPROGRESS);
    expect(ch, 0);
    assert_int_equal(volt_channel_try_send(ch, &late), -EAGAIN);
    for (int i = 1; i < 5; i++)
        expect(ch, i);
    for (int i = 0; i < 5; i++)
        assert_int_equal(status_of(&join[i]), 0);
    assert_int_equal(volt_channel_try_send(ch, &late), 0);
    expect(ch, 99);
    volt_runtime_free(rt);
    volt_channel_free(ch);
}

static void test_A_15_a_cancelled_sender_sends_nothing(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    struct volt_join join[4];
    int got;

    (void)state;
    for (int i = 0; i < 4; i++)
        send_in_task(rt, ch, i, &join[i]);
    volt_join_cancel(&join[2]);
    assert_int_equal(status_of(&join[2]), -ECANCELED);
    expect(ch, 0);
    expect(ch, 1);
    expect(ch, 3);
    assert_int_equal(volt_channel_try_recv(ch, &got), -EAGAIN);
    assert_int_equal(status_of(&join[3]), 0);
    assert_int_equal(status_of(&join[0]), 0);
    assert_int_equal(status_of(&join[1]), 0);
    volt_runtime_free(rt);
    volt_channel_free(ch);
}

static void test_closing_answers_those_that_wait(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    struct volt_join join[3];
    int got;

    (void)state;
    for (int i = 0; i < 3; i++)
        send_in_task(rt, ch, i, &join[i]);
    volt_channel_close(ch);
    assert_int_equal(status_of(&join[0]), 0);
    assert_int_equal(status_of(&join[1]), 0);
    assert_int_equal(status_of(&join[2]), -EPIPE);
    expect(ch, 0);
    expect(ch, 1);
    assert_int_equal(volt_channel_try_recv(ch, &got), -EPIPE);
    volt_runtime_free(rt);
    volt_channel_free(ch);
}

static struct volt_channel_recv receive; /* there is one receiver */

static enum volt_poll recv_poll(struct volt_cx *cx, struct fn_task *f)
{
    if (!receive.channel)
        volt_channel_recv_init(&receive, f->arg, &f->value);
    if (volt_channel_recv_poll(cx, &receive) == VOLT_PENDING)
        return VOLT_PENDING;
    if (volt_channel_recv_status(&receive) < 0)
        f->value = volt_channel_recv_status(&receive);
    return VOLT_READY;
}

static void recv_drop(struct fn_task *f)
{
    (void)f;
    volt_channel_recv_fini(&receive);
    receive.channel = NULL;
}

static void spawn_receiver(struct volt_runtime *rt, struct volt_channel *ch,
                           struct volt_join *ret_join)
{
    struct fn_task *f = fn_task_new(rt, recv_poll, ch);

    f->drop = recv_drop;
    lone_spawn(f, ret_join);
    lone_settle(rt);
}

static int value_of(struct volt_join *join)
{
    assert_int_equal(volt_join_wait(join), 0);
    int value = ((struct fn_task *)volt_join_state(join))->value;

    volt_join_fini(join);
    return value;
}

static void test_the_receiver_waits_and_may_go(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    struct volt_join join;
    int value = 42;

    (void)state;
    spawn_receiver(rt, ch, &join);
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    assert_int_equal(volt_channel_try_send(ch, &value), 0);
    assert_int_equal(value_of(&join), 42);
    spawn_receiver(rt, ch, &join);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(volt_channel_try_send(ch, &value),
                     0); /* wakes nobody that is gone */
    spawn_receiver(rt, ch, &join);
    assert_int_equal(value_of(&join), 42);
    spawn_receiver(rt, ch, &join);
    volt_channel_close(ch);
    assert_int_equal(value_of(&join), -EPIPE);
    volt_runtime_free(rt);
    volt_channel_free(ch);
}

/* --- many senders, little room ------------------------------------------------------ */

enum { SENDERS = 8, EACH = 2000 };

struct many {
    struct volt_channel *ch;
    struct volt_channel_send send;
    uint64_t from, n, value;
    int at;
};

static enum volt_poll many_poll(struct volt_cx *cx, void *state)
{
    struct many *m = state;

    VOLT_BEGIN(m->at);
    for (m->n = 0; m->n < EACH; m->n++) {
        m->value = m->from << 32 | m->n;
        volt_channel_send_init(&m->send, m->ch, &m->value);
        VOLT_AWAIT(m->at, volt_channel_send_poll(cx, &m->send));
        FN_CHECK(volt_channel_send_status(&m->send) == 0);
    }
    VOLT_END(m->at);
}

static const struct volt_task_type many_type = {
    .name = "many",
    .size = sizeof(struct many),
    .poll = many_poll,
};

struct collector {
    struct volt_channel *ch;
    uint64_t next[SENDERS], value;
    struct volt_channel_recv recv;
};

/* Until the end. */
static enum volt_poll collector_poll(struct volt_cx *cx, void *state)
{
    struct collector *c = state;

    if (!c->recv.channel)
        volt_channel_recv_init(&c->recv, c->ch, &c->value);
    for (;;) {
        if (volt_channel_recv_poll(cx, &c->recv) == VOLT_PENDING)
            return VOLT_PENDING;
        if (volt_channel_recv_status(&c->recv) < 0)
            return VOLT_READY;
        FN_CHECK(c->value >> 32 < SENDERS);
        FN_CHECK(c->next[c->value >> 32]++ == (uint32_t)c->value);
    }
}

static const struct volt_task_type collector_type = {
    .name = "collector",
    .size = sizeof(struct collector),
    .poll = collector_poll,
};

struct thread {
    pthread_t id;
    struct volt_channel *ch;
    uint64_t from;
};

static void *send_many(void *arg)
{
    const struct thread *t = arg;
    struct volt_channel_send send;

    for (uint64_t n = 0, value; n < EACH; n++) {
        value = t->from << 32 | n;
        volt_channel_send_init(&send, t->ch, &value);
        FN_CHECK(volt_channel_send_wait(&send) == 0);
        volt_channel_send_fini(&send);
    }
    return NULL;
}

/* Half of them tasks, half of them threads. */
static void run_senders(struct volt_runtime *rt, struct volt_channel *ch)
{
    struct volt_join tasks[SENDERS / 2];
    struct thread threads[SENDERS / 2];

    for (int i = 0; i < SENDERS / 2; i++) {
        struct many *m = volt_task_new(rt, &many_type);

        m->ch = threads[i].ch = ch;
        m->from = (uint64_t)i;
        threads[i].from = (uint64_t)i + SENDERS / 2;
        assert_int_equal(volt_task_spawn(m, &tasks[i]), 0);
        assert_int_equal(pthread_create(&threads[i].id, NULL, send_many, &threads[i]), 0);
    }
    for (int i = 0; i < SENDERS / 2; i++) {
        assert_int_equal(volt_join_wait(&tasks[i]), 0);
        volt_join_fini(&tasks[i]);
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
    }
}

static void run_many(size_t room)
{
    struct volt_options opt = {.workers = 4};
    struct volt_runtime *rt;
    struct volt_channel *ch = volt_channel_new(sizeof(uint64_t), room);
    struct volt_join end;
    struct collector *c;

    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    c = volt_task_new(rt, &collector_type);
    c->ch = ch;
    assert_int_equal(volt_task_spawn(c, &end), 0);
    run_senders(rt, ch);
    volt_channel_close(ch);
    assert_int_equal(volt_join_wait(&end), 0);
    c = volt_join_state(&end);
    assert_int_equal(volt_channel_recv_status(&c->recv), -EPIPE);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(c->next[i], EACH);
    volt_join_fini(&end);
    volt_runtime_free(rt);
    volt_channel_free(ch);
}

static void *send_one(void *arg)
{
    struct volt_channel_send send;
    int value = 3;

    volt_channel_send_init(&send, arg, &value);
    FN_CHECK(volt_channel_send_wait(&send) == -EPIPE);
    volt_channel_send_fini(&send);
    return NULL;
}

/* One that waits at a full channel, or comes when it is closed. */
static void test_closing_answers_a_thread(void **state)
{
    struct volt_channel *ch = volt_channel_new(sizeof(int), 2);
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(volt_channel_try_send(ch, &i), 0);
    assert_int_equal(pthread_create(&thread, NULL, send_one, ch), 0);
    volt_channel_close(ch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(ch, 0);
    expect(ch, 1);
    assert_int_equal(volt_channel_try_recv(ch, &(int){0}), -EPIPE);
    volt_channel_free(ch);
}

static void test_many_senders_each_in_its_order(void **state)
{
    (void)state;
    run_many(2);
    run_many(64);
    run_many(1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out_with_room_for_a_power_of_two),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_closed_refuses_and_gives_what_is_there),
        cmocka_unit_test(test_A_3_senders_wait_in_order_and_nobody_passes),
        cmocka_unit_test(test_A_15_a_cancelled_sender_sends_nothing),
        cmocka_unit_test(test_closing_answers_those_that_wait),
        cmocka_unit_test(test_the_receiver_waits_and_may_go),
        cmocka_unit_test(test_closing_answers_a_thread),
        cmocka_unit_test(test_many_senders_each_in_its_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
