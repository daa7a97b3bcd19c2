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
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/submit/ids.h"

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
        assert_int_equal(ids_reserve(&ids, 3, NULL), 0);
        assert_true(ids_take(&ids, 3, &first));
        assert_true(first > last);
        last = first + 2;
        assert_true(ids_take(&ids, 1, &first)); /* the block holds more */
        assert_int_equal(first, last + 1);
        last = first;
        assert_int_equal(ids_reserve(&ids, 5000, NULL), 0);
        assert_true(ids_take(&ids, 5000, &first));
        assert_int_equal(first, last + 1);
        last = first + 4999;
        ids_close(&ids); /* as a crash: nothing is written back */
    }
}

static uint64_t take_one(struct ids *ids)
{
    uint64_t id;

    assert_int_equal(ids_reserve(ids, 1, NULL), 0);
    assert_true(ids_take(ids, 1, &id));
    return id;
}

/* A life that ends in order is followed by the next number; one that crashes, also right
 * after a start, by a higher one. */
static void given_back(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t last, id;

    (void)unlinkat(dir_fd, "ids", 0);
    assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
    assert_int_equal(ids_give_back(&ids), 0); /* nothing was: there is no file */
    assert_int_equal(ids_read(dir_fd, &id), -ENOENT);
    last = take_one(&ids);
    assert_int_equal(last, 1);
    for (int life = 0; life < 5; life++) {
        assert_int_equal(ids_give_back(&ids), 0);
        assert_false(ids_take(&ids, 1, &id)); /* they are the next voltd's now */
        ids_close(&ids);
        assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
        if (life == 3) { /* a crash before anything was taken, and one after */
            ids_close(&ids);
            assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
            id = take_one(&ids);
            assert_int_equal(id, last + 1);
            last = id;
            ids_close(&ids);
            assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
            id = take_one(&ids);
            assert_true(id > last);
        } else {
            id = take_one(&ids);
            assert_int_equal(id, last + 1);
        }
        last = id;
    }
    assert_int_equal(ids_give_back(&ids), 0);
    last = take_one(&ids); /* whoever goes on after all reserves anew */
    assert_int_equal(ids_read(dir_fd, &id), 0);
    assert_true(id > last);
    ids_close(&ids);
}

/* The file cannot be written at the end: ids are skipped, none comes twice. */
static void not_given_back(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t last, id;

    assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
    last = take_one(&ids);
    assert_int_equal(mkdirat(dir_fd, "ids.new", 0700), 0);
    assert_int_equal(ids_give_back(&ids), -EISDIR);
    assert_false(ids_take(&ids, 1, &id));
    assert_int_equal(unlinkat(dir_fd, "ids.new", AT_REMOVEDIR), 0);
    ids_close(&ids);
    assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
    assert_true(take_one(&ids) > last);
    ids_close(&ids);
}

static void above_what_records_say(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t first;

    write_file("1025\n");
    assert_int_equal(ids_open(&ids, dir_fd, 70000, NULL), 0);
    assert_int_equal(ids_reserve(&ids, 1, NULL), 0);
    assert_true(ids_take(&ids, 1, &first));
    assert_int_equal(first, 70000);
    ids_close(&ids);
}

/* The number that ids go on from, or -errno. */
static int64_t goes_on_from(const void *text, size_t n)
{
    struct volt_error err = {{0}};
    struct ids ids;
    int fd = openat(dir_fd, "ids", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
    int r = ids_open(&ids, dir_fd, 1, &err);
    if (r < 0) {
        assert_non_null(strstr(err.text, "\"ids\""));
        return r;
    }
    int64_t next = (int64_t)ids.next;
    ids_close(&ids);
    return next;
}

static void damaged(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",     "\n",    "x\n",    "12",     "-1\n",          "12 \n",
        "0\n",  "012\n", "12\n\n", "12\nab", "12 00000000\n", "99999999999999999999999\n",
        "9e9\n"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(goes_on_from(texts[i], strlen(texts[i])), -EBADMSG);
}

/* Digits alone, as earlier versions and people write them; replaced by the next block. */
static void without_a_sum(void **state)
{
    (void)state;
    struct ids ids;
    uint64_t mark;
    char text[64];

    assert_int_equal(goes_on_from("70001\n", 6), 70001);
    assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
    assert_int_equal(ids_reserve(&ids, 1, NULL), 0);
    ids_close(&ids);
    assert_int_equal(ids_read(dir_fd, &mark), 0);
    assert_true(mark > 70001);
    int fd = openat(dir_fd, "ids", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof(text));
    close(fd);
    assert_int_equal(n, strlen("70656 01234567\n"));
    assert_int_equal(text[5], ' ');
}

/* Every byte of the file becomes every other, and the file is cut at every length: ids
 * never go on from another number. */
static void every_damage_is_seen(void **state)
{
    (void)state;
    char text[64];
    struct ids ids;

    assert_int_equal(goes_on_from("19000\n", 6), 19000);
    assert_int_equal(ids_open(&ids, dir_fd, 1, NULL), 0);
    assert_int_equal(ids_reserve(&ids, 1, NULL), 0);
    ids_close(&ids);
    int fd = openat(dir_fd, "ids", O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, text, sizeof(text));
    close(fd);
    assert_true(got > 10);
    size_t n = (size_t)got;
    assert_int_equal(goes_on_from(text, n), 19456);
    for (size_t i = 0; i < n; i++) {
        const char was = text[i];

        for (int by = 1; by < 256; by++) {
            text[i] = (char)(was ^ by);
            assert_int_equal(goes_on_from(text, n), -EBADMSG);
        }
        text[i] = was;
        assert_int_equal(goes_on_from(text, i), -EBADMSG);
    }
    text[n] = '\n';
    assert_int_equal(goes_on_from(text, n + 1), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_twice),
        cmocka_unit_test(given_back),
        cmocka_unit_test(not_given_back),
        cmocka_unit_test(above_what_records_say),
        cmocka_unit_test(damaged),
        cmocka_unit_test(without_a_sum),
        cmocka_unit_test(every_damage_is_seen),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
