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

#include "daemon/exec/launch.h"

static void expansion(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{i}", "1234567"}, {"a{i}b{i}", "a1234567b1234567"}, {"", ""},
        {"{i", "{i"},       {"{{i}}", "{1234567}"},           {"{j}", "{j}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *got = launch_expand(cases[i].text, 1234567);
        assert_string_equal(got, cases[i].want);
        free(got);
    }
}

static void check_env(const struct job_spec *spec, const struct job_key *key,
                      const char *const *want)
{
    char **env = launch_env(spec, key, "unix:/run/x");
    size_t i;

    assert_non_null(env);
    for (i = 0; want[i]; i++)
        assert_string_equal(env[i], want[i]);
    assert_null(env[i]);
    free(env);
}

static void environment(void **state)
{
    (void)state;
    struct job_spec *s = job_spec_new();
    struct job_key key = {.id = UINT64_MAX, .index = INT64_MAX, .attempt = UINT32_MAX};

    check_env(
        s, &key,
        (const char *const[]){"VOLT_JOB_ID=18446744073709551615_9223372036854775807",
                              "VOLT_ATTEMPT=4294967295", "VOLT_ADDRESS=unix:/run/x",
                              "VOLT_ARRAY_ID=18446744073709551615",
                              "VOLT_ARRAY_INDEX=9223372036854775807", NULL});
    s->env = calloc(4, sizeof(char *));
    s->env[0] = strdup("A=1");
    s->env[1] = strdup("VOLT_ARRAY_ID=forged");
    s->env[2] = strdup("VOLT_JOB_IDX=mine");
    key = (struct job_key){.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
    check_env(s, &key,
              (const char *const[]){"A=1", "VOLT_JOB_IDX=mine", "VOLT_JOB_ID=7",
                                    "VOLT_ATTEMPT=1", "VOLT_ADDRESS=unix:/run/x", NULL});
    job_spec_unref(s);
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
    struct job_event ev = launch_end_event(&rec);

    assert_int_equal(ev.result, JOB_RESULT_EXIT);
    assert_int_equal(ev.code, 7);
    assert_int_equal(ev.survivors, 2);
    assert_int_equal(ev.usage.max_rss_bytes, 3072);
    assert_int_equal(ev.at_usec, 99);
    rec.exited.status = 0;
    assert_int_equal(launch_end_event(&rec).result, JOB_RESULT_SUCCESS);
    rec.exited.end = RECORD_END_SIGNAL;
    rec.exited.status = SIGKILL;
    assert_int_equal(launch_end_event(&rec).result, JOB_RESULT_SIGNAL);
    rec.exited.end = RECORD_END_EXEC_FAILED;
    rec.exited.status = ENOENT;
    rec.exited.step = CHILD_STEP_EXEC;
    ev = launch_end_event(&rec);
    assert_int_equal(ev.result, JOB_RESULT_EXEC_FAILED);
    assert_string_equal(ev.step, "exec"); /* what job_exit_code() looks for */
    rec.exited.end = 77;
    assert_int_equal(launch_end_event(&rec).result, JOB_RESULT_LOST);

    static const enum record_verdict lost[] = {RECORD_ABSENT, RECORD_SHIM_KILLED,
                                               RECORD_OTHER_BOOT, RECORD_DAMAGED,
                                               RECORD_NEVER_RAN};
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        rec.verdict = lost[i];
        rec.exited.end = RECORD_END_EXIT; /* not to be believed */
        assert_int_equal(launch_end_event(&rec).result, JOB_RESULT_LOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion),
        cmocka_unit_test(environment),
        cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
