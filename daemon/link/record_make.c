/* See record_make.h. */
#include "daemon/link/record_make.h"

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

#include "base/atomic.h"
#include "base/crash.h"
#include "base/crc.h"
#include "base/file.h"
#include "daemon/keeper/names.h"

#define GENERATION   "generation"
#define OWN_NAME_MAX 32
#define NEW_TRIES    4

/* A file with a name of this process. */
struct own {
    uint32_t n;
    char name[OWN_NAME_MAX];
};

static struct own own_name(uint32_t n)
{
    struct own own = {.n = n};

    (void)snprintf(own.name, sizeof(own.name), ".%d.%u", (int)getpid(), n);
    return own;
}

static uint32_t next_name(void)
{
    static vat_u32 names;

    return vat_u32_add(&names, 1, VAT_RLX) + 1;
}

static int write_exactly(int fd, const void *buf, size_t len)
{
    ssize_t n = TEMP_FAILURE_RETRY(pwrite(fd, buf, len, 0));
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

/* Makes a file. Never returns -EEXIST, which would mean that the attempt has a record. An
 * existing file of that name is from an earlier process with this pid. */
static int open_new(int dir_fd, struct own *ret_own)
{
    for (int tries = 0; tries < NEW_TRIES; tries++) {
        *ret_own = own_name(next_name());
        int fd = TEMP_FAILURE_RETRY(
            openat(dir_fd, ret_own->name,
                   O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
        (void)unlinkat(dir_fd, ret_own->name, 0);
    }
    return -EIO;
}

static int publish(int dir_fd, const char *from, const char *to)
{
    return renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int take_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int r = RECORD_VERSION_MADE == RECORD_VERSION_FLOCK ? flock(fd, LOCK_EX | LOCK_NB)
                                                        : fcntl(fd, F_OFD_SETLK, &lock);
    return r < 0 ? -errno : 0;
}

/* --- the pool ----------------------------------------------------------------------- */

/* Returns the name of a spare file; 0: the pool is empty. */
static uint32_t pool_take(struct record_pool *pool)
{
    vlock_lock(&pool->lock);
    uint32_t n = pool->n > 0 ? pool->name[--pool->n] : 0;
    vlock_unlock(&pool->lock);
    return n;
}

/* Returns false if the pool is full. */
static bool pool_put(struct record_pool *pool, uint32_t name)
{
    vlock_lock(&pool->lock);
    bool has_room = pool->n < RECORD_POOL_MAX;
    if (has_room)
        pool->name[pool->n++] = name;
    vlock_unlock(&pool->lock);
    return has_room;
}

/* Returns the descriptor of a spare file, locked; -ENFILE: none. */
static int open_spare(int dir_fd, struct record_pool *pool, struct own *ret_own)
{
    uint32_t n;

    while (pool != NULL && (n = pool_take(pool)) != 0) {
        *ret_own = own_name(n);
        int fd = file_open_regular(dir_fd, ret_own->name, O_RDWR | O_NOFOLLOW, 0, NULL);
        int r = fd < 0 ? fd : take_lock(fd);
        if (r == 0)
            return fd;
        (void)unlinkat(dir_fd, ret_own->name, 0); /* another process has used it */
        if (fd >= 0)
            (void)close(fd);
    }
    return -ENFILE;
}

/* --- records ------------------------------------------------------------------------ */

/* Makes a locked file with RECORD_SIZE allocated bytes: the shim must be able to write
 * its slots on a full disk. */
static int open_locked(int dir_fd, struct own *ret_own)
{
    int fd = open_new(dir_fd, ret_own);
    if (fd < 0)
        return fd;
    CRASH_POINT("record-created");
    int r = TEMP_FAILURE_RETRY(fallocate(fd, 0, 0, RECORD_SIZE));
    r = r < 0 && errno != EOPNOTSUPP ? -errno : 0;
    if (r == 0)
        r = take_lock(fd);
    if (r < 0) {
        (void)unlinkat(dir_fd, ret_own->name, 0); /* if that fails: record_sweep() */
        (void)close(fd);
        return r;
    }
    return fd;
}

static struct record_header header_of(const struct job_key *key,
                                      const uint8_t boot_id[RECORD_ID_SIZE],
                                      uint32_t kill_mode)
{
    struct timespec now;
    struct record_header h = {
        .magic = RECORD_MAGIC,
        .version = RECORD_VERSION_MADE,
        .job = key->id,
        .index = key->index,
        .attempt = key->attempt,
        .kill_mode = kill_mode,
    };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    h.created_real_usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    memcpy(h.boot_id, boot_id, sizeof(h.boot_id));
    h.crc = crc32c(0, &h, offsetof(struct record_header, crc));
    return h;
}

/* Fills in the locked file and names it. Returns fd; -errno: fd is closed. */
static int settle(int dir_fd, int fd, const struct own *own, const struct job_key *key,
                  const struct record_header *h)
{
    _Alignas(8) uint8_t page[RECORD_SIZE] = {0};
    char name[JOB_KEY_TEXT_MAX];

    CRASH_POINT("record-locked");
    memcpy(page, h, sizeof(*h));
    (void)job_key_format(key, name);
    int r = write_exactly(fd, page, sizeof(page));
    CRASH_POINT("record-filled");
    if (r == 0)
        r = publish(dir_fd, own->name, name);
    CRASH_POINT("record-named");
    if (r == 0)
        return fd;
    (void)unlinkat(dir_fd, own->name, 0); /* if that fails: record_sweep() */
    (void)close(fd);
    return r;
}

int record_create_spare(int dir_fd, struct record_pool *pool, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                        uint32_t *ret_seed)
{
    const struct record_header h = header_of(key, boot_id, kill_mode);
    struct own own;
    int fd = open_spare(dir_fd, pool, &own);

    *ret_seed = h.crc;
    return fd < 0 ? fd : settle(dir_fd, fd, &own, key, &h);
}

int record_create(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                  uint32_t *ret_seed)
{
    const struct record_header h = header_of(key, boot_id, kill_mode);
    struct own own;
    int fd = open_spare(dir_fd, pool, &own);

    if (fd < 0)
        fd = open_locked(dir_fd, &own);
    *ret_seed = h.crc;
    return fd < 0 ? fd : settle(dir_fd, fd, &own, key, &h);
}

/* Turns the file into a spare one, if possible. Returns whether it did. */
static bool keep_spare(int dir_fd, struct record_pool *pool, const char *name)
{
    struct stat st;

    if (pool == NULL || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode) || st.st_size != RECORD_SIZE)
        return false;
    const struct own own = own_name(next_name());
    if (renameat(dir_fd, name, dir_fd, own.name) < 0)
        return false;
    if (!pool_put(pool, own.n))
        (void)unlinkat(dir_fd, own.name, 0); /* if that fails: record_sweep() */
    return true;
}

int record_remove(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE])
{
    char name[JOB_KEY_TEXT_MAX];
    struct record record;
    int r = record_probe(dir_fd, key, boot_id, &record);

    if (r < 0 || record.verdict == RECORD_ABSENT)
        return r;
    if (record.verdict == RECORD_RUNNING)
        return -EBUSY;
    (void)job_key_format(key, name);
    if (keep_spare(dir_fd, pool, name))
        return 0;
    return unlinkat(dir_fd, name, 0) < 0 && errno != EISDIR ? -errno : 0;
}

int record_discard(int dir_fd, const struct job_key *key)
{
    char name[JOB_KEY_TEXT_MAX];

    (void)job_key_format(key, name);
    return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Removes a file ".<pid>.*" of this process, or of one that has ended. */
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

/* --- the directory ------------------------------------------------------------------ */

static int write_generation(int fd)
{
    char text[2 * RECORD_ID_SIZE + 1];
    uint8_t id[RECORD_ID_SIZE];

    if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return -EIO;
    for (size_t i = 0; i < sizeof(id); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", id[i]);
    text[sizeof(text) - 1] = '\n';
    int r = write_exactly(fd, text, sizeof(text));
    return r == 0 && fsync(fd) < 0 ? -errno : r;
}

int record_generation_ensure(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    struct own own;
    int r = record_generation_read(dir_fd, ret);

    if (r != -ENOENT)
        return r;
    int fd = open_new(dir_fd, &own);
    if (fd < 0)
        return fd;
    r = write_generation(fd);
    if (r == 0)
        r = publish(dir_fd, own.name, GENERATION);
    if (r < 0)
        (void)unlinkat(dir_fd, own.name, 0); /* if that fails: record_sweep() */
    (void)close(fd);
    /* An older keeper may have been faster: its identity counts. */
    return r == 0 || r == -EEXIST ? record_generation_read(dir_fd, ret) : r;
}
