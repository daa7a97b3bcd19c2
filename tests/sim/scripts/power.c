/* See power.h. */
#include "tests/sim/scripts/power.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 64
#define KINDS     4

/* What is on disk of one file. */
struct image {
    ino_t inode;
    char *bytes;
    size_t n;
};

struct name {
    char text[64];
    ino_t inode;
};

static struct {
    pthread_mutex_t lock; /* guards the rest */
    char dir[PATH_MAX];
    struct image files[FILES_MAX];
    struct name names[FILES_MAX];
    unsigned nfiles, nnames;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

/* Lock held. Its image, new if there is none. */
static struct image *image_of(ino_t inode)
{
    for (unsigned i = 0; i < disk.nfiles; i++)
        if (disk.files[i].inode == inode)
            return &disk.files[i];
    must(disk.nfiles < FILES_MAX, "too many files");
    disk.files[disk.nfiles] = (struct image){.inode = inode};
    return &disk.files[disk.nfiles++];
}

/* Lock held. */
static void put_name(const char *text, ino_t inode)
{
    unsigned i = 0;

    while (i < disk.nnames && strcmp(disk.names[i].text, text) != 0)
        i++;
    must(i < FILES_MAX, "too many names");
    disk.nnames += i == disk.nnames;
    (void)snprintf(disk.names[i].text, sizeof(disk.names[i].text), "%s", text);
    disk.names[i].inode = inode;
}

/* Lock held. The names in the directory are what they are now. */
static void sync_names(void)
{
    DIR *d = opendir(disk.dir);

    must(d != NULL, disk.dir);
    disk.nnames = 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_type == DT_REG)
            put_name(e->d_name, e->d_ino);
    (void)closedir(d);
}

/* Lock held. Its inode. */
static ino_t sync_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    must(fd >= 0 && fstat(fd, &st) == 0, path);
    struct image *i = image_of(st.st_ino);
    i->n = (size_t)st.st_size;
    i->bytes = realloc(i->bytes, i->n + 1);
    must(i->bytes && pread(fd, i->bytes, i->n, 0) == st.st_size, path);
    (void)close(fd);
    return st.st_ino;
}

/* Lock held. Not of what was there before a power cut, which is closed after it. */
static bool is_in_dir(const char *path)
{
    const size_t len = strlen(disk.dir);

    return strncmp(path, disk.dir, len) == 0 && path[len] == '/';
}

static void note_sync(int fd)
{
    char link[32], path[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    must((n = readlink(link, path, sizeof(path) - 1)) > 0, link);
    path[n] = '\0';
    pthread_mutex_lock(&disk.lock);
    if (strcmp(path, disk.dir) == 0)
        sync_names();
    else if (is_in_dir(path))
        (void)sync_file(path);
    pthread_mutex_unlock(&disk.lock);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    note_sync(fd);
    return __real_fsync(fd);
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    note_sync(fd);
    return __real_fdatasync(fd);
}

/* --- of SQLite ----------------------------------------------------------------------------- */

/* Kinds of files have methods of their own. */
static struct {
    const sqlite3_io_methods *real;
    sqlite3_io_methods shim;
} kinds[KINDS];

/* A file of the shim has its name behind it. */
static sqlite3_vfs shim, *real_vfs;

static const char **name_of(sqlite3_file *f)
{
    return (const char **)(void *)((char *)f + real_vfs->szOsFile);
}

static int shim_sync(sqlite3_file *f, int flags)
{
    const char *path = *name_of(f);
    unsigned i = 0;

    while (f->pMethods != &kinds[i].shim)
        i++;
    pthread_mutex_lock(&disk.lock);
    if (path && is_in_dir(path)) /* with the name of a new one */
        put_name(strrchr(path, '/') + 1, sync_file(path));
    pthread_mutex_unlock(&disk.lock);
    return kinds[i].real->xSync(f, flags);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
                     int *ret_flags)
{
    int rc = real_vfs->xOpen(real_vfs, name, f, flags, ret_flags);

    (void)vfs;
    *name_of(f) = name;
    pthread_mutex_lock(&disk.lock);
    for (unsigned i = 0; rc == SQLITE_OK && i < KINDS; i++) {
        if (!kinds[i].real) {
            kinds[i].real = f->pMethods;
            kinds[i].shim = *f->pMethods;
            kinds[i].shim.xSync = shim_sync;
        }
        if (kinds[i].real == f->pMethods) {
            f->pMethods = &kinds[i].shim;
            break;
        }
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

/* --- begin and end ---------------------------------------------------------------------- */

void power_begin(const char *dir)
{
    must(realpath(dir, disk.dir) != NULL, dir);
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "power";
    shim.szOsFile += (int)sizeof(char *);
    shim.xOpen = shim_open;
    must(sqlite3_vfs_register(&shim, 1) == SQLITE_OK, "sqlite3_vfs_register");
}

/* Lock held. */
static void write_file(const char *to, struct name *name)
{
    const struct image *i = image_of(name->inode);
    char path[PATH_MAX];
    struct stat st;

    must(snprintf(path, sizeof(path), "%s/%s", to, name->text) < PATH_MAX, to);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, i->bytes, i->n) == (ssize_t)i->n && fstat(fd, &st) == 0,
         path);
    (void)close(fd);
    name->inode = st.st_ino;
}

/* Lock held. The new files are synced as they are. */
static void take_over(const char *to)
{
    struct image old[FILES_MAX];
    const unsigned n = disk.nfiles;

    memcpy(old, disk.files, sizeof(old));
    disk.nfiles = 0;
    for (unsigned i = 0; i < n; i++)
        free(old[i].bytes);
    must(realpath(to, disk.dir) != NULL, to);
    for (unsigned i = 0; i < disk.nnames; i++) {
        char path[PATH_MAX + 80];

        (void)snprintf(path, sizeof(path), "%s/%s", disk.dir, disk.names[i].text);
        (void)sync_file(path);
    }
}

void power_cut(const char *to)
{
    pthread_mutex_lock(&disk.lock);
    for (unsigned i = 0; i < disk.nnames; i++)
        write_file(to, &disk.names[i]);
    take_over(to);
    pthread_mutex_unlock(&disk.lock);
}

void power_end(void)
{
    (void)sqlite3_vfs_unregister(&shim);
    for (unsigned i = 0; i < disk.nfiles; i++)
        free(disk.files[i].bytes);
}
