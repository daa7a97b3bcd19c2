/* The file of a script: what is made of it, who may be in its way, and that nothing of it
 * stays. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/script_file.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], scripts[SCRATCH_MAX + 16];
static const struct job_key key = {.id = 7, .index = 3, .attempt = 1};

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(scripts, sizeof(scripts), "%s/scripts", dir);
    script_file_init(scripts);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    script_file_init(NULL);
    return scratch_remove(dir);
}

static int text_of(const char *bytes, size_t n)
{
    int fd = memfd_create("text", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    return fd;
}

static int make(struct script_file *s, const char *bytes, size_t n)
{
    int fd = text_of(bytes, n);
    int r = script_file_make(s, &key, fd);

    (void)close(fd);
    return r;
}

#define MAKE(s, text) make((s), (text), sizeof(text) - 1)

static const char *below(const char *name)
{
    static char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/%s", scripts, name);
    return path;
}

static void it_is_there_and_goes(void **state)
{
    struct script_file s;
    struct stat st;
    char text[64] = "";

    (void)state;
    assert_int_equal(MAKE(&s, "run it\0#!/bin/sh\ntrue\n"), 0);
    assert_string_equal(s.path, below("7_3.1/run it"));
    assert_int_equal(stat(s.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(stat(below("7_3.1"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(stat(scripts, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    int fd = open(s.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 15);
    assert_string_equal(text, "#!/bin/sh\ntrue\n");
    (void)close(fd);
    script_file_sweep(); /* it is locked */
    assert_int_equal(access(s.path, F_OK), 0);
    script_file_fini(&s);
    assert_int_equal(access(below("7_3.1"), F_OK), -1);
}

static void names_that_are_none(void **state)
{
    struct script_file s;

    (void)state;
    assert_int_equal(MAKE(&s, ""), -EBADMSG);
    assert_int_equal(MAKE(&s, "\0text"), -EBADMSG);
    assert_int_equal(MAKE(&s, "no end"), -EBADMSG);
    assert_int_equal(MAKE(&s, "a/b\0text"), -EBADMSG);
    assert_int_equal(MAKE(&s, ".\0text"), -EBADMSG);
    assert_int_equal(MAKE(&s, "..\0text"), -EBADMSG);
    assert_int_equal(access(scripts, F_OK), -1);
    script_file_init(NULL);
    assert_int_equal(MAKE(&s, "a\0text"), -ENOTDIR);
}

/* What a shim that was killed has left goes with the next one, or with a sweep; what is
 * not ours to remove stays. */
static void what_was_left(void **state)
{
    struct script_file s, living;

    (void)state;
    assert_int_equal(MAKE(&s, "old\0text"), 0);
    (void)close(s.dir);
    assert_int_equal(MAKE(&s, "new\0text"), 0);
    assert_int_equal(access(below("7_3.1/old"), F_OK), -1);
    (void)close(s.dir);
    const struct job_key other = {.id = 8, .index = JOB_NO_INDEX, .attempt = 2};
    int fd = text_of("b\0x", 3);
    assert_int_equal(script_file_make(&living, &other, fd), 0);
    (void)close(fd);
    assert_int_equal(mkdir(below("mine"), 0700), 0);
    script_file_sweep();
    assert_int_equal(access(below("7_3.1"), F_OK), -1);
    assert_int_equal(access(below("8.2/b"), F_OK), 0);
    assert_int_equal(access(below("mine"), F_OK), 0);
    script_file_fini(&living);
}

/* Through a link nothing is written, in a folder that others may write into neither. */
static void who_may_be_in_its_way(void **state)
{
    struct script_file s;

    (void)state;
    assert_int_equal(symlink(dir, scripts), 0);
    assert_int_equal(MAKE(&s, "a\0text"), -ENOTDIR);
    assert_int_equal(unlink(scripts), 0);
    assert_int_equal(mkdir(scripts, 0700), 0);
    assert_int_equal(symlink(dir, below("7_3.1")), 0);
    assert_int_equal(MAKE(&s, "a\0text"), -ENOTDIR);
    assert_int_equal(unlink(below("7_3.1")), 0);
    assert_int_equal(chmod(scripts, 0770), 0);
    assert_int_equal(MAKE(&s, "a\0text"), -EPERM);
    assert_int_equal(chmod(scripts, 0702), 0);
    assert_int_equal(MAKE(&s, "a\0text"), -EPERM);
    assert_int_equal(chmod(scripts, 0700), 0);
    assert_int_equal(MAKE(&s, "a\0text"), 0);
    script_file_fini(&s);
}

/* Half a script is none. */
static void one_that_does_not_fit(void **state)
{
    const struct rlimit small = {3, RLIM_INFINITY};
    struct rlimit before;
    struct script_file s;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    int fd = text_of("a\0text", 6);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(script_file_make(&s, &key, fd), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)close(fd);
    assert_int_equal(access(below("7_3.1"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_there_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_left, setup, teardown),
        cmocka_unit_test_setup_teardown(who_may_be_in_its_way, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_does_not_fit, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
