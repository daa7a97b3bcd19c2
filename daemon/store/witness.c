/* See witness.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/error.h"
#include "base/file.h"
#include "daemon/store/store.h"
#include "daemon/store/witness.h"

#define NAME   "witness"
#define FORMAT '1'

static void format(const struct witness *w, char text[WITNESS_SIZE + 1])
{
    char *p = text;

    *p++ = FORMAT;
    *p++ = ' ';
    for (size_t i = 0; i < WITNESS_ID_SIZE; i++)
        p += snprintf(p, 3, "%02x", w->id[i]);
    p += snprintf(p, 43, " %020llu %020llu", (unsigned long long)w->starts,
                  (unsigned long long)w->facts);
    (void)snprintf(p, 11, " %08x\n", crc32c(0, text, (size_t)(p - text)));
}

/* Returns the value of n digits of that base. Other bytes give a wrong value, which the
 * comparison in parse() finds. */
static uint64_t number(const char *text, size_t n, unsigned base)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        const unsigned c = (unsigned char)text[i];

        value = value * base + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

/* Parses a witness: its text must be byte by byte the text that format() makes for these
 * numbers. */
static int parse(const char *text, size_t n, struct witness *ret)
{
    char right[WITNESS_SIZE + 1];
    struct witness w;

    if (n != WITNESS_SIZE)
        return -EBADMSG;
    for (size_t i = 0; i < WITNESS_ID_SIZE; i++)
        w.id[i] = (uint8_t)number(text + 2 + 2 * i, 2, 16);
    w.starts = number(text + 35, 20, 10);
    w.facts = number(text + 56, 20, 10);
    format(&w, right);
    if (memcmp(text, right, WITNESS_SIZE) != 0)
        return -EBADMSG;
    *ret = w;
    return 0;
}

int witness_read(const char *dir, struct witness *ret)
{
    char path[PATH_MAX], text[WITNESS_SIZE + 1];
    ssize_t n;

    if (snprintf(path, sizeof(path), "%s/" NAME, dir) >= PATH_MAX)
        return -ENAMETOOLONG;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0, NULL);
    if (fd < 0)
        return fd;
    do
        n = read(fd, text, sizeof(text));
    while (n < 0 && errno == EINTR);
    int r = n < 0 ? -errno : parse(text, (size_t)n, ret);
    (void)close(fd);
    return r;
}

static int open_dir(const char *dir, struct volt_error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? error_set(err, -errno, "%.150s: %s", dir, strerror(errno)) : fd;
}

/* Puts the path of the file before the text of an error. */
static int place(const char *dir, int r, const struct volt_error *what,
                 struct volt_error *err)
{
    return r < 0 ? error_set(err, r, "%.150s/%s", dir, what->text) : 0;
}

static int prepare(const char *dir, int dir_fd, const struct witness *w,
                   struct volt_error *err)
{
    char text[WITNESS_SIZE + 1];
    struct volt_error what;

    format(w, text);
    return place(dir, file_prepare(dir_fd, NAME, text, WITNESS_SIZE, &what), &what, err);
}

static int publish(const char *dir, int dir_fd, bool lasting, struct volt_error *err)
{
    struct volt_error what;
    int r = place(dir, file_publish(dir_fd, NAME, &what), &what, err);

    return r == 0 && lasting && fsync(dir_fd) < 0
               ? error_set(err, -errno, "%.150s: %s", dir, strerror(errno))
               : r;
}

int witness_prepare(const char *dir, const struct witness *w, struct volt_error *err)
{
    int fd = open_dir(dir, err);

    if (fd < 0)
        return fd;
    int r = prepare(dir, fd, w, err);
    (void)close(fd);
    return r;
}

int witness_publish(const char *dir, struct volt_error *err)
{
    int fd = open_dir(dir, err);

    if (fd < 0)
        return fd;
    int r = publish(dir, fd, true, err);
    (void)close(fd);
    return r;
}

int witness_write(const char *dir, const struct witness *w, bool lasting,
                  struct volt_error *err)
{
    int fd = open_dir(dir, err);

    if (fd < 0)
        return fd;
    int r = prepare(dir, fd, w, err);
    if (r == 0)
        r = publish(dir, fd, lasting, err);
    (void)close(fd);
    return r;
}

/* Sets the text for a witness that cannot be read; if another kind of file stands in its
 * place, also the remedy. */
static int tell_unread(const char *dir, int r, struct volt_error *err)
{
    const char *odd = r == -EISDIR             ? "it is a directory"
                      : r == -ELOOP            ? "it is a symbolic link"
                      : r == -FILE_NOT_REGULAR ? file_text(r)
                                               : NULL;

    if (!odd)
        return error_set(err, r, "%.90s/" NAME " cannot be read: %s", dir, file_text(r));
    return error_set(err, r,
                     "%.90s/" NAME " cannot be read: %s: put the right one there, or "
                     "remove it, and the store is taken as it is",
                     dir, odd);
}

static int tell_damage(const char *dir, struct volt_error *err)
{
    char path[PATH_MAX], size[64] = "";
    struct stat st;

    if (snprintf(path, sizeof(path), "%s/" NAME, dir) < PATH_MAX &&
        lstat(path, &st) == 0 && st.st_size != WITNESS_SIZE)
        (void)snprintf(size, sizeof(size), ": it has %lld bytes and not %d",
                       (long long)st.st_size, WITNESS_SIZE);
    return error_set(err, -STORE_NOT_WITNESSED,
                     "%.80s/" NAME " is damaged (or of a newer voltd)%s, and only it "
                     "tells whether the store is an older copy",
                     dir, size);
}

int witness_judge(const char *dir, const struct witness *store, struct volt_error *err)
{
    struct witness w;
    int r = witness_read(dir, &w);

    if (r == -ENOENT)
        return 0;
    if (r == -EBADMSG)
        return tell_damage(dir, err);
    if (r < 0)
        return tell_unread(dir, r, err);
    const unsigned long long starts = w.starts, facts = w.facts;
    if (!store)
        return error_set(err, -STORE_NOT_WITNESSED,
                         "%.100s has no store, but its witness has seen start %llu, fact "
                         "%llu: the store was removed",
                         dir, starts, facts);
    if (memcmp(store->id, w.id, sizeof(w.id)) == 0 && store->starts >= w.starts &&
        store->facts >= w.facts)
        return 0;
    return error_set(
        err, -STORE_NOT_WITNESSED,
        "%.80s: the store has come to start %llu, fact %llu; its witness has seen start "
        "%llu, fact %llu: %s was put there",
        dir, (unsigned long long)store->starts, (unsigned long long)store->facts, starts,
        facts,
        memcmp(store->id, w.id, sizeof(w.id)) == 0 ? "an older copy" : "another store");
}
