/* Launch: {i}, the environment, what a record becomes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/run/launch.h"
#include "daemon/run/record_end.h"

static void expansion(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{i}", "1234567"},
        {"a{i}b{i}", "a1234567b1234567"},
        {"", ""},
        {"{i", "{i"},
        {"{{i}}", "{1234567}"},
        {"{j}", "{j}"},
        {"${i}", "${i}"},
        {"${i}{i}", "${i}1234567"},
        {"$", "$"},
        {"echo {i}", "echo {i}"},
        {"a\n{i}", "a\n{i}"},
        {"a\t{i}", "a\t{i}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = launch_expand(cases[i].text, "1234567");
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

static void check_env_in(const char *cwd, char *const *given, const struct job_key *key,
                         const char *const *want)
{
    char **env = launch_env(given, (char *const[]){NULL}, cwd, key, "/run/x");
    size_t i;

    assert_non_null(env);
    for (i = 0; want[i]; i++)
        assert_string_equal(env[i], want[i]);
    assert_null(env[i]);
    free(env);
}

static void check_env(char *const *given, const struct job_key *key,
                      const char *const *want)
{
    check_env_in("/work", given, key, want);
}

static void environment(void **state)
{
    (void)state;
    struct job_key key = {.id = UINT64_MAX, .index = INT64_MAX, .attempt = UINT32_MAX};

    check_env(
        (char *const[]){NULL}, &key,
        (const char *const[]){"VOLT_JOB_ID=18446744073709551615_9223372036854775807",
                              "VOLT_ATTEMPT=4294967295", "VOLT_ADDRESS=unix:/run/x",
                              "VOLT_JOB=18446744073709551615_9223372036854775807 /run/x",
                              "VOLT_ARRAY_ID=18446744073709551615",
                              "VOLT_ARRAY_INDEX=9223372036854775807", NULL});
    key = (struct job_key){.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
    check_env((char *const[]){"A=1", "VOLT_ARRAY_ID=forged", "VOLT_LEASE=3 /run/y",
                              "VOLT_JOB=3 /run/y", "VOLT_JOB_IDX=mine", NULL},
              &key,
              (const char *const[]){"A=1", "VOLT_JOB_IDX=mine", "VOLT_JOB_ID=7",
                                    "VOLT_ATTEMPT=1", "VOLT_ADDRESS=unix:/run/x",
                                    "VOLT_JOB=7 /run/x", NULL});
    /* Where it runs the keeper alone knows. */
    check_env_in(NULL, (char *const[]){"PWD=/elsewhere", "PWD1=b", NULL}, &key,
                 (const char *const[]){"PWD1=b", "VOLT_JOB_ID=7", "VOLT_ATTEMPT=1",
                                       "VOLT_ADDRESS=unix:/run/x", "VOLT_JOB=7 /run/x",
                                       NULL});
    check_env((char *const[]){"OLDPWD=/a", "PWD=/elsewhere", "PWD1=b", NULL}, &key,
              (const char *const[]){"OLDPWD=/a", "PWD=/work", "PWD1=b", "VOLT_JOB_ID=7",
                                    "VOLT_ATTEMPT=1", "VOLT_ADDRESS=unix:/run/x",
                                    "VOLT_JOB=7 /run/x", NULL});
}

/* Both variables that name the socket have room for it, however long it is; 0 is an index. */
static void a_long_socket(void **state)
{
    enum { LONG = 4000 };
    const struct job_key key = {.id = UINT64_MAX, .index = 0, .attempt = 1};
    char socket[LONG + 1];

    (void)state;
    memset(socket, '/', LONG);
    socket[LONG] = '\0';
    char **env =
        launch_env((char *const[]){NULL}, (char *const[]){NULL}, "/work", &key, socket);
    assert_non_null(env);
    assert_string_equal(strstr(env[2], "//"), socket);
    assert_string_equal(strchr(env[3], ' ') + 1, socket);
    assert_string_equal(env[5], "VOLT_ARRAY_INDEX=0");
    assert_null(env[6]);
    free(env);
}

/* A spec of another voltd's store may name a variable twice, or a hundred times. */
static void each_pwd_has_room(void **state)
{
    enum { MANY = 100, LONG = 4000 };
    const struct job_key key = {.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
    char *given[MANY + 1] = {NULL}, cwd[LONG + 1], pwd[] = "PWD=/elsewhere";

    (void)state;
    memset(cwd, '/', LONG);
    cwd[LONG] = '\0';
    for (size_t i = 0; i < MANY; i++)
        given[i] = pwd;
    char **env = launch_env(given, (char *const[]){NULL}, cwd, &key, "/run/x");
    assert_non_null(env);
    for (size_t i = 0; i < MANY; i++) {
        assert_memory_equal(env[i], "PWD=", 4);
        assert_string_equal(env[i] + 4, cwd);
    }
    assert_string_equal(env[MANY], "VOLT_JOB_ID=7");
    free(env);
}

/* Only a record with both its slots says how it ended; everything else is lost. */
static void ends(void **state)
{
    (void)state;
    struct record rec = {.verdict = RECORD_DONE,
                         .exited = {.end = RECORD_END_EXIT,
                                    .status = 7,
                                    .survivors = 2,
                                    .max_rss_kib = 3,
                                    .real_usec = 99}};
    struct job_named named;
    struct job_event ev = record_end_event(&rec, &named);

    assert_int_equal(ev.result, JOB_RESULT_EXIT);
    assert_int_equal(ev.code, 7);
    assert_int_equal(ev.survivors, 2);
    assert_int_equal(ev.usage.max_rss_bytes, 3072);
    assert_int_equal(ev.at_usec, 99);
    rec.exited.status = 0;
    assert_int_equal(record_end_event(&rec, &named).result, JOB_RESULT_SUCCESS);
    rec.exited.end = RECORD_END_SIGNAL;
    rec.exited.status = SIGKILL;
    assert_int_equal(record_end_event(&rec, &named).result, JOB_RESULT_SIGNAL);
    rec.exited.end = RECORD_END_EXEC_FAILED;
    rec.exited.status = ENOENT;
    rec.exited.step = CHILD_STEP_EXEC;
    ev = record_end_event(&rec, &named);
    assert_int_equal(ev.result, JOB_RESULT_EXEC_FAILED);
    assert_string_equal(ev.step, "exec"); /* what job_exit_code() looks for */
    rec.exited.end = 77;
    assert_int_equal(record_end_event(&rec, &named).result, JOB_RESULT_LOST);

    static const enum record_verdict lost[] = {RECORD_ABSENT, RECORD_SHIM_KILLED,
                                               RECORD_OTHER_BOOT, RECORD_DAMAGED,
                                               RECORD_NEVER_RAN};
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        rec.verdict = lost[i];
        rec.exited.end = RECORD_END_EXIT; /* not to be believed */
        assert_int_equal(record_end_event(&rec, &named).result, JOB_RESULT_LOST);
    }
}

/* The kernel has ended it for want of memory only where a cgroup has counted that. */
static void ends_for_want_of_memory(void **state)
{
    static const struct {
        uint32_t end, status, flags;
        uint64_t kills;
        enum job_result result;
        const char *step;
    } cases[] = {
        {RECORD_END_SIGNAL, SIGKILL, RECORD_CONTAINED, 2, JOB_RESULT_OOM,
         "user or machine"},
        {RECORD_END_SIGNAL, SIGKILL, RECORD_CONTAINED | RECORD_OOM_OWN, 1, JOB_RESULT_OOM,
         "job"},
        {RECORD_END_SIGNAL, SIGKILL, RECORD_CONTAINED, 0, JOB_RESULT_SIGNAL, NULL},
        {RECORD_END_SIGNAL, SIGTERM, RECORD_CONTAINED, 1, JOB_RESULT_SIGNAL, NULL},
        {RECORD_END_SIGNAL, SIGKILL, 0, 1, JOB_RESULT_SIGNAL, NULL},
        {RECORD_END_EXIT, SIGKILL, RECORD_CONTAINED | RECORD_OOM_OWN, 1, JOB_RESULT_EXIT,
         NULL},
    };
    struct job_named named;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool contained = cases[i].flags & RECORD_CONTAINED;
        const struct record rec = {
            .verdict = RECORD_DONE,
            .exited = {.end = cases[i].end,
                       .status = (int32_t)cases[i].status,
                       .memory_peak = i == 0 ? UINT64_MAX : 5 << 20,
                       .oom_kills = i == 0 ? UINT64_MAX : cases[i].kills,
                       .flags = cases[i].flags}};
        const struct job_event ev = record_end_event(&rec, &named);

        assert_int_equal(ev.result, cases[i].result);
        assert_int_equal(ev.code, cases[i].status);
        assert_int_equal(ev.usage.contained,
                         contained ? JOB_CONTAINED_YES : JOB_CONTAINED_NO);
        assert_true(ev.usage.memory_peak_kib == (i == 0      ? JOB_PEAK_KIB_MAX
                                                 : contained ? 5 << 10
                                                             : 0));
        assert_true(ev.usage.oom_kills == (i == 0      ? JOB_OOM_KILLS_MAX
                                           : contained ? cases[i].kills
                                                       : 0));
        assert_true(!ev.step == !cases[i].step);
        if (ev.step)
            assert_string_equal(ev.step, cases[i].step);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion),     cmocka_unit_test(environment),
        cmocka_unit_test(a_long_socket), cmocka_unit_test(each_pwd_has_room),
        cmocka_unit_test(ends),          cmocka_unit_test(ends_for_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
