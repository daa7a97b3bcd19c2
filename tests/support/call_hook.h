/* As alloc_hook.h, with the system calls of the program: the n-th allocation or system call
 * that can fail does. For a file that is linked with WRAP_CALLS (Makefile).
 *
 * A call fails with an error of the moment, such as it can have (EMFILE, ENOBUFS, EIO): not
 * with one that says how things are. Or each is interrupted once, by turns, which is to change
 * nothing (hook_arm_interrupts). What libvolt wakes itself by is spared: eventfd(2),
 * timerfd(2) and what else has no type of file; futexes. */
#ifndef TESTS_SUPPORT_CALL_HOOK_H
#define TESTS_SUPPORT_CALL_HOOK_H

#include "tests/support/alloc_hook.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* From here on the n-th call that a signal can interrupt is; 0: none. */
__attribute__((unused)) static void hook_arm_interrupts(uint64_t n)
{
    hook_arm(0, false);
    vat_u32_store(&hook_interrupts, n > 0, VAT_RLX);
    hook_arm(n, false);
}

/* Whether this call fails, and how. is_slow: a signal can interrupt it. */
static bool hook_call_fails(int error, bool is_slow)
{
    const bool interrupts = vat_u32_load(&hook_interrupts, VAT_RLX);

    if ((interrupts && !is_slow) || !hook_hits(interrupts))
        return false;
    errno = interrupts ? EINTR : error;
    return true;
}

int __real_fstat(int fd, struct stat *st);

/* As the other; of a descriptor. */
static bool hook_io_fails(int fd, int error)
{
    const int before = errno;
    struct stat st;

    if (hook_spares)
        return false;
    bool has_type = __real_fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) != 0;
    errno = before;
    return has_type && hook_call_fails(error, true);
}

#define HOOK_CALL(error, slow, result, name, parameters, ...)                            \
    result __real_##name parameters;                                                     \
    result __wrap_##name parameters;                                                     \
    result __wrap_##name parameters                                                      \
    {                                                                                    \
        return hook_call_fails(error, slow) ? (result)-1 : __real_##name(__VA_ARGS__);   \
    }
#define HOOK_IO(error, result, name, parameters, ...)                                    \
    result __real_##name parameters;                                                     \
    result __wrap_##name parameters;                                                     \
    result __wrap_##name parameters                                                      \
    {                                                                                    \
        return hook_io_fails(fd, error) ? -1 : __real_##name(__VA_ARGS__);               \
    }
/* Those that return their error. */
#define HOOK_SPAWN(error, name, parameters, ...)                                         \
    int __real_##name parameters;                                                        \
    int __wrap_##name parameters;                                                        \
    int __wrap_##name parameters                                                         \
    {                                                                                    \
        return hook_call_fails(error, false) ? (error) : __real_##name(__VA_ARGS__);     \
    }

HOOK_CALL(EMFILE, false, int, socket, (int domain, int type, int protocol), domain, type,
          protocol)
HOOK_CALL(ENOBUFS, false, int, connect,
          (int fd, const struct sockaddr *to, socklen_t size), fd, to, size)
HOOK_CALL(ENOMEM, false, int, bind, (int fd, const struct sockaddr *at, socklen_t size),
          fd, at, size)
HOOK_CALL(ENOBUFS, false, int, listen, (int fd, int backlog), fd, backlog)
HOOK_CALL(EMFILE, true, int, accept4,
          (int fd, struct sockaddr *peer, socklen_t *size, int flags), fd, peer, size,
          flags)
HOOK_CALL(ENOBUFS, false, int, getsockopt,
          (int fd, int level, int name, void *value, socklen_t *size), fd, level, name,
          value, size)
HOOK_CALL(EMFILE, true, int, open, (const char *path, int flags, mode_t mode), path,
          flags, mode)
HOOK_CALL(EMFILE, true, int, openat, (int dir, const char *path, int flags, mode_t mode),
          dir, path, flags, mode)
HOOK_CALL(ENOLCK, false, int, fcntl, (int fd, int op, long arg), fd, op, arg)
HOOK_CALL(EIO, false, int, fstat, (int fd, struct stat *st), fd, st)
HOOK_CALL(EIO, false, int, unlink, (const char *path), path)
HOOK_CALL(EIO, false, int, fchmod, (int fd, mode_t mode), fd, mode)
HOOK_CALL(ENOMEM, true, int, poll, (struct pollfd * fds, nfds_t n, int timeout), fds, n,
          timeout)
HOOK_CALL(EMFILE, false, int, signalfd, (int fd, const sigset_t *set, int flags), fd, set,
          flags)
HOOK_CALL(EMFILE, false, int, inotify_init1, (int flags), flags)
HOOK_CALL(ENOSPC, false, int, inotify_add_watch,
          (int fd, const char *path, uint32_t mask), fd, path, mask)
HOOK_CALL(EPERM, false, int, getrlimit, (__rlimit_resource_t what, struct rlimit *limit),
          what, limit)
HOOK_IO(EIO, ssize_t, read, (int fd, void *to, size_t n), fd, to, n)
HOOK_IO(ENOSPC, ssize_t, write, (int fd, const void *from, size_t n), fd, from, n)
HOOK_IO(EIO, ssize_t, pread, (int fd, void *to, size_t n, off_t at), fd, to, n, at)
HOOK_IO(EIO, ssize_t, preadv2,
        (int fd, const struct iovec *to, int n, off_t at, int flags), fd, to, n, at,
        flags)
HOOK_IO(ENOMEM, ssize_t, recv, (int fd, void *to, size_t n, int flags), fd, to, n, flags)
HOOK_IO(ENOBUFS, ssize_t, send, (int fd, const void *from, size_t n, int flags), fd, from,
        n, flags)
HOOK_IO(ENOMEM, ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), fd, m, flags)
HOOK_IO(ENOBUFS, ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), fd, m,
        flags)
HOOK_CALL(EIO, false, int, fsync, (int fd), fd)
HOOK_CALL(EIO, false, int, fdatasync, (int fd), fd)
HOOK_CALL(EIO, false, int, ftruncate, (int fd, off_t size), fd, size)
HOOK_CALL(EIO, false, int, rename, (const char *from, const char *to), from, to)
HOOK_CALL(EIO, false, int, renameat,
          (int from_dir, const char *from, int to_dir, const char *to), from_dir, from,
          to_dir, to)
HOOK_CALL(EIO, false, int, unlinkat, (int dir, const char *path, int flags), dir, path,
          flags)
HOOK_IO(ENOSPC, ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), fd, from,
        n, at)
HOOK_SPAWN(ENOSPC, posix_fallocate, (int fd, off_t at, off_t n), fd, at, n)
HOOK_SPAWN(EAGAIN, posix_spawn,
           (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
            const posix_spawnattr_t *attr, char *const argv[], char *const env[]),
           ret, path, actions, attr, argv, env)
HOOK_SPAWN(ENOMEM, posix_spawn_file_actions_init, (posix_spawn_file_actions_t * actions),
           actions)
HOOK_SPAWN(ENOMEM, posix_spawn_file_actions_adddup2,
           (posix_spawn_file_actions_t * actions, int fd, int as), actions, fd, as)
HOOK_SPAWN(ENOMEM, posix_spawnattr_init, (posix_spawnattr_t * attr), attr)

HOOK(long, syscall, long n, long a, long b, long c, long d, long e, long f)
{
    const bool can_fail = n == SYS_pidfd_open || n == SYS_openat2;

    return can_fail && hook_call_fails(EMFILE, false)
               ? -1
               : __real_syscall(n, a, b, c, d, e, f);
}

HOOK(DIR *, opendir, const char *path)
{
    return hook_call_fails(EMFILE, false) ? NULL : __real_opendir(path);
}

HOOK(char *, strdup, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

HOOK(void *, reallocarray, void *old, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        return __real_reallocarray(old, n, size);
    return __wrap_realloc(old, bytes);
}

/* The values of jansson, a shared library, come through the hooks as well. */
__attribute__((unused)) static void hook_begin_json(void)
{
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
}

#endif
