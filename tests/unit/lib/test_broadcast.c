/* Broadcasts and watches in tasks. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

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
        assert_int_equal(volt_broadcast_try_send(b, &v), 0);
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
    assert_int_equal(volt_broadcast_try_send(b, &last), -EPIPE);
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
        assert_int_equal(volt_watch_try_send(w, &value), 0);
    lone_hold_end(&hold);
    lone_settle(rt);
    volt_watch_get(w, &now);
    assert_int_equal(now, 5);
    value = 6;
    assert_int_equal(volt_watch_try_send(w, &value), 0);
    lone_settle(rt);
    volt_watch_close(w);
    assert_int_equal(volt_watch_try_send(w, &value), -EPIPE);
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
        cmocka_unit_test(test_all_receivers_get_all_values),
        cmocka_unit_test(test_a_slow_receiver_is_told_what_it_missed),
        cmocka_unit_test(test_a_watch_tells_the_newest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
