/* Output files: their names, spare ones, opening. See output.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <volt/time.h>

#include "base/crash.h"
#include "base/file.h"
#include "daemon/output/output.h"
#include "daemon/observe/log.h"

#define MAKE_TRIES 8 /* an empty folder may be removed before a file is in it */
#define SAY_AGAIN  UINT64_C(60000000)

/* Fills in the path. Each job needs it four times: snprintf() would take a fifteenth of
 * voltd's work for a short job. */
void output_path_of(const struct job_key *key, enum job_stream stream,
                    struct output_path *ret)
{
    (void)job_key_put(ret->group, key->id / 1024);
    char *end = job_key_put(stpcpy(stpcpy(ret->file, ret->group), "/"), key->id);
    ret->folder[0] = '\0';
    if (key->index >= 0) {
        (void)strcpy(ret->folder, ret->file);
        end = job_key_put(stpcpy(end, "/"), (uint64_t)key->index);
    }
    (void)strcpy(end, stream == JOB_STDERR ? ".err" : ".out");
}

char *output_path_text(const struct outputs *o, const struct job_key *key,
                       enum job_stream stream)
{
    struct output_path p;
    char *text;

    output_path_of(key, stream, &p);
    return asprintf(&text, "%s/%s", o->path, p.file) < 0 ? NULL : text;
}

int output_open_regular(int dir_fd, const char *file, int flags, struct stat *ret)
{
    int fd = file_open_regular(dir_fd, file, flags | O_NOFOLLOW, 0, ret);
    int r = fd < 0 ? fd : 0;

    if (r == -ELOOP || r == -FILE_NOT_REGULAR || r == -EISDIR ||
        (r == 0 && !S_ISREG(ret->st_mode)))
        r = -ESTALE;
    if (r == 0 && (flags & O_APPEND) &&
        fcntl(fd, F_SETFL, O_APPEND) < 0) /* the job gets this descriptor */
        r = -errno;
    if (r == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* --- removed under a running voltd -------------------------------------------------- */

/* Returns whether the news may be reported now, and notes the report. */
static bool may_say(struct outputs *o, enum outputs_news news)
{
    const uint64_t now = volt_now_usec();

    pthread_mutex_lock(&o->lock);
    bool yes = !o->said_usec[news] || now - o->said_usec[news] >= SAY_AGAIN;
    if (yes)
        o->said_usec[news] = now;
    pthread_mutex_unlock(&o->lock);
    return yes;
}

void output_note_removed(struct outputs *o, const char *file)
{
    if (may_say(o, OUTPUTS_REMOVED))
        log_warning(
            "%s/%s was removed or replaced while its job ran: what it printed is lost "
            "(voltctl clean removes output together with its job)",
            o->path, file);
}

static int open_folder(int at, const char *name)
{
    if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Makes fd the folder that has the name now, while others use fd. Returns 1: it was
 * another folder; 0; -errno. */
static int reopen_folder(int at, const char *name, int fd)
{
    struct stat was, is;
    int new = open_folder(at, name);
    int r = 0;

    if (new < 0)
        return new;
    if (fstat(fd, &was) < 0 || fstat(new, &is) < 0)
        r = -errno;
    else if (was.st_dev != is.st_dev || was.st_ino != is.st_ino)
        r = dup3(new, fd, O_CLOEXEC) < 0 ? -errno : 1;
    (void)close(new);
    return r;
}

/* Makes the folders again after -ENOENT. Returns 0 or -errno. */
static int restore_folders(struct outputs *o)
{
    pthread_mutex_lock(&o->lock);
    int r = reopen_folder(o->state_fd, "output", o->dir_fd);
    int spare = r < 0 ? r : reopen_folder(o->dir_fd, "spare", o->spare_fd);
    if (spare > 0)
        o->nspare = 0;
    pthread_mutex_unlock(&o->lock);
    if (r > 0 && may_say(o, OUTPUTS_MADE_AGAIN))
        log_warning("%s was removed: it is made again, what jobs had printed there is "
                    "lost",
                    o->path);
    return spare < 0 ? spare : 0;
}

/* --- spare files ------------------------------------------------------------------ */

bool output_is_alone(int fd)
{
    if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0)
        return false;
    (void)fcntl(fd, F_SETLEASE, F_UNLCK);
    return true;
}

/* Gives a spare file to the caller; its number is its name. False: none is left. */
static bool spare_take(struct outputs *o, uint32_t *ret)
{
    pthread_mutex_lock(&o->lock);
    bool any = o->nspare > 0;
    if (any)
        *ret = o->spare[--o->nspare];
    pthread_mutex_unlock(&o->lock);
    return any;
}

/* Reserves a number for another spare file. False: there are enough. */
static bool spare_number(struct outputs *o, uint32_t *ret)
{
    pthread_mutex_lock(&o->lock);
    bool room = o->nspare + o->coming < OUTPUT_SPARE_MAX;
    if (room) {
        *ret = o->next++;
        o->coming++;
    }
    pthread_mutex_unlock(&o->lock);
    return room;
}

void output_give_up(struct outputs *o, const char *file)
{
    uint32_t number;
    char name[16];

    if (!spare_number(o, &number)) {
        (void)unlinkat(o->dir_fd, file, 0);
        return;
    }
    (void)job_key_put(name, number);
    bool moved = renameat(o->dir_fd, file, o->spare_fd, name) == 0;
    if (!moved && errno == ENOENT)
        (void)restore_folders(o);
    if (!moved)
        (void)unlinkat(o->dir_fd, file, 0);
    pthread_mutex_lock(&o->lock);
    o->coming--;
    if (moved)
        o->spare[o->nspare++] = number;
    pthread_mutex_unlock(&o->lock);
}

/* Returns whether a file that an earlier voltd left as spare can be used. */
static bool spare_adopt(struct outputs *o, const char *name)
{
    struct stat st;
    int fd = output_open_regular(o->spare_fd, name, O_RDWR, &st);
    bool good = fd >= 0 && o->nspare < OUTPUT_SPARE_MAX && output_is_alone(fd) &&
                (st.st_size == 0 || ftruncate(fd, 0) == 0);

    if (fd >= 0)
        (void)close(fd);
    return good;
}

static void spare_scan(struct outputs *o)
{
    int fd = fcntl(o->spare_fd, F_DUPFD_CLOEXEC, 3);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        (void)close(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *end, name[16];
        unsigned long n = strtoul(e->d_name, &end, 10);

        if (e->d_name[0] == '.')
            continue;
        (void)job_key_put(name, (uint32_t)n);
        bool ours = strcmp(name, e->d_name) == 0 && n < UINT32_MAX;
        if (ours && n >= o->next)
            o->next = (uint32_t)n + 1;
        if (ours && spare_adopt(o, name))
            o->spare[o->nspare++] = (uint32_t)n;
        else
            (void)unlinkat(o->spare_fd, e->d_name, 0);
    }
    if (d)
        (void)closedir(d);
}

/* --- life ------------------------------------------------------------------------- */

int outputs_open(struct outputs *o, int state_fd, const char *state_dir)
{
    if (asprintf(&o->path, "%s/output", state_dir) < 0) {
        o->path = NULL;
        return -ENOMEM;
    }
    pthread_rwlock_init(&o->names, NULL);
    pthread_mutex_init(&o->lock, NULL);
    o->state_fd = state_fd;
    o->dir_fd = open_folder(state_fd, "output");
    if (o->dir_fd >= 0)
        o->spare_fd = open_folder(o->dir_fd, "spare");
    if (o->dir_fd < 0 || o->spare_fd < 0)
        return o->dir_fd < 0 ? o->dir_fd : o->spare_fd;
    spare_scan(o);
    return 0;
}

void outputs_close(struct outputs *o)
{
    free(o->path);
    o->path = NULL;
    if (o->dir_fd < 0)
        return;
    (void)close(o->dir_fd);
    if (o->spare_fd >= 0)
        (void)close(o->spare_fd);
    o->dir_fd = o->spare_fd = -1;
    pthread_rwlock_destroy(&o->names);
    pthread_mutex_destroy(&o->lock);
}

/* --- starting --------------------------------------------------------------------- */

static int open_leftover(struct outputs *o, const char *file)
{
    struct stat st;
    int fd = output_open_regular(o->dir_fd, file, O_WRONLY | O_APPEND, &st);

    if (fd < 0 || st.st_size == 0)
        return fd;
    (void)close(fd);
    return -EEXIST;
}

static int make_folders(struct outputs *o, const struct output_path *p)
{
    if (mkdirat(o->dir_fd, p->group, 0700) < 0 && errno != EEXIST)
        return -errno;
    if (p->folder[0] && mkdirat(o->dir_fd, p->folder, 0700) < 0 && errno != EEXIST)
        return -errno;
    return 0;
}

/* Renames a spare file to the job's name. -ENFILE: none is left. */
static int name_spare(struct outputs *o, const struct output_path *p)
{
    uint32_t number;
    char name[16];

    if (!spare_take(o, &number))
        return -ENFILE;
    (void)job_key_put(name, number);
    int r = -ENOENT;
    for (int i = 0; r == -ENOENT && i < MAKE_TRIES; i++) {
        r = i ? make_folders(o, p) : 0;
        if (r == 0 &&
            renameat2(o->spare_fd, name, o->dir_fd, p->file, RENAME_NOREPLACE) < 0)
            r = -errno;
    }
    if (r < 0) /* unusable, or the job has a file */
        (void)unlinkat(o->spare_fd, name, 0);
    CRASH_POINT("output-named");
    return r;
}

static int make_file(struct outputs *o, const struct output_path *p)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    int r = -ENOENT;

    for (int i = 0; r == -ENOENT && i < MAKE_TRIES; i++) {
        r = i ? make_folders(o, p) : 0;
        if (r < 0)
            return r;
        r = openat(o->dir_fd, p->file, flags | O_EXCL, 0600);
        if (r < 0)
            r = -errno;
        else
            (void)fchmod(r, OUTPUT_MODE); /* whatever the umask */
    }
    return r;
}

static int create(struct outputs *o, const struct job_key *key, enum job_stream stream,
                  const struct output_path *p)
{
    int r = name_spare(o, p);

    if (r == 0)
        return output_append(o, key, stream);
    if (r != -EEXIST)
        r = make_file(o, p);
    if (r == -ENOENT && (r = restore_folders(o)) == 0)
        r = make_file(o, p);
    return r == -EEXIST ? open_leftover(o, p->file) : r;
}

int output_create(struct outputs *o, const struct job_key *key, enum job_stream stream)
{
    struct output_path p;

    output_path_of(key, stream, &p);
    int r = create(o, key, stream, &p);
    if (r < 0 && may_say(o, OUTPUTS_NOT_MADE))
        log_warning("cannot make %s/%s: %s; jobs that print there fail", o->path, p.file,
                    strerror(-r));
    return r;
}

int output_create_spare(struct outputs *o, const struct job_key *key,
                        enum job_stream stream)
{
    struct output_path p;

    output_path_of(key, stream, &p);
    int r = name_spare(o, &p);
    return r < 0 ? r : output_append(o, key, stream);
}

int output_append(struct outputs *o, const struct job_key *key, enum job_stream stream)
{
    struct output_path p;
    struct stat st;

    output_path_of(key, stream, &p);
    return output_open_regular(o->dir_fd, p.file, O_WRONLY | O_APPEND, &st);
}

/* Returns the bytes in blocks after the end of the file. */
static uint64_t behind_end(const struct stat *st)
{
    const uint64_t room = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

    return room > size ? room - size : 0;
}

/* Returns the length of the file, holes included, as a reader gets those too. Blocks that
 * fallocate() has put after the end count when they are more than file systems reserve
 * for a growing file: as much as it has, or XFS's allocsize=. */
static uint64_t counted(const struct stat *st)
{
    const uint64_t size = (uint64_t)st->st_size, more = behind_end(st);

    return more > size && more > OUTPUT_RESERVED_MOST ? size + more : size;
}

void output_give_back(int fd, const struct stat *st)
{
    if (behind_end(st) > OUTPUT_LAST_BLOCK)
        (void)ftruncate(fd, st->st_size); /* on failure they go with the file */
}

uint64_t output_size(struct outputs *o, const struct job_key *key, bool split)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < (split ? STORE_STREAMS : 1); i++) {
        struct output_path p;
        struct stat st;

        output_path_of(key, (enum job_stream)i, &p);
        if (fstatat(o->dir_fd, p.file, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += counted(&st);
    }
    return bytes;
}

/* --- reading ---------------------------------------------------------------------- */

/* Returns a sealed file with these bytes, to be read from its beginning. */
static int open_bytes(const char *bytes, size_t n)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    int fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : 0;

    for (size_t at = 0; r == 0 && at < n;) {
        ssize_t done = pwrite(fd, bytes + at, n - at, (off_t)at);

        if (done <= 0)
            r = done < 0 ? -errno : -EIO;
        else
            at += (size_t)done;
    }
    if (r == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0)
        r = -errno;
    if (r == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

int output_open_empty(void)
{
    return open_bytes("", 0);
}

static int open_stored(struct store *s, const struct job_key *key, enum job_stream stream)
{
    void *bytes;
    size_t n;
    int r = store_output(s, key, stream, &bytes, &n);

    if (r < 0)
        return r;
    r = open_bytes(bytes, n);
    free(bytes);
    return r;
}

static int open_file(struct outputs *o, const char *file)
{
    struct stat st;

    pthread_rwlock_wrlock(&o->names);
    int r = output_open_regular(o->dir_fd, file, O_RDONLY, &st);
    pthread_rwlock_unlock(&o->names);
    return r;
}

int output_open(struct outputs *o, struct store *s, const struct job_key *key,
                enum job_stream stream, bool ended)
{
    struct output_path p;
    struct stat st;

    output_path_of(key, stream, &p);
    int fd = open_file(o, p.file);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    if (fd >= 0 && (!ended || fstat(fd, &st) < 0 || st.st_size > 0))
        return fd;
    int r = open_stored(s, key, stream);
    if (fd >= 0 && r < 0)
        return r == -ENODATA ? fd : ((void)close(fd), r);
    if (fd >= 0) /* emptied, but not given up when voltd died */
        (void)close(fd);
    return r;
}
