/* See sqlite_wal.h; the format is that of SQLite's documentation, "WAL-mode file format":
 * a header of 32 bytes, then frames: 24 bytes and a page. All numbers big-endian. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "daemon/store/sqlite_wal.h"

#define HEADER   32
#define FRAME    24
#define MAGIC    UINT32_C(0x377f0682) /* | 1: checksums of big-endian words */
#define PAGE_MAX 65536

struct wal {
    int fd;
    uint32_t page;
    bool big;
    uint8_t salt[8];
    uint32_t s1, s2;
    uint8_t buf[FRAME + PAGE_MAX];
};

static uint32_t big32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void sum(struct wal *w, const uint8_t *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        w->s1 += (w->big ? big32(p) : little32(p)) + w->s2;
        w->s2 += (w->big ? big32(p + 4) : little32(p + 4)) + w->s1;
    }
}

static bool read_header(struct wal *w)
{
    const uint8_t *b = w->buf;

    w->big = big32(b) & 1;
    w->page = big32(b + 8);
    w->s1 = w->s2 = 0;
    sum(w, b, 24);
    memcpy(w->salt, b + 16, sizeof(w->salt));
    return (big32(b) & ~UINT32_C(1)) == MAGIC && w->s1 == big32(b + 24) &&
           w->s2 == big32(b + 28) && w->page >= 512 && w->page <= PAGE_MAX &&
           (w->page & (w->page - 1)) == 0;
}

/* 0 or -errno; *ret_whole: the frame is complete. */
static int read_frame(struct wal *w, uint64_t n, bool *ret_whole)
{
    size_t size = FRAME + w->page;
    ssize_t got = pread(w->fd, w->buf, size, (off_t)(HEADER + n * size));

    if (got < 0)
        return -errno;
    *ret_whole = (size_t)got == size;
    return 0;
}

static bool is_sound(struct wal *w)
{
    sum(w, w->buf, 8);
    sum(w, w->buf + FRAME, w->page);
    return memcmp(w->buf + 8, w->salt, sizeof(w->salt)) == 0 &&
           w->s1 == big32(w->buf + 16) && w->s2 == big32(w->buf + 20);
}

/* Frames of an earlier journal differ in both halves of the salt, damaged ones in one. */
static bool is_ours(const struct wal *w)
{
    return memcmp(w->buf + 8, w->salt, 4) == 0 ||
           memcmp(w->buf + 12, w->salt + 4, 4) == 0;
}

/* What stands behind the last sound frame. */
struct tail {
    uint64_t bad;  /* the first frame that is not sound */
    uint64_t ends; /* frames of this journal that end a transaction, from there on */
    uint64_t last; /* the last of them */
};

static int find_tail(struct wal *w, struct tail *ret)
{
    bool whole, found = false;

    for (uint64_t n = 0;; n++) {
        int r = read_frame(w, n, &whole);
        if (r < 0)
            return r;
        if (!whole)
            return 0;
        bool ours = is_ours(w);
        if (!found && !is_sound(w)) {
            found = true;
            ret->bad = n;
        }
        if (found && ours && big32(w->buf + 4)) {
            ret->ends++;
            ret->last = n;
        }
    }
}

static int prove(struct wal *w, struct tail *ret, struct volt_error *err)
{
    ssize_t n = pread(w->fd, w->buf, HEADER, 0);

    *ret = (struct tail){0};
    if (n < 0)
        return -errno;
    if (n == 0)
        return 0;
    if (n == HEADER && read_header(w)) {
        int r = find_tail(w, ret);
        if (r < 0 || ret->ends < 2)
            return r;
        return error_set(
            err, -EBADMSG,
            "the journal: frame %llu is damaged, and valid ones follow up to %llu",
            (unsigned long long)ret->bad, (unsigned long long)ret->last);
    }
    /* The first write of a new journal is its header: alone it may be half there. */
    struct stat st;
    if (fstat(w->fd, &st) < 0)
        return -errno;
    return st.st_size <= HEADER ? 0
                                : error_set(err, -EBADMSG, "the header of the journal");
}

static int open_journal(const char *path, int flags)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s-wal", path) >= PATH_MAX)
        return -ENAMETOOLONG;
    return file_open_regular(AT_FDCWD, name, flags | O_NOFOLLOW, 0, NULL);
}

static int sync_and_cut(const struct wal *w, const struct tail *t)
{
    if (fdatasync(w->fd) < 0)
        return -errno;
    if (t->ends == 0)
        return 0;
    const uint64_t sound = HEADER + t->bad * (FRAME + w->page);
    return ftruncate(w->fd, (off_t)sound) < 0 || fdatasync(w->fd) < 0 ? -errno : 0;
}

static int prove_file(const char *path, bool take, struct volt_error *err)
{
    int fd = open_journal(path, take ? O_RDWR : O_RDONLY);
    struct tail tail;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    struct wal *w = malloc(sizeof(*w));
    int r = -ENOMEM;
    if (w) {
        w->fd = fd;
        r = prove(w, &tail, err);
        if (r == 0 && take)
            r = sync_and_cut(w, &tail);
        free(w);
    }
    close(fd);
    return r;
}

int wal_prove(const char *path, struct volt_error *err)
{
    return prove_file(path, false, err);
}

int wal_take_over(const char *path, struct volt_error *err)
{
    return prove_file(path, true, err);
}

/* Written, not only allocated: blocks that were never written are as dear as new ones. */
static int write_zeros(int fd, off_t at, off_t end)
{
    static const uint8_t zeros[1 << 16];

    while (at < end) {
        size_t n = end - at < (off_t)sizeof(zeros) ? (size_t)(end - at) : sizeof(zeros);
        ssize_t done = pwrite(fd, zeros, n, at);

        if (done < 0 && errno != EINTR)
            return -errno;
        at += done < 0 ? 0 : done;
    }
    return fdatasync(fd) < 0 ? -errno : 0;
}

/* No lock of SQLite's goes with the descriptor: it has none on the journal itself. */
int wal_extend(const char *path, uint64_t bytes)
{
    int fd = open_journal(path, O_WRONLY), r;
    struct stat st;

    if (fd < 0)
        return fd;
    r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && st.st_size > HEADER && (uint64_t)st.st_size < bytes) {
        r = write_zeros(fd, st.st_size, (off_t)bytes);
        if (r < 0)
            (void)ftruncate(fd, st.st_size); /* no room: it is worth more to others */
    }
    close(fd);
    return r;
}

uint64_t wal_bytes(uint64_t frames)
{
    return HEADER + frames * (FRAME + 4096);
}
