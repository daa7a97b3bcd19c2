/* The log: priorities, one line per call, and no more than LOG_BURST of them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/observe/log.h"

static char text[1 << 18];

/* What fn wrote to stderr. */
static void capture(void (*fn)(void))
{
    char path[] = "/tmp/volt-test-log-XXXXXX";
    int fd = mkstemp(path), saved = dup(STDERR_FILENO);

    assert_true(fd >= 0 && saved >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    fn();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    unlink(path);
}

static void some_lines(void)
{
    log_init();
    log_error("one %d", 1);
    log_info("two");
}

static void flood(void)
{
    char big[4000];

    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    for (int i = 0; i < LOG_BURST * 2; i++)
        log_warning("%s", big);
}

/* systemd tells whom it has connected to the journal by device and inode. */
static void lines_for_the_journal(void)
{
    struct stat st;
    char stream[64];

    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
    some_lines();
}

static void priorities(void **state)
{
    (void)state;
    capture(lines_for_the_journal);
    assert_string_equal(text, "<3>one 1\n<6>two\n");
    assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0); /* of somebody else */
    capture(some_lines);
    assert_string_equal(text, "voltd: one 1\nvoltd: two\n");
}

static void nasty_line(void)
{
    log_error("%s", "a\nvoltd: b\r\033]0;x\a\x7f\xc2\x9b"
                    "31m\xe6\x97\xa5\xc2\xa0");
}

static void control_characters(void **state)
{
    (void)state;
    capture(nasty_line);
    assert_string_equal(text, "voltd: a\\x0avoltd: b\\x0d\\x1b]0;x\\x07\\x7f\\x9b31m"
                              "\xe6\x97\xa5\xc2\xa0\n");
}

static void rate(void **state)
{
    (void)state;
    size_t lines = 0;

    capture(flood);
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, LOG_BURST - 5);        /* five were used before */
    assert_true(strchr(text, '\n') - text < 1200); /* cut, still one line */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priorities),
        cmocka_unit_test(control_characters),
        cmocka_unit_test(rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
