/* Resource limits of a job: what was asked for, never more than the keeper itself may. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <cmocka.h>
#include "tests/support/keeper_job.h"

/* A shell that compares its limits of descriptors, and of core dumps, with WANT. */
static struct record run_with(struct keeper_client *c, char *want,
                              const struct launch_rlimit *limits, size_t n)
{
    char script[] =
        "test \"$(ulimit -Sn) $(ulimit -Hn) $(ulimit -Sc) $(ulimit -Hc)\" = \"$WANT\"";
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, want, NULL};
    const struct launch l = {
        .argv = argv, .argc = 3, .env = env, .envc = 2, .rlimits = limits, .nrlimits = n};
    struct job_key key = keeper_job_key();

    assert_int_equal(keeper_client_start(c, &key, &l, -1, 0).status, 0);
    return keeper_client_wait(c, &key);
}

static void test_as_asked_for(void **state)
{
    const struct launch_rlimit limits[] = {{RLIMIT_NOFILE, 0, 200, 300},
                                           {RLIMIT_CORE, 0, 0, 0}};
    struct record r = run_with(*state, (char[]){"WANT=200 300 0 0"}, limits, 2);

    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
    /* The next job is not limited by them, whoever its shim was. */
    r = run_with(*state, (char[]){"WANT=200 300 0 0"}, NULL, 0);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 1);
    /* Nor does it count as limited already where it asks for the same. */
    r = run_with(*state, (char[]){"WANT=200 300 0 0"}, limits, 2);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
}

static void test_never_more_than_the_keeper(void **state)
{
    const struct launch_rlimit limits[] = {{RLIMIT_CORE, 0, 0, 0},
                                           {RLIMIT_NOFILE, 0, UINT64_MAX, UINT64_MAX}};
    struct rlimit own;
    char want[64];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
    (void)snprintf(want, sizeof(want), "WANT=%llu %llu 0 0",
                   (unsigned long long)own.rlim_max, (unsigned long long)own.rlim_max);
    struct record r = run_with(*state, want, limits, 2);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
}

/* A limit that allows next to nothing is in nobody's way before the exec: input and output
 * are opened without it. */
static void test_only_the_job_feels_them(void **state)
{
    struct keeper_client *c = *state;
    const struct launch_rlimit none = {RLIMIT_NOFILE, 0, 0, 0};
    char *argv[] = {(char[]){"true"}, NULL}, *env[] = {NULL};
    const struct launch l = {.stdin_path = "/dev/null",
                             .stdout_path = "/dev/null",
                             .argv = argv,
                             .argc = 1,
                             .env = env,
                             .rlimits = &none,
                             .nrlimits = 1};
    struct job_key key = keeper_job_key();

    assert_int_equal(keeper_client_start(c, &key, &l, -1, 0).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 127); /* the loader can open no library */
}

int main(void)
{
#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_as_asked_for),
        TEST(test_never_more_than_the_keeper),
        TEST(test_only_the_job_feels_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
