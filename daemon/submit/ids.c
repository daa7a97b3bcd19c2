/* The high-water mark of job ids and its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/error.h"
#include "base/file.h"
#include "daemon/submit/ids.h"

#define MARK_MAX UINT64_C(1000000000000000000) /* never reached */
#define TEXT_MAX 64

/* Writes the file's line for this mark, with or without the sum. Returns its length. */
static size_t mark_text(uint64_t mark, bool with_sum, char text[TEXT_MAX])
{
    int digits = snprintf(text, TEXT_MAX, "%llu", (unsigned long long)mark);
    uint32_t sum = crc32c(0, text, (size_t)digits);
    int tail = with_sum
                   ? snprintf(text + digits, TEXT_MAX - (size_t)digits, " %08x\n", sum)
                   : snprintf(text + digits, TEXT_MAX - (size_t)digits, "\n");

    return (size_t)digits + (size_t)tail;
}

/* Reads the mark. The n bytes must be exactly what mark_text() writes for it. */
static int parse_mark(const char *text, size_t n, uint64_t *ret)
{
    char right[TEXT_MAX];
    uint64_t mark = 0;

    for (size_t i = 0; i < n && text[i] >= '0' && text[i] <= '9' && mark < MARK_MAX; i++)
        mark = 10 * mark + (uint64_t)(text[i] - '0');
    if (mark == 0 || mark > MARK_MAX)
        return -EBADMSG;
    for (int with_sum = 0; with_sum < 2; with_sum++) {
        if (n != mark_text(mark, with_sum, right) || memcmp(text, right, n) != 0)
            continue;
        *ret = mark;
        return 0;
    }
    return -EBADMSG;
}

static int read_mark(int dir_fd, uint64_t *ret)
{
    char text[TEXT_MAX];
    int fd = file_open_regular(dir_fd, "ids", O_RDONLY | O_NOFOLLOW, 0, NULL);
    ssize_t n;

    if (fd < 0)
        return fd;
    n = read(fd, text, sizeof(text));
    int r = n < 0 ? -errno : 0;
    close(fd);
    return r < 0 ? r : parse_mark(text, (size_t)n, ret);
}

int ids_read(int dir_fd, uint64_t *ret)
{
    int r;

    do
        r = read_mark(dir_fd, ret);
    while (r == -EINTR);
    return r;
}

static int write_mark(int dir_fd, uint64_t mark, struct volt_error *err)
{
    char text[TEXT_MAX];
    size_t len = mark_text(mark, true, text);
    int r = file_replace(dir_fd, "ids", text, len, err);

    return r == 0 && fsync(dir_fd) < 0
               ? error_set(err, -errno, "the state directory: %s", strerror(errno))
               : r;
}

static void say_why(struct volt_error *err, int r, uint64_t floor)
{
    if (!err)
        return;
    if (r != -EBADMSG)
        (void)snprintf(err->text, sizeof(err->text),
                       "the file \"ids\" in the state directory: %s", file_text(r));
    else
        (void)snprintf(
            err->text, sizeof(err->text),
            "the file \"ids\" in the state directory is damaged, and ids could "
            "be given twice: write into it, as a line of digits, a number above "
            "all ids there have been (at least %llu)",
            (unsigned long long)floor);
}

int ids_open(struct ids *ids, int dir_fd, uint64_t floor, struct volt_error *err)
{
    uint64_t mark = 1;
    int r = ids_read(dir_fd, &mark);

    if (r < 0 && r != -ENOENT) {
        say_why(err, r, floor);
        return r;
    }
    *ids = (struct ids){.dir_fd = dir_fd};
    ids->next = ids->reserved = mark > floor ? mark : floor;
    pthread_mutex_init(&ids->lock, NULL);
    pthread_mutex_init(&ids->file_lock, NULL);
    return 0;
}

int ids_give_back(struct ids *ids)
{
    int r = 0;

    pthread_mutex_lock(&ids->file_lock);
    pthread_mutex_lock(&ids->lock);
    const uint64_t next = ids->next;
    const bool any = ids->reserved > next;
    ids->reserved = next; /* first: ids that the file is about to release must not be
                           * taken */
    pthread_mutex_unlock(&ids->lock);
    if (any) {
        do
            r = write_mark(ids->dir_fd, next, NULL);
        while (r == -EINTR);
    }
    pthread_mutex_unlock(&ids->file_lock);
    return r;
}

void ids_close(struct ids *ids)
{
    pthread_mutex_destroy(&ids->lock);
    pthread_mutex_destroy(&ids->file_lock);
}

bool ids_take(struct ids *ids, uint64_t count, uint64_t *ret_first)
{
    pthread_mutex_lock(&ids->lock);
    bool enough = ids->reserved - ids->next >= count;
    if (enough) {
        *ret_first = ids->next;
        ids->next += count;
    }
    pthread_mutex_unlock(&ids->lock);
    return enough;
}

int ids_reserve(struct ids *ids, uint64_t count, struct volt_error *err)
{
    int r = 0;

    pthread_mutex_lock(&ids->file_lock);
    pthread_mutex_lock(&ids->lock);
    uint64_t next = ids->next, reserved = ids->reserved, wanted = next + count;
    pthread_mutex_unlock(&ids->lock);

    if (reserved < wanted) {
        wanted = next + IDS_AHEAD * count;
        wanted = (wanted + IDS_BLOCK - 1) / IDS_BLOCK * IDS_BLOCK;
        if (ids->store) /* first: the fsync of the folder then covers both names */
            /* The block does not depend on the result, which is reported. */
            (void)store_witness(ids->store, false);
        do /* EINTR: all of it anew */
            r = write_mark(ids->dir_fd, wanted, err);
        while (r == -EINTR);
    }
    if (r == 0 && reserved < wanted) {
        pthread_mutex_lock(&ids->lock);
        ids->reserved = wanted;
        pthread_mutex_unlock(&ids->lock);
    }
    pthread_mutex_unlock(&ids->file_lock);
    return r;
}
