/* Paths of a job that are refused before it is submitted. */
#include "client/check_paths.h"

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
#include "tests/support/scratch.h"

static char base[SCRATCH_MAX];

static int set_up(void **state)
{
    (void)state;
    if (scratch_make(base) < 0 || chmod(base, 0755) < 0 || chdir(base) < 0)
        return -1;
    int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 || close(fd) < 0 || symlink("file", "link") < 0 ||
                   mkfifo("fifo", 0600) < 0 || mkdir("open", 0755) < 0
               ? -1
               : 0;
}

static int tear_down(void **state)
{
    (void)state;
    return chdir("/") == 0 ? scratch_remove(base) : -1;
}

/* What is said of one path in this field; "" is good. */
static const char *problem_of(const char *field, const char *name)
{
    static char problem[512];
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : base,
                   name[0] == '/' ? "" : "/", name);
    json_t *spec = json_pack("{s:s}", field, path);
    problem[0] = '\0';
    bool good = check_paths(spec, problem, sizeof(problem));
    json_decref(spec);
    assert_true(good == (problem[0] == '\0'));
    return problem;
}

static void test_kinds_of_files(void **state)
{
    static const struct {
        const char *field, *name, *said;
    } cases[] = {
        {"output_path", "new", ""},
        {"output_path", "file", ""},
        {"output_path", "/dev/null", ""},
        {"output_path", "open", "/open: Is a directory"},
        {"output_path", "link", "/link: is a symbolic link, which voltd does not follow"},
        {"output_path", "fifo", "/fifo: neither a regular file nor /dev/null"},
        {"output_path", "/dev/full", "/dev/full: neither a regular file nor /dev/null"},
        {"error_path", "none/x", "/none: No such file or directory"},
        {"error_path", "file/x", "/file: Not a directory"},
        {"error_path", "none-{id}/x", ""},
        {"error_path", "open/{id}", ""},
        {"stdin", "link", ""},
        {"stdin", "fifo", "/fifo: neither a regular file nor /dev/null"},
        {"stdin", "none", "/none: No such file or directory"},
        {"cwd", "open", ""},
        {"cwd", "file", "/file: Not a directory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = problem_of(cases[i].field, cases[i].name);
        print_message("%s: %s\n", cases[i].name, said);
        assert_true((*said == '\0') == (*cases[i].said == '\0'));
        assert_non_null(strstr(said, cases[i].said));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_files),
    };
    return cmocka_run_group_tests_name("check_paths", tests, set_up, tear_down);
}
