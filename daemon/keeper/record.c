/* Judging exit records: the format and the reasons are in record.h. Nothing
 * here writes. */
#include "daemon/keeper/record.h"
#include "base/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A slot lies inside its 512 bytes, so that each part is one write into one page. */
_Static_assert(sizeof(struct record_header) <= RECORD_STARTED_AT, "header fits");
_Static_assert(sizeof(struct record_started) <= 512, "slot 1 fits");
_Static_assert(sizeof(struct record_exited) <= 512, "slot 2 fits");
_Static_assert(offsetof(struct record_header, crc) + 4 == sizeof(struct record_header),
               "no padding behind the CRC");
_Static_assert(offsetof(struct record_started, crc) + 4 == sizeof(struct record_started),
               "no padding behind the CRC");
_Static_assert(offsetof(struct record_exited, crc) + 4 == sizeof(struct record_exited),
               "no padding behind the CRC");

enum part { PART_ZERO, PART_VALID, PART_BAD };

/* The part of `size` bytes at p, whose last four are its CRC. */
static enum part part_judge(const uint8_t *p, size_t size, uint32_t seed)
{
    uint32_t crc;
    size_t body = size - sizeof(crc);
    size_t zeros = 0;
    memcpy(&crc, p + body, sizeof(crc));
    while (zeros < size && p[zeros] == 0)
        zeros++;
    if (zeros == size)
        return PART_ZERO;
    return crc32c(seed, p, body) == crc ? PART_VALID : PART_BAD;
}

static bool header_is_ours(const struct record_header *h, const struct job_key *key)
{
    return h->magic == RECORD_MAGIC && h->version == RECORD_VERSION &&
           h->job == key->id && h->index == key->index && h->attempt == key->attempt;
}

static bool exited_in_range(const struct record_exited *x)
{
    switch (x->end) {
    case RECORD_END_EXIT:
        return x->status >= 0 && x->status <= 255;
    case RECORD_END_SIGNAL:
        return x->status >= 1 && x->status <= 64;
    case RECORD_END_EXEC_FAILED:
        return x->status > 0 && x->step > CHILD_STEP_NONE && x->step <= CHILD_STEP_EXEC;
    default:
        return false;
    }
}

/* Fills what is valid of ret, and returns the verdict for a free lock. */
static enum record_verdict judge_free(const uint8_t *p, size_t len,
                                      const struct job_key *key, const uint8_t *boot_id,
                                      struct record *ret)
{
    struct record_header header;
    struct record_exited exited;
    if (len != RECORD_SIZE || part_judge(p, sizeof(header), 0) != PART_VALID)
        return RECORD_DAMAGED;
    memcpy(&header, p, sizeof(header));
    if (!header_is_ours(&header, key))
        return RECORD_DAMAGED;
    ret->header = header;

    enum part slot1 =
        part_judge(p + RECORD_STARTED_AT, sizeof(ret->started), header.crc + 1);
    enum part slot2 = part_judge(p + RECORD_EXITED_AT, sizeof(exited), header.crc + 2);
    if (slot1 == PART_VALID) {
        memcpy(&ret->started, p + RECORD_STARTED_AT, sizeof(ret->started));
        ret->has_started = true;
    }
    if (slot2 == PART_VALID) {
        memcpy(&exited, p + RECORD_EXITED_AT, sizeof(exited));
        if (!exited_in_range(&exited))
            return RECORD_DAMAGED;
        ret->exited = exited;
        return RECORD_DONE;
    }
    if (memcmp(header.boot_id, boot_id, RECORD_ID_SIZE) != 0)
        return RECORD_OTHER_BOOT;
    if (slot1 == PART_BAD || slot2 == PART_BAD)
        return RECORD_DAMAGED;
    return slot1 == PART_VALID ? RECORD_SHIM_KILLED : RECORD_NEVER_RAN;
}

void record_parse(const void *buf, size_t len, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], bool locked, struct record *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->verdict = judge_free(buf, len, key, boot_id, ret);
    if (locked) {
        /* Slot 2 may be there already: the end is only final when the lock
         * has dropped. */
        memset(&ret->exited, 0, sizeof(ret->exited));
        ret->verdict = RECORD_RUNNING;
    }
}

int record_probe(int dir_fd, const struct job_key *key,
                 const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    char name[JOB_KEY_TEXT_MAX];
    _Alignas(8) uint8_t buf[RECORD_SIZE + 1]; /* one more, to see a file that is longer */
    (void)job_key_format(key, name);
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (errno != ENOENT)
            return -errno;
        memset(ret, 0, sizeof(*ret));
        ret->verdict = RECORD_ABSENT;
        return 0;
    }
    int r = 0;
    bool locked = false;
    if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        locked = errno == EWOULDBLOCK;
        r = locked ? 0 : -errno;
    }
    if (r == 0) {
        ssize_t n = pread(fd, buf, sizeof(buf), 0);
        if (n < 0)
            r = -errno;
        else
            record_parse(buf, (size_t)n, key, boot_id, locked, ret);
    }
    (void)close(fd);
    return r;
}
