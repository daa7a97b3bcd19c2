/* Directories and their locks: see paths.h. */
#include "daemon/config/paths.h"
#include "base/error.h"
#include "base/file.h"
#include "wire/user_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_RUNTIME_DIR "/run/voltd"
#define SYSTEM_STATE_DIR   "/var/lib/voltd"
#define SYSTEM_RECORD_DIR  "/run/voltd-rec"

__attribute__((format(printf, 3, 4))) static int
put(char buf[PATH_MAX], struct volt_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf, PATH_MAX, format, args);
    va_end(args);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, -ENAMETOOLONG, "%.100s...: %s", buf,
                         strerror(ENAMETOOLONG));
    return 0;
}

/* Writes dir as an absolute path: jobs and restarts must not depend on voltd's working
 * directory. */
static int absolute(const char *dir, char buf[PATH_MAX], struct volt_error *err)
{
    char cwd[PATH_MAX];
    if (dir[0] == '/')
        return put(buf, err, "%s", dir);
    if (!getcwd(cwd, sizeof(cwd)))
        return error_set(err, -errno, "the working directory: %s", strerror(errno));
    return put(buf, err, "%s/%s", cwd, dir);
}

const char *paths_home(void)
{
    const char *home = user_home();
    if (!home) {
        const struct passwd *pw = getpwuid(getuid());
        home = pw ? pw->pw_dir : NULL;
    }
    return home && home[0] == '/' ? home : NULL;
}

/* Joins the path of a socket. A path that bind() would cut is refused with the reason. */
static int socket_path(const char *dir, const char *name, struct address *ret,
                       struct volt_error *err)
{
    size_t len = strlen(dir) + 1 + strlen(name);
    if (len > ADDRESS_PATH_MAX)
        return error_set(
            err, -ENAMETOOLONG,
            "the socket %.80s.../%s would have %zu bytes; the kernel takes %d", dir, name,
            len, ADDRESS_PATH_MAX);
    strcpy(stpcpy(stpcpy(ret->path, dir), "/"), name);
    return 0;
}

int paths_init(struct paths *p, bool user, const char *runtime_dir, const char *state_dir,
               struct volt_error *err)
{
    char dir[PATH_MAX];
    int r;

    *p = (struct paths){.runtime_lock = -1, .state_lock = -1};
    if (runtime_dir)
        r = absolute(runtime_dir, dir, err);
    else if (user)
        r = address_user_dir(dir, sizeof(dir));
    else
        r = put(dir, err, SYSTEM_RUNTIME_DIR);
    if (r == 0)
        r = socket_path(dir, "voltd.sock", &p->socket, err);
    if (r == 0)
        r = socket_path(dir, "control.sock", &p->control_socket, err);
    if (r == 0)
        memcpy(p->runtime_dir, dir, strlen(dir) + 1);
    if (r == 0 && state_dir)
        r = absolute(state_dir, p->state_dir, err);
    else if (r == 0 && user)
        r = user_state_dir(paths_home(), p->state_dir, sizeof(p->state_dir), err);
    else if (r == 0)
        r = put(p->state_dir, err, SYSTEM_STATE_DIR);
    if (r == 0 && !user && !state_dir)
        r = put(p->record_dir, err, SYSTEM_RECORD_DIR);
    else if (r == 0)
        r = put(p->record_dir, err, "%s/rec", p->state_dir);
    if (r == 0)
        r = put(p->output_dir, err, "%s/output", p->state_dir);
    return r;
}

/* Makes a directory as mkdir -p does; missing ones get mode 0700. */
static int make_dir(const char *path, struct volt_error *err)
{
    char buf[PATH_MAX];
    int r = put(buf, err, "%s", path);
    if (r < 0)
        return r;
    for (char *slash = strchr(buf + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(buf, 0700) < 0 && errno != EEXIST && (!slash || access(buf, F_OK) < 0))
            return error_set(err, -errno, "%s: %s", buf, strerror(errno));
        if (!slash)
            return 0;
        *slash = '/';
    }
}

/* Checks that voltd owns the directory and no other user may write in it, so that its
 * contents can be trusted. In system mode others may search it to reach the sockets. */
static int check_dir(const char *path, struct volt_error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "%s: %s", path, strerror(ENOTDIR));
    if (st.st_uid != geteuid())
        return error_set(err, -EPERM, "%s belongs to user %u, voltd runs as %u", path,
                         (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, -EPERM, "%s can be written by others (mode %04o)", path,
                         (unsigned)(st.st_mode & 07777));
    return 0;
}

/* Resolves symbolic links, as in the path of a home: the store refuses them as a trap. */
static int resolve_dir(char dir[PATH_MAX], struct volt_error *err)
{
    char real[PATH_MAX];
    if (!realpath(dir, real))
        return error_set(err, -errno, "%s: %s", dir, strerror(errno));
    memcpy(dir, real, strlen(real) + 1);
    return 0;
}

/* Takes the record lock of this process. Returns:
 *   0       taken
 *   -EBUSY  *ret_pid has the lock (0: a process of another pid namespace)
 *   -errno */
static int lock_record(int fd, pid_t *ret_pid)
{
    for (;;) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_SETLK, &l) == 0)
            return 0;
        if (errno != EAGAIN && errno != EACCES)
            return -errno;
        if (fcntl(fd, F_GETLK, &l) < 0)
            return -errno;
        if (l.l_type != F_UNLCK) { /* otherwise that process has just ended */
            *ret_pid = l.l_pid > 0 ? l.l_pid : 0;
            return -EBUSY;
        }
    }
}

/* Takes the flock() that earlier versions take. Children hold it too until their exec, so
 * a lock whose pid in the file is dead, or this process, does not count. Returns 0;
 * -EBUSY with *ret_pid; -errno. */
static int lock_flock(int fd, pid_t *ret_pid)
{
    char text[32];
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return -errno;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    *ret_pid = atoi(text);
    bool lives = *ret_pid > 0 && *ret_pid != getpid() &&
                 (kill(*ret_pid, 0) == 0 || errno != ESRCH);
    return lives ? -EBUSY : 0;
}

static int take_lock(int fd, const char *dir, const char *path, pid_t *ret_holder,
                     struct volt_error *err)
{
    char text[32];
    pid_t pid = 0;
    int r = lock_record(fd, &pid);
    if (r == 0)
        r = lock_flock(fd, &pid);
    *ret_holder = r == -EBUSY ? pid : 0;
    if (r == -EBUSY && pid == 0)
        return error_set(err, r, "another voltd already uses %s", dir);
    if (r == -EBUSY)
        return error_set(err, r, "another voltd (pid %d) already uses %s", (int)pid, dir);
    int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (r == 0 && ftruncate(fd, 0) < 0)
        r = -errno;
    if (r == 0) {
        ssize_t n = pwrite(fd, text, (size_t)len, 0);
        r = n < 0 ? -errno : n != len ? -EIO : 0;
    }
    return r < 0 ? error_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

/* Refuses one directory for both: their locks would be the same file. */
static int prove_two(const struct paths *p, struct volt_error *err)
{
    struct stat runtime, state;
    if (stat(p->runtime_dir, &runtime) < 0 || stat(p->state_dir, &state) < 0)
        return error_set(err, -errno, "%s: %s", p->state_dir, strerror(errno));
    if (runtime.st_dev == state.st_dev && runtime.st_ino == state.st_ino)
        return error_set(err, -EINVAL, "the runtime and state directory are the same, %s",
                         p->state_dir);
    return 0;
}

/* Returns the descriptor of the locked file, or -errno. */
static int lock_dir(const char *dir, pid_t *ret_holder, struct volt_error *err)
{
    char path[PATH_MAX];
    int r = put(path, err, "%s/lock", dir);
    if (r < 0)
        return r;
    int fd = file_open_regular(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, NULL);
    if (fd < 0)
        return error_set(err, fd, "%s: %s", path, file_text(fd));
    r = take_lock(fd, dir, path, ret_holder, err);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}

int paths_claim(struct paths *p, struct volt_error *err)
{
    const char *const dirs[] = {p->runtime_dir, p->state_dir, p->record_dir,
                                p->output_dir};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        r = make_dir(dirs[i], err);
        if (r == 0)
            r = check_dir(dirs[i], err);
    }
    if (r == 0)
        r = resolve_dir(p->state_dir, err);
    if (r == 0 && strncmp(p->runtime_dir, "/tmp/voltd-", 11) == 0)
        r = address_check_dir(p->runtime_dir, err);
    if (r == 0)
        r = prove_two(p, err);
    if (r == 0)
        r = p->state_lock = lock_dir(p->state_dir, &p->holder, err);
    if (r >= 0)
        r = p->runtime_lock = lock_dir(p->runtime_dir, &p->holder, err);
    if (r < 0) {
        paths_fini(p);
        return r;
    }
    return 0;
}

void paths_fini(struct paths *p)
{
    if (p->runtime_lock >= 0)
        (void)close(p->runtime_lock);
    if (p->state_lock >= 0)
        (void)close(p->state_lock);
    p->runtime_lock = p->state_lock = -1;
}
