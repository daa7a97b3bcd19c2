/* Addresses of voltd's sockets; see address.h. */
#include "wire/address.h"
#include "base/error.h"
#include "wire/accounts.h"
#include "wire/user_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char system_dir[] = "/run/voltd";

_Static_assert(sizeof(((struct sockaddr_un *)NULL)->sun_path) == ADDRESS_PATH_MAX + 1,
               "a path and its NUL fill sun_path");

static const char *socket_name(enum address_endpoint which)
{
    return which == ADDRESS_CONTROL ? "control.sock" : "voltd.sock";
}

/* Writes the directory to use without XDG_RUNTIME_DIR. */
static void tmp_dir(char *buf, size_t size)
{
    (void)snprintf(buf, size, "/tmp/voltd-%u", (unsigned)getuid());
}

static int join(const char *dir, size_t dir_len, const char *name, struct address *ret,
                struct volt_error *err)
{
    if (dir_len + strlen(name) > ADDRESS_PATH_MAX)
        return error_set(err, -ENAMETOOLONG,
                         "the socket path %.*s%s has %zu bytes, and only %d are possible",
                         (int)(dir_len < 120 ? dir_len : 120), dir, name,
                         dir_len + strlen(name), ADDRESS_PATH_MAX);
    struct address a;
    memcpy(a.path, dir, dir_len);
    strcpy(a.path + dir_len, name);
    *ret = a;
    return 0;
}

int address_parse(const char *text, struct address *ret, struct volt_error *err)
{
    const char *path = text;
    if (strncmp(text, "unix:", 5) == 0)
        path = text + 5;
    else if (strchr(text, ':') && text[0] != '/' && text[0] != '.')
        return error_set(err, -EINVAL,
                         "the address %.120s is neither unix:PATH nor a path", text);
    if (!*path)
        return error_set(err, -EINVAL, "the address %.120s names no socket", text);
    if (*path == '@')
        return error_set(err, -EINVAL, "the address %.120s is abstract; a path is needed",
                         text);
    return join(path, strlen(path), "", ret, err);
}

int address_user_dir(char *buf, size_t size)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char dir[64];
    tmp_dir(dir, sizeof(dir));
    int n = xdg && *xdg == '/' && !user_is_anothers(xdg) ? snprintf(buf, size, "%s/voltd", xdg)
                               : snprintf(buf, size, "%s", dir);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int address_check_dir(const char *dir, struct volt_error *err)
{
    int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;
        return error_set(err, code, "%s: %s", dir, strerror(-code));
    }
    struct stat st;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    (void)close(fd);
    if (r < 0)
        return error_set(err, r, "%s: %s", dir, strerror(-r));
    if (st.st_uid != geteuid())
        return error_set(err, -EPERM, "%s belongs to user %u and is not trusted", dir,
                         (unsigned)st.st_uid);
    if (st.st_mode & 077)
        return error_set(err, -EPERM,
                         "%s is open to others (mode %04o) and is not trusted", dir,
                         (unsigned)(st.st_mode & 07777));
    return 0;
}

static int candidate(enum address_scope scope, enum address_endpoint which,
                     struct address *ret, struct volt_error *err)
{
    char dir[512];
    if (scope == ADDRESS_SYSTEM)
        (void)snprintf(dir, sizeof(dir), "%s/", system_dir);
    else if (address_user_dir(dir, sizeof(dir) - 1) < 0)
        return error_set(err, -ENAMETOOLONG,
                         "XDG_RUNTIME_DIR is too long for a socket path");
    else
        strcat(dir, "/");
    return join(dir, strlen(dir), socket_name(which), ret, err);
}

/* Reads the socket in the directory that the user's voltd has linked; false without a
 * link. */
static bool linked(enum address_endpoint which, struct address *ret)
{
    char dir[ADDRESS_PATH_MAX + 1];
    if (user_link_read(dir, sizeof(dir) - 1) < 0)
        return false;
    strcat(dir, "/");
    return join(dir, strlen(dir), socket_name(which), ret, NULL) == 0;
}

static bool same(const struct address *a, const struct address *b)
{
    return strcmp(a->path, b->path) == 0;
}

int address_candidates(const struct address_choice *choice, enum address_endpoint which,
                       struct address list[static ADDRESS_CANDIDATES],
                       struct volt_error *err)
{
    if (choice->admin)
        which = ADDRESS_CONTROL;
    if (which == ADDRESS_CONTROL && choice->control) {
        int r = address_parse(choice->control, &list[0], err);
        return r < 0 ? r : 1;
    }
    if (choice->jobs) {
        int r = address_parse(choice->jobs, &list[0], err);
        if (r == 0 && which == ADDRESS_CONTROL) {
            struct address jobs = list[0];
            const char *slash = strrchr(jobs.path, '/');
            r = join(jobs.path, slash ? (size_t)(slash + 1 - jobs.path) : 0,
                     socket_name(which), &list[0], err);
        }
        return r < 0 ? r : 1;
    }
    int n = 0, r = 0;
    if (choice->scope != ADDRESS_SYSTEM) {
        r = candidate(ADDRESS_USER, which, &list[n], err);
        if (r == 0)
            n++;
        if (linked(which, &list[n]) && (n == 0 || !same(&list[0], &list[1])))
            n++;
    }
    if (choice->scope != ADDRESS_USER) {
        r = candidate(ADDRESS_SYSTEM, which, &list[n], err);
        if (r == 0)
            n++;
    }
    return n > 0 ? n : r;
}

bool address_is_system(const struct address *address)
{
    const size_t len = sizeof(system_dir) - 1;
    return strncmp(address->path, system_dir, len) == 0 && address->path[len] == '/' &&
           !strchr(address->path + len + 1, '/');
}

/* Writes who may connect to the socket, and how to become such a user. */
static void explain_refusal(const char *path, char *buf, size_t size)
{
    char user[48], group[48];
    struct stat st;
    bool member;

    if (stat(path, &st) < 0 || !(st.st_mode & S_IWGRP) || st.st_gid == 0) {
        (void)snprintf(buf, size, "permission denied: it is for another user");
        return;
    }
    const bool named = accounts_user(geteuid(), user, sizeof(user));
    (void)accounts_group(st.st_gid, user, group, sizeof(group), &member);
    if (member)
        (void)snprintf(buf, size,
                       "permission denied: %s has become a member of group %s since this "
                       "login: log in again",
                       user, group);
    else
        (void)snprintf(buf, size,
                       "permission denied: %s%s is not in group %s (an administrator: "
                       "adduser %s %s; then log in again)",
                       named ? "" : "user ", user, group, named ? user : "USER", group);
}

/* Writes for people why connect() failed. */
static void explain(const char *path, int code, char *buf, size_t size)
{
    const bool refused = code == -EACCES || code == -ECONNREFUSED;
    struct stat st;

    if (refused && stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        (void)snprintf(buf, size, "it is no socket");
    else if (code == -EACCES)
        explain_refusal(path, buf, size);
    else
        (void)snprintf(buf, size, "%s",
                       code == -ECONNREFUSED
                           ? "nobody listens on this socket (voltd has ended)"
                           : strerror(-code));
}

int address_connect(const struct address *address, struct volt_error *err)
{
    char tmp[64];
    tmp_dir(tmp, sizeof(tmp));
    size_t len = strlen(tmp);
    if (strncmp(address->path, tmp, len) == 0 && address->path[len] == '/') {
        int r = address_check_dir(tmp, err);
        if (r == -ENOENT)
            return error_set(err, r, "%s: %s", address->path, strerror(ENOENT));
        if (r < 0)
            return r;
    }
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    memcpy(sa.sun_path, address->path, sizeof(sa.sun_path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        int code = -errno;
        return error_set(err, code, "socket: %s", strerror(-code));
    }
    if (connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0) {
        int code = -errno;
        char why[384];
        (void)close(fd);
        explain(address->path, code, why, sizeof(why));
        return error_set(err, code, "%s: %s", address->path, why);
    }
    return fd;
}
