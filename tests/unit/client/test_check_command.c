/* Which first words are refused, and what is advised instead. */
#include "client/check_command.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/volt-command-XXXXXX", bin[PATH_MAX];

static void put(const char *name, const char *text, mode_t mode)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(bin, sizeof(bin), "%s/bin", dir);
    assert_int_equal(mkdir(bin, 0755), 0);
    put("bin/tool", "", 0755);
    put("bin/closed", "", 0644);
    put("bin/snake3", "", 0755);
    put("job.sh", "echo hi\n", 0644);
    put("job.py", "#!/usr/bin/env python3\n", 0644);
    put("ready", "#!/bin/sh\n", 0755);
    put("a b", "#!/bin/sh\n", 0755);
    put("crlf", "#!/bin/sh\r\necho\r\n", 0755);
    put("gone", "#! /nonexist/int -x\n", 0755);
    put("x.py", "print(1)\n", 0755);
    put("y.py", "print(1)\n", 0644);
    put("plain", "echo hi\n", 0755);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0755), 0);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const made[] = {
        "/bin/tool", "/bin/closed", "/bin/snake3", "/bin",  "/job.sh",
        "/job.py",   "/ready",      "/a b",        "/crlf", "/gone",
        "/x.py",     "/y.py",       "/plain",      "/fifo", ""};
    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s%s", dir, made[i]);
        if (remove(path) != 0)
            return -1;
    }
    return 0;
}

static void test_each(void **state)
{
    static const struct {
        const char *argv[6];
        enum command_check want;
        const char *instead;
    } cases[] = {
        {{"tool"}, COMMAND_FOUND, ""},
        {{"./ready", "x"}, COMMAND_FOUND, ""},
        {{"./a b"}, COMMAND_FOUND, ""},
        {{"bin/tool"}, COMMAND_FOUND, ""},
        {{"sleep 2; echo done"}, COMMAND_NOT_FOUND, "--shell 'sleep 2; echo done'"},
        {{"echo $HOME", "x y"},
         COMMAND_NOT_FOUND,
         "--shell ''\\''echo $HOME'\\'' '\\''x y'\\'''"},
        {{"FOO=1", "cmd", "a b"}, COMMAND_NOT_FOUND, "-E FOO=1 -- cmd 'a b'"},
        {{"A=1", "B=x y", "cmd"}, COMMAND_NOT_FOUND, "-E A=1 -E 'B=x y' -- cmd"},
        {{"1A=1"}, COMMAND_NOT_FOUND, ""},
        {{"A=1"}, COMMAND_NOT_FOUND, "-E A=1 -- COMMAND"},
        {{"A=1 ls"}, COMMAND_NOT_FOUND, "--shell 'A=1 ls'"},
        {{"A=1 2", "ls"}, COMMAND_NOT_FOUND, "-E 'A=1 2' -- ls"},
        {{"cd", "/tmp"}, COMMAND_NOT_FOUND, "--chdir=/tmp -- COMMAND"},
        {{"cd", "/tmp", "&&", "ls"}, COMMAND_NOT_FOUND, "--chdir=/tmp -- ls"},
        {{"cd", "/tmp", "ls"}, COMMAND_NOT_FOUND, "--chdir=/tmp -- ls"},
        {{"cd", "/tmp", "&&", "a b", "|", "wc"},
         COMMAND_NOT_FOUND,
         "--chdir=/tmp --shell ''\\''a b'\\'' | wc'"},
        {{"export", "X=1"}, COMMAND_NOT_FOUND, "--shell 'export X=1; COMMAND'"},
        {{"set", "-e", "&&", "ls"}, COMMAND_NOT_FOUND, "--shell 'set -e && ls'"},
        {{"source", "x"}, COMMAND_NOT_FOUND, "--shell '. ./x'"},
        {{".", "/a/x"}, COMMAND_NOT_FOUND, "--shell '. /a/x'"},
        {{"for", "i", "in", "1"}, COMMAND_NOT_FOUND, "--shell 'LINE'"},
        {{"[[", "a"}, COMMAND_NOT_FOUND, "--shell 'LINE'"},
        {{"./crlf"}, COMMAND_NOT_EXECUTABLE, ""},
        {{"./gone"}, COMMAND_NOT_EXECUTABLE, ""},
        {{"./x.py", "1"}, COMMAND_NOT_EXECUTABLE, "python3 ./x.py 1"},
        {{"./y.py"}, COMMAND_NOT_EXECUTABLE, "python3 ./y.py"},
        {{"./plain"}, COMMAND_FOUND, ""},
        {{"./fifo"}, COMMAND_NOT_EXECUTABLE, ""},
        {{"snake", "-c", "a b"}, COMMAND_NOT_FOUND, "snake3 -c 'a b'"},
        {{"snak"}, COMMAND_NOT_FOUND, ""},
        {{"job.sh", "a b"}, COMMAND_NOT_FOUND, "sh ./job.sh 'a b'"},
        {{"job.py"}, COMMAND_NOT_FOUND, "python3 ./job.py"},
        {{"ready"}, COMMAND_NOT_FOUND, "./ready"},
        {{"./job.sh"}, COMMAND_NOT_EXECUTABLE, "sh ./job.sh"},
        {{"./job.py", "1"}, COMMAND_NOT_EXECUTABLE, "python3 ./job.py 1"},
        {{"closed"}, COMMAND_NOT_EXECUTABLE, ""},
        {{"./bin"}, COMMAND_NOT_EXECUTABLE, ""},
        {{"bin"}, COMMAND_NOT_FOUND, ""},
        {{"nothing"}, COMMAND_NOT_FOUND, ""},
        {{"./nothing"}, COMMAND_NOT_FOUND, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct command_advice advice;
        char *argv[7] = {NULL};
        for (size_t k = 0; k < 6; k++)
            argv[k] = (char *)(uintptr_t)cases[i].argv[k];
        enum command_check got = command_check(argv, dir, bin, &advice);
        print_message("%s: %s\n", argv[0], advice.problem);
        assert_int_equal(got, cases[i].want);
        assert_string_equal(advice.instead, cases[i].instead);
        assert_true((*advice.problem != '\0') == (got != COMMAND_FOUND));
    }
}

/* Several folders, an empty one, which is the current directory, and none at all. */
static void test_path(void **state)
{
    struct command_advice advice;
    char path[2 * PATH_MAX], *tool[] = {(char *)"tool", NULL};
    char *ready[] = {(char *)"ready", NULL}, *shell[] = {(char *)"sh", NULL};
    (void)state;
    (void)snprintf(path, sizeof(path), "/nowhere:%s", bin);
    assert_int_equal(command_check(tool, dir, path, &advice), COMMAND_FOUND);
    assert_int_equal(command_check(ready, dir, "/nowhere:", &advice), COMMAND_FOUND);
    assert_int_equal(command_check(tool, dir, "bin", &advice), COMMAND_FOUND);
    assert_int_equal(command_check(shell, dir, "/bin:/usr/bin", &advice), COMMAND_FOUND);
    assert_int_equal(command_check(tool, dir, "/bin:/usr/bin", &advice),
                     COMMAND_NOT_FOUND);
}

/* Nothing overflows: the advice is cut. */
static void test_long(void **state)
{
    struct command_advice advice;
    char word[5000], *argv[] = {word, word, NULL};
    (void)state;
    memset(word, '\'', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_int_equal(command_check(argv, dir, bin, &advice),
                     COMMAND_FOUND); /* ENAMETOOLONG */
    word[200] = '\0';
    assert_int_equal(command_check(argv, dir, bin, &advice), COMMAND_NOT_FOUND);
    assert_true(strlen(advice.instead) < sizeof(advice.instead));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests_name("check_command", tests, set_up, tear_down);
}
