/* See activated.h. */
#include "daemon/keeper/activated.h"
#include "daemon/keeper/cgroup.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define REST_FIRST 1000000 /* ns between two looks; doubles each time */
#define REST_LAST  64000000

bool activated_has_socket(void)
{
    char pid[16];
    const char *for_pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    return for_pid != NULL && strcmp(for_pid, pid) == 0 && fds != NULL &&
           strcmp(fds, "1") == 0;
}

int activated_peer(int listen_fd, uid_t *ret)
{
    struct sockaddr_un a = {.sun_family = AF_UNSPEC};
    socklen_t size = sizeof(a) - 1; /* leaves room for the NUL of the path */
    struct stat st;
    if (getsockname(listen_fd, (struct sockaddr *)&a, &size) < 0)
        return -errno;
    if (a.sun_family != AF_UNIX || a.sun_path[0] != '/')
        return -EAFNOSUPPORT;
    if (stat(a.sun_path, &st) < 0)
        return -errno;
    *ret = st.st_uid;
    return 0;
}

int activated_tell_ready(void)
{
    static const char ready[] = "READY=1";
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    const size_t len = path != NULL ? strlen(path) : 0;
    if (len == 0)
        return 0;
    if (len >= sizeof(a.sun_path))
        return -ENAMETOOLONG;
    memcpy(a.sun_path, path, len);
    if (path[0] == '@')
        a.sun_path[0] = '\0'; /* abstract socket */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t n = sendto(fd, ready, sizeof(ready) - 1, MSG_NOSIGNAL,
                       (const struct sockaddr *)&a, size);
    int r = n < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* Returns whether the path of the caller's cgroup ends with `place`: 1, 0 or -errno. */
static int is_in(const char *place)
{
    char own[CGROUP_PATH_MAX];
    const size_t n = strlen(place);
    int r = cgroup_own(own);
    if (r == -ENODATA)
        return 0;
    const size_t len = r < 0 ? 0 : strlen(own);
    return r < 0 ? r : len >= n && strcmp(own + len - n, place) == 0;
}

int activated_await_place(uid_t uid)
{
    char place[64];
    struct timespec rest = {.tv_nsec = REST_FIRST};
    int r;
    (void)snprintf(place, sizeof(place), "/voltd-jobs@%u.service/keeper", (unsigned)uid);
    while ((r = is_in(place)) == 0) {
        (void)nanosleep(&rest, NULL);
        if (rest.tv_nsec < REST_LAST)
            rest.tv_nsec *= 2;
    }
    return r < 0 ? r : 0;
}
