/* Whether the writer of a store is alive: the watchdog asks. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/facts.h"
#include "tests/support/failing_vfs.h"
#include "tests/support/stored.h"

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

/* Where the writer stands still, until it may go on. */
static sem_t there, on;
static bool in_extension; /* in the sync of a journal that is extended */

static void stand_still(void)
{
    assert_int_equal(sem_post(&there), 0);
    while (sem_wait(&on) < 0)
        continue;
}

int __wrap_fdatasync(int fd)
{
    if (in_extension)
        stand_still();
    return __real_fdatasync(fd);
}

static int setup(void **state)
{
    in_extension = false;
    return sem_init(&there, 0, 0) + sem_init(&on, 0, 0) + stored_setup(state);
}

static int teardown(void **state)
{
    return sem_destroy(&there) + sem_destroy(&on) + stored_teardown(state);
}

static void begin(struct store *s)
{
    struct job_spec *spec = job_spec_new();
    const struct store_fact fact = fact_submit(1, 5, spec);

    spec->argv = calloc(2, sizeof(*spec->argv));
    spec->argv[0] = strdup("true");
    assert_int_equal(store_append(s, &fact, 1, NULL), 0);
    job_spec_unref(spec);
    store_kick(s, false);
    while (sem_wait(&there) < 0)
        continue;
}

static void settle(struct store *s)
{
    struct store_health health = {.waits = false};

    while (!health.waits) {
        (void)sched_yield();
        store_health(s, &health);
    }
}

/* How many of three looks find it alive. */
static int alive(struct store *s)
{
    uint64_t seen = UINT64_MAX;
    int n = 0;

    assert_true(store_alive(s, &seen));
    for (int i = 0; i < 3; i++)
        n += store_alive(s, &seen);
    return n;
}

static void a_writer_without_work_is_alive(void **state)
{
    (void)state;
    struct store *s = stored_fresh();

    settle(s);
    assert_int_equal(alive(s), 3);
    store_free(s);
}

static void news(void *arg, const struct job_news *told, size_t n)
{
    (void)arg;
    (void)told;
    if (n)
        stand_still();
}

static int pass_over(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

static void a_writer_that_is_stuck_is_not(void **state)
{
    (void)state;
    struct volt_error err = {{0}};
    struct store *s = NULL;
    uint64_t seen = 0;

    assert_int_equal(stored_open(1, &s, &err), 0);
    store_subscribe(s, news, NULL);
    assert_int_equal(store_load(s, pass_over, NULL, &err), 0);
    begin(s);
    const int n = alive(s);

    (void)store_alive(s, &seen);
    assert_int_equal(sem_post(&on), 0);
    settle(s);
    assert_true(store_alive(s, &seen));
    assert_int_equal(alive(s), 3);
    store_free(s);
    assert_int_equal(n, 0);
}

/* However long it takes. */
static void a_writer_in_a_sync_is_alive(void **state)
{
    (void)state;
    failing_vfs_put();
    struct store *s = stored_fresh();

    failing_vfs_in_sync(stand_still);
    begin(s);
    failing_vfs_in_sync(NULL);
    const int n = alive(s);

    assert_int_equal(sem_post(&on), 0);
    store_free(s);
    failing_vfs_take();
    assert_int_equal(n, 3);
}

static void a_writer_that_extends_the_journal_is_alive(void **state)
{
    (void)state;
    struct store *s = stored_fresh();

    settle(s);
    in_extension = true;
    begin(s);
    const int n = alive(s);

    in_extension = false;
    assert_int_equal(sem_post(&on), 0);
    store_free(s);
    assert_int_equal(n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_without_work_is_alive, setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_is_stuck_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_in_a_sync_is_alive, setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_extends_the_journal_is_alive, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}
