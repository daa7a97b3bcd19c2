/* See stdin_file.h. */
#include "daemon/call/stdin_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/job/spec.h"

/* A place, used by the connection and the reading task; free when both have released
 * it. */
struct place {
    unsigned uses; /* 0: free */
    uid_t uid;
};

struct stdin_files {
    pthread_mutex_t lock; /* guards the rest */
    uint64_t used;        /* a bit per used place */
    struct place place[STDIN_FILES];
};
_Static_assert(STDIN_FILES == 64, "a bit for each");

struct stdin_files *stdin_files_new(void)
{
    struct stdin_files *f = calloc(1, sizeof(*f));

    if (f)
        pthread_mutex_init(&f->lock, NULL);
    return f;
}

void stdin_files_free(struct stdin_files *f)
{
    if (f)
        pthread_mutex_destroy(&f->lock);
    free(f);
}

static void add_use(struct stdin_files *f, unsigned place, int uses)
{
    pthread_mutex_lock(&f->lock);
    f->place[place].uses += (unsigned)uses;
    if (!f->place[place].uses)
        f->used &= ~(UINT64_C(1) << place);
    pthread_mutex_unlock(&f->lock);
}

/* Lock held. */
static unsigned count_of(const struct stdin_files *f, uid_t uid)
{
    unsigned n = 0;

    for (uint64_t used = f->used; used; used &= used - 1)
        n += f->place[__builtin_ctzll(used)].uid == uid;
    return n;
}

bool stdin_file_claim(struct stdin_file *x, struct stdin_files *f, uid_t uid)
{
    if (!f || x->of)
        return false;
    pthread_mutex_lock(&f->lock);
    if (~f->used && count_of(f, uid) < STDIN_FILES_OF_USER) {
        const unsigned found = (unsigned)__builtin_ctzll(~f->used);

        f->used |= UINT64_C(1) << found;
        f->place[found] = (struct place){.uses = 1, .uid = uid};
        *x = (struct stdin_file){.of = f, .place = found};
    }
    pthread_mutex_unlock(&f->lock);
    return x->of != NULL;
}

/* --- the task ----------------------------------------------------------------------- */

struct reading {
    struct stdin_files *of;
    unsigned place;
    int fd; /* -1: closed */
    size_t max;
    struct job_bytes *input; /* NULL: see reason */
    char reason[160];        /* "": no memory */
};

__attribute__((format(printf, 2, 3))) static void refuse(struct reading *r,
                                                         const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(r->reason, sizeof(r->reason), format, ap);
    va_end(ap);
}

static const char *type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
        return "a device or a terminal";
    case S_IFDIR:
        return "a directory";
    default:
        return "no file";
    }
}

/* Returns whether the file can be read at all; otherwise sets the reason. */
static bool is_readable(struct reading *r)
{
    struct stat st;
    int flags = fcntl(r->fd, F_GETFL);

    if (flags < 0 || fstat(r->fd, &st) < 0)
        refuse(r, "cannot be looked at: %s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        refuse(r,
               "is %s: only what is in a regular file can be kept with the job; what "
               "comes from elsewhere goes into stdin_data",
               type_of(st.st_mode));
    else if ((flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
        refuse(r, "is not open for reading");
    else
        return true;
    return false;
}

/* Makes room for n + 1 bytes. False: no memory. */
static bool grow(struct reading *r, size_t n)
{
    struct job_bytes *more = realloc(r->input, sizeof(*more) + n + 1);

    if (!more)
        return false;
    r->input = more;
    return true;
}

/* Reads from the file's offset to its end, whatever size fstat() says. */
static bool read_all(struct reading *r)
{
    const off_t from = lseek(r->fd, 0, SEEK_CUR);
    size_t n = 0, room = 0;
    ssize_t got;

    do {
        if (n >= room) {
            room = room ? room * 2 : 16384;
            room = room < r->max ? room : r->max;
            if (!grow(r, room))
                return false;
        }
        got = pread(r->fd, r->input->bytes + n, room + 1 - n, from + (off_t)n);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && n <= r->max);
    r->input->n = n;
    if (got < 0)
        refuse(r, "cannot be read: %s", strerror(errno));
    else if (n > r->max)
        refuse(r,
               "has more than the %zu bytes of MaxStdin=: keep it in a file, and name "
               "that as standard input",
               r->max);
    return got == 0;
}

static void release(struct reading *r)
{
    if (r->fd < 0)
        return;
    (void)close(r->fd);
    r->fd = -1;
    add_use(r->of, r->place, -1);
}

static enum volt_poll reading_poll(struct volt_cx *cx, void *state)
{
    struct reading *r = state;

    (void)cx;
    if (!is_readable(r) || !read_all(r)) {
        free(r->input);
        r->input = NULL;
    }
    release(r);
    return VOLT_READY;
}

static void reading_drop(void *state)
{
    release(state);
}

static void reading_drop_output(void *state)
{
    struct reading *r = state;

    free(r->input);
}

static const struct volt_task_type reading_type = {"standard input",
                                                   sizeof(struct reading), reading_poll,
                                                   reading_drop, reading_drop_output};

/* --- the connection's side ---------------------------------------------------------- */

void stdin_file_read(struct stdin_file *x, struct volt_runtime *rt, int fd, size_t max)
{
    struct reading *r = volt_task_new(rt, &reading_type);

    if (!r) {
        (void)close(fd);
        return; /* stdin_file_poll() then reports no memory */
    }
    add_use(x->of, x->place, 1);
    r->of = x->of;
    r->place = x->place;
    r->fd = fd;
    r->max = max;
    (void)volt_task_spawn_blocking(r, &x->reading); /* a refused task is dropped */
}

enum volt_poll stdin_file_poll(struct volt_cx *cx, struct stdin_file *x,
                               struct job_bytes **ret, const char **ret_reason)
{
    *ret = NULL;
    *ret_reason = NULL;
    if (!x->reading.task)
        return VOLT_READY;
    if (volt_join_poll(cx, &x->reading) == VOLT_PENDING)
        return VOLT_PENDING;
    if (volt_join_status(&x->reading) < 0)
        return VOLT_READY;
    struct reading *r = volt_join_state(&x->reading);
    *ret = r->input;
    r->input = NULL;
    if (!*ret && r->reason[0])
        *ret_reason = r->reason;
    return VOLT_READY;
}

void stdin_file_end(struct stdin_file *x)
{
    if (!x->of)
        return;
    volt_join_fini(&x->reading);
    add_use(x->of, x->place, -1);
    *x = (struct stdin_file){.of = NULL};
}
