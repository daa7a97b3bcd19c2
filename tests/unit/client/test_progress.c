/* The progress line, suggestions, and how jobs are shown. */
#include "client/job_view.h"
#include "client/progress.h"
#include "wire/suggest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void test_line(void **state)
{
    (void)state;
    char buf[256];
    struct progress p = {
        .total = 1000, .done = 612, .failed = 3, .elapsed_usec = 14854369};
    progress_format(&p, 79, buf, sizeof(buf));
    assert_string_equal(buf, "[##################............] 612/1000  3 failed  "
                             "41.2 job/s  eta 00:10");
    p = (struct progress){.total = 10, .done = 0};
    progress_format(&p, 79, buf, sizeof(buf));
    assert_string_equal(buf, "[..............................] 0/10");
    p = (struct progress){.total = 10, .done = 10, .elapsed_usec = 2000000};
    progress_format(&p, 79, buf, sizeof(buf));
    assert_string_equal(buf,
                        "[##############################] 10/10  5.0 job/s  in 00:02");
}

/* Jobs that had ended before the wait began are not part of its rate. */
static void test_rate_counts_what_it_saw(void **state)
{
    (void)state;
    char buf[256];
    struct progress p = {
        .total = 100, .done = 60, .done_before = 50, .elapsed_usec = 10000000};
    progress_format(&p, 79, buf, sizeof(buf));
    assert_non_null(strstr(buf, " 60/100  1.0 job/s  eta 00:40"));
}

static void test_narrow(void **state)
{
    (void)state;
    char buf[256];
    struct progress p = {
        .total = 1000, .done = 612, .failed = 3, .elapsed_usec = 14854369};
    for (unsigned columns = 20; columns < 100; columns++) {
        progress_format(&p, columns, buf, sizeof(buf));
        assert_true(strlen(buf) <= columns);
        assert_non_null(strstr(buf, "612/1000"));
    }
}

static void test_suggest(void **state)
{
    (void)state;
    static const char *const words[] = {"list", "status",   "show",
                                        "logs", "shutdown", NULL};
    assert_string_equal(suggest("lsit", words), "list");
    assert_string_equal(suggest("stauts", words), "status");
    assert_string_equal(suggest("log", words), "logs");
    assert_string_equal(suggest("shut", words), "shutdown");
    assert_null(suggest("shed", words)); /* show has half of it */
    assert_null(suggest("frobnicate", words));
    assert_null(suggest("", words));
}

static void outcome(const char *json, const char *expect)
{
    json_t *job = json_loads(json, 0, NULL);
    char buf[256];
    assert_non_null(job);
    job_view_outcome(job, buf, sizeof(buf));
    assert_string_equal(buf, expect);
    json_decref(job);
}

static void test_outcome(void **state)
{
    (void)state;
    outcome("{\"state\":\"done\",\"result\":\"exit\",\"code\":7}", "exit status 7");
    outcome("{\"state\":\"done\",\"result\":\"signal\",\"code\":9}",
            "killed by signal 9 (SIGKILL)");
    outcome("{\"state\":\"done\",\"result\":\"signal\",\"code\":40}",
            "killed by signal 40 (SIGRTMIN+6)");
    outcome(
        "{\"state\":\"done\",\"result\":\"exec_failed\",\"code\":2,\"step\":\"exec\"}",
        "could not be started: exec: No such file or directory");
    outcome("{\"state\":\"stopping\",\"wait\":\"keeper\"}",
            "stopping, waiting for voltd-keeper, which does not answer");
    outcome("{\"state\":\"queued\",\"wait\":\"slot\",\"wait_position\":0}",
            "queued, waiting for a slot (place 1)");
    outcome("{\"state\":\"queued\",\"wait\":\"turn\",\"wait_position\":3}",
            "queued, waiting for its turn (place 4)");
    outcome("{\"state\":\"running\"}", "running");
    outcome("{\"state\":\"running\",\"counts\":{\"total\":5,\"done\":2,\"failed\":1,"
            "\"running\":1,\"queued\":2}}",
            "2 of 5 done, 1 failed, 1 running, 2 queued");
    outcome("{\"state\":\"running\",\"counts\":{\"total\":5,\"done\":4,\"failed\":1,"
            "\"cancelled\":2,\"running\":1,\"queued\":0}}",
            "4 of 5 done, 1 failed, 2 cancelled, 1 running, 0 queued");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),    cmocka_unit_test(test_rate_counts_what_it_saw),
        cmocka_unit_test(test_narrow),  cmocka_unit_test(test_suggest),
        cmocka_unit_test(test_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
