/* Memory of tasks: slots are reused, come back from other threads, and outlive the heap's
 * release while somebody holds them (F-L3). */
#include "task/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#define HEADER sizeof(struct volt_task)

static struct heap *heap;

static int setup(void **state)
{
    (void)state;
    heap = heap_new(2);
    assert_non_null(heap);
    slab_bind(heap, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    slab_unbind();
    heap_release(heap);
    return 0;
}

static void freed_slots_are_used_again(void **state)
{
    (void)state;
    struct volt_task *a = slab_alloc(heap, HEADER + 8);
    struct volt_task *b = slab_alloc(heap, HEADER + 8);

    assert_ptr_not_equal(a, b);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_int_equal((uintptr_t)b % 64, 0);
    slab_free(a);
    assert_ptr_equal(slab_alloc(heap, HEADER), a);
    slab_free(b);
    slab_free(a);
}

/* 128 bytes beside the state at most, whatever its size. */
static void slots_of_all_sizes_are_apart(void **state)
{
    enum { MOST = 3000, STEP = 24 };
    struct volt_task *t[MOST / STEP];

    (void)state;
    for (size_t i = 0; i < MOST / STEP; i++) {
        t[i] = slab_alloc(heap, HEADER + i * STEP);
        memset(task_state(t[i]), (int)i, i * STEP);
    }
    for (size_t i = 0; i < MOST / STEP; i++) {
        const unsigned char *p = task_state(t[i]);

        for (size_t k = 0; k < i * STEP; k++)
            assert_int_equal(p[k], (unsigned char)i);
        slab_free(t[i]);
    }
}

static void a_freed_slot_keeps_its_word(void **state)
{
    (void)state;
    struct volt_task *a = slab_alloc(heap, HEADER);

    task_begin(a, false);
    assert_int_equal(task_start(a), TASK_POLL);
    assert_true(task_complete(a, false).last);
    slab_free(a);
    assert_false(task_notify(a)); /* a stray wake */
    assert_false(task_cancel(a));
    assert_int_equal(task_list(a), TASK_DEAD);
    assert_ptr_equal(slab_alloc(heap, HEADER), a);
    assert_false(task_notify(a)); /* until spawn */
    task_begin(a, false);
    assert_int_equal(task_start(a), TASK_POLL); /* of all this nothing is left */
    assert_true(task_complete(a, false).last);
    slab_free(a);
}

static void *frees(void *arg)
{
    struct volt_task **t = arg;

    for (int i = 0; t[i]; i++)
        slab_free(t[i]);
    return NULL;
}

static void *worker_1_frees(void *arg)
{
    slab_bind(heap, 1);
    frees(arg);
    slab_unbind();
    return NULL;
}

/* Frees n slots on another thread, then takes as many: the same ones, in some order. */
static void come_back(void *(*body)(void *))
{
    enum { N = 100 };
    struct volt_task *t[N + 1] = {0}, *again[N];
    pthread_t thread;
    int found = 0;

    for (int i = 0; i < N; i++)
        t[i] = slab_alloc(heap, HEADER + (i % 2 ? 8 : 80));
    assert_int_equal(pthread_create(&thread, NULL, body, t), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < N; i++)
        again[i] = slab_alloc(heap, HEADER + (i % 2 ? 8 : 80));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            found += again[i] == t[k];
    /* Those never used may come first in a class, but for what the class is short of. */
    assert_true(found > 0);
    for (int i = 0; i < N; i++)
        slab_free(again[i]);
    for (int i = 0; i < N; i++)
        assert_int_equal(vat_u64_load(&t[i]->state, VAT_RLX), 0);
}

static void another_threads_frees_come_back(void **state)
{
    (void)state;
    come_back(frees);
}

static void a_workers_frees_come_back_in_batches(void **state)
{
    (void)state;
    come_back(worker_1_frees);
    assert_int_equal(heap->store[1].taken, 0);
}

/* Work that moves from worker to worker does not cost the memory of each. */
static void a_dry_store_takes_what_others_have_free(void **state)
{
    enum { N = 5 * SLAB_KEEP };
    struct volt_task *t[N];

    (void)state;
    for (int i = 0; i < N; i++)
        t[i] = slab_alloc(heap, HEADER + 8);
    for (int i = 0; i < N; i++)
        slab_free(t[i]);
    slab_unbind();
    slab_bind(heap, 1);
    for (int i = 0; i < N - SLAB_KEEP; i++)
        t[i] = slab_alloc(heap, HEADER + 8);
    assert_int_equal(heap->store[0].taken, N);
    assert_int_equal(heap->store[1].taken, 0);
    for (int i = 0; i < N - SLAB_KEEP; i++)
        slab_free(t[i]);
}

static void threads_that_are_no_workers_share_stores(void **state)
{
    (void)state;
    slab_unbind();
    struct volt_task *a = slab_alloc(heap, HEADER + 8);

    assert_int_equal(heap->store[0].taken + heap->store[1].taken, 0);
    slab_free(a);
    slab_free(slab_alloc(heap, HEADER + 8));
    slab_bind(heap, 0);
}

static void held_slots_outlive_the_release(void **state)
{
    (void)state;
    struct volt_task *held[2], *gone = slab_alloc(heap, HEADER);

    held[0] = slab_alloc(heap, HEADER + 40);
    held[1] = slab_alloc(heap, 100000); /* a large one */
    slab_free(gone);
    slab_unbind();
    heap_release(heap);
    for (int i = 0; i < 2; i++) {
        memset(task_state(held[i]), 1, 40);
        slab_free(held[i]);
    }
    heap = NULL;
}

static void add_one(struct volt_task *t, void *arg)
{
    (void)t;
    ++*(int *)arg;
}

static void every_slot_is_walked_over(void **state)
{
    int all = 0, more = 0;

    (void)state;
    struct volt_task *a = slab_alloc(heap, HEADER), *b = slab_alloc(heap, 5000);
    slab_each(heap, add_one, &all);
    assert_int_equal(all, SLAB_FIRST / 64 + 1);
    slab_free(a);
    slab_free(b); /* with its slab */
    slab_each(heap, add_one, &more);
    assert_int_equal(more, SLAB_FIRST / 64);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(freed_slots_are_used_again),
        T(slots_of_all_sizes_are_apart),
        T(a_freed_slot_keeps_its_word),
        T(another_threads_frees_come_back),
        T(a_workers_frees_come_back_in_batches),
        T(a_dry_store_takes_what_others_have_free),
        T(threads_that_are_no_workers_share_stores),
        T(held_slots_outlive_the_release),
        T(every_slot_is_walked_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
