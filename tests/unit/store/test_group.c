/* Groups of appended facts: when the writer is woken. */
#include "daemon/store/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

int __real_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);

static struct groups g;
static pthread_t writer;
static bool runs; /* the writer */
static unsigned signals;

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    signals++;
    return __real_pthread_cond_signal(cond);
}

static int setup(void **state)
{
    (void)state;
    g = (struct groups){.head = NULL};
    signals = 0;
    return groups_init(&g);
}

static void *end(void)
{
    void *taken;

    assert_int_equal(pthread_join(writer, &taken), 0);
    runs = false;
    return taken;
}

static int teardown(void **state)
{
    (void)state;
    groups_stop(&g);
    for (struct group_entry *e = runs ? end() : NULL, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    groups_fini(&g);
    return 0;
}

static void *takes(void *arg)
{
    (void)arg;
    return groups_take(&g, UINT64_MAX);
}

struct look {
    bool asleep, pacing, hurry;
};

static struct look look(void)
{
    pthread_mutex_lock(&g.lock);
    struct look l = {g.asleep, g.pacing, g.hurry};
    pthread_mutex_unlock(&g.lock);
    return l;
}

/* The writer sleeps from here on. */
static void begin(void)
{
    assert_int_equal(pthread_create(&writer, NULL, takes, NULL), 0);
    runs = true;
    while (!look().asleep)
        (void)sched_yield();
}

/* The pace lasts for as long as the test does. */
static void begin_pace(void)
{
    g.begun_usec = UINT64_C(1) << 60;
    begin();
}

static struct group_entry *append(void)
{
    struct group_entry *e = calloc(1, sizeof(*e));

    assert_non_null(e);
    assert_int_equal(groups_append(&g, e, NULL), 0);
    return e;
}

static void expect_taken(struct group_entry *first)
{
    assert_ptr_equal(end(), first);
    assert_false(look().hurry);
    assert_true(g.begun_usec < UINT64_C(1) << 60);
    for (struct group_entry *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static void what_is_patient_does_not_wake_the_writer_within_the_pace(void **state)
{
    (void)state;
    begin_pace();
    assert_true(look().pacing); /* though there is nothing to take */
    struct group_entry *first = append();
    groups_kick(&g, true);
    assert_true(look().asleep);
    assert_int_equal(signals, 0);
    groups_kick(&g, false);
    groups_kick(&g, false);
    assert_int_equal(signals, 1);
    expect_taken(first);
}

static void a_kick_without_an_entry_is_none(void **state)
{
    (void)state;
    begin_pace();
    groups_kick(&g, false);
    assert_true(look().asleep);
    assert_false(look().hurry);
    assert_int_equal(signals, 0);
    struct group_entry *first = append();
    (void)append();
    groups_kick(&g, false);
    expect_taken(first);
}

/* Behind the pace any kick does. */
static void what_is_patient_wakes_a_writer_that_waits_for_it(void **state)
{
    (void)state;
    begin();
    assert_false(look().pacing);
    struct group_entry *first = append();
    groups_kick(&g, true);
    expect_taken(first);
}

/* A commit without an entry of its own waits for what has been appended before it, also
 * for what the writer has taken; where there is nothing it is over at once. */
static void a_barrier_waits_for_what_is_being_written(void **state)
{
    struct store_commit none = {.group = 0}, waiting = {.group = 0}, taken = {.group = 0};
    struct group_entry *first;

    (void)state;
    assert_int_equal(groups_append(&g, NULL, &none), 0);
    assert_int_equal(none.group, 0);
    first = append();
    assert_int_equal(groups_append(&g, NULL, &waiting), 0);
    assert_int_equal(waiting.group, 1);
    assert_ptr_equal(groups_take(&g, UINT64_MAX), first);
    assert_int_equal(groups_append(&g, NULL, &taken), 0);
    assert_int_equal(taken.group, 1);
    groups_done(&g, 0, -EIO);
    assert_int_equal(waiting.group + taken.group, 0);
    assert_int_equal(waiting.status, -EIO);
    assert_int_equal(groups_append(&g, NULL, &none), 0);
    assert_int_equal(none.group, 0);
    free(first);
}

/* Entries go to a group of their own once the one before is taken. */
static void what_comes_while_it_writes_is_the_next_group(void **state)
{
    struct store_commit c = {.group = 0};
    struct group_entry *first = append(), *second;

    (void)state;
    assert_ptr_equal(groups_take(&g, UINT64_MAX), first);
    assert_null(first->next);
    assert_false(groups_busy(&g));
    second = append();
    assert_int_equal(groups_append(&g, NULL, &c), 0);
    assert_int_equal(c.group, 2);
    assert_true(groups_busy(&g));
    groups_done(&g, 0, 0);
    assert_int_equal(c.group, 2);
    groups_kick(&g, false);
    assert_ptr_equal(groups_take(&g, UINT64_MAX), second);
    groups_done(&g, 0, 0);
    assert_int_equal(c.group, 0);
    free(first);
    free(second);
}

/* By groups_fini(). */
static void entries_that_nobody_took_are_freed(void **state)
{
    (void)state;
    (void)append();
    (void)append();
}

static void it_ends_within_the_pace(void **state)
{
    (void)state;
    begin_pace();
    groups_stop(&g);
    assert_null(end());
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_patient_does_not_wake_the_writer_within_the_pace),
        T(a_kick_without_an_entry_is_none),
        T(what_is_patient_wakes_a_writer_that_waits_for_it),
        T(a_barrier_waits_for_what_is_being_written),
        T(what_comes_while_it_writes_is_the_next_group),
        T(entries_that_nobody_took_are_freed),
        T(it_ends_within_the_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
