/* See script_file.h. */
#include "daemon/keeper/script_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "daemon/keeper/names.h"

#define TRIES 1000 /* tries, a millisecond each, while a sweep has the lock */

static const char *scripts_dir;

static int open_dir(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Opens the scripts dir, if only this user may write into it. */
static int open_scripts_dir(void)
{
    struct stat st;

    if (!scripts_dir)
        return -ENOTDIR;
    if (mkdir(scripts_dir, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open_dir(AT_FDCWD, scripts_dir);
    if (fd < 0)
        return fd;
    int r = fstat(fd, &st) < 0                                           ? -errno
            : st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM
                                                                         : 0;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

/* Removes a file of any kind. */
static int remove_name(const char *name, void *arg)
{
    const int *dir = arg;

    if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        (void)unlinkat(*dir, name, 0);
    return 0;
}

/* Removes the directory at path below `at`, which is open as dir. The next sweep retries
 * if that fails. */
static void remove_dir(int at, const char *path, int dir)
{
    (void)fchmod(dir, 0700);
    (void)each_name(dir, ".", remove_name, &dir);
    (void)unlinkat(at, path, AT_REMOVEDIR);
}

static int sweep_one(const char *name, void *arg)
{
    const int *scripts = arg;
    struct job_key key;
    int dir = job_key_parse(name, &key) == 0 ? open_dir(*scripts, name) : -1;

    if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
        remove_dir(*scripts, name, dir);
    if (dir >= 0)
        (void)close(dir);
    return 0;
}

void script_file_sweep(void)
{
    int scripts = scripts_dir ? open_dir(AT_FDCWD, scripts_dir) : -1;

    if (scripts < 0)
        return;
    (void)each_name(scripts, ".", sweep_one, &scripts);
    (void)close(scripts);
}

void script_file_init(const char *dir)
{
    scripts_dir = dir;
    script_file_sweep();
}

/* Makes the directory and locks it. Returns:
 *   0
 *   -EAGAIN  a sweep has locked it, or has just removed it
 *   -errno */
static int lock_dir(int scripts, const char *name, int *ret)
{
    struct stat st;

    if (mkdirat(scripts, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int dir = open_dir(scripts, name);
    if (dir < 0)
        return dir == -ENOENT ? -EAGAIN : dir;
    /* On a file system without such locks no sweep can lock or remove it. */
    int r = flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EAGAIN : 0;
    if (r == 0 && fstatat(scripts, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        r = errno == ENOENT ? -EAGAIN : -errno;
    if (r == 0) { /* empties what a killed shim has left */
        (void)fchmod(dir, 0700);
        (void)each_name(dir, ".", remove_name, &dir);
        *ret = dir;
        return 0;
    }
    (void)close(dir);
    return r;
}

static int make_dir(int scripts, const char *name, int *ret)
{
    int r = lock_dir(scripts, name, ret);

    for (int i = 0; r == -EAGAIN && i < TRIES; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        r = lock_dir(scripts, name, ret);
    }
    return r;
}

static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);

        if (done < 0 && errno != EINTR)
            return -errno;
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return 0;
}

static int write_file(int dir, const char *name, const char *text, size_t n)
{
    int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);

    if (fd < 0)
        return -errno;
    int r = write_all(fd, text, n);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && fchmod(dir, 0500) < 0)
        r = -errno;
    return r;
}

/* Writes the contents of the memfd: a file name without "/", and the text. */
static int put(struct script_file *s, const struct job_key *key, const char *in, size_t n)
{
    const char *end = memchr(in, '\0', n < SCRIPT_NAME_MAX + 1 ? n : SCRIPT_NAME_MAX + 1);
    char attempt[JOB_KEY_TEXT_MAX];

    if (!end || end == in || memchr(in, '/', (size_t)(end - in)) ||
        strcmp(in, ".") == 0 || strcmp(in, "..") == 0)
        return -EBADMSG;
    (void)job_key_format(key, attempt);
    int len = snprintf(s->path, sizeof(s->path), "%s/%s/%s", scripts_dir, attempt, in);
    if (len >= (int)sizeof(s->path))
        return -ENAMETOOLONG;
    int scripts = open_scripts_dir();
    if (scripts < 0)
        return scripts;
    int r = make_dir(scripts, attempt, &s->dir);
    if (r == 0) {
        r = write_file(s->dir, in, end + 1, n - (size_t)(end + 1 - in));
        if (r < 0)
            script_file_fini(s);
    }
    (void)close(scripts);
    return r;
}

int script_file_make(struct script_file *ret, const struct job_key *key, int from)
{
    struct stat st;

    if (fstat(from, &st) < 0)
        return -errno;
    const size_t n = (size_t)st.st_size;
    void *in = n > 0 ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, from, 0) : NULL;
    if (in == MAP_FAILED)
        return -errno;
    int r = in ? put(ret, key, in, n) : -EBADMSG;
    if (in)
        (void)munmap(in, n);
    return r;
}

void script_file_fini(struct script_file *s)
{
    char *slash = strrchr(s->path, '/');

    *slash = '\0';
    remove_dir(AT_FDCWD, s->path, s->dir);
    (void)close(s->dir);
}
