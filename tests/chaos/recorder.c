/* Preloaded into voltd and voltd-keeper: writes down what a power cut may take away.
 *
 * Every change of a store's files goes into the log that VOLT_RECORD names, in order:
 * what was written where, which names came and went, and when a sync began and had
 * succeeded; and the exec of every job. power.py replays it. The files are those of the
 * directory VOLT_RECORD_ROOT whose names begin with "jobs.", "ids" or "witness", but no
 * "-shm", which SQLite makes anew from the journal.
 *
 * While a file beside the log, named like it with ".kill" behind, is there, the process is
 * killed that comes to the sync of a commit: its frames are written, and not on disk. The
 * file is removed then.
 *
 * One write with O_APPEND per entry: entries of all threads and processes have one order.
 * What a killed process had done and not yet written down is made good when the next one
 * finds a file (FOUND). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum type {
    MADE = 1,
    WROTE,
    CUT,
    RENAMED,
    REMOVED,
    SYNCING,
    SYNCED,
    EXEC,
    FOUND,
    UNSYNCED
};

/* Begins each entry: one of a process that is killed in the middle of its write is not
 * whole, and the reader goes on at the next. */
#define MAGIC UINT64_C(0x9d3fa1c7be52e648)

/* As power.py reads it; followed by `size` bytes of data. */
struct entry {
    uint64_t magic;
    uint32_t type, size;
    uint64_t inode;
    int64_t at;     /* WROTE: offset; CUT: length; EXEC: index */
    uint64_t other; /* SYNCED, UNSYNCED (it failed): number of its SYNCING; EXEC: job */
};

#define FILES        1024
#define FRAME_HEADER 24 /* of the journal: its bytes 4 to 7 are 0 but at a commit */

static char root[256];
static const char *log_path;
static char kill_path[256];
static _Atomic uint64_t to_commit; /* inode of the journal whose commit is not synced */
static struct stat root_stat;
static _Atomic uint64_t inodes[FILES]; /* of files that are or were ours */
static _Atomic uint64_t syncs;

#define REAL(name)                                                                       \
    static __typeof__(name) *real;                                                       \
    if (real == NULL)                                                                    \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void)
{
    const char *dir = getenv("VOLT_RECORD_ROOT");
    log_path = getenv("VOLT_RECORD");
    if (dir == NULL || log_path == NULL || strlen(dir) >= sizeof(root))
        log_path = NULL;
    else
        strcpy(root, dir);
    if (log_path != NULL)
        (void)snprintf(kill_path, sizeof(kill_path), "%s.kill", log_path);
}

static void put(enum type type, uint64_t inode, int64_t at, uint64_t other,
                const void *data, size_t size)
{
    static int (*real_open)(const char *, int, ...);
    struct entry e = {MAGIC, type, (uint32_t)size, inode, at, other};
    struct iovec v[] = {{&e, sizeof(e)}, {(void *)(uintptr_t)data, size}};
    int saved = errno;
    if (real_open == NULL)
        real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    /* Each time: the keeper closes what it does not know. */
    int fd = real_open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || writev(fd, v, 2) != (ssize_t)(sizeof(e) + size))
        abort(); /* a log with holes would prove nothing */
    (void)close(fd);
    errno = saved;
}

static bool is_ours_by_name(const char *name)
{
    size_t n = strlen(name);
    return (strncmp(name, "jobs.", 5) == 0 || strncmp(name, "ids", 3) == 0 ||
            strncmp(name, "witness", 7) == 0) &&
           !(n > 4 && strcmp(name + n - 4, "-shm") == 0);
}

/* The name below the root, or NULL. */
static const char *our_name(int dir, const char *path)
{
    struct stat st;
    size_t n = strlen(root);
    if (log_path == NULL)
        return NULL;
    if (dir == AT_FDCWD)
        return strncmp(path, root, n) == 0 && path[n] == '/' &&
                       is_ours_by_name(path + n + 1)
                   ? path + n + 1
                   : NULL;
    if (root_stat.st_ino == 0 && stat(root, &root_stat) < 0)
        return NULL;
    return is_ours_by_name(path) && fstat(dir, &st) == 0 &&
                   st.st_ino == root_stat.st_ino && st.st_dev == root_stat.st_dev
               ? path
               : NULL;
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The inode, if it is one of ours; 0. */
static uint64_t ours(int fd)
{
    if (log_path == NULL)
        return 0;
    uint64_t inode = inode_of(fd);
    for (int i = 0; inode != 0 && i < FILES; i++)
        if (atomic_load(&inodes[i]) == inode)
            return inode;
    return 0;
}

static void opened(int fd, const char *name, bool existed, int flags)
{
    uint64_t inode = inode_of(fd), none = 0;
    for (int i = 0;; none = 0) {
        if (i == FILES)
            abort();
        if (atomic_compare_exchange_strong(&inodes[i], &none, inode) || none == inode)
            break;
        i++;
    }
    put(existed ? FOUND : MADE, inode, 0, 0, name, strlen(name));
    if (existed && flags & O_TRUNC)
        put(CUT, inode, 0, 0, NULL, 0);
}

static int open_any(int (*real)(int, const char *, int, ...), int dir, const char *path,
                    int flags, mode_t mode)
{
    struct stat st;
    const char *name = our_name(dir, path);
    bool existed = name != NULL && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int fd = real(dir, path, flags, mode);
    if (fd >= 0 && name != NULL)
        opened(fd, name, existed, flags);
    return fd;
}

#define MODE_OF(flags)                                                                   \
    va_list ap;                                                                          \
    va_start(ap, flags);                                                                 \
    mode_t mode = va_arg(ap, mode_t);                                                    \
    va_end(ap)

#define OPEN(name, through, params, dir)                                                 \
    int name params                                                                      \
    {                                                                                    \
        MODE_OF(flags);                                                                  \
        static int (*real)(int, const char *, int, ...);                                 \
        if (real == NULL)                                                                \
            real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, through);      \
        return open_any(real, dir, path, flags, mode);                                   \
    }
OPEN(open, "openat", (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, "openat64", (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, "openat", (int dir, const char *path, int flags, ...), dir)
OPEN(openat64, "openat64", (int dir, const char *path, int flags, ...), dir)

static void note_commit(uint64_t inode, const uint8_t *buf, size_t n)
{
    if (n == FRAME_HEADER && (buf[4] | buf[5] | buf[6] | buf[7]))
        atomic_store(&to_commit, inode);
}

static void die_before_sync(uint64_t inode)
{
    if (inode != 0 && atomic_compare_exchange_strong(&to_commit, &inode, 0) &&
        unlink(kill_path) == 0)
        (void)kill(getpid(), SIGKILL);
}

#define PWRITE(name, offset)                                                             \
    ssize_t name(int fd, const void *buf, size_t n, offset at)                           \
    {                                                                                    \
        REAL(name);                                                                      \
        uint64_t inode = ours(fd);                                                       \
        if (inode != 0) {                                                                \
            put(WROTE, inode, at, 0, buf, n);                                            \
            note_commit(inode, buf, n);                                                  \
        }                                                                                \
        return real(fd, buf, n, at);                                                     \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *buf, size_t n)
{
    REAL(write);
    uint64_t inode = ours(fd);
    if (inode != 0)
        put(WROTE, inode, lseek(fd, 0, SEEK_CUR), 0, buf, n);
    return real(fd, buf, n);
}

#define TRUNCATE(name, offset)                                                           \
    int name(int fd, offset n)                                                           \
    {                                                                                    \
        REAL(name);                                                                      \
        uint64_t inode = ours(fd);                                                       \
        if (inode != 0)                                                                  \
            put(CUT, inode, n, 0, NULL, 0);                                              \
        return real(fd, n);                                                              \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

/* A directory's inode is of interest when it is the root. */
#define SYNC(name)                                                                       \
    int name(int fd)                                                                     \
    {                                                                                    \
        REAL(name);                                                                      \
        uint64_t inode = ours(fd), number = 0;                                           \
        die_before_sync(inode);                                                          \
        if (inode == 0 && log_path != NULL && stat(root, &root_stat) == 0 &&             \
            inode_of(fd) == root_stat.st_ino)                                            \
            inode = UINT64_MAX;                                                          \
        if (inode != 0) {                                                                \
            number = atomic_fetch_add(&syncs, 1) + ((uint64_t)getpid() << 32);           \
            put(SYNCING, inode, 0, number, NULL, 0);                                     \
        }                                                                                \
        int r = real(fd);                                                                \
        if (inode != 0)                                                                  \
            put(r == 0 ? SYNCED : UNSYNCED, inode, 0, number, NULL, 0);                  \
        return r;                                                                        \
    }
SYNC(fsync)
SYNC(fdatasync)

static void renamed(const char *a, const char *b)
{
    char names[512];
    int n = snprintf(names, sizeof(names), "%s%c%s", a, '\0', b);
    put(RENAMED, 0, 0, 0, names, (size_t)n);
}

int renameat(int a, const char *from, int b, const char *to)
{
    REAL(renameat);
    const char *old = our_name(a, from), *new = our_name(b, to);
    int r = real(a, from, b, to);
    if (r == 0 && old != NULL && new != NULL)
        renamed(old, new);
    return r;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int dir, const char *path, int flags)
{
    REAL(unlinkat);
    const char *name = our_name(dir, path);
    struct stat st;
    if (name != NULL && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        put(REMOVED, 0, 0, 0, name, strlen(name));
    return real(dir, path, flags);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

/* In the job's own process, which may share the memory of its shim: nothing is kept. */
int execvpe(const char *path, char *const argv[], char *const env[])
{
    REAL(execvpe);
    uint64_t job = 0;
    int64_t index = -1;
    for (char *const *e = env; log_path != NULL && *e != NULL; e++)
        if (strncmp(*e, "VOLT_JOB_ID=", 12) == 0) {
            char *rest;
            job = strtoull(*e + 12, &rest, 10);
            if (*rest == '_')
                index = strtoll(rest + 1, NULL, 10);
        }
    if (job != 0)
        put(EXEC, 0, index, job, NULL, 0);
    return real(path, argv, env);
}
