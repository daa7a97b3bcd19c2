/* What becomes of the output of a job that has ended: the protocol is in output.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "daemon/output/output.h"

static void forget(struct output_end *e, unsigned i)
{
    if (e->file[i].ours)
        (void)close(e->file[i].fd);
    free((void *)(uintptr_t)e->piece[i].bytes);
    e->file[i].ours = false;
    e->piece[i] = (struct store_piece){0};
}

/* All that there is, n bytes of it. */
static bool read_all(int fd, size_t n, struct store_piece *piece)
{
    char *bytes = malloc(n);

    piece->bytes = bytes;
    while (bytes && piece->n < n) {
        ssize_t got = pread(fd, bytes + piece->n, n - piece->n, (off_t)piece->n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        piece->n += (size_t)got;
    }
    return piece->n == n;
}

static void look(struct outputs *o, const char *file, uint64_t fold, struct output_end *e,
                 unsigned i)
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
    e->bytes += (uint64_t)st.st_size;
    output_give_back(fd, &st);
    if ((uint64_t)st.st_size > fold ||
        (st.st_size > 0 &&
         (!output_is_alone(fd) || !read_all(fd, (size_t)st.st_size, &e->piece[i])))) {
        forget(e, i);
        e->kept |= (uint8_t)JOB_KEPT_FILE(i);
    } else if (e->piece[i].n > 0) {
        e->kept |= (uint8_t)JOB_KEPT_STORE(i);
    }
}

void output_end_look(struct outputs *o, const struct job_key *key, bool split,
                     uint64_t fold, struct output_end *ret)
{
    struct output_path p;

    output_end_finish(o, key, ret, false);
    ret->bytes = 0;
    for (unsigned i = 0; i < (split ? STORE_STREAMS : 1); i++) {
        output_path_of(key, (enum job_stream)i, &p);
        look(o, p.file, fold, ret, i);
    }
}

/* Between the look and the new name nobody can open it by the old one. */
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
