/* See keeper_dial.h. */
#include "daemon/link/keeper_dial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/file.h"
#include "daemon/keeper/keeper.h"
#include "daemon/keeper/tree.h"

#define RETIRE_TIMEOUT_MS 10000

static int fill_address(const char *path, struct sockaddr_un *ret)
{
    size_t len = strlen(path);
    memset(ret, 0, sizeof(*ret));
    ret->sun_family = AF_UNIX;
    if (len >= sizeof(ret->sun_path))
        return -ENAMETOOLONG;
    memcpy(ret->sun_path, path, len);
    return 0;
}

static int new_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

int keeper_dial(const char *socket_path)
{
    struct sockaddr_un a;
    int r = fill_address(socket_path, &a);
    int fd = r < 0 ? r : new_socket();
    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
        r = -errno;
        (void)close(fd);
        return r;
    }
    return fd;
}

/* Returns whether the pid is a keeper. Keepers of earlier versions did not listen again:
 * for them SO_PEERCRED has the pid of a voltd, or of a later process with its pid. */
static bool is_keeper(pid_t pid)
{
    static const char name[] = "voltd-keeper\n";
    char path[32], text[sizeof(name)];
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, 0, NULL);
    if (fd < 0)
        return false;
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, text, sizeof(text)));
    (void)close(fd);
    return n == sizeof(name) - 1 && memcmp(text, name, sizeof(name) - 1) == 0;
}

/* Returns the pid that listens at the other end, perhaps not a keeper's; 0: unknown. */
static pid_t pid_behind(int fd)
{
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);

    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.pid;
}

/* Signals a keeper that is stopped. Checks it after pidfd_open(), so never signals a
 * later process with its pid. */
static bool signal_stopped(pid_t pid, int sig)
{
    struct proc proc;
    int pidfd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd < 0)
        return false;
    bool done = is_keeper(pid) && proc_read(pid, &proc) == 0 && proc.stopped &&
                syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) == 0;
    (void)close(pidfd);
    return done;
}

void keeper_continue(pid_t pid)
{
    (void)signal_stopped(pid, SIGCONT); /* fails for another user's */
}

void keeper_continue_behind(int fd)
{
    keeper_continue(pid_behind(fd));
}

pid_t keeper_kill_stopped(int fd)
{
    pid_t pid = pid_behind(fd);
    return signal_stopped(pid, SIGKILL) ? pid : 0;
}

/* Returns whether the OOM killer spares this process. */
static bool is_spared(void)
{
    char first;
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    bool spared = fd >= 0 && TEMP_FAILURE_RETRY(read(fd, &first, 1)) == 1 && first == '-';
    if (fd >= 0)
        (void)close(fd);
    return spared;
}

/* Starts a keeper, with
 *   - the socket
 *   - its oom_score_adj, opened before exec: if its program cannot be read, as it is
 *     installed, the process is not dumpable from then on, and the file is root's
 *   - standard error, for messages at its start
 *   - a session of its own, so that voltd's terminal does not affect it */
static int spawn_on(int listen_fd, const char *program, const char *scripts_dir,
                    pid_t *ret)
{
    static char option[] = "--spared";
    const bool spared = is_spared();
    char *scripts = NULL, *argv[4] = {strdup(program)};
    size_t argc = 1;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int r = argv[0] == NULL ? -ENOMEM : 0;
    if (r == 0 && scripts_dir != NULL &&
        asprintf(&scripts, "--scripts=%s", scripts_dir) < 0)
        r = -ENOMEM;
    if (r < 0)
        goto out;
    if (scripts != NULL)
        argv[argc++] = scripts;
    if (spared)
        argv[argc++] = option;
    r = -posix_spawn_file_actions_init(&actions);
    if (r < 0)
        goto out;
    r = -posix_spawnattr_init(&attr);
    if (r < 0)
        goto out_actions;
    r = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
    if (r == 0)
        r = -posix_spawn_file_actions_adddup2(&actions, listen_fd, KEEPER_LISTEN_FD);
    if (r == 0 && spared)
        r = -posix_spawn_file_actions_addopen(&actions, KEEPER_SCORE_FD,
                                              "/proc/self/oom_score_adj", O_RDWR, 0);
    if (r == 0)
        r = -posix_spawn(ret, program, &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
out_actions:
    (void)posix_spawn_file_actions_destroy(&actions);
out:
    free(argv[0]);
    free(scripts);
    return r;
}

int keeper_spawn(const char *socket_path, const char *program, const char *scripts_dir,
                 pid_t *ret_pid)
{
    struct sockaddr_un a;
    int r = fill_address(socket_path, &a);
    int fd = r < 0 ? r : new_socket();
    if (fd < 0)
        return fd;
    if (unlink(socket_path) < 0 && errno != ENOENT)
        r = -errno;
    /* The socket's file gets this mode, so no other user can connect. */
    if (r == 0 && fchmod(fd, 0600) < 0)
        r = -errno;
    if (r == 0 && bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
        r = -errno;
    if (r == 0 && listen(fd, KEEPER_BACKLOG) < 0)
        r = -errno;
    if (r == 0)
        r = spawn_on(fd, program, scripts_dir, ret_pid);
    /* Only the keeper listens, so connecting fails after its end. */
    (void)close(fd);
    return r;
}

int keeper_say_hello(int fd, uint64_t serial)
{
    struct keeper_hello m = {
        .head = {KEEPER_MAGIC, KEEPER_HELLO, serial},
        .version = KEEPER_VERSION,
        .pid = (uint32_t)getpid(),
    };
    ssize_t n = TEMP_FAILURE_RETRY(send(fd, &m, sizeof(m), MSG_NOSIGNAL));
    return n < 0 ? -errno : 0;
}

int keeper_take_welcome(const union keeper_message *m, ssize_t n)
{
    if (n <= 0)
        return n < 0 ? (int)n : -ECONNRESET;
    if (!keeper_answer_is_valid(m, (size_t)n, 0) || m->head.op != KEEPER_WELCOME)
        return -EBADMSG;
    return m->welcome.status;
}

int keeper_retire(pid_t pid)
{
    struct pollfd gone = {-1, POLLIN, 0};
    if (pid <= 1)
        return -EBADMSG;
    gone.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (gone.fd < 0)
        return errno == ESRCH ? 0 : -errno;
    int r = syscall(SYS_pidfd_send_signal, gone.fd, SIGTERM, NULL, 0) < 0 ? -errno : 0;
    while (r == 0 && gone.revents == 0) {
        int n = poll(&gone, 1, RETIRE_TIMEOUT_MS);
        if (n == 0)
            r = -ETIMEDOUT;
        else if (n < 0 && errno != EINTR)
            r = -errno;
    }
    (void)close(gone.fd);
    return r == -ESRCH ? 0 : r;
}
