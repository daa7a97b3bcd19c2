/* The first line of a script: as the kernel reads it, or the reason why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/script_line.h"

static const char *line_of(const char *text, size_t n, struct script_line *ret)
{
    struct job_bytes *bytes = malloc(sizeof(*bytes) + n);

    assert_non_null(bytes);
    bytes->n = n;
    memcpy(bytes->bytes, text, n);
    const char *why = script_line(bytes, ret);
    free(bytes);
    return why;
}

static void as_the_kernel_reads_it(void **state)
{
    static const struct {
        const char *text, *interpreter, *argument;
    } cases[] = {
        {"#!/bin/sh", "/bin/sh", ""},
        {"#!/bin/sh\n", "/bin/sh", ""},
        {"#! /bin/sh -e\ntrue", "/bin/sh", "-e"},
        {"#!\t/bin/sh  -e -u \t\nx", "/bin/sh", "-e -u"},
        {"#!/usr/bin/env python3", "/usr/bin/env", "python3"},
        {"#!./mine\n", "./mine", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script_line line;

        assert_null(line_of(cases[i].text, strlen(cases[i].text), &line));
        assert_string_equal(line.interpreter, cases[i].interpreter);
        assert_string_equal(line.argument, cases[i].argument);
    }
}

static void what_cannot_be_run(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "must name what runs it"},      {"#", "must name what runs it"},
        {"\n#!/bin/sh", "must name"},        {" #!/bin/sh", "must name"},
        {"echo\n", "must name"},             {"#!\n/bin/sh", "by its path"},
        {"#!   \n", "by its path"},          {"#!python3\n", "by its path"},
        {"#!/bin/sh\r\ntrue\r\n", "CR LF"},  {"#!/bin/sh\r", "CR LF"},
    };
    char longest[SCRIPT_LINE_MAX + 2];
    struct script_line line;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_non_null(strstr(
            line_of(cases[i].text, strlen(cases[i].text), &line), cases[i].why));
    assert_non_null(strstr(line_of("#!/bin/sh\n\0", 11, &line), "NUL"));
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "#!/", 3);
    assert_non_null(strstr(line_of(longest, sizeof(longest), &line), "longer than 255"));
    longest[SCRIPT_LINE_MAX] = '\n';
    assert_null(line_of(longest, sizeof(longest), &line));
    assert_int_equal(strlen(line.interpreter), SCRIPT_LINE_MAX - 2);
}

static void names(void **state)
{
    char longest[JOB_NAME_BYTES + 2];
    const struct {
        const char *word, *name;
    } cases[] = {{"run.sh", "run.sh"}, {"/a/b/run it", "run it"}, {"/a/", "script"},
                 {"..", "script"},     {"a/.", "script"},         {longest, "script"},
                 {longest + 1, longest + 1}};

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[JOB_NAME_BYTES + 1] = '\0';
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *argv[] = {(char *)(uintptr_t)cases[i].word, NULL};
        const struct job_spec s = {.argv = argv};

        assert_string_equal(script_name(&s), cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_kernel_reads_it),
        cmocka_unit_test(what_cannot_be_run),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
