/* Making, filling and removing exit records: the format and the reasons are in record.h.
 */
#include "daemon/keeper/record.h"
#include "base/crc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/crash.h"
#include "base/file.h"
#include "daemon/keeper/names.h"

#define GENERATION "generation"

static int write_exactly(int fd, const void *buf, size_t len, off_t at)
{
    ssize_t n = pwrite(fd, buf, len, at);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

/* Names of our own, until a record is complete and after it has been removed. */
static void new_name(char name[32])
{
    (void)snprintf(name, 32, ".%d.new", (int)getpid());
}

static void pool_name(uint32_t i, char name[32])
{
    (void)snprintf(name, 32, ".%d.free.%u", (int)getpid(), i);
}

/* Never -EEXIST, which says of a record that its START was carried out. What is there was
 * made by this process and could not be removed when something failed. */
static int open_new(int dir_fd, char name[32])
{
    new_name(name);
    for (int tries = 0; tries < 2; tries++) {
        int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        0600);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
        if (unlinkat(dir_fd, name, 0) < 0)
            return -errno;
    }
    return -EIO;
}

static int publish(int dir_fd, const char *from, const char *to)
{
    return renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* 0 or -errno. */
static int take_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int r = RECORD_VERSION_MADE == RECORD_VERSION_FLOCK ? flock(fd, LOCK_EX | LOCK_NB)
                                                        : fcntl(fd, F_OFD_SETLK, &lock);
    return r < 0 ? -errno : 0;
}

/* A locked file of RECORD_SIZE allocated bytes under a name of our own: the shim must be
 * able to write its slots on a full disk. */
static int open_locked(int dir_fd, struct record_pool *pool, char name[32])
{
    if (pool != NULL && pool->n > 0) {
        pool_name(--pool->n, name);
        int old = file_open_regular(dir_fd, name, O_RDWR | O_NOFOLLOW, 0, NULL);
        if (old >= 0 && take_lock(old) == 0)
            return old;
        /* Somebody has locked it. If it stays, a later one takes its name. */
        (void)unlinkat(dir_fd, name, 0);
        if (old >= 0)
            (void)close(old);
    }
    int fd = open_new(dir_fd, name);
    if (fd < 0)
        return fd;
    int r = fallocate(fd, 0, 0, RECORD_SIZE) < 0 && errno != EOPNOTSUPP ? -errno : 0;
    if (r == 0)
        r = take_lock(fd);
    if (r < 0) {
        (void)unlinkat(dir_fd, name, 0); /* otherwise open_new() does it */
        (void)close(fd);
        return r;
    }
    return fd;
}

int record_create(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                  uint32_t *ret_seed)
{
    char own_name[32], name[JOB_KEY_TEXT_MAX];
    uint8_t page[RECORD_SIZE] = {0};
    struct timespec now;
    struct record_header h = {
        .magic = RECORD_MAGIC,
        .version = RECORD_VERSION_MADE,
        .job = key->id,
        .index = key->index,
        .attempt = key->attempt,
        .kill_mode = kill_mode,
    };
    (void)job_key_format(key, name);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    h.created_real_usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    memcpy(h.boot_id, boot_id, sizeof(h.boot_id));
    h.crc = crc32c(0, &h, offsetof(struct record_header, crc));
    memcpy(page, &h, sizeof(h));

    int fd = open_locked(dir_fd, pool, own_name);
    if (fd < 0)
        return fd;
    int r = write_exactly(fd, page, sizeof(page), 0);
    CRASH_POINT("keeper-record-filled");
    if (r == 0)
        r = publish(dir_fd, own_name, name);
    CRASH_POINT("keeper-record-named");
    if (r < 0) {
        (void)unlinkat(dir_fd, own_name, 0); /* otherwise open_new(), or record_sweep() */
        (void)close(fd);
        return r;
    }
    *ret_seed = h.crc;
    return fd;
}

int record_remove(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE])
{
    char name[JOB_KEY_TEXT_MAX], free_name[32];
    struct record record;
    struct stat st;
    int r = record_probe(dir_fd, key, boot_id, &record);
    if (r < 0 || record.verdict == RECORD_ABSENT)
        return r;
    if (record.verdict == RECORD_RUNNING)
        return -EBUSY;
    (void)job_key_format(key, name);
    if (pool != NULL && pool->n < RECORD_POOL_MAX &&
        fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        st.st_size == RECORD_SIZE) {
        pool_name(pool->n, free_name);
        if (renameat(dir_fd, name, dir_fd, free_name) == 0) {
            pool->n++;
            return 0;
        }
    }
    return unlinkat(dir_fd, name, 0) < 0 && errno != EISDIR ? -errno : 0;
}

int record_discard(int dir_fd, const struct job_key *key)
{
    char name[JOB_KEY_TEXT_MAX];
    (void)job_key_format(key, name);
    return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

int record_write_started(int fd, uint32_t seed, struct record_started *s)
{
    s->crc = crc32c(seed + 1, s, offsetof(struct record_started, crc));
    return write_exactly(fd, s, sizeof(*s), RECORD_STARTED_AT);
}

int record_write_exited(int fd, uint32_t seed, struct record_exited *s)
{
    s->crc = crc32c(seed + 2, s, offsetof(struct record_exited, crc));
    return write_exactly(fd, s, sizeof(*s), RECORD_EXITED_AT);
}

/* ".<pid>.*" belongs to nobody once that process has gone. */
static int sweep_one(const char *name, void *arg)
{
    const int *dir_fd = arg;
    char path[32], *end;
    if (name[0] != '.' || name[1] < '1' || name[1] > '9')
        return 0;
    long pid = strtol(name + 1, &end, 10);
    (void)snprintf(path, sizeof(path), "/proc/%ld", pid);
    if (*end == '.' && (pid == (long)getpid() || access(path, F_OK) < 0))
        (void)unlinkat(*dir_fd, name, 0); /* the next sweep tries again */
    return 0;
}

void record_sweep(int dir_fd)
{
    (void)each_name(dir_fd, ".", sweep_one, &dir_fd);
}

/* 32 hexadecimal digits, dashes between them ignored. */
static int parse_id(const char *text, size_t len, uint8_t ret[RECORD_ID_SIZE])
{
    static const char hex[16] = "0123456789abcdef";
    uint8_t id[RECORD_ID_SIZE] = {0};
    size_t digits = 0;
    for (size_t i = 0; i < len && text[i] != '\n'; i++) {
        const char *digit = memchr(hex, text[i], sizeof(hex));
        if (text[i] == '-')
            continue;
        if (digit == NULL || digits == 2 * sizeof(id))
            return -EBADMSG;
        id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (digit - hex));
        digits++;
    }
    if (digits != 2 * sizeof(id))
        return -EBADMSG;
    memcpy(ret, id, sizeof(id));
    return 0;
}

static int read_id(int dir_fd, const char *path, uint8_t ret[RECORD_ID_SIZE])
{
    char text[64];
    int fd = file_open_regular(dir_fd, path, O_RDONLY | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return fd;
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, text, sizeof(text)));
    int r = n < 0 ? -errno : parse_id(text, (size_t)n, ret);
    (void)close(fd);
    return r;
}

int record_boot_id(uint8_t ret[RECORD_ID_SIZE])
{
    return read_id(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret);
}

int record_generation_read(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    return read_id(dir_fd, GENERATION, ret);
}

int record_generation_ensure(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    char own_name[32], text[2 * RECORD_ID_SIZE + 1];
    uint8_t id[RECORD_ID_SIZE];
    int r = record_generation_read(dir_fd, ret);
    if (r != -ENOENT)
        return r;
    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return -EIO;
    for (size_t i = 0; i < sizeof(id); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", id[i]);
    text[sizeof(text) - 1] = '\n';
    int fd = open_new(dir_fd, own_name);
    if (fd < 0)
        return fd;
    r = write_exactly(fd, text, sizeof(text), 0);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0)
        r = publish(dir_fd, own_name, GENERATION);
    if (r < 0)
        (void)unlinkat(dir_fd, own_name, 0); /* otherwise open_new() does it */
    (void)close(fd);
    /* Lost the race against another keeper: its identity counts. */
    return r == 0 || r == -EEXIST ? record_generation_read(dir_fd, ret) : r;
}
