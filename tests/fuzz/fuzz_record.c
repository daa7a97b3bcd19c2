/* An exit record of any content: a verdict, and never an end that nobody wrote.
 *
 * First byte even: the rest is the record as it is. Odd: a record of the right job whose
 * slots are written by the shim's functions with what the rest holds, so that the
 * checksums do not hide what lies behind them; bits 1 and 2 say which slots, bit 3 the
 * version. */
#include "daemon/keeper/record.h"
#include "base/crc.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct job_key key = {.id = 7, .index = JOB_NO_INDEX, .attempt = 1};
static const uint8_t boot_id[RECORD_ID_SIZE] = "0123456789abcde";

struct written {
    bool started, exited, old;
    struct record_started first;
    struct record_exited second;
};

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void check(const uint8_t *bytes, size_t size, struct record *ret)
{
    struct record locked;

    record_parse(bytes, size, &key, boot_id, false, ret);
    record_parse(bytes, size, &key, boot_id, true, &locked);
    FUZZ_CHECK(ret->verdict <= RECORD_DAMAGED && locked.verdict <= RECORD_DAMAGED);
    FUZZ_CHECK(ret->verdict != RECORD_ABSENT && ret->verdict != RECORD_RUNNING);
    /* A lock defers what can still change, and nothing else. */
    FUZZ_CHECK(locked.verdict == RECORD_RUNNING || locked.verdict == ret->verdict);
    FUZZ_CHECK((locked.verdict == RECORD_DONE) == (ret->verdict == RECORD_DONE));
    FUZZ_CHECK(locked.verdict != RECORD_DAMAGED && locked.verdict != RECORD_NEVER_RAN &&
               locked.verdict != RECORD_SHIM_KILLED);
    if (ret->verdict == RECORD_NEVER_RAN)
        FUZZ_CHECK(all_zero(bytes + RECORD_STARTED_AT, sizeof(struct record_started)));
    if (ret->verdict == RECORD_DONE)
        FUZZ_CHECK(memcmp(&ret->exited, bytes + RECORD_EXITED_AT, sizeof(ret->exited)) ==
                   0);
}

static void take(void *to, size_t n, const uint8_t **data, size_t *size)
{
    size_t have = n < *size ? n : *size;

    memset(to, 0, n);
    memcpy(to, *data, have);
    *data += have;
    *size -= have;
}

/* Writes a record as keeper and shim do, and reads it back into bytes. */
static void write_record(uint8_t bytes[RECORD_SIZE], struct written *w)
{
    struct record_header h = {.magic = RECORD_MAGIC,
                              .version = w->old ? RECORD_VERSION_FLOCK : RECORD_VERSION,
                              .job = key.id,
                              .index = key.index,
                              .attempt = key.attempt};
    int fd = memfd_create("record", MFD_CLOEXEC);

    memcpy(h.boot_id, boot_id, sizeof(h.boot_id));
    h.crc = crc32c(0, &h, offsetof(struct record_header, crc));
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, RECORD_SIZE) == 0);
    FUZZ_CHECK(pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h));
    if (w->started)
        FUZZ_CHECK(record_write_started(fd, h.crc, &w->first) == 0);
    if (w->exited)
        FUZZ_CHECK(record_write_exited(fd, h.crc, &w->second) == 0);
    FUZZ_CHECK(pread(fd, bytes, RECORD_SIZE, 0) == RECORD_SIZE);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _Alignas(8) uint8_t bytes[RECORD_SIZE] = {0};
    struct written w = {0};
    struct record rec;

    if (size == 0)
        return 0;
    uint8_t choice = data[0];
    data++;
    size--;
    if (choice % 2 == 0) {
        size = size < sizeof(bytes) ? size : sizeof(bytes);
        memcpy(bytes, data, size);
        check(bytes, size, &rec);
        return 0;
    }
    w.started = choice & 2;
    w.exited = choice & 4;
    w.old = choice & 8;
    take(&w.first, sizeof(w.first), &data, &size);
    take(&w.second, sizeof(w.second), &data, &size);
    write_record(bytes, &w);
    check(bytes, sizeof(bytes), &rec);
    FUZZ_CHECK(rec.header.job == key.id || rec.verdict == RECORD_DAMAGED);
    if (!w.started && !w.exited)
        FUZZ_CHECK(rec.verdict == RECORD_NEVER_RAN);
    if (w.started && !w.exited && rec.verdict != RECORD_DAMAGED)
        FUZZ_CHECK(rec.verdict == RECORD_SHIM_KILLED && rec.has_started &&
                   rec.started.pid == w.first.pid);
    if (rec.verdict == RECORD_DONE)
        FUZZ_CHECK(w.exited && rec.exited.status == w.second.status);
    return 0;
}
