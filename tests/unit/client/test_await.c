/* What users write in a poll function: the first of several leaves, limits of time, tasks
 * in one line; and initialisers of what is static. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static struct volt_notify first = VOLT_NOTIFY_INIT, second = VOLT_NOTIFY_INIT;

/* --- VOLT_SELECT -------------------------------------------------------------------- */

struct either {
    int at, which;
    struct volt_notified a, b;
    struct volt_yield never;
};

static enum volt_poll pending(void)
{
    return VOLT_PENDING;
}

static enum volt_poll either_poll(struct volt_cx *cx, void *state)
{
    struct either *s = state;

    VOLT_BEGIN(s->at);
    volt_notified_init(&s->a, &first);
    volt_notified_init(&s->b, &second);
    VOLT_AWAIT(s->at,
               VOLT_SELECT(s->which, pending(), pending(), pending(), pending(),
                           volt_notified_poll(cx, &s->a), volt_notified_poll(cx, &s->b)));
    VOLT_END(s->at);
}

static void either_drop(void *state)
{
    struct either *s = state;

    volt_notified_fini(&s->a);
    volt_notified_fini(&s->b);
}

static const struct volt_task_type either_type = {
    .name = "either",
    .size = sizeof(struct either),
    .poll = either_poll,
    .drop = either_drop,
};

static int which_of(struct volt_join *join)
{
    assert_int_equal(volt_join_wait(join), 0);
    int which = ((struct either *)volt_join_state(join))->which;

    volt_join_fini(join);
    return which;
}

static void test_select_says_which_was_ready(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(VOLT_SPAWN(rt, &either_type, &join, struct either, .which = 9),
                         0);
        lone_settle(rt);
        assert_int_equal(volt_join_status(&join), -EINPROGRESS);
        volt_notify_one(i == 0 ? &first : &second);
        assert_int_equal(which_of(&join), 4 + i);
    }
    /* Both: the one that stands first; the other's permit is not lost. */
    volt_notify_one(&first);
    volt_notify_one(&second);
    assert_int_equal(VOLT_SPAWN(rt, &either_type, &join, struct either, 0), 0);
    assert_int_equal(which_of(&join), 4);
    assert_int_equal(VOLT_SPAWN(rt, &either_type, &join, struct either, 0), 0);
    assert_int_equal(which_of(&join), 5);
    volt_runtime_free(rt);
    volt_notify_fini(&first);
    volt_notify_fini(&second);
}

/* --- VOLT_AWAIT_FOR ----------------------------------------------------------------- */

struct limited {
    int at, status, again;
    struct volt_notified wait;
    struct volt_sleep limit;
};

static enum volt_poll limited_poll(struct volt_cx *cx, void *state)
{
    struct limited *s = state;

    VOLT_BEGIN(s->at);
    volt_notified_init(&s->wait, &first);
    VOLT_AWAIT_FOR(s->at, s->status, cx, &s->limit, 1000,
                   volt_notified_poll(cx, &s->wait));
    volt_notify_one(&second); /* its time is over */
    VOLT_AWAIT_FOR(s->at, s->again, cx, &s->limit, UINT64_MAX,
                   volt_notified_poll(cx, &s->wait));
    VOLT_END(s->at);
}

static void limited_drop(void *state)
{
    struct limited *s = state;

    volt_sleep_fini(&s->limit);
    volt_notified_fini(&s->wait);
}

static const struct volt_task_type limited_type = {
    .name = "limited",
    .size = sizeof(struct limited),
    .poll = limited_poll,
    .drop = limited_drop,
};

static enum volt_poll after_poll(struct volt_cx *cx, void *state)
{
    return volt_notified_poll(cx, state);
}

static const struct volt_task_type after_type = {
    .name = "after",
    .size = sizeof(struct volt_notified),
    .poll = after_poll,
};

static void test_a_limit_of_time(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_notified over;
    struct volt_join join, late;
    struct volt_stats st;

    (void)state;
    volt_notified_init(&over, &second);
    assert_int_equal(volt_task_start(rt, &after_type, &over, &late), 0);
    assert_int_equal(VOLT_SPAWN(rt, &limited_type, &join, struct limited, 0), 0);
    assert_int_equal(lone_join(&late), 0);
    volt_notify_one(&first); /* the leaf still waits */
    assert_int_equal(volt_join_wait(&join), 0);
    const struct limited *s = volt_join_state(&join);
    assert_int_equal(s->status, -ETIMEDOUT);
    assert_int_equal(s->again, 0);
    volt_join_fini(&join);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.timers, 0);
    volt_runtime_free(rt);
}

/* Limits that are not reached, with the same sleep each time. */
struct prompt {
    int at, round, status;
    struct volt_notified wait;
    struct volt_sleep limit;
    uint64_t timers; /* that are left, in all rounds */
};

static enum volt_poll prompt_poll(struct volt_cx *cx, void *state)
{
    struct prompt *s = state;
    struct volt_stats stats;

    VOLT_BEGIN(s->at);
    for (; s->round < 3 && s->status == 0; s->round++) {
        volt_notified_init(&s->wait, &first);
        VOLT_AWAIT_FOR(s->at, s->status, cx, &s->limit, UINT64_C(3600000000),
                       volt_notified_poll(cx, &s->wait));
        volt_runtime_stats(volt_cx_runtime(cx), &stats);
        s->timers += stats.timers;
    }
    VOLT_END(s->at);
}

static void prompt_drop(void *state)
{
    struct prompt *s = state;

    volt_sleep_fini(&s->limit);
    volt_notified_fini(&s->wait);
}

static const struct volt_task_type prompt_type = {
    .name = "prompt",
    .size = sizeof(struct prompt),
    .poll = prompt_poll,
    .drop = prompt_drop,
};

static void test_a_limit_that_is_not_reached_leaves_no_timer(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;

    (void)state;
    assert_int_equal(VOLT_SPAWN(rt, &prompt_type, &join, struct prompt, 0), 0);
    for (int i = 0; i < 3; i++) {
        lone_settle(rt); /* it waits, with its limit armed */
        volt_notify_one(&first);
    }
    assert_int_equal(volt_join_wait(&join), 0);
    const struct prompt *s = volt_join_state(&join);
    assert_int_equal(s->round, 3);
    assert_int_equal(s->status, 0);
    assert_int_equal(s->timers, 0);
    volt_join_fini(&join);
    volt_runtime_free(rt);
}

/* --- the rest ----------------------------------------------------------------------- */

static void test_static_initialisers_are_what_init_makes(void **state)
{
    static const struct volt_sem sem = VOLT_SEM_INIT(3, 5);
    static const struct volt_mutex mutex = VOLT_MUTEX_INIT;
    static const struct volt_rwlock rwlock = VOLT_RWLOCK_INIT;
    static const struct volt_notify notify = VOLT_NOTIFY_INIT;
    struct volt_sem sem_2;
    struct volt_mutex mutex_2;
    struct volt_rwlock rwlock_2;
    struct volt_notify notify_2;

    (void)state;
    volt_sem_init(&sem_2, 3, 5);
    assert_memory_equal(&sem, &sem_2, sizeof(sem));
    volt_mutex_init(&mutex_2);
    assert_memory_equal(&mutex, &mutex_2, sizeof(mutex));
    volt_rwlock_init(&rwlock_2);
    assert_memory_equal(&rwlock, &rwlock_2, sizeof(rwlock));
    volt_notify_init(&notify_2);
    assert_memory_equal(&notify, &notify_2, sizeof(notify));
}

static int dropped;

static enum volt_poll number_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    *(int *)state *= 2;
    return VOLT_READY;
}

static void number_drop(void *state)
{
    dropped += *(int *)state;
}

static const struct volt_task_type number_type = {
    .name = "number",
    .size = sizeof(int),
    .poll = number_poll,
    .drop = number_drop,
};

static void test_a_task_in_one_line(void **state)
{
    struct volt_task_type huge = number_type;
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;

    (void)state;
    assert_int_equal(VOLT_SPAWN(rt, &number_type, &join, int, 21), 0);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(dropped, 42);
    huge.size = SIZE_MAX;
    join.task = (struct volt_task *)&huge;
    assert_int_equal(volt_task_start(rt, &huge, &dropped, &join), -ENOMEM);
    assert_null(join.task);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(VOLT_SPAWN(rt, &number_type, &join, int, 1), -ESHUTDOWN);
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(dropped, 43);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select_says_which_was_ready),
        cmocka_unit_test(test_a_limit_of_time),
        cmocka_unit_test(test_a_limit_that_is_not_reached_leaves_no_timer),
        cmocka_unit_test(test_static_initialisers_are_what_init_makes),
        cmocka_unit_test(test_a_task_in_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
