/* Files opened by name: regular ones at once, anything else refused at once; a file that
 * is replaced is the old one or the new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/file.h"
#include "tests/support/scratch.h"

static char base[SCRATCH_MAX];
static int dir;

static int setup(void **state)
{
    (void)state;
    if (scratch_make(base) < 0)
        return -1;
    dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)close(dir);
    return scratch_remove(base);
}

static int try(const char *name, int flags)
{
    int fd = file_open_regular(dir, name, flags, 0600, NULL);

    if (fd >= 0)
        (void)close(fd);
    return fd < 0 ? fd : 0;
}

static void make_socket(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", base, name);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    (void)close(fd);
}

static void test_only_regular_files(void **state)
{
    (void)state;
    static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_CREAT,
                               O_WRONLY | O_CREAT | O_TRUNC};
    struct stat st;

    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    assert_int_equal(mkdirat(dir, "directory", 0700), 0);
    make_socket("socket");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        assert_int_equal(try("fifo", ways[i]), -FILE_NOT_REGULAR);
        assert_int_equal(try("socket", ways[i]), -FILE_NOT_REGULAR);
        assert_int_equal(try("directory", ways[i]), -EISDIR);
    }
    assert_string_equal(file_text(-FILE_NOT_REGULAR), "it is not a regular file");
    assert_string_equal(file_text(-ENOENT), strerror(ENOENT));
    assert_int_equal(try("none", O_RDONLY), -ENOENT);
    int fd = file_open_regular(dir, "file", O_RDWR | O_CREAT, 0640, &st);
    assert_true(fd >= 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    (void)close(fd);
    assert_int_equal(symlinkat("file", dir, "link"), 0);
    assert_int_equal(try("link", O_RDONLY), 0);
    assert_int_equal(try("link", O_RDONLY | O_NOFOLLOW), -ELOOP);
    assert_int_equal(try("/dev/null", O_RDONLY), 0); /* is empty */
    assert_int_equal(try("/dev/null", O_WRONLY), -FILE_NOT_REGULAR);
    assert_int_equal(try("/dev/zero", O_RDONLY), -FILE_NOT_REGULAR);
}

/* What is in memory, or -EAGAIN: the kernel cannot tell. */
static int try_cached(const char *name, int flags)
{
    int fd = file_open_cached(dir, name, flags);

    if (fd >= 0)
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    return fd < 0 ? fd : 0;
}

static void test_cached(void **state)
{
    (void)state;
    bool tells;

    assert_int_equal(try("file", O_RDWR | O_CREAT), 0);
    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    assert_int_equal(mkdirat(dir, "directory", 0700), 0);
    assert_int_equal(symlinkat("file", dir, "link"), 0);
    tells = try_cached("file", O_RDONLY) != -EAGAIN;
    assert_int_equal(try_cached("file", O_RDONLY), tells ? 0 : -EAGAIN);
    assert_int_equal(try_cached("fifo", O_RDONLY), tells ? -FILE_NOT_REGULAR : -EAGAIN);
    assert_int_equal(try_cached("directory", O_RDONLY), tells ? -EISDIR : -EAGAIN);
    assert_int_equal(try_cached("link", O_RDONLY | O_NOFOLLOW), tells ? -ELOOP : -EAGAIN);
    /* That a name is not there is remembered by some file systems only. */
    int r = try_cached("none", O_RDONLY);
    assert_true(r == -EAGAIN || (tells && r == -ENOENT));
}

static void expect(const char *name, const char *text)
{
    char is[64] = "";
    int fd = file_open_regular(dir, name, O_RDONLY, 0, NULL);

    assert_true(fd >= 0);
    assert_true(read(fd, is, sizeof(is) - 1) >= 0);
    (void)close(fd);
    assert_string_equal(is, text);
}

static void test_replace(void **state)
{
    (void)state;
    static const char long_name[] =
        "a-name-of-which-the-file-that-is-made-first-would-have-a-longer-one";

    struct volt_error err;

    assert_int_equal(file_replace(dir, "file", "one", 3, NULL), 0);
    expect("file", "one");
    assert_int_equal(mkfifoat(dir, "file.new", 0600), 0); /* goes */
    assert_int_equal(file_replace(dir, "file", "second", 6, &err), 0);
    expect("file", "second");
    assert_int_equal(try("file.new", O_RDONLY), -ENOENT);
    assert_int_equal(mkdirat(dir, "file.new", 0700), 0); /* stays, and so does the old */
    assert_int_equal(file_replace(dir, "file", "3", 1, &err), -EISDIR);
    assert_string_equal(err.text, "file.new: Is a directory");
    expect("file", "second");
    assert_int_equal(mkdirat(dir, "folder", 0700), 0);
    assert_int_equal(file_replace(dir, "folder", "4", 1, &err), -EISDIR);
    assert_string_equal(err.text, "folder: Is a directory");
    assert_int_equal(try("folder.new", O_RDONLY), -ENOENT); /* nothing is left behind */
    assert_int_equal(file_replace(dir, long_name, "5", 1, NULL), -ENAMETOOLONG);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_regular_files),
        TEST(test_cached),
        TEST(test_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
