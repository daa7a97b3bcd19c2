/* The witness of a store: what is below it is refused, whatever happened to the file is
 * seen, and nothing waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "daemon/store/store.h"
#include "daemon/store/witness.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX];
static char path[SCRATCH_MAX + 16];

static const struct witness some = {
    .id = {1, 2, 0xab, [15] = 0xff}, .starts = 5, .facts = 1234567};

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/witness", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

static void put(const void *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    (void)close(fd);
}

static size_t get(char text[WITNESS_SIZE + 2])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    ssize_t n = read(fd, text, WITNESS_SIZE + 2);
    (void)close(fd);
    assert_true(n >= 0);
    return (size_t)n;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    const struct witness most = {.starts = UINT64_MAX, .facts = UINT64_MAX};
    char text[WITNESS_SIZE + 2];
    struct witness w;

    assert_int_equal(witness_read(dir, &w), -ENOENT);
    assert_int_equal(witness_write(dir, &some, true, NULL), 0);
    assert_int_equal(witness_read(dir, &w), 0);
    assert_memory_equal(w.id, some.id, sizeof(w.id));
    assert_int_equal(w.starts, 5);
    assert_int_equal(w.facts, 1234567);
    assert_int_equal(get(text), WITNESS_SIZE);
    assert_memory_equal(text, "1 0102ab", 8);
    assert_int_equal(witness_write(dir, &most, false, NULL), 0);
    assert_int_equal(get(text), WITNESS_SIZE);
    assert_int_equal(witness_read(dir, &w), 0);
    assert_true(w.facts == UINT64_MAX);
}

static int judge(const struct witness *store, struct volt_error *err)
{
    *err = (struct volt_error){{0}};
    return witness_judge(dir, store, err);
}

static void test_stores(void **state)
{
    (void)state;
    struct volt_error err;
    struct witness s = some;

    assert_int_equal(judge(NULL, &err), 0); /* the first start */
    assert_int_equal(judge(&some, &err), 0);
    assert_int_equal(witness_write(dir, &some, false, NULL), 0);
    assert_int_equal(judge(&some, &err), 0);
    s.starts++;
    assert_int_equal(judge(&s, &err), 0);
    s.facts += 17;
    assert_int_equal(judge(&s, &err), 0);
    s.starts = 4; /* more facts, but behind an earlier start: it went on elsewhere */
    assert_int_equal(judge(&s, &err), -STORE_NOT_WITNESSED);
    assert_non_null(strstr(err.text, "to start 4, fact 1234584; its witness has seen "
                                     "start 5, fact 1234567: an older copy"));
    s = some;
    s.facts--;
    assert_int_equal(judge(&s, &err), -STORE_NOT_WITNESSED);
    assert_non_null(strstr(err.text, "fact 1234566"));
    s = some;
    s.starts = s.facts = UINT64_MAX;
    s.id[7]++;
    assert_int_equal(judge(&s, &err), -STORE_NOT_WITNESSED);
    assert_non_null(strstr(err.text, "another store was put there"));
    assert_int_equal(judge(NULL, &err), -STORE_NOT_WITNESSED);
    assert_non_null(
        strstr(err.text, "seen start 5, fact 1234567: the store was removed"));
}

static void refused_as_damaged(void)
{
    const struct witness most = {.starts = UINT64_MAX, .facts = UINT64_MAX};
    struct volt_error err;
    struct witness w;

    assert_int_equal(witness_read(dir, &w), -EBADMSG);
    assert_int_equal(judge(&some, &err), -STORE_NOT_WITNESSED);
    assert_non_null(strstr(err.text, "/witness is damaged"));
    assert_int_equal(judge(&most, &err), -STORE_NOT_WITNESSED);
    assert_int_equal(judge(NULL, &err), -STORE_NOT_WITNESSED);
}

/* Each byte becomes every other, the file has each other length. */
static void test_every_damage_is_seen(void **state)
{
    (void)state;
    char text[WITNESS_SIZE + 2];
    struct witness w;

    assert_int_equal(witness_write(dir, &some, false, NULL), 0);
    assert_int_equal(get(text), WITNESS_SIZE);
    for (size_t i = 0; i < WITNESS_SIZE; i++) {
        const char was = text[i];

        for (int by = 1; by < 256; by++) {
            text[i] = (char)(was ^ by);
            put(text, WITNESS_SIZE);
            refused_as_damaged();
        }
        text[i] = was;
        put(text, i);
        refused_as_damaged();
    }
    text[WITNESS_SIZE] = '\n';
    put(text, WITNESS_SIZE + 1);
    refused_as_damaged();
    put(text, WITNESS_SIZE);
    assert_int_equal(witness_read(dir, &w), 0);
}

static void says(int r, const char *what)
{
    struct volt_error err;

    assert_int_equal(judge(&some, &err), r);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, what));
    assert_non_null(
        strstr(err.text, r == -STORE_NOT_WITNESSED ? "only it tells" : "remove it"));
}

static void test_what_is_no_file(void **state)
{
    (void)state;
    struct volt_error err;

    assert_int_equal(mkfifo(path, 0600), 0);
    says(-FILE_NOT_REGULAR, "it is not a regular file");
    assert_int_equal(witness_write(dir, &some, false, NULL), 0); /* takes its place */
    assert_int_equal(judge(&some, &err), 0);
    assert_int_equal(truncate(path, 100000), 0);
    says(-STORE_NOT_WITNESSED, "it has 100000 bytes and not 86");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("nowhere", path), 0);
    says(-ELOOP, "it is a symbolic link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    says(-EISDIR, "it is a directory");
    assert_int_equal(witness_write(dir, &some, false, NULL), -EISDIR);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_written_is_read),
        TEST(test_stores),
        TEST(test_every_damage_is_seen),
        TEST(test_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
