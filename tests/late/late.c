/* Preloaded into every program (tests/tools/late): what a process does that another may wait for
 * comes late, now and then: its start and its exec, a fork, a write, a sync, a message, a wait, its
 * end. Mostly by up to 40 ms, one time in ten by up to 200: as on a machine with other work. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LATE_MSEC = 40, LATER_MSEC = 200 };

static uint64_t draw(uint64_t below)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (((uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % below;
}

/* In so many of a hundred calls. What waits here is not to be interrupted: signals are for who
 * called. */
static void late(unsigned percent)
{
    const int before = errno;

    if (draw(100) < percent) {
        const uint64_t most = draw(10) == 0 ? LATER_MSEC : LATE_MSEC;
        struct timespec left = {.tv_nsec = (long)draw(most * 1000000)};
        while (nanosleep(&left, &left) < 0 && errno == EINTR)
            ;
    }
    errno = before;
}

/* The function of that name behind this one, as `real`. */
#define REAL(name)                                                                       \
    static __typeof__(name) *real;                                                       \
    if (real == NULL)                                                                    \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
    late(30);
}

pid_t fork(void)
{
    REAL(fork);
    late(10);
    pid_t pid = real();
    if (pid == 0)
        late(30);
    return pid;
}

/* The child must not sleep on its parent's stack. */
pid_t vfork(void)
{
    return fork();
}

int execve(const char *path, char *const argv[], char *const env[])
{
    REAL(execve);
    late(30);
    return real(path, argv, env);
}

int fsync(int fd)
{
    REAL(fsync);
    late(30);
    return real(fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    late(30);
    return real(fd);
}

ssize_t write(int fd, const void *data, size_t n)
{
    REAL(write);
    late(4);
    return real(fd, data, n);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    REAL(sendmsg);
    late(4);
    return real(fd, message, flags);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    REAL(waitpid);
    late(10);
    return real(pid, status, options);
}

void _exit(int status)
{
    REAL(_exit);
    late(30);
    real(status);
    __builtin_unreachable();
}
