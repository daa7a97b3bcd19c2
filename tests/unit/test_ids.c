/* Job ids: consecutive, never twice over any number of lives, a damaged file refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/exec/ids.h"

static char dir[] = "/tmp/volt-test-ids-XXXXXX";
static int dir_fd;

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlinkat(dir_fd, "ids", 0);
    close(dir_fd);
    return rmdir(dir);
}

static void write_file(const char *text)
{
    int fd = openat(dir_fd, "ids", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void never_twice(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t first, last = 0;

    for (int life = 0; life < 5; life++) {
        assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
        assert_false(ids_take(&ids, 1, &first)); /* nothing is reserved yet */
        assert_int_equal(ids_reserve(&ids, 3), 0);
        assert_true(ids_take(&ids, 3, &first));
        assert_true(first > last);
        last = first + 2;
        assert_true(ids_take(&ids, 1, &first)); /* the block holds more */
        assert_int_equal(first, last + 1);
        last = first;
        assert_int_equal(ids_reserve(&ids, 5000), 0);
        assert_true(ids_take(&ids, 5000, &first));
        assert_int_equal(first, last + 1);
        last = first + 4999;
        ids_close(&ids); /* as a crash: nothing is written back */
    }
}

static void above_what_records_say(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t first;

    write_file("1025\n");
    assert_int_equal(ids_open(&ids, dir_fd, 70000, NULL), 0);
    assert_int_equal(ids_reserve(&ids, 1), 0);
    assert_true(ids_take(&ids, 1, &first));
    assert_int_equal(first, 70000);
    ids_close(&ids);
}

static void damaged(void **state)
{
    (void)state;
    static const char *const texts[] = {"",     "x\n",   "12",
                                        "-1\n", "12 \n", "99999999999999999999999\n"};
    struct volt_error err;
    struct ids ids;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file(texts[i]);
        assert_int_equal(ids_open(&ids, dir_fd, 1, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "ids"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_twice),
        cmocka_unit_test(above_what_records_say),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
