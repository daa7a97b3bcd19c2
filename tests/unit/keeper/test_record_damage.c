/* Exit records, damaged in every way of one byte and cut at every length, for each verdict
 * there is: the verdict stays true or becomes "damaged" ("other boot" where the boot is
 * another one), and a status is the written one or none at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/crc.h"
#include "daemon/keeper/record.h"

#define HEADER_AT 0

static const struct job_key key = {17, 3, 2};
static const uint8_t boot[RECORD_ID_SIZE] = {1, 2, 3, 0, 0xff};
static const uint8_t other[RECORD_ID_SIZE] = {1, 2, 3, 0, 0xfe};

static const struct record_started started = {.pid = 100,
                                              .shim_pid = 99,
                                              .pid_start = 5,
                                              .shim_start = 4,
                                              .mono_usec = 1,
                                              .real_usec = UINT64_C(1) << 50};

/* What a whole record says. */
struct sample {
    const char *name;
    enum record_verdict verdict; /* read in its own boot, and in another */
    enum record_verdict elsewhere;
    bool has_started;
    struct record_exited exited; /* end 0: no slot 2 */
};

static const struct sample samples[] = {
    {"never ran", RECORD_NEVER_RAN, RECORD_OTHER_BOOT, false, {0}},
    {"shim killed", RECORD_SHIM_KILLED, RECORD_OTHER_BOOT, true, {0}},
    {"exit 0", RECORD_DONE, RECORD_DONE, true, {.end = RECORD_END_EXIT}},
    {"exit 7",
     RECORD_DONE,
     RECORD_DONE,
     true,
     {.end = RECORD_END_EXIT,
      .status = 7,
      .user_usec = 1234,
      .survivors = 2,
      .real_usec = UINT64_MAX}},
    {"signal 9",
     RECORD_DONE,
     RECORD_DONE,
     true,
     {.end = RECORD_END_SIGNAL, .status = 9, .core_dumped = 1, .max_rss_kib = 1 << 20}},
    {"exec failed",
     RECORD_DONE,
     RECORD_DONE,
     true,
     {.end = RECORD_END_EXEC_FAILED, .status = 2, .step = CHILD_STEP_EXEC}},
    {"fork failed",
     RECORD_DONE,
     RECORD_DONE,
     false,
     {.end = RECORD_END_EXEC_FAILED, .status = 11, .step = CHILD_STEP_FORK}},
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* A sample as it lies on the disk, by the writers themselves, and what it says. */
struct whole {
    const struct sample *sample;
    uint8_t bytes[RECORD_SIZE];
    struct record says;
    const uint8_t *read_in; /* the boot it is read in */
};

static void seal_header(uint8_t *bytes, uint32_t *ret_seed)
{
    struct record_header h = {.magic = RECORD_MAGIC,
                              .version = RECORD_VERSION,
                              .job = key.id,
                              .index = key.index,
                              .attempt = key.attempt,
                              .kill_mode = 1,
                              .created_real_usec = 77};

    memcpy(h.boot_id, boot, sizeof(boot));
    h.crc = crc32c(0, &h, offsetof(struct record_header, crc));
    memcpy(bytes, &h, sizeof(h));
    *ret_seed = h.crc;
}

static void make(struct whole *w, const struct sample *s, bool elsewhere)
{
    struct record_started first = started;
    struct record_exited last = s->exited;
    int fd = memfd_create("record", MFD_CLOEXEC);
    uint32_t seed;

    *w = (struct whole){.sample = s, .read_in = elsewhere ? other : boot};
    seal_header(w->bytes, &seed);
    assert_int_equal(pwrite(fd, w->bytes, RECORD_SIZE, 0), RECORD_SIZE);
    if (s->has_started)
        assert_int_equal(record_write_started(fd, seed, &first), 0);
    if (last.end)
        assert_int_equal(record_write_exited(fd, seed, &last), 0);
    assert_int_equal(pread(fd, w->bytes, RECORD_SIZE, 0), RECORD_SIZE);
    close(fd);

    record_parse(w->bytes, RECORD_SIZE, &key, w->read_in, false, &w->says);
    assert_int_equal(w->says.verdict, elsewhere ? s->elsewhere : s->verdict);
    assert_int_equal(w->says.has_started, s->has_started);
    assert_memory_equal(&w->says.exited, &last, sizeof(last));
}

/* Reads n bytes of what once was w. True: nothing wrong is said. */
static bool is_honest(const struct whole *w, const void *bytes, size_t n)
{
    static const struct record_exited none;
    struct record r;

    record_parse(bytes, n, &key, w->read_in, false, &r);
    if (r.has_started && memcmp(&r.started, &w->says.started, sizeof(r.started)) != 0)
        return false;
    switch (r.verdict) {
    case RECORD_DONE:
        return w->says.verdict == RECORD_DONE &&
               memcmp(&r.exited, &w->says.exited, sizeof(r.exited)) == 0;
    case RECORD_OTHER_BOOT:
        return w->read_in == other && memcmp(&r.exited, &none, sizeof(none)) == 0;
    case RECORD_DAMAGED:
        return memcmp(&r.exited, &none, sizeof(none)) == 0;
    case RECORD_ABSENT:
    case RECORD_RUNNING:
    case RECORD_NEVER_RAN:
    case RECORD_SHIM_KILLED:
        break;
    }
    return r.verdict == w->says.verdict && memcmp(&r.exited, &none, sizeof(none)) == 0;
}

static bool in_a_part(size_t at)
{
    return at < sizeof(struct record_header) ||
           (at >= RECORD_STARTED_AT &&
            at < RECORD_STARTED_AT + sizeof(struct record_started)) ||
           (at >= RECORD_EXITED_AT &&
            at < RECORD_EXITED_AT + sizeof(struct record_exited));
}

static void for_each_sample(void (*fn)(struct whole *w))
{
    struct whole w;

    for (size_t i = 0; i < 2 * SAMPLES; i++) {
        make(&w, &samples[i / 2], i % 2);
        fn(&w);
    }
}

/* Each byte of a part becomes every other byte; of the rest, each bit is flipped. */
static void change_each_byte(struct whole *w)
{
    for (size_t at = 0; at < RECORD_SIZE; at++) {
        const uint8_t was = w->bytes[at];

        for (unsigned by = 1; by < 256; by = in_a_part(at) ? by + 1 : by * 2) {
            w->bytes[at] = (uint8_t)(was ^ by);
            if (!is_honest(w, w->bytes, RECORD_SIZE))
                fail_msg("%s: byte %zu is %u, was %u", w->sample->name, at, was ^ by,
                         was);
        }
        w->bytes[at] = was;
    }
}

static void cut_at_each_length(struct whole *w)
{
    struct record r;

    for (size_t n = 0; n < RECORD_SIZE; n++) {
        /* a block of its own, so that a sanitizer sees a read beyond the end */
        uint8_t *copy = malloc(n + (n == 0));

        assert_non_null(copy);
        memcpy(copy, w->bytes, n);
        record_parse(copy, n, &key, w->read_in, false, &r);
        free(copy);
        assert_int_equal(r.verdict, RECORD_DAMAGED);
        assert_false(r.has_started);
    }
}

/* A part of which only the first bytes, or only the last ones, are on the disk. */
static void tear_each_part(struct whole *w)
{
    static const struct {
        size_t at, n;
    } parts[] = {{HEADER_AT, sizeof(struct record_header)},
                 {RECORD_STARTED_AT, sizeof(struct record_started)},
                 {RECORD_EXITED_AT, sizeof(struct record_exited)}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint8_t *part = w->bytes + parts[i].at, kept[512];

        memcpy(kept, part, parts[i].n);
        for (size_t n = 1; n < parts[i].n; n++) {
            memset(part + n, 0, parts[i].n - n);
            assert_true(is_honest(w, w->bytes, RECORD_SIZE));
            memcpy(part, kept, parts[i].n);
            memset(part, 0, n);
            assert_true(is_honest(w, w->bytes, RECORD_SIZE));
            memcpy(part, kept, parts[i].n);
        }
    }
}

static enum record_verdict without(const struct whole *w, size_t at, size_t n)
{
    uint8_t bytes[RECORD_SIZE];
    struct record r;

    memcpy(bytes, w->bytes, sizeof(bytes));
    memset(bytes + at, 0, n);
    record_parse(bytes, sizeof(bytes), &key, w->read_in, false, &r);
    return r.verdict;
}

/* A slot of zeros was never written: less is known then, and nothing else. */
static void lose_each_part(struct whole *w)
{
    const bool ended = w->sample->exited.end != 0, here = w->read_in == boot;
    const enum record_verdict unended = !here                    ? RECORD_OTHER_BOOT
                                        : w->sample->has_started ? RECORD_SHIM_KILLED
                                                                 : RECORD_NEVER_RAN;

    assert_int_equal(without(w, HEADER_AT, 512), RECORD_DAMAGED);
    assert_int_equal(without(w, HEADER_AT, RECORD_SIZE), RECORD_DAMAGED);
    assert_int_equal(without(w, RECORD_EXITED_AT, 512), unended);
    assert_int_equal(without(w, RECORD_STARTED_AT, 512), ended   ? RECORD_DONE
                                                         : !here ? RECORD_OTHER_BOOT
                                                                 : RECORD_NEVER_RAN);
}

/* Whatever the bytes are: while the shim may write to it, it runs, unless it says that it is
 * over, or is of another boot. */
static void lock_each_byte(struct whole *w)
{
    static const struct record_exited none;
    struct record r, free;

    for (size_t at = 0; at < RECORD_SIZE; at++) {
        w->bytes[at] ^= 0x40;
        record_parse(w->bytes, RECORD_SIZE, &key, w->read_in, true, &r);
        record_parse(w->bytes, RECORD_SIZE, &key, w->read_in, false, &free);
        w->bytes[at] ^= 0x40;
        if (free.verdict == RECORD_DONE || free.verdict == RECORD_OTHER_BOOT) {
            assert_memory_equal(&r, &free, sizeof(r));
            continue;
        }
        assert_int_equal(r.verdict, RECORD_RUNNING);
        assert_memory_equal(&r.exited, &none, sizeof(none));
        if (r.has_started)
            assert_memory_equal(&r.started, &w->says.started, sizeof(r.started));
    }
}

static void test_each_byte(void **state)
{
    (void)state;
    for_each_sample(change_each_byte);
}

static void test_each_length(void **state)
{
    (void)state;
    for_each_sample(cut_at_each_length);
}

static void test_torn_parts(void **state)
{
    (void)state;
    for_each_sample(tear_each_part);
}

static void test_parts_of_zeros(void **state)
{
    (void)state;
    for_each_sample(lose_each_part);
}

static void test_locked(void **state)
{
    (void)state;
    for_each_sample(lock_each_byte);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_byte),  cmocka_unit_test(test_each_length),
        cmocka_unit_test(test_torn_parts), cmocka_unit_test(test_parts_of_zeros),
        cmocka_unit_test(test_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
