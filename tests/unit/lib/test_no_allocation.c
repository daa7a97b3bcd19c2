/* waiting allocates nothing. A million waits on each of semaphore, mutex and
 * rwlock, with tasks that hold across a yield so that the others have to queue; so do a
 * million rounds of notify, and sleeping. */
#include "tests/support/alloc_hook.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WAITS 50000
#else
#define WAITS 1000000
#endif

enum { TASKS = 64, PERMITS = 4 };

enum kind { SEM, MUTEX, RWLOCK, NOTIFY, SLEEP };

static struct volt_sem sem;
static struct volt_mutex mutex;
static struct volt_rwlock rwlock;
static struct volt_notify notify, gate;
static vat_u32 arrived; /* tasks at the gate */
static vat_u64 waited;  /* leaves that were pending, all tasks */

struct waiter {
    int at;
    enum kind kind;
    uint32_t round;
    uint64_t waits, goal;
    struct volt_yield yield;
    struct volt_notified at_gate;
    union {
        struct volt_sem_acquire sem;
        struct volt_mutex_lock mutex;
        struct volt_rwlock_acquire rwlock;
        struct volt_notified notified;
        struct volt_sleep sleep;
    } u;
};

static bool writes(const struct waiter *w)
{
    return w->round % 4 == 0;
}

static void begin_wait(struct waiter *w)
{
    switch (w->kind) {
    case SEM:
        volt_sem_acquire_init(&w->u.sem, &sem, 1 + w->round % PERMITS);
        break;
    case MUTEX:
        volt_mutex_lock_init(&w->u.mutex, &mutex);
        break;
    case RWLOCK:
        if (writes(w))
            volt_rwlock_acquire_init_write(&w->u.rwlock, &rwlock);
        else
            volt_rwlock_acquire_init_read(&w->u.rwlock, &rwlock);
        break;
    case NOTIFY:
        volt_notified_init(&w->u.notified, &notify);
        break;
    case SLEEP:
        volt_sleep_init(&w->u.sleep, 10);
        break;
    }
}

static enum volt_poll poll_wait(struct volt_cx *cx, struct waiter *w)
{
    switch (w->kind) {
    case SEM:
        return volt_sem_acquire_poll(cx, &w->u.sem);
    case MUTEX:
        return volt_mutex_lock_poll(cx, &w->u.mutex);
    case RWLOCK:
        return volt_rwlock_acquire_poll(cx, &w->u.rwlock);
    case NOTIFY:
        return volt_notified_poll(cx, &w->u.notified);
    default:
        return volt_sleep_poll(cx, &w->u.sleep);
    }
}

static void give_back(struct waiter *w)
{
    switch (w->kind) {
    case SEM:
        FN_CHECK(volt_sem_release(&sem, 1 + w->round % PERMITS) == 0);
        break;
    case MUTEX:
        volt_mutex_unlock(&mutex);
        break;
    case RWLOCK:
        if (writes(w))
            volt_rwlock_write_unlock(&rwlock);
        else
            volt_rwlock_read_unlock(&rwlock);
        break;
    case NOTIFY:
        volt_notify_one(&notify);
        break;
    default:
        volt_sleep_fini(&w->u.sleep);
        break;
    }
}

static enum volt_poll waiter_poll(struct volt_cx *cx, void *state)
{
    struct waiter *w = state;

    VOLT_BEGIN(w->at);
    volt_notified_init(&w->at_gate, &gate);
    vat_u32_add(&arrived, 1, VAT_AR);
    VOLT_AWAIT(w->at, volt_notified_poll(cx, &w->at_gate));
    while (vat_u64_load(&waited, VAT_RLX) < w->goal) {
        begin_wait(w);
        if (poll_wait(cx, w) == VOLT_PENDING) {
            vat_u64_add(&waited, 1, VAT_RLX);
            VOLT_AWAIT(w->at, poll_wait(cx, w));
        }
        VOLT_AWAIT(w->at, volt_yield_poll(cx, &w->yield));
        give_back(w);
        w->round++;
    }
    VOLT_END(w->at);
}

static const struct volt_task_type waiter_type = {
    .name = "waiter",
    .size = sizeof(struct waiter),
    .poll = waiter_poll,
};

/* Returns the number of allocations while the tasks waited `goal` times. */
static uint64_t run(enum kind kind, uint64_t goal)
{
    struct volt_options opt = {.workers = 2};
    struct volt_join join[TASKS];
    struct volt_runtime *rt;
    uint64_t before;

    FN_CHECK(volt_runtime_new(&opt, &rt) == 0);
    volt_sem_init(&sem, PERMITS, PERMITS);
    volt_mutex_init(&mutex);
    volt_rwlock_init(&rwlock);
    volt_notify_init(&notify);
    volt_notify_init(&gate);
    volt_notify_one(&notify);
    vat_u32_init(&arrived, 0);
    vat_u64_init(&waited, 0);
    for (int i = 0; i < TASKS; i++) {
        struct waiter *w = volt_task_new(rt, &waiter_type);

        FN_CHECK(w);
        w->kind = kind;
        w->goal = goal;
        w->round = (uint32_t)i;
        FN_CHECK(volt_task_spawn(w, &join[i]) == 0);
    }
    while (vat_u32_load(&arrived, VAT_ACQ) < TASKS)
        vat_pause();
    before = hook_count();
    volt_notify_all(&gate);
    for (int i = 0; i < TASKS; i++)
        FN_CHECK(volt_join_wait(&join[i]) == 0);
    uint64_t calls = hook_count() - before;
    for (int i = 0; i < TASKS; i++)
        volt_join_fini(&join[i]);
    volt_runtime_free(rt);
    volt_sem_fini(&sem);
    volt_mutex_fini(&mutex);
    volt_rwlock_fini(&rwlock);
    volt_notify_fini(&notify);
    volt_notify_fini(&gate);
    assert_true(vat_u64_load(&waited, VAT_RLX) >= goal);
    return calls;
}

static void test_the_hook_counts(void **state)
{
    struct volt_oneshot_recv recv;
    struct volt_oneshot *o;

    (void)state;
    hook_arm(0, false);
    o = volt_oneshot_new(8);
    assert_non_null(o);
    assert_int_equal(hook_count(), 1);
    assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), 1);
    volt_oneshot_send_fini(o);
    volt_oneshot_recv_init(&recv, o, NULL);
    volt_oneshot_recv_fini(&recv);
    assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), 0);
}

static void test_A_1_semaphore(void **state)
{
    (void)state;
    assert_int_equal(run(SEM, WAITS), 0);
}

static void test_A_1_mutex(void **state)
{
    (void)state;
    assert_int_equal(run(MUTEX, WAITS), 0);
}

static void test_A_1_rwlock(void **state)
{
    (void)state;
    assert_int_equal(run(RWLOCK, WAITS), 0);
}

static void test_notify(void **state)
{
    (void)state;
    assert_int_equal(run(NOTIFY, WAITS), 0);
}

static void test_sleep(void **state)
{
    (void)state;
    assert_int_equal(run(SLEEP, 2000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hook_counts), cmocka_unit_test(test_A_1_semaphore),
        cmocka_unit_test(test_A_1_mutex),       cmocka_unit_test(test_A_1_rwlock),
        cmocka_unit_test(test_notify),          cmocka_unit_test(test_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
