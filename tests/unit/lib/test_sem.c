/* The semaphore. Requirements A-1..A-20 and flaws F-E1..F-E11 of the Volt documentation
 * are named where they are tested. */
#include "base/lock.h"
#include "sync/waiter.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* --- a task that acquires n permits and keeps them ---------------------------------- */

static unsigned next_turn;

struct asker_log {
    unsigned turn; /* 1 = first to be granted; 0: not yet */
    unsigned polls;
    int status;
};

struct asker {
    struct volt_sem_acquire acquire;
    struct asker_log *log;
    struct volt_waker *waker; /* if set: where to leave a waker */
};

static enum volt_poll asker_poll(struct volt_cx *cx, void *state)
{
    struct asker *s = state;

    s->log->polls++;
    if (s->waker && !s->waker->task)
        *s->waker = volt_waker_new(cx);
    if (volt_sem_acquire_poll(cx, &s->acquire) == VOLT_PENDING)
        return VOLT_PENDING;
    s->log->turn = ++next_turn;
    s->log->status = volt_sem_acquire_status(&s->acquire);
    return VOLT_READY;
}

static void asker_drop(void *state)
{
    struct asker *s = state;

    volt_sem_acquire_fini(&s->acquire);
}

static const struct volt_task_type asker_type = {
    .name = "asker",
    .size = sizeof(struct asker),
    .poll = asker_poll,
    .drop = asker_drop,
};

struct fixture {
    struct volt_runtime *rt;
    struct volt_sem sem;
    struct asker_log log[64];
    struct volt_join join[64];
};

static void ask_with_waker(struct fixture *f, unsigned i, uint64_t n,
                           struct volt_waker *w)
{
    struct asker *s = volt_task_new(f->rt, &asker_type);

    assert_non_null(s);
    f->log[i] = (struct asker_log){0};
    s->log = &f->log[i];
    s->waker = w;
    volt_sem_acquire_init(&s->acquire, &f->sem, n);
    lone_spawn(s, &f->join[i]);
}

static void ask(struct fixture *f, unsigned i, uint64_t n)
{
    ask_with_waker(f, i, n, NULL);
    lone_settle(f->rt); /* queued in this order */
}

static void begin(struct fixture *f, uint64_t permits, uint64_t max)
{
    memset(f, 0, sizeof(*f));
    next_turn = 0;
    f->rt = lone_runtime();
    volt_sem_init(&f->sem, permits, max);
}

static void end(struct fixture *f)
{
    volt_sem_fini(&f->sem);
    volt_runtime_free(f->rt);
}

static void release(struct fixture *f, uint64_t n)
{
    assert_int_equal(volt_sem_release(&f->sem, n), 0);
    lone_settle(f->rt);
}

static void test_try_acquire_is_all_or_nothing(void **state)
{
    struct volt_sem sem;

    (void)state;
    volt_sem_init(&sem, 3, 5);
    assert_false(volt_sem_try_acquire(&sem, 4));
    assert_true(volt_sem_try_acquire(&sem, 2));
    assert_int_equal(volt_sem_available(&sem), 1);
    assert_int_equal(volt_sem_release(&sem, 4), 0);
    assert_int_equal(volt_sem_available(&sem), 5);
    volt_sem_fini(&sem);
}

static void test_A_3_first_come_first_served(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0, 10);
    for (unsigned i = 0; i < 5; i++)
        ask(&f, i, 1);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(f.log[i].turn, 0);
        release(&f, 1);
        assert_int_equal(f.log[i].turn, i + 1);
        assert_int_equal(lone_join(&f.join[i]), 0);
    }
    end(&f);
}

static void test_A_8_one_release_serves_several_and_part_of_the_next(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0, 10);
    ask(&f, 0, 2);
    ask(&f, 1, 1);
    ask(&f, 2, 4);
    release(&f, 5); /* 2 + 1, and 2 of 4 */
    assert_int_equal(f.log[0].turn, 1);
    assert_int_equal(f.log[1].turn, 2);
    assert_int_equal(f.log[2].turn, 0);
    assert_int_equal(volt_sem_available(&f.sem), 0);
    release(&f, 3);
    assert_int_equal(f.log[2].turn, 3);
    assert_int_equal(volt_sem_available(&f.sem), 1); /* only the surplus */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    end(&f);
}

static void test_A_9_no_permits_while_somebody_waits(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2, 10);
    ask(&f, 0, 3); /* takes the two there are, waits for one */
    assert_int_equal(volt_sem_available(&f.sem), 0);
    assert_false(volt_sem_try_acquire(&f.sem, 1));
    ask(&f, 1, 1); /* behind the large request, not past it */
    assert_int_equal(f.log[1].turn, 0);
    release(&f, 1);
    assert_int_equal(f.log[0].turn, 1);
    assert_int_equal(f.log[1].turn, 0);
    release(&f, 1);
    assert_int_equal(f.log[1].turn, 2);
    assert_int_equal(lone_join(&f.join[0]), 0);
    assert_int_equal(lone_join(&f.join[1]), 0);
    end(&f);
}

static void test_A_16_cancelled_waiter_returns_its_part_to_the_next(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2, 10);
    ask(&f, 0, 3);
    ask(&f, 1, 2);
    volt_join_cancel(&f.join[0]);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    lone_settle(f.rt);
    assert_int_equal(f.log[1].turn, 1);
    assert_int_equal(lone_join(&f.join[1]), 0);
    assert_int_equal(volt_sem_available(&f.sem), 0);
    end(&f);
}

static void test_F_E3_granted_but_never_seen_is_not_lost(void **state)
{
    struct fixture f;
    struct lone_hold hold;

    (void)state;
    begin(&f, 0, 1);
    ask(&f, 0, 1);
    ask(&f, 1, 1);
    lone_hold_begin(f.rt, &hold);
    assert_int_equal(volt_sem_release(&f.sem, 1), 0); /* granted to 0, which cannot run */
    volt_join_cancel(&f.join[0]);                     /* and is dropped unpolled */
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    lone_settle(f.rt);
    assert_int_equal(f.log[0].turn, 0);
    assert_int_equal(f.log[1].turn, 1); /* F-E5: never through the counter */
    assert_int_equal(lone_join(&f.join[1]), 0);
    end(&f);
}

static void test_F_E4_polled_for_another_reason(void **state)
{
    struct volt_waker waker = {0};
    struct fixture f;

    (void)state;
    begin(&f, 0, 1);
    ask_with_waker(&f, 0, 1, &waker);
    lone_settle(f.rt);
    for (unsigned i = 0; i < 3; i++) {
        volt_waker_wake(&waker);
        lone_settle(f.rt);
        assert_int_equal(f.log[0].polls, i + 2);
        assert_int_equal(f.log[0].turn, 0);
    }
    release(&f, 1);
    assert_int_equal(f.log[0].turn, 1);
    assert_int_equal(lone_join(&f.join[0]), 0);
    volt_waker_fini(&waker);
    end(&f);
}

static void test_F_E6_one_release_wakes_more_than_32(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0, 64);
    for (unsigned i = 0; i < 64; i++)
        ask(&f, i, 1);
    release(&f, 64);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(lone_join(&f.join[i]), 0);
        assert_int_equal(f.log[i].turn, i + 1);
    }
    end(&f);
}

static void test_F_E7_over_release_is_an_error(void **state)
{
    struct volt_sem sem;

    (void)state;
    volt_sem_init(&sem, 3, 4);
    assert_int_equal(volt_sem_release(&sem, 2), -EOVERFLOW);
    assert_int_equal(volt_sem_available(&sem), 4);
    assert_int_equal(volt_sem_release(&sem, UINT64_MAX), -EOVERFLOW);
    assert_int_equal(volt_sem_available(&sem), 4);
    assert_true(volt_sem_try_acquire(&sem, 4));
    volt_sem_fini(&sem);
}

static void test_F_E10_nobody_waits_no_lock(void **state)
{
    struct volt_sem sem;

    (void)state;
    volt_sem_init(&sem, 1, 1);
    vlock_lock((vlock *)(void *)&sem.lock); /* whoever took it now would not return */
    for (int i = 0; i < 1000; i++) {
        assert_true(volt_sem_try_acquire(&sem, 1));
        assert_int_equal(volt_sem_release(&sem, 1), 0);
    }
    vlock_unlock((vlock *)(void *)&sem.lock);
    volt_sem_fini(&sem);
}

static void test_F_E11_close_wakes_and_refuses(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 2, 10);
    ask(&f, 0, 3);
    ask(&f, 1, 1);
    volt_sem_close(&f.sem);
    assert_int_equal(lone_join(&f.join[0]), 0);
    assert_int_equal(lone_join(&f.join[1]), 0);
    assert_int_equal(f.log[0].status, -EPIPE);
    assert_int_equal(f.log[1].status, -EPIPE);
    assert_int_equal(volt_sem_available(&f.sem), 2); /* what 0 had already */
    assert_false(volt_sem_try_acquire(&f.sem, 1));
    ask(&f, 2, 1);
    assert_int_equal(lone_join(&f.join[2]), 0);
    assert_int_equal(f.log[2].status, -EPIPE);
    assert_int_equal(volt_sem_release(&f.sem, 8), 0); /* holders still give back */
    end(&f);
}

static void test_close_then_cancelled_unseen(void **state)
{
    struct fixture f;
    struct lone_hold hold;

    (void)state;
    begin(&f, 1, 10);
    ask(&f, 0, 3);
    lone_hold_begin(f.rt, &hold);
    volt_sem_close(&f.sem);
    volt_join_cancel(&f.join[0]);
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    assert_int_equal(volt_sem_available(&f.sem), 1);
    end(&f);
}

/* Unlinked twice: the second time it is known for what it is. (A child, for the
 * abort.) */
/* --- acquirers that step back: sections have been short, and this one lasts ---------- */

#define SPIN_MOST 4096

/* Lets others be polled some times, then does something. */
struct later {
    struct fixture *f;
    unsigned polls;
    void (*act)(struct fixture *f);
};

static enum volt_poll later_poll(struct volt_cx *cx, void *state)
{
    struct later *s = state;

    if (s->polls-- > 0) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    s->act(s->f);
    return VOLT_READY;
}

static const struct volt_task_type later_type = {
    .name = "later",
    .size = sizeof(struct later),
    .poll = later_poll,
};

static void give_one(struct fixture *f)
{
    (void)volt_sem_release(&f->sem, 1);
}

static void close_it(struct fixture *f)
{
    volt_sem_close(&f->sem);
}

static void cancel_first(struct fixture *f)
{
    volt_join_cancel(&f->join[0]);
}

/* Two ask; then, after five polls of each, act. */
static void ask_and_act(struct fixture *f, void (*act)(struct fixture *f))
{
    struct later *s;
    struct lone_hold hold;

    begin(f, 0, 2);
    f->sem.spin = SPIN_MOST;
    s = volt_task_new(f->rt, &later_type);
    assert_non_null(s);
    *s = (struct later){.f = f, .polls = 5, .act = act};
    lone_hold_begin(f->rt, &hold);
    ask_with_waker(f, 0, 1, NULL);
    ask_with_waker(f, 1, 1, NULL);
    lone_spawn(s, NULL);
    lone_hold_end(&hold);
    lone_settle(f->rt);
}

/* How often the one that got it was polled. */
static unsigned polls_until_given(void)
{
    struct fixture f;
    unsigned polls;

    ask_and_act(&f, give_one);
    assert_int_equal(f.log[0].turn + f.log[1].turn, 1);
    polls = f.log[f.log[1].turn].polls;
    release(&f, 1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    end(&f);
    return polls;
}

static void test_others_run_before_an_acquirer_looks_again(void **state)
{
    int tries = 1000; /* it queues at once if half a millisecond has passed */

    (void)state;
    while (polls_until_given() < 5)
        assert_true(--tries > 0);
}

static void test_stepping_back_ends_in_the_queue(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0, 1);
    f.sem.spin = UINT32_MAX; /* more steps than anybody could wait for */
    ask(&f, 0, 1);
    assert_int_equal(f.sem.spin, 16);
    assert_non_null(f.sem.tail);
    release(&f, 1);
    assert_int_equal(f.log[0].turn, 1);
    assert_int_equal(lone_join(&f.join[0]), 0);
    end(&f);
}

/* However many step back: as often as one may, all together. */
static void test_stepping_back_is_shared(void **state)
{
    struct fixture f;
    unsigned polls = 0;

    (void)state;
    begin(&f, 0, 4);
    f.sem.spin = SPIN_MOST + 50;
    for (unsigned i = 0; i < 4; i++)
        ask_with_waker(&f, i, 1, NULL);
    lone_settle(f.rt);
    for (unsigned i = 0; i < 4; i++)
        polls += f.log[i].polls;
    assert_in_range(polls, 4, 4 + 50);
    assert_int_equal(f.sem.spin, 16);
    release(&f, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    end(&f);
}

static void test_nobody_steps_back_behind_one_that_waits(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, 0, 1);
    ask(&f, 0, 1);
    f.sem.spin = UINT32_MAX;
    ask(&f, 1, 1);
    assert_int_equal(f.log[1].polls, 1);
    for (unsigned i = 0; i < 2; i++) {
        release(&f, 1);
        assert_int_equal(f.log[i].turn, i + 1);
        assert_int_equal(lone_join(&f.join[i]), 0);
    }
    end(&f);
}

static void test_closing_answers_what_steps_back(void **state)
{
    struct fixture f;

    (void)state;
    ask_and_act(&f, close_it);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(f.log[i].status, -EPIPE);
        assert_int_equal(lone_join(&f.join[i]), 0);
    }
    end(&f);
}

static void test_cancelled_while_it_steps_back(void **state)
{
    struct fixture f;

    (void)state;
    ask_and_act(&f, cancel_first);
    assert_int_equal(lone_join(&f.join[0]), -ECANCELED);
    assert_int_equal(volt_sem_available(&f.sem), 0);
    release(&f, 1);
    assert_int_equal(f.log[1].turn, 1);
    assert_int_equal(lone_join(&f.join[1]), 0);
    end(&f);
}

/* --- tasks that acquire again in the poll in which they were served ---------------- */

static char order[32]; /* who acquired, in order */

struct repeater {
    struct volt_sem_acquire acquire;
    struct volt_sem *sem;
    char name;
    int left;
};

static enum volt_poll repeater_poll(struct volt_cx *cx, void *state)
{
    struct repeater *s = state;

    while (volt_sem_acquire_poll(cx, &s->acquire) == VOLT_READY) {
        order[strlen(order)] = s->name;
        (void)volt_sem_release(s->sem, 1);
        if (--s->left == 0)
            return VOLT_READY;
        volt_sem_acquire_init(&s->acquire, s->sem, 1);
    }
    return VOLT_PENDING;
}

static void repeater_drop(void *state)
{
    struct repeater *s = state;

    volt_sem_acquire_fini(&s->acquire);
}

static const struct volt_task_type repeater_type = {
    .name = "repeater",
    .size = sizeof(struct repeater),
    .poll = repeater_poll,
    .drop = repeater_drop,
};

/* Repeaters named a, b, ... queue for the one permit, each to acquire so often; then it
 * is released. The order is left in `order`. */
static void repeat(const int *times, unsigned n)
{
    struct fixture f;

    begin(&f, 0, 1);
    memset(order, 0, sizeof(order));
    for (unsigned i = 0; i < n; i++) {
        struct repeater *s = volt_task_new(f.rt, &repeater_type);

        assert_non_null(s);
        *s = (struct repeater){.sem = &f.sem, .name = (char)('a' + i), .left = times[i]};
        volt_sem_acquire_init(&s->acquire, &f.sem, 1);
        lone_spawn(s, &f.join[i]);
        lone_settle(f.rt);
    }
    release(&f, 1);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(lone_join(&f.join[i]), 0);
    assert_int_equal(volt_sem_available(&f.sem), 1);
    end(&f);
}

static void test_a_queue_of_returners_is_dissolved_in_order(void **state)
{
    (void)state;
    repeat((const int[]){3, 3, 3}, 3);
    assert_string_equal(order, "abcccaabb"); /* c finds nobody who has not been served */
}

static void test_a_newcomer_keeps_its_place_before_returners(void **state)
{
    (void)state;
    repeat((const int[]){2, 2, 1, 1}, 4);
    assert_string_equal(order, "abcdab");
}

static void test_A_20_a_stale_waiter_is_noticed(void **state)
{
    struct volt_waiter *head = NULL, *tail = NULL, w[2] = {0};
    struct volt_task task = {0};
    int status;

    (void)state;
    for (int i = 0; i < 2; i++)
        waiter_link(&head, &tail, &w[i], &task);
    waiter_unlink(&head, &tail, &w[0]);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        waiter_unlink(&head, &tail, &w[0]);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    waiter_unlink(&head, &tail, &w[1]);
    assert_null(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_try_acquire_is_all_or_nothing),
        cmocka_unit_test(test_A_3_first_come_first_served),
        cmocka_unit_test(test_A_8_one_release_serves_several_and_part_of_the_next),
        cmocka_unit_test(test_A_9_no_permits_while_somebody_waits),
        cmocka_unit_test(test_A_16_cancelled_waiter_returns_its_part_to_the_next),
        cmocka_unit_test(test_F_E3_granted_but_never_seen_is_not_lost),
        cmocka_unit_test(test_F_E4_polled_for_another_reason),
        cmocka_unit_test(test_F_E6_one_release_wakes_more_than_32),
        cmocka_unit_test(test_F_E7_over_release_is_an_error),
        cmocka_unit_test(test_F_E10_nobody_waits_no_lock),
        cmocka_unit_test(test_F_E11_close_wakes_and_refuses),
        cmocka_unit_test(test_close_then_cancelled_unseen),
        cmocka_unit_test(test_others_run_before_an_acquirer_looks_again),
        cmocka_unit_test(test_stepping_back_ends_in_the_queue),
        cmocka_unit_test(test_stepping_back_is_shared),
        cmocka_unit_test(test_nobody_steps_back_behind_one_that_waits),
        cmocka_unit_test(test_closing_answers_what_steps_back),
        cmocka_unit_test(test_cancelled_while_it_steps_back),
        cmocka_unit_test(test_a_queue_of_returners_is_dissolved_in_order),
        cmocka_unit_test(test_a_newcomer_keeps_its_place_before_returners),
        cmocka_unit_test(test_A_20_a_stale_waiter_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
