/* What the log says of the keeper: each thing once, until it answers; then that, once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/link/keeper_log.h"
#include "daemon/observe/log.h"

static struct keeper_log keeper;
static char text[1000]; /* of the latest line */
static enum log_level level;
static unsigned lines;

/* In the place of that of daemon/observe. */
void log_line(enum log_level at, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    level = at;
    lines++;
}

static int setup(void **state)
{
    (void)state;
    keeper = (struct keeper_log){.socket_path = "/a/socket"};
    lines = 0;
    return 0;
}

static void assert_said(unsigned n, enum log_level at, const char *words)
{
    assert_int_equal(lines, n);
    assert_int_equal(level, at);
    assert_non_null(strstr(text, words));
}

static void it_has_gone(void **state)
{
    (void)state;
    keeper_log_well(&keeper);
    assert_int_equal(lines, 0);
    for (int i = 0; i < 3; i++)
        keeper_log_gone(&keeper, false);
    assert_said(1, LOG_LEVEL_WARNING, "the keeper has gone (/a/socket): jobs");
    keeper_log_well(&keeper);
    assert_said(2, LOG_LEVEL_NOTICE, "the keeper is there (/a/socket): jobs start again");
    keeper_log_well(&keeper);
    assert_int_equal(lines, 2);
    keeper_log_gone(&keeper, true);
    assert_said(3, LOG_LEVEL_WARNING, "the keeper has sent a message that is no answer");
}

static void it_cannot_be_had(void **state)
{
    (void)state;
    keeper_log_unreachable(&keeper, -ENOENT);
    assert_said(1, LOG_LEVEL_WARNING, "(/a/socket): No such file or directory;");
    keeper_log_unreachable(&keeper, -EACCES);
    assert_int_equal(lines, 1);
    keeper_log_unreachable(&keeper, -EPROTO);
    assert_int_equal(lines, 1); /* it leaves, as after an upgrade */
    for (int i = 0; i < 3; i++)
        keeper_log_unreachable(&keeper, -EPROTO);
    assert_said(2, LOG_LEVEL_WARNING, "it is of another version, restart voltd");
    keeper_log_unreachable(&keeper, -ENOENT);
    keeper_log_unreachable(&keeper, -EPROTO);
    assert_int_equal(lines, 2);
    keeper_log_well(&keeper);
    assert_said(3, LOG_LEVEL_NOTICE, "jobs start again");
    for (int i = 0; i < 2; i++)
        keeper_log_unreachable(&keeper, -EPROTO);
    assert_said(4, LOG_LEVEL_WARNING, "another version");
}

static void it_is_silent(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        keeper_log_silent(&keeper, 77, 5999999, 12);
    assert_said(1, LOG_LEVEL_WARNING, "the keeper (pid 77) has not answered for 5 s; "
                                      "requests that wait: 12;");
    assert_non_null(strstr(text, "kill -KILL 77"));
    keeper_log_killed(77);
    assert_said(2, LOG_LEVEL_WARNING, "the keeper (pid 77) was stopped again and again");
    keeper_log_well(&keeper);
    assert_said(3, LOG_LEVEL_NOTICE, "the keeper answers again");

    keeper_log_late(&keeper);
    assert_said(4, LOG_LEVEL_WARNING, "the keeper on /a/socket does not answer");
    keeper_log_silent(&keeper, 78, 6000000, 1);
    assert_int_equal(lines, 4);
    keeper_log_well(&keeper);
    assert_said(5, LOG_LEVEL_NOTICE, "the keeper answers again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_has_gone, setup),
        cmocka_unit_test_setup(it_cannot_be_had, setup),
        cmocka_unit_test_setup(it_is_silent, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
