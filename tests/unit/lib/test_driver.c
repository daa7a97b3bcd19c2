/* The driver without a runtime: tasks are bare headers, the leader is a thread of the
 * test. Nothing here waits for time to pass: whichever side is first, the outcome is the
 * same. Named by the flaws of the Volt documentation: F-J2 (an earlier timer does not
 * wake the sleeper), F-J3 (callbacks under the timer's lock), F-N1 and F-N2 (nobody waits
 * for I/O), F-I5 and F-I6 (raw task pointers in the driver). */
#include "driver/driver.h"
#include "driver/loop.h"
#include "driver/registration.h"
#include "driver/wheel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/runtime.h>

#define FAR UINT64_C(3600000000)

static void task_init(struct volt_task *t)
{
    memset(t, 0, sizeof(*t));
    vat_u64_init(&t->state, TASK_REF_ONE);
}

/* What a worker does when it starts the task: takes the notification. */
static bool task_was_woken(struct volt_task *t)
{
    return vat_u64_and(&t->state, ~TASK_NOTIFIED, VAT_AR) & TASK_NOTIFIED;
}

static struct driver *new_driver(unsigned workers)
{
    struct driver *d = NULL;

    assert_int_equal(driver_new(workers, &d), 0);
    return d;
}

/* One busy poll. Returns the number of tokens. */
static unsigned poll_once(struct driver *d)
{
    struct task_chain chain = {0};

    assert_true(driver_try_enter(d));
    driver_poll(d, &chain);
    driver_leave(d);
    return chain.count;
}

/* A worker that sleeps in the driver once. */
struct leader {
    struct driver *d;
    struct task_chain chain;
    pthread_t thread;
    vat_u32 tid;
};

static void *leader_main(void *arg)
{
    struct leader *l = arg;

    vat_u32_store(&l->tid, (uint32_t)gettid(), VAT_REL);
    driver_lead(l->d, UINT64_MAX, &l->chain);
    driver_leave(l->d);
    return NULL;
}

static void leader_start(struct leader *l, struct driver *d)
{
    *l = (struct leader){.d = d};
    assert_true(driver_try_enter(d));
    assert_int_equal(pthread_create(&l->thread, NULL, leader_main, l), 0);
}

/* Until the kernel says that the thread sleeps: the kicks below have to
 * reach it there. */
static void leader_await_sleep(struct leader *l)
{
    char path[64], state = 'R';
    uint32_t tid;

    while ((tid = vat_u32_load(&l->tid, VAT_ACQ)) == 0)
        (void)sched_yield();
    (void)snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
    while (state != 'S') {
        FILE *f = fopen(path, "re");

        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d %*s %c", &state), 1);
        (void)fclose(f);
    }
}

static unsigned leader_join(struct leader *l)
{
    assert_int_equal(pthread_join(l->thread, NULL), 0);
    return l->chain.count;
}

static void new_pair(int fds[2])
{
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static struct registration *add(struct driver *d, int fd)
{
    struct registration *r = NULL;

    assert_int_equal(driver_register(d, fd, &r), 0);
    return r;
}

static void put_byte(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void test_one_turn_at_a_time(void **state)
{
    struct driver *d = new_driver(1);

    (void)state;
    assert_true(driver_try_enter(d));
    assert_false(driver_try_enter(d));
    driver_leave(d);
    assert_true(driver_try_enter(d));
    driver_leave(d);
    driver_free(d);
}

static void test_kick_is_sticky_and_ends_one_sleep(void **state)
{
    struct driver *d = new_driver(1);
    struct leader l;

    (void)state;
    driver_kick(d);
    leader_start(&l, d);
    assert_int_equal(leader_join(&l), 0); /* kicked before it slept */
    leader_start(&l, d);
    leader_await_sleep(&l);
    driver_kick(d);
    assert_int_equal(leader_join(&l), 0);
    driver_free(d);
}

static void test_F_J2_earlier_timer_wakes_the_sleeper(void **state)
{
    struct driver *d = new_driver(3);
    struct volt_sleep far = {.deadline_usec = volt_now_usec() + FAR}, soon = {0};
    struct volt_task a, b;
    struct leader l;

    (void)state;
    task_init(&a);
    task_init(&b);
    assert_int_equal(driver_arm(d, 0, &far, &a, volt_now_usec()), 0);
    leader_start(&l, d);
    leader_await_sleep(&l);
    soon.deadline_usec = volt_now_usec() + 3000;
    assert_int_equal(driver_arm(d, 2, &soon, &b, volt_now_usec()), 0);
    assert_int_equal(leader_join(&l), 1);
    assert_ptr_equal(l.chain.head, &b);
    assert_true(volt_now_usec() >= soon.deadline_usec);
    assert_true(wheel_fired(&soon));
    assert_false(wheel_fired(&far));
    assert_int_equal(driver_timers(d), 1);
    wheel_cancel(&far);
    wheel_cancel(&soon);
    assert_int_equal(driver_timers(d), 0);
    assert_true(driver_next_deadline(d) == UINT64_MAX);
    driver_free(d);
}

static void test_F_J1_any_holder_fires_the_timers_of_all(void **state)
{
    struct driver *d = new_driver(4);
    struct volt_sleep s[4];
    struct volt_task t[4];
    uint64_t now = volt_now_usec();

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        task_init(&t[i]);
        s[i] = (struct volt_sleep){.deadline_usec = now - 1000};
        assert_int_equal(driver_arm(d, i, &s[i], &t[i], now), 0);
    }
    assert_int_equal(poll_once(d), 4);
    for (unsigned i = 0; i < 4; i++)
        wheel_cancel(&s[i]);
    driver_free(d);
}

static void test_F_N1_the_sleeper_sleeps_on_descriptors_too(void **state)
{
    struct driver *d = new_driver(1);
    struct volt_sleep far = {.deadline_usec = volt_now_usec() + FAR};
    struct volt_task timer, reader;
    struct registration *r;
    struct leader l;
    int fds[2];

    (void)state;
    task_init(&timer);
    task_init(&reader);
    assert_int_equal(driver_arm(d, 0, &far, &timer, volt_now_usec()), 0);
    leader_start(&l, d);    /* F-N2: one worker and a far timer */
    leader_await_sleep(&l); /* F-N4: it holds nothing that registering needs */
    new_pair(fds);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_READ, &reader, false));
    put_byte(fds[1]);
    assert_int_equal(leader_join(&l), 1);
    assert_ptr_equal(l.chain.head, &reader);
    assert_true(readiness_poll(r, DIR_READ, &reader, false));
    wheel_cancel(&far);
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

/* F-N3: one lock, one count and one wake for each event. F-N4: nobody could register
 * while the poller slept. */
static void test_F_N3_events_of_one_turn_are_one_chain(void **state)
{
    enum { N = 8 };
    struct driver *d = new_driver(1);
    struct registration *r[N];
    struct volt_task t[N];
    int fds[N][2];

    (void)state;
    for (int i = 0; i < N; i++) {
        task_init(&t[i]);
        new_pair(fds[i]);
        r[i] = add(d, fds[i][0]);
        assert_false(readiness_poll(r[i], DIR_READ, &t[i], false));
        put_byte(fds[i][1]);
    }
    assert_int_equal(poll_once(d), N);
    for (int i = 0; i < N; i++) {
        driver_unregister(r[i]);
        close(fds[i][0]);
        close(fds[i][1]);
    }
    driver_free(d);
}

static void test_the_leader_begins_with_the_newest_event(void **state)
{
    enum { N = 3 };
    struct driver *d = new_driver(1);
    struct registration *r[N];
    struct volt_task t[N];
    struct leader l;
    int fds[N][2];

    (void)state;
    for (int i = 0; i < N; i++) {
        task_init(&t[i]);
        new_pair(fds[i]);
        r[i] = add(d, fds[i][0]);
    }
    assert_int_equal(poll_once(d),
                     0); /* that they can be written to is no news after it */
    for (int i = 0; i < N; i++)
        assert_false(readiness_poll(r[i], DIR_READ, &t[i], false));
    for (int i = 0; i < N; i++)
        put_byte(fds[i][1]);
    leader_start(&l, d);
    assert_int_equal(leader_join(&l), N);
    assert_ptr_equal(task_chain_pop(&l.chain), &t[N - 1]);
    for (int i = 0; i < N - 1; i++) /* the others in their order */
        assert_ptr_equal(task_chain_pop(&l.chain), &t[i]);
    for (int i = 0; i < N; i++) {
        driver_unregister(r[i]);
        close(fds[i][0]);
        close(fds[i][1]);
    }
    driver_free(d);
}

/* More events than one look takes, and nobody who brings new ones. */
static void test_a_look_leaves_the_rest_to_the_next(void **state)
{
    enum { N = 300 };
    struct driver *d = new_driver(1);
    struct registration *r[N];
    struct volt_task t[N];
    unsigned woken = 0;
    int fd[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        task_init(&t[i]);
        fd[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        r[i] = add(d, fd[i]);
        assert_false(readiness_poll(r[i], DIR_READ, &t[i], false));
    }
    while (woken < N) {
        struct leader l;

        leader_start(&l, d);
        woken += leader_join(&l);
    }
    assert_int_equal(woken, N);
    for (int i = 0; i < N; i++) {
        driver_unregister(r[i]);
        close(fd[i]);
    }
    driver_free(d);
}

static void test_clear_spares_a_newer_event(void **state)
{
    struct driver *d = new_driver(1);
    struct registration *r;
    struct volt_task t;
    int fds[2];

    (void)state;
    task_init(&t);
    new_pair(fds);
    r = add(d, fds[0]);
    put_byte(fds[1]);
    (void)poll_once(d);
    assert_true(readiness_poll(r, DIR_READ, &t, false));
    put_byte(fds[1]);
    (void)poll_once(d);
    readiness_clear(r, DIR_READ); /* of what the poll saw, not of the event since */
    assert_true(readiness_poll(r, DIR_READ, &t, false));
    readiness_clear(r, DIR_READ);
    assert_false(readiness_poll(r, DIR_READ, &t, false));
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

static void test_untried_is_not_ready(void **state)
{
    struct driver *d = new_driver(1);
    struct registration *r;
    struct volt_task t;
    int fds[2];

    (void)state;
    task_init(&t);
    new_pair(fds);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_WRITE, &t, false)); /* a connect may be going on */
    assert_true(readiness_poll(r, DIR_WRITE, &t, true));   /* a write will find out */
    readiness_clear(r, DIR_WRITE);
    assert_false(readiness_poll(r, DIR_WRITE, &t, true));
    assert_int_equal(poll_once(d), 1); /* it is writable */
    assert_true(task_was_woken(&t));
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

static void test_F_I5_F_N5_nothing_of_a_task_outlives_its_registration(void **state)
{
    struct driver *d = new_driver(1);
    struct volt_task *t = malloc(sizeof(*t));
    struct registration *r;
    int fds[2];

    (void)state;
    task_init(t);
    new_pair(fds);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_READ, t, false));
    (void)poll_once(d);
    put_byte(fds[1]); /* the event is in the kernel; nobody has fetched it */
    driver_unregister(r);
    free(t);
    assert_int_equal(poll_once(d), 0);

    t = malloc(sizeof(*t)); /* the same for a task that shares the registration */
    task_init(t);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_READ, t, false));
    readiness_forget(r, DIR_READ);
    free(t);
    assert_int_equal(poll_once(d), 0);
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

/* The number is closed right after unregistering, and reused before the loop has heard of
 * anything. In every third round it has heard of the first, in every fifth of nothing. */
static void test_reused_number(void **state)
{
    struct driver *d = new_driver(1);

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct registration *old, *new;
        struct volt_task a, b;
        int first[2], second[2];

        task_init(&a);
        task_init(&b);
        new_pair(first);
        old = add(d, first[0]);
        assert_false(readiness_poll(old, DIR_READ, &a, false));
        if (round % 3 == 0)
            (void)poll_once(d);
        put_byte(first[1]);
        driver_unregister(old);
        if (round % 5 == 0)
            (void)poll_once(d);
        new_pair(second);
        assert_int_equal(dup3(second[0], first[0], O_CLOEXEC),
                         first[0]); /* closes the old */
        new = add(d, first[0]);
        assert_false(readiness_poll(new, DIR_READ, &b, false));
        (void)poll_once(d);
        assert_false(task_was_woken(&a));
        put_byte(second[1]);
        (void)poll_once(d);
        assert_false(task_was_woken(&a));
        assert_true(task_was_woken(&b));
        driver_unregister(new);
        close(first[0]);
        close(first[1]);
        close(second[0]);
        close(second[1]);
    }
    assert_int_equal(driver_io_handles(d), 0);
    driver_free(d);
}

/* Unregistered but not closed: the loop hears nothing; registered again, it hears what is
 * there already. */
static void test_registered_again(void **state)
{
    struct driver *d = new_driver(1);
    struct registration *r;
    struct volt_task t;
    int fds[2];

    (void)state;
    task_init(&t);
    new_pair(fds);
    r = add(d, fds[0]);
    (void)poll_once(d);
    driver_unregister(r);
    put_byte(fds[1]);
    assert_int_equal(poll_once(d), 0);
    for (int i = 0; i < 3; i++) {
        r = add(d, fds[0]);
        assert_false(readiness_poll(r, DIR_READ, &t, false));
        assert_int_equal(poll_once(d), 1);
        assert_true(task_was_woken(&t));
        driver_unregister(r);
    }
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

/* Closed without any turn at all: the pending addition must not touch the number. */
static void test_unregistered_before_the_loop_heard_of_it(void **state)
{
    struct driver *d = new_driver(1);
    struct registration *r;
    struct task_chain none = {0};
    int fds[2];

    (void)state;
    new_pair(fds);
    r = add(d, fds[0]);
    assert_true(driver_has_interest(d));
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    assert_true(driver_has_interest(d)); /* it still has to be freed */
    assert_int_equal(poll_once(d), 0);
    assert_false(driver_has_interest(d));
    driver_shutdown(d, &none);
    driver_free(d);
}

static void test_shutdown_wakes_all_and_refuses(void **state)
{
    struct driver *d = new_driver(2);
    struct volt_sleep s = {.deadline_usec = volt_now_usec() + FAR}, late = s;
    struct volt_task timer, reader;
    struct registration *r, *refused;
    struct task_chain chain = {0};
    int fds[2];

    (void)state;
    task_init(&timer);
    task_init(&reader);
    new_pair(fds);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_READ, &reader, false));
    assert_int_equal(driver_arm(d, 1, &s, &timer, volt_now_usec()), 0);
    driver_shutdown(d, &chain);
    assert_int_equal(chain.count, 2);
    assert_true(wheel_fired(&s));
    assert_true(readiness_poll(r, DIR_READ, &reader, false));
    readiness_clear(r, DIR_READ); /* for ever */
    assert_true(readiness_poll(r, DIR_READ, &reader, false));
    assert_int_equal(readiness_error(r), -ESHUTDOWN);
    assert_int_equal(driver_register(d, fds[1], &refused), -ESHUTDOWN);
    assert_int_equal(driver_arm(d, 0, &late, &timer, volt_now_usec()), -ESHUTDOWN);
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

static void test_a_failed_registration_says_why(void **state)
{
    struct driver *d = new_driver(1);
    struct task_chain chain = {0};
    struct registration *r;
    struct volt_task t;
    int fds[2];

    (void)state;
    task_init(&t);
    new_pair(fds);
    r = add(d, fds[0]);
    assert_false(readiness_poll(r, DIR_READ, &t, false));
    registration_fail(r, ENOSPC, &chain);
    assert_int_equal(chain.count, 1);
    assert_true(readiness_poll(r, DIR_READ, &t, false));
    assert_true(readiness_poll(r, DIR_WRITE, &t, false));
    assert_int_equal(readiness_error(r), -ENOSPC);
    driver_unregister(r);
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

/* Numbers at the ends of what the tables by number have grown to. */
static void test_any_number(void **state)
{
    static const int number[] = {63, 64, 65, 128, 129, 200};
    struct driver *d = new_driver(1);
    int fds[2];

    (void)state;
    new_pair(fds);
    for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++) {
        struct registration *r;
        struct volt_task t;
        char c;

        assert_int_equal(dup3(fds[0], number[i], O_CLOEXEC), number[i]);
        task_init(&t);
        r = add(d, number[i]);
        assert_false(readiness_poll(r, DIR_READ, &t, false));
        put_byte(fds[1]);
        assert_int_equal(poll_once(d), 1);
        assert_int_equal(read(number[i], &c, 1), 1);
        driver_unregister(r);
        close(number[i]);
    }
    close(fds[0]);
    close(fds[1]);
    driver_free(d);
}

/* The one that waits is not left to the next event: the leader, which has just heard of
 * the registration, does not sleep. A regular file cannot be waited for. */
static void test_a_registration_that_fails_in_the_loop_ends_the_sleep(void **state)
{
    struct driver *d = new_driver(1);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct registration *r;
    struct volt_task t;
    struct leader l;

    (void)state;
    task_init(&t);
    r = add(d, fd);
    assert_false(readiness_poll(r, DIR_READ, &t, false));
    leader_start(&l, d);
    assert_int_equal(leader_join(&l), 1);
    assert_ptr_equal(l.chain.head, &t);
    assert_int_equal(readiness_error(r), -EPERM);
    driver_unregister(r);
    close(fd);
    driver_free(d);
}

/* A sleep until a time at which the last one has ended ends at once. */
static void test_the_loop_sleeps_until_the_same_time_again(void **state)
{
    struct task_chain none = {0};
    struct loop *l = NULL;

    (void)state;
    assert_int_equal(loop_new(&l), 0);
    uint64_t until = volt_now_usec() + 1000;
    do
        loop_sleep(l, until, &none);
    while (volt_now_usec() < until);
    loop_sleep(l, until, &none);
    loop_free(l);
}

/* A poll meets the edge of a kick before the sleep that it was for. */
static void test_a_kick_that_a_poll_meets_ends_the_next_sleep(void **state)
{
    struct task_chain none = {0};
    struct loop *l = NULL;

    (void)state;
    assert_int_equal(loop_new(&l), 0);
    loop_kick(l);
    loop_poll(l, &none);
    loop_sleep(l, UINT64_MAX, &none);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_turn_at_a_time),
        cmocka_unit_test(test_kick_is_sticky_and_ends_one_sleep),
        cmocka_unit_test(test_F_J2_earlier_timer_wakes_the_sleeper),
        cmocka_unit_test(test_F_J1_any_holder_fires_the_timers_of_all),
        cmocka_unit_test(test_F_N1_the_sleeper_sleeps_on_descriptors_too),
        cmocka_unit_test(test_F_N3_events_of_one_turn_are_one_chain),
        cmocka_unit_test(test_the_leader_begins_with_the_newest_event),
        cmocka_unit_test(test_a_look_leaves_the_rest_to_the_next),
        cmocka_unit_test(test_clear_spares_a_newer_event),
        cmocka_unit_test(test_untried_is_not_ready),
        cmocka_unit_test(test_F_I5_F_N5_nothing_of_a_task_outlives_its_registration),
        cmocka_unit_test(test_reused_number),
        cmocka_unit_test(test_registered_again),
        cmocka_unit_test(test_any_number),
        cmocka_unit_test(test_unregistered_before_the_loop_heard_of_it),
        cmocka_unit_test(test_shutdown_wakes_all_and_refuses),
        cmocka_unit_test(test_a_failed_registration_says_why),
        cmocka_unit_test(test_a_registration_that_fails_in_the_loop_ends_the_sleep),
        cmocka_unit_test(test_the_loop_sleeps_until_the_same_time_again),
        cmocka_unit_test(test_a_kick_that_a_poll_meets_ends_the_next_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
