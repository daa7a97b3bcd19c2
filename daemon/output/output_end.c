/* The end of a job's output: output.h has the protocol. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/task.h>

#include "base/crash.h"
#include "base/file.h"
#include "daemon/output/output.h"

static void forget(struct output_end *e, unsigned i)
{
    if (e->file[i].ours)
        (void)close(e->file[i].fd);
    free((void *)(uintptr_t)e->piece[i].bytes);
    e->file[i].ours = false;
    e->piece[i] = (struct store_piece){0};
}

struct reading {
    int fd;
    char *bytes;
    size_t n, want;
};

static void read_rest(void *arg)
{
    struct reading *r = arg;

    while (r->n < r->want) {
        ssize_t got = pread(r->fd, r->bytes + r->n, r->want - r->n, (off_t)r->n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        r->n += (size_t)got;
    }
}

/* Reads all n bytes. The job has just written them, so most are in memory; for the rest
 * the worker does something else. */
static bool read_all(struct volt_cx *cx, int fd, size_t n, struct store_piece *piece)
{
    struct reading r = {.fd = fd, .bytes = malloc(n), .want = n};

    piece->bytes = r.bytes;
    if (!r.bytes)
        return false;
    ssize_t got = file_read_cached(fd, r.bytes, n, 0);
    r.n = got > 0 ? (size_t)got : 0;
    if (r.n < n && cx)
        volt_block_in_place(cx, read_rest, &r);
    else if (r.n < n)
        read_rest(&r);
    piece->n = r.n;
    return r.n == n;
}

/* Returns whether the file is not open elsewhere now. */
static bool looks_alone(struct outputs *o, int fd)
{
    pthread_rwlock_rdlock(&o->names);
    bool alone = output_is_alone(fd);
    pthread_rwlock_unlock(&o->names);
    return alone;
}

static void look(struct volt_cx *cx, struct outputs *o, const char *file, uint64_t fold,
                 struct output_end *e, unsigned i)
{
    struct stat st;
    int fd = output_open_regular(o->dir_fd, file, O_RDWR, &st);

    if ((fd == -ENOENT || fd == -ESTALE) && e->began)
        output_note_removed(o, file);
    if (fd < 0) {
        if (e->began)
            e->kept |= (uint8_t)JOB_KEPT_FILE(i);
        return;
    }
    e->file[i].ours = true;
    e->file[i].fd = fd;
    e->bytes += e->length[i] = (uint64_t)st.st_size;
    output_give_back(fd, &st);
    if ((uint64_t)st.st_size > fold ||
        (st.st_size > 0 &&
         (!looks_alone(o, fd) || !read_all(cx, fd, (size_t)st.st_size, &e->piece[i])))) {
        forget(e, i);
        e->kept |= (uint8_t)JOB_KEPT_FILE(i);
    } else if (e->piece[i].n > 0) {
        e->kept |= (uint8_t)JOB_KEPT_STORE(i);
    }
}

void output_end_look(struct volt_cx *cx, struct outputs *o, const struct job_key *key,
                     bool split, uint64_t fold, struct output_end *ret)
{
    struct output_path p;

    output_end_finish(o, key, ret, false);
    ret->bytes = ret->length[JOB_STDOUT] = ret->length[JOB_STDERR] = 0;
    for (unsigned i = 0; i < (split ? STORE_STREAMS : 1); i++) {
        output_path_of(key, (enum job_stream)i, &p);
        look(cx, o, p.file, fold, ret, i);
    }
}

/* Gives the file up, if it is unchanged. `names` prevents opens by its old name between
 * the look and the rename. */
static void give_up(struct outputs *o, const char *file, int fd, size_t n)
{
    struct stat st;

    pthread_rwlock_rdlock(&o->names);
    if (output_is_alone(fd) && fstat(fd, &st) == 0 && (size_t)st.st_size == n) {
        CRASH_POINT("output-kept");
        if (n == 0 || ftruncate(fd, 0) == 0) {
            CRASH_POINT("output-emptied");
            output_give_up(o, file);
        }
    }
    pthread_rwlock_unlock(&o->names);
    CRASH_POINT("output-given-up");
}

void output_end_finish(struct outputs *o, const struct job_key *key, struct output_end *e,
                       bool kept)
{
    struct output_path p;

    for (unsigned i = 0; i < STORE_STREAMS; i++) {
        if (kept && e->file[i].ours) {
            output_path_of(key, (enum job_stream)i, &p);
            give_up(o, p.file, e->file[i].fd, e->piece[i].n);
        }
        forget(e, i);
    }
}
