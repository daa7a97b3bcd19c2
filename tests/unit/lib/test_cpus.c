/* How many CPUs the process may use, by what the kernel answers. */
#include "base/cpus.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A kernel for so many CPUs, of which the process may use every second. */
static size_t possible;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (!possible)
        return __real_sched_getaffinity(pid, size, set);
    if (size * 8 < possible) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(size, set);
    for (size_t i = 0; i < possible; i += 2)
        CPU_SET_S(i, size, set);
    return 0;
}

static void large_machines_are_counted(void **state)
{
    (void)state;
    possible = 2;
    assert_int_equal(cpus_usable(), 1);
    possible = 1024;
    assert_int_equal(cpus_usable(), 512);
    possible = 8192;
    assert_int_equal(cpus_usable(), 4096);
}

/* What nobody can answer is at least one. */
static void without_an_answer_there_is_one(void **state)
{
    (void)state;
    possible = SIZE_MAX;
    assert_int_equal(cpus_usable(), 1);
}

static void what_the_process_may_not_use_does_not_count(void **state)
{
    cpu_set_t before, one;

    (void)state;
    possible = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(cpus_usable(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(cpus_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_machines_are_counted),
        cmocka_unit_test(without_an_answer_there_is_one),
        cmocka_unit_test(what_the_process_may_not_use_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
