/* Mutex: exclusion between workers, and A-19: no allocation however often it is
 * contended. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* --- counting allocations, where no sanitizer has taken malloc ---------------------- */

static uint64_t allocations; /* of all threads; atomic */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#else
#define COUNTS_ALLOCATIONS 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);

void *malloc(size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}
#endif

/* --- tasks that fight for a mutex --------------------------------------------------- */

#define TASKS  8
#define ROUNDS 20000

struct shared {
    struct volt_mutex mutex;
    uint64_t count; /* under the mutex; plain, so that TSan sees a missing exclusion */
    int inside;
    int overlaps;
};

struct fighter {
    struct shared *shared;
    struct volt_mutex_lock lock;
    struct volt_yield yield;
    int at, round;
};

static enum volt_poll fighter_poll(struct volt_cx *cx, void *state)
{
    struct fighter *s = state;
    struct shared *m = s->shared;

    VOLT_BEGIN(s->at);
    for (s->round = 0; s->round < ROUNDS; s->round++) {
        volt_mutex_lock_init(&s->lock, &m->mutex);
        VOLT_AWAIT(s->at, volt_mutex_lock_poll(cx, &s->lock));
        m->overlaps += m->inside++ != 0;
        m->count++;
        if (s->round % 16 == 0) /* hold it across a poll, so that the others queue */
            VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
        m->inside--;
        volt_mutex_unlock(&m->mutex);
    }
    VOLT_END(s->at);
}

static void fighter_drop(void *state)
{
    struct fighter *s = state;

    if (s->shared)
        volt_mutex_lock_fini(&s->lock);
}

static const struct volt_task_type fighter_type = {
    .name = "fighter",
    .size = sizeof(struct fighter),
    .poll = fighter_poll,
    .drop = fighter_drop,
};

static void test_exclusion_and_A_19_no_allocation(void **state)
{
    struct volt_options opt = {.workers = 4, .seed = 7};
    struct shared shared = {0};
    struct volt_join join[TASKS];
    struct volt_runtime *rt;
    uint64_t before;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    volt_mutex_init(&shared.mutex);
    assert_true(volt_mutex_try_lock(&shared.mutex)); /* start gate */
    for (int i = 0; i < TASKS; i++) {
        struct fighter *s = volt_task_new(rt, &fighter_type);

        assert_non_null(s);
        s->shared = &shared;
        lone_spawn(s, &join[i]);
    }
    before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
    volt_mutex_unlock(&shared.mutex);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(volt_join_wait(&join[i]), 0);
    if (COUNTS_ALLOCATIONS) {
        assert_true(before > 0);
        assert_int_equal(__atomic_load_n(&allocations, __ATOMIC_RELAXED) - before, 0);
    }
    for (int i = 0; i < TASKS; i++)
        volt_join_fini(&join[i]);
    assert_int_equal(shared.overlaps, 0);
    assert_int_equal(shared.count, (uint64_t)TASKS * ROUNDS);
    assert_true(volt_mutex_try_lock(&shared.mutex));
    assert_false(volt_mutex_try_lock(&shared.mutex));
    volt_mutex_unlock(&shared.mutex);
    volt_mutex_fini(&shared.mutex);
    volt_runtime_free(rt);
}

/* A waiter that is cancelled with the lock granted: the next one gets it (F-I4: it stayed
 * locked for ever). */
static void test_F_I4_cancelled_waiter_does_not_keep_the_lock(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct shared shared = {0};
    struct volt_join join[2];
    struct lone_hold hold;

    (void)state;
    volt_mutex_init(&shared.mutex);
    assert_true(volt_mutex_try_lock(&shared.mutex));
    for (int i = 0; i < 2; i++) {
        struct fighter *s = volt_task_new(rt, &fighter_type);

        assert_non_null(s);
        s->shared = &shared;
        lone_spawn(s, &join[i]);
    }
    lone_settle(rt);
    lone_hold_begin(rt, &hold);
    volt_mutex_unlock(&shared.mutex);
    volt_join_cancel(&join[0]);
    lone_hold_end(&hold);
    assert_int_equal(lone_join(&join[0]), -ECANCELED);
    assert_int_equal(lone_join(&join[1]), 0);
    assert_int_equal(shared.count, ROUNDS);
    assert_true(volt_mutex_try_lock(&shared.mutex));
    volt_mutex_unlock(&shared.mutex);
    volt_mutex_fini(&shared.mutex);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion_and_A_19_no_allocation),
        cmocka_unit_test(test_F_I4_cancelled_waiter_does_not_keep_the_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
