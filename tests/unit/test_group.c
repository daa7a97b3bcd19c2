/* Wait groups, broadcasts and watches in tasks. */
#include "base/atomic.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>

/* --- wait group --------------------------------------------------------------------- */

struct part {
    struct volt_wait_group *group;
    vat_u32 *sum;
    uint32_t number;
    struct volt_yield yield;
    int at;
};

static enum volt_poll part_poll(struct volt_cx *cx, void *state)
{
    struct part *p = state;

    VOLT_BEGIN(p->at);
    VOLT_AWAIT(p->at, volt_yield_poll(cx, &p->yield));
    (void)vat_u32_add(p->sum, p->number, VAT_RLX);
    volt_wait_group_done(p->group);
    VOLT_END(p->at);
}

static const struct volt_task_type part_type = {
    .name = "part",
    .size = sizeof(struct part),
    .poll = part_poll,
};

struct whole {
    int at, parts;
    vat_u32 sum;
    struct volt_wait_group group; /* goes with the task, as soon as the wait is over */
    struct volt_wait_group_wait wait;
};

static enum volt_poll whole_poll(struct volt_cx *cx, void *state)
{
    struct whole *w = state;

    VOLT_BEGIN(w->at);
    volt_wait_group_init(&w->group, 1);
    for (int i = 1; i <= w->parts; i++) {
        volt_wait_group_add(&w->group, 1);
        if (VOLT_SPAWN(volt_cx_runtime(cx), &part_type, NULL, struct part,
                       .group = &w->group, .sum = &w->sum, .number = (uint32_t)i) < 0)
            abort();
    }
    volt_wait_group_done(&w->group);
    volt_wait_group_wait_init(&w->wait, &w->group);
    VOLT_AWAIT(w->at, volt_wait_group_wait_poll(cx, &w->wait));
    volt_wait_group_fini(&w->group);
    VOLT_END(w->at);
}

static const struct volt_task_type whole_type = {
    .name = "whole",
    .size = sizeof(struct whole),
    .poll = whole_poll,
};

static void test_a_group_is_waited_for(void **state)
{
    struct volt_options opt = {.workers = 4};
    struct volt_runtime *rt;
    struct volt_join join;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(
            VOLT_SPAWN(rt, &whole_type, &join, struct whole, .parts = i % 20), 0);
        assert_int_equal(volt_join_wait(&join), 0);
        struct whole *w = volt_join_state(&join);
        assert_int_equal(vat_u32_load(&w->sum, VAT_RLX), (i % 20) * (i % 20 + 1) / 2);
        volt_join_fini(&join);
    }
    volt_runtime_free(rt);
}

static struct volt_wait_group open_group = VOLT_WAIT_GROUP_INIT(1);

static enum volt_poll waits_poll(struct volt_cx *cx, void *state)
{
    return volt_wait_group_wait_poll(cx, state);
}

static void waits_drop(void *state)
{
    volt_wait_group_wait_fini(state);
}

static const struct volt_task_type waits_type = {
    .name = "waits",
    .size = sizeof(struct volt_wait_group_wait),
    .poll = waits_poll,
    .drop = waits_drop,
};

static void test_a_wait_may_be_given_up(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_wait_group_wait wait;
    struct volt_join a, b;

    (void)state;
    volt_wait_group_wait_init(&wait, &open_group);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &b), 0);
    lone_settle(rt);
    volt_join_cancel(&a);
    assert_int_equal(lone_join(&a), -ECANCELED);
    assert_int_equal(volt_join_status(&b), -EINPROGRESS);
    volt_wait_group_done(&open_group);
    assert_int_equal(lone_join(&b), 0);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    assert_int_equal(lone_join(&a), 0); /* it is 0 already */
    volt_wait_group_add(&open_group, 1);
    assert_int_equal(volt_task_start(rt, &waits_type, &wait, &a), 0);
    lone_settle(rt);
    assert_int_equal(volt_join_status(&a), -EINPROGRESS);
    volt_wait_group_done(&open_group);
    assert_int_equal(lone_join(&a), 0);
    volt_wait_group_fini(&open_group);
    volt_runtime_free(rt);
}

/* --- broadcast ---------------------------------------------------------------------- */

enum { MOST = 64 };

struct hears {
    int at, n, value;
    struct volt_broadcast *broadcast;
    struct volt_broadcast_recv recv;
    int heard[MOST];
    uint64_t missed;
    int status;
};

static enum volt_poll hears_poll(struct volt_cx *cx, void *state)
{
    struct hears *h = state;

    VOLT_BEGIN(h->at);
    volt_broadcast_recv_init(&h->recv, h->broadcast, &h->value);
    for (;;) {
        VOLT_AWAIT(h->at, volt_broadcast_recv_poll(cx, &h->recv));
        h->status = volt_broadcast_recv_status(&h->recv);
        if (h->status < 0)
            break;
        h->missed += h->recv.missed;
        h->heard[h->n++] = h->value;
    }
    VOLT_END(h->at);
}

static void hears_drop(void *state)
{
    struct hears *h = state;

    volt_broadcast_recv_fini(&h->recv);
}

static const struct volt_task_type hears_type = {
    .name = "hears",
    .size = sizeof(struct hears),
    .poll = hears_poll,
    .drop = hears_drop,
};

static void send_all(struct volt_broadcast *b, int from, int to)
{
    for (int v = from; v < to; v++)
        assert_int_equal(volt_broadcast_send(b, &v), 0);
}

static void test_all_receivers_get_all_values(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_broadcast *b = volt_broadcast_new(sizeof(int), 4);
    struct volt_join early, late, gone;
    int last = 7;

    (void)state;
    assert_int_equal(volt_broadcast_last(b, &last), -EAGAIN);
    assert_int_equal(VOLT_SPAWN(rt, &hears_type, &early, struct hears, .broadcast = b),
                     0);
    assert_int_equal(VOLT_SPAWN(rt, &hears_type, &gone, struct hears, .broadcast = b), 0);
    lone_settle(rt);
    send_all(b, 0, 2);
    lone_settle(rt);
    volt_join_cancel(&gone);
    assert_int_equal(lone_join(&gone), -ECANCELED);
    assert_int_equal(VOLT_SPAWN(rt, &hears_type, &late, struct hears, .broadcast = b), 0);
    lone_settle(rt);
    send_all(b, 2, 5);
    assert_int_equal(volt_broadcast_last(b, &last), 0);
    assert_int_equal(last, 4);
    volt_broadcast_close(b);
    assert_int_equal(volt_broadcast_send(b, &last), -EPIPE);
    assert_int_equal(volt_join_wait(&early), 0);
    assert_int_equal(volt_join_wait(&late), 0);
    const struct hears *e = volt_join_state(&early), *l = volt_join_state(&late);
    assert_int_equal(e->n, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(e->heard[i], i);
    assert_int_equal(l->n, 3);
    assert_int_equal(l->heard[0], 2);
    assert_int_equal(e->missed + l->missed, 0);
    assert_int_equal(e->status, -EPIPE);
    volt_join_fini(&early);
    volt_join_fini(&late);
    volt_runtime_free(rt);
    volt_broadcast_free(b);
}

static void test_a_slow_receiver_is_told_what_it_missed(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_broadcast *b = volt_broadcast_new(sizeof(int), 4);
    struct lone_hold hold;
    struct volt_join join;

    (void)state;
    assert_int_equal(VOLT_SPAWN(rt, &hears_type, &join, struct hears, .broadcast = b), 0);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    send_all(b, 0, 10);
    lone_hold_end(&hold);
    volt_broadcast_close(b);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct hears *h = volt_join_state(&join);
    assert_int_equal(h->missed, 6);
    assert_int_equal(h->n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(h->heard[i], 6 + i);
    volt_join_fini(&join);
    volt_runtime_free(rt);
    volt_broadcast_free(b);
    volt_broadcast_free(NULL);
    assert_null(volt_broadcast_new(SIZE_MAX / 2, 4));
}

/* --- watch -------------------------------------------------------------------------- */

struct watches {
    int at, n, value;
    struct volt_watch *watch;
    struct volt_watch_recv recv;
    int seen[MOST];
};

static enum volt_poll watches_poll(struct volt_cx *cx, void *state)
{
    struct watches *w = state;

    VOLT_BEGIN(w->at);
    volt_watch_recv_init(&w->recv, w->watch, &w->value);
    for (;;) {
        VOLT_AWAIT(w->at, volt_watch_recv_poll(cx, &w->recv));
        if (volt_watch_recv_status(&w->recv) < 0)
            break;
        w->seen[w->n++] = w->value;
    }
    VOLT_END(w->at);
}

static void watches_drop(void *state)
{
    struct watches *w = state;

    volt_watch_recv_fini(&w->recv);
}

static const struct volt_task_type watches_type = {
    .name = "watches",
    .size = sizeof(struct watches),
    .poll = watches_poll,
    .drop = watches_drop,
};

static void test_a_watch_tells_the_newest(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    int value = 1, now = 0;
    struct volt_watch *w = volt_watch_new(sizeof(int), &value);
    struct lone_hold hold;
    struct volt_join join;

    (void)state;
    assert_non_null(w);
    volt_watch_get(w, &now);
    assert_int_equal(now, 1);
    assert_int_equal(VOLT_SPAWN(rt, &watches_type, &join, struct watches, .watch = w), 0);
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    for (value = 2; value <= 5; value++)
        assert_int_equal(volt_watch_send(w, &value), 0);
    lone_hold_end(&hold);
    lone_settle(rt);
    volt_watch_get(w, &now);
    assert_int_equal(now, 5);
    value = 6;
    assert_int_equal(volt_watch_send(w, &value), 0);
    lone_settle(rt);
    volt_watch_close(w);
    assert_int_equal(volt_watch_send(w, &value), -EPIPE);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct watches *s = volt_join_state(&join);
    assert_int_equal(s->n, 2); /* not the one that was there, nor those in between */
    assert_int_equal(s->seen[0], 5);
    assert_int_equal(s->seen[1], 6);
    volt_join_fini(&join);
    volt_runtime_free(rt);
    volt_watch_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_group_is_waited_for),
        cmocka_unit_test(test_a_wait_may_be_given_up),
        cmocka_unit_test(test_all_receivers_get_all_values),
        cmocka_unit_test(test_a_slow_receiver_is_told_what_it_missed),
        cmocka_unit_test(test_a_watch_tells_the_newest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
