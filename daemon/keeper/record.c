/* Judges exit records. Format and reasons: record.h. Nothing here writes. */
#include "daemon/keeper/record.h"
#include "base/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "daemon/keeper/tree.h"

/* Each slot is inside its 512 bytes, so that each part is one write into one page. */
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

/* Judges the part of `size` bytes at p, whose last four are its CRC. */
static enum part part_judge(const uint8_t *p, size_t size, uint32_t seed)
{
    uint32_t crc;
    size_t body = size - sizeof(crc);
    memcpy(&crc, p + body, sizeof(crc));
    if (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0) /* all equal the first */
        return PART_ZERO;
    return crc32c(seed, p, body) == crc ? PART_VALID : PART_BAD;
}

static bool header_is_ours(const struct record_header *h, const struct job_key *key)
{
    return h->magic == RECORD_MAGIC &&
           (h->version == RECORD_VERSION || h->version == RECORD_VERSION_FLOCK) &&
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
        return x->status > 0 && x->step > CHILD_STEP_NONE && x->step < CHILD_STEP_COUNT;
    default:
        return false;
    }
}

/* Fills in the valid parts of *ret, and returns the verdict. */
static enum record_verdict judge(const uint8_t *p, size_t len, const struct job_key *key,
                                 const uint8_t *boot_id, bool held, struct record *ret)
{
    const enum record_verdict damaged = held ? RECORD_RUNNING : RECORD_DAMAGED;
    struct record_header header;
    struct record_exited exited;
    if (len != RECORD_SIZE || part_judge(p, sizeof(header), 0) != PART_VALID)
        return damaged;
    memcpy(&header, p, sizeof(header));
    if (!header_is_ours(&header, key))
        return damaged;
    ret->header = header;

    enum part slot1 =
        part_judge(p + RECORD_STARTED_AT, sizeof(ret->started), header.crc + 1);
    enum part slot2 = part_judge(p + RECORD_EXITED_AT, sizeof(exited), header.crc + 2);
    if (slot1 == PART_VALID) {
        memcpy(&ret->started, p + RECORD_STARTED_AT, sizeof(ret->started));
        ret->has_started = true;
    }
    memcpy(&exited, p + RECORD_EXITED_AT, sizeof(exited));
    if (slot2 == PART_VALID && exited_in_range(&exited)) {
        ret->exited = exited;
        return RECORD_DONE;
    }
    if (memcmp(header.boot_id, boot_id, RECORD_ID_SIZE) != 0)
        return RECORD_OTHER_BOOT;
    if (slot1 == PART_BAD || slot2 != PART_ZERO)
        return damaged;
    if (held)
        return RECORD_RUNNING;
    return slot1 == PART_VALID ? RECORD_SHIM_KILLED : RECORD_NEVER_RAN;
}

void record_parse(const void *buf, size_t len, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], bool held, struct record *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->verdict = judge(buf, len, key, boot_id, held, ret);
}

/* The record to read, and how. */
struct look {
    int dir_fd;
    const struct job_key *key;
    const uint8_t *boot_id;
    bool cached; /* returns -EAGAIN instead of waiting for a disk */
};

static int read_record(int fd, const struct look *l, bool held, struct record *ret)
{
    _Alignas(8) uint8_t buf[RECORD_SIZE + 1]; /* 1 more, to see a longer file */
    ssize_t n = l->cached ? file_read_cached(fd, buf, sizeof(buf), 0)
                          : pread(fd, buf, sizeof(buf), 0);
    if (n < 0)
        return l->cached ? (int)n : -errno;
    record_parse(buf, (size_t)n, l->key, l->boot_id, held, ret);
    return 0;
}

/* Returns 1 if a process holds the lock, 0, or -errno. */
static int is_locked(int fd, uint32_t version)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (version == RECORD_VERSION_FLOCK) {
        if (flock(fd, LOCK_SH | LOCK_NB) == 0)
            return 0; /* shared lock until fd is closed */
        return errno == EWOULDBLOCK ? 1 : -errno;
    }
    if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return -errno;
    return lock.l_type != F_UNLCK;
}

static bool shim_lives(const struct record_started *s)
{
    struct proc shim;
    if (proc_read((pid_t)s->shim_pid, &shim) == 0)
        return shim.start == s->shim_start && !shim.exiting;
    return kill((pid_t)s->shim_pid, 0) == 0 || errno != ESRCH;
}

/* Returns whether the error means that the name is no regular file: voltd did not make
 * it. */
static bool is_no_file(int r)
{
    return r == -FILE_NOT_REGULAR || r == -EISDIR || r == -ELOOP;
}

static int open_name(const struct look *l)
{
    char name[JOB_KEY_TEXT_MAX];
    (void)job_key_format(l->key, name);
    const int flags = O_RDONLY | O_NOFOLLOW;
    int fd = l->cached ? file_open_cached(l->dir_fd, name, flags)
                       : file_open_regular(l->dir_fd, name, flags, 0, NULL);
    return is_no_file(fd) ? -FILE_NOT_REGULAR : fd;
}

/* Opens the record, and reads it as if it were held. *ret_fd stays -1 if there is
 * none. */
static int open_record(const struct look *l, int *ret_fd, struct record *ret)
{
    int fd = open_name(l);
    if (fd == -FILE_NOT_REGULAR)
        ret->verdict = RECORD_DAMAGED;
    if (fd < 0)
        return fd == -ENOENT || fd == -FILE_NOT_REGULAR ? 0 : fd;
    int r = read_record(fd, l, true, ret);
    if (r < 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return r;
}

static int started(const struct look *l, struct record_started *ret)
{
    struct record now = {0};
    int fd = -1, r = open_record(l, &fd, &now);
    if (fd >= 0)
        (void)close(fd);
    if (r == 0 && now.has_started)
        *ret = now.started;
    return r < 0 ? r : now.has_started;
}

/* Reads the record again if its verdict is RUNNING but no shim holds it any more.
 * Returns 0 or -errno. */
static int probe_holder(int fd, const struct look *l, struct record *now)
{
    if (now->verdict != RECORD_RUNNING)
        return 0;
    int r = is_locked(fd, now->header.version);
    if (r == 0 || (r > 0 && now->has_started && !shim_lives(&now->started)))
        r = read_record(fd, l, false, now);
    return r < 0 ? r : 0;
}

static int probe(const struct look *l, struct record *ret)
{
    struct record now = {.verdict = RECORD_ABSENT};
    int fd = -1, r = open_record(l, &fd, &now);
    if (r == 0)
        r = probe_holder(fd, l, &now);
    if (fd >= 0)
        (void)close(fd);
    if (r == 0)
        *ret = now;
    return r;
}

int record_probe_fd(int fd, const struct job_key *key,
                    const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    const struct look l = {-1, key, boot_id, false};
    struct record now = {.verdict = RECORD_ABSENT};
    struct stat st;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        now.verdict = RECORD_DAMAGED;
    else if (r == 0 && st.st_nlink > 0)
        r = read_record(fd, &l, true, &now);
    if (r == 0)
        r = probe_holder(fd, &l, &now);
    if (r == 0)
        *ret = now;
    return r;
}

int record_open(int dir_fd, const struct job_key *key)
{
    int fd = open_name(&(struct look){dir_fd, key, NULL, false});
    return fd == -FILE_NOT_REGULAR ? -EIO : fd;
}

int record_started(int dir_fd, const struct job_key *key,
                   const uint8_t boot_id[RECORD_ID_SIZE], struct record_started *ret)
{
    return started(&(struct look){dir_fd, key, boot_id, false}, ret);
}

int record_started_cached(int dir_fd, const struct job_key *key,
                          const uint8_t boot_id[RECORD_ID_SIZE],
                          struct record_started *ret)
{
    return started(&(struct look){dir_fd, key, boot_id, true}, ret);
}

int record_probe(int dir_fd, const struct job_key *key,
                 const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    return probe(&(struct look){dir_fd, key, boot_id, false}, ret);
}

int record_probe_cached(int dir_fd, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    return probe(&(struct look){dir_fd, key, boot_id, true}, ret);
}
