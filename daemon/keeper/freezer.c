/* See freezer.h. */
#include "daemon/keeper/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A file. */
struct text {
    char s[FREEZER_PATH_MAX + 1];
};

/* The name of one. */
struct path {
    char s[2 * FREEZER_PATH_MAX];
};

struct freezer_name freezer_name(const uint8_t owner[static RECORD_ID_SIZE],
                                 const struct job_key *key)
{
    char record[JOB_KEY_TEXT_MAX];
    struct freezer_name name;
    char *at = stpcpy(name.text, "volt-");
    for (size_t i = 0; i < RECORD_ID_SIZE; i++)
        at += snprintf(at, sizeof("ff"), "%02x", owner[i]);
    (void)job_key_format(key, record);
    (void)stpcpy(stpcpy(at, "-"), record);
    return name;
}

/* --- files -------------------------------------------------------------------------- */

static int open_in(int dir_fd, const char *name, const char *file, int flags)
{
    struct path path;
    (void)snprintf(path.s, sizeof(path.s), "%s/%s", name, file);
    return openat(dir_fd, path.s, flags | O_CLOEXEC);
}

/* As far as it fits into what is empty. Whether it can be read. */
static bool read_text(int fd, struct text *empty)
{
    return pread(fd, empty->s, FREEZER_PATH_MAX, 0) >= 0;
}

static bool write_text(int fd, const char *text)
{
    const size_t n = strlen(text);
    return write(fd, text, n) == (ssize_t)n;
}

static bool write_in(int dir_fd, const char *name, const char *file, const char *text)
{
    int fd = open_in(dir_fd, name, file, O_WRONLY);
    if (fd == -1)
        return false;
    bool good = write_text(fd, text);
    (void)close(fd);
    return good;
}

/* The path of a process in the v2 hierarchy, below its mount, into what is empty: "" is
 * the root. 0; -ESRCH: it has gone; -ENODATA: it is in none, or in one that is too far
 * down; -errno. */
static int path_of(const struct freezer *f, pid_t pid,
                   char empty[static FREEZER_PATH_MAX])
{
    struct text text = {.s = ""};
    struct path path;
    (void)snprintf(path.s, sizeof(path.s), "%s/%d/cgroup", f->proc, (int)pid);
    int fd = open(path.s, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return errno == ENOENT ? -ESRCH : -errno;
    const int r = read_text(fd, &text) ? 0 : -errno;
    (void)close(fd);
    if (r != 0)
        return r;
    const char *line = text.s;
    while (line != NULL && strncmp(line, "0::/", strlen("0::/")) != 0) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + strlen("\n");
    }
    const char *end = line == NULL ? NULL : strchr(line, '\n');
    if (end == NULL)
        return -ENODATA;
    line += strlen("0::");
    if (end == line + strlen("/"))
        line = end;
    memcpy(empty, line, (size_t)(end - line));
    return 0;
}

/* What follows this cgroup in the path: "", or it begins with '/'. NULL: it is elsewhere.
 */
static const char *below(const char *path, const char *cgroup)
{
    const size_t n = strlen(cgroup);
    const bool is = strncmp(path, cgroup, n) == 0 && (path[n] == '\0' || path[n] == '/');
    return is ? path + n : NULL;
}

/* --- the delegated cgroup ----------------------------------------------------------- */

static bool is_marked(int fd)
{
    char mark = '0';
    if (fgetxattr(fd, "user.delegate", &mark, sizeof(mark)) != sizeof(mark))
        (void)fgetxattr(fd, "trusted.delegate", &mark, sizeof(mark));
    return mark == '1';
}

/* The parent's mark is that of a unit in which the keeper has a cgroup of its own. */
static bool is_parent_marked(int fd)
{
    int parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool marked = parent != -1 && is_marked(parent);
    if (parent != -1)
        (void)close(parent);
    return marked;
}

/* That it may be written says little: root may write anywhere. */
static bool is_delegated(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
        return false;
    return (is_marked(fd) || is_parent_marked(fd)) &&
           faccessat(fd, "cgroup.procs", W_OK, 0) == 0;
}

void freezer_init(struct freezer *ret, const char *proc, const char *mount)
{
    struct path path;
    *ret = (struct freezer){.proc = proc, .mount = mount, .dir_fd = -1};
    if (path_of(ret, getpid(), ret->path) != 0)
        return;
    (void)snprintf(path.s, sizeof(path.s), "%s%s", mount, ret->path);
    int fd = open(path.s, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return;
    if (is_delegated(fd))
        ret->dir_fd = fd;
    else
        (void)close(fd);
}

/* --- frozen ------------------------------------------------------------------------- */

struct move {
    const struct freezer *f;
    const char *name;
    int procs_fd;
    uint64_t deadline; /* nobody is moved after it */
    uint32_t inside;   /* so many, by the latest walk; */
    bool outside;      /* and whether there is somebody else */
    bool refused;
};

/* Somebody outside is moved: whether it stays there the next walk says. */
static void move_one(pid_t pid, void *arg)
{
    struct move *m = arg;
    char path[FREEZER_PATH_MAX] = "", text[sizeof("-2147483648")];
    const int r = m->refused ? -ESRCH : path_of(m->f, pid, path);
    const char *rest = r == 0 ? below(path, m->f->path) : NULL;
    if (r == -ESRCH)
        return;
    if (rest != NULL && *rest == '/' && below(rest + strlen("/"), m->name) != NULL) {
        m->inside++;
        return;
    }
    m->outside = true;
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    m->refused = rest == NULL || *rest != '\0' || mono_usec() >= m->deadline ||
                 (!write_text(m->procs_fd, text) && errno != ESRCH);
}

/* Until a walk finds nobody outside. */
static bool move_all(const struct tree_root *root, struct move *m)
{
    do {
        m->inside = 0;
        m->outside = false;
        tree_each(root, move_one, m);
    } while (m->outside && !m->refused);
    return !m->refused;
}

/* Whether it says so in time. */
static bool await_frozen(int fd, uint64_t deadline)
{
    for (;;) {
        struct text text = {.s = ""};
        if (!read_text(fd, &text))
            return false;
        const uint64_t now = mono_usec();
        if (strstr(text.s, "frozen 1") != NULL)
            return true;
        if (now >= deadline)
            return false;
        struct pollfd events = {.fd = fd, .events = POLLPRI};
        (void)poll(&events, 1, (int)((deadline - now + 999) / 1000));
    }
}

uint32_t freezer_holds(const struct freezer *f, const struct freezer_name *name,
                       const struct tree_root *root)
{
    struct move m = {.f = f, .name = name->text}; /* it is too late to move anybody */
    int events = open_in(f->dir_fd, name->text, "cgroup.events", O_RDONLY);
    if (events == -1)
        return 0;
    const bool holds = await_frozen(events, m.deadline) && move_all(root, &m);
    (void)close(events);
    return holds ? m.inside : 0;
}

static bool freeze(const struct freezer *f, const char *name, int events_fd,
                   const struct tree_root *root, uint64_t deadline)
{
    struct move m = {.f = f, .name = name, .deadline = deadline};
    m.procs_fd = open_in(f->dir_fd, name, "cgroup.procs", O_WRONLY);
    if (m.procs_fd == -1)
        return false;
    const bool good = move_all(root, &m) &&
                      write_in(f->dir_fd, name, "cgroup.freeze", "1") &&
                      await_frozen(events_fd, deadline) && move_all(root, &m) &&
                      await_frozen(events_fd, deadline);
    (void)close(m.procs_fd);
    return good;
}

/* Whether it has no name any more. */
static bool is_gone(int record_fd)
{
    struct stat st;
    return fstat(record_fd, &st) < 0 || st.st_nlink == 0;
}

bool freezer_freeze(const struct freezer *f, const struct freezer_name *name,
                    int record_fd, const struct tree_root *root, uint64_t limit_usec)
{
    const uint64_t deadline = mono_usec() + limit_usec;
    (void)mkdirat(f->dir_fd, name->text, 0755); /* it may be there */
    int events = open_in(f->dir_fd, name->text, "cgroup.events", O_RDONLY);
    if (events == -1)
        return false;
    /* A removal in between may have come too early to thaw it. */
    const bool frozen =
        freeze(f, name->text, events, root, deadline) && !is_gone(record_fd);
    (void)close(events);
    if (frozen)
        (void)tree_signal(root, SIGCONT);
    else
        (void)write_in(f->dir_fd, name->text, "cgroup.freeze", "0");
    return frozen;
}

void freezer_thaw(const struct freezer *f, const struct freezer_name *name, pid_t main)
{
    char path[FREEZER_PATH_MAX] = "";
    struct text full; /* one that is too long cannot be opened */
    if (write_in(f->dir_fd, name->text, "cgroup.freeze", "0") ||
        path_of(f, main, path) != 0)
        return;
    for (char *at = path; (at = strchr(at, '/')) != NULL;) {
        const char *rest = below(++at, name->text);
        if (rest == NULL)
            continue;
        (void)snprintf(full.s, sizeof(full.s), "%s%.*s", f->mount, (int)(rest - path),
                       path);
        (void)write_in(AT_FDCWD, full.s, "cgroup.freeze", "0");
        return;
    }
}

void freezer_remove(const struct freezer *f, const struct freezer_name *name)
{
    if (unlinkat(f->dir_fd, name->text, AT_REMOVEDIR) == -1)
        (void)write_in(f->dir_fd, name->text, "cgroup.freeze", "0");
}
