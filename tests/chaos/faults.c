/* Preloaded into voltd and voltd-keeper: makes calls fail on command.
 *
 * The command lies in a file that the test maps as well (VOLT_FAULTS names it; faults.py
 * writes it), so that faults are armed and looked at while the processes run. A rule
 * counts down over the calls of one role; the call that reaches 0 fails with the rule's
 * errno, or one in `every` calls, or reads and writes move one byte, or calls take longer
 * or do not return until the rule goes, or the clock of the day is elsewhere; or whoever
 * makes the call is killed there, or its parent is. Roles: voltd; the keeper; a killer,
 * which signals, is a fork of the keeper, and so is a shim, which gives itself a name
 * first; the child is a fork of a shim. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum role { ROLE_VOLTD, ROLE_KEEPER, ROLE_SHIM, ROLE_CHILD, ROLE_KILLER };
enum mode { MODE_OFF, MODE_NTH, MODE_RATE, MODE_SHORT, MODE_DELAY, MODE_STUCK, MODE_DIE };

/* In the order of faults.py. */
enum group {
    GROUP_FILE = 1,    /* open, rename, unlink, stat, lock ... */
    GROUP_IO = 2,      /* read, write, send, receive */
    GROUP_SYNC = 4,    /* fsync, fdatasync, fallocate, ftruncate */
    GROUP_PROCESS = 8, /* fork, pipe, wait, prctl, setsid, dup, exec ... */
    GROUP_MEMORY = 16, /* malloc and friends, mmap */
    GROUP_SLOW = 32,   /* those that a signal may interrupt */
    GROUP_DISK = 64,   /* those that need room on a disk */
    GROUP_WATCH = 128, /* inotify instances, of which a user has few */
    GROUP_FLUSH = 256, /* fsync and fdatasync alone */
    GROUP_BIRTH = 512, /* fork and clone alone */
    GROUP_READ = 1024, /* reads of files at an offset: nothing of them is in memory */
    GROUP_FIND = 2048, /* opening a file that is there */
};

struct rule {
    _Atomic uint32_t mode; /* enum mode */
    uint32_t roles;        /* bit per role */
    uint32_t groups;
    uint32_t error;       /* MODE_DIE: 1 for the parent */
    _Atomic int64_t left; /* calls until it fails, then negative; MODE_DELAY: ns */
    uint32_t every;       /* but for MODE_NTH: one call in so many; 0: as MODE_NTH */
    _Atomic uint32_t fired;
    uint32_t pid;  /* who was hit last */
    char name[28]; /* in which call */
};

struct command {
    _Atomic int64_t clock_usec; /* added to the time of day */
    _Atomic uint32_t random;
    uint32_t zero;
    struct rule rules[4];
};

static struct command *command;
static enum role role;
static pid_t parent; /* as long as it lives */

#define REAL(name)                                                                       \
    static __typeof__(name) *real;                                                       \
    if (real == NULL)                                                                    \
    real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("VOLT_FAULTS");
    int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    void *(*real_mmap)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap");
    int fd = path ? real_open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *map =
        real_mmap(NULL, sizeof(*command), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    role = strcmp(program_invocation_short_name, "voltd") == 0 ? ROLE_VOLTD : ROLE_KEEPER;
    if (map != MAP_FAILED)
        command = map;
}

static uint32_t draw(void)
{
    uint32_t x = atomic_fetch_add(&command->random, 2654435761u) + 1;
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

static void note(struct rule *r, const char *name)
{
    r->pid = (uint32_t)getpid();
    /* Whoever is last is named; a sanitizer would take a call for a race of the
     * daemon. */
    volatile char *to = r->name;
    for (size_t i = 0; i < sizeof(r->name) - 1 && (to[i] = name[i]) != '\0'; i++)
        ;
    atomic_fetch_add(&r->fired, 1);
}

static void kill_here(bool its_parent)
{
    if (!its_parent)
        (void)kill(getpid(), SIGKILL);
    else if (getppid() == parent)
        (void)kill(parent, SIGKILL);
}

/* Whether this call is to fail; errno says how. */
static int hit(const char *name, uint32_t groups)
{
    if (command == NULL)
        return 0;
    for (size_t i = 0; i < sizeof(command->rules) / sizeof(command->rules[0]); i++) {
        struct rule *r = &command->rules[i];
        uint32_t mode = atomic_load(&r->mode);
        if (mode == MODE_OFF || mode == MODE_SHORT || !(r->roles & 1u << role) ||
            !(r->groups & groups))
            continue;
        if (mode == MODE_DELAY) {
            note(r, name);
            (void)nanosleep(&(struct timespec){.tv_nsec = r->left}, NULL);
            continue;
        }
        if (mode == MODE_STUCK) {
            note(r, name);
            while (atomic_load(&r->mode) == MODE_STUCK)
                (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            continue;
        }
        if (mode == MODE_NTH || r->every == 0 ? atomic_fetch_sub(&r->left, 1) != 1
                                              : draw() % r->every != 0)
            continue;
        note(r, name);
        if (mode == MODE_DIE) {
            kill_here(r->error != 0);
            continue;
        }
        errno = (int)r->error;
        return 1;
    }
    return 0;
}

/* Whether such calls are armed. */
static int is_cold(uint32_t group)
{
    for (size_t i = 0; command != NULL && i < 4; i++) {
        const struct rule *r = &command->rules[i];
        if (atomic_load(&r->mode) != MODE_OFF && r->roles & 1u << role &&
            r->groups & group)
            return 1;
    }
    return 0;
}

/* How many of n bytes this call may move. */
static size_t portion(const char *name, size_t n)
{
    for (size_t i = 0; command != NULL && n > 1 && i < 4; i++) {
        struct rule *r = &command->rules[i];
        if (atomic_load(&r->mode) != MODE_SHORT || !(r->roles & 1u << role) ||
            draw() % r->every != 0)
            continue;
        note(r, name);
        return 1;
    }
    return n;
}

#define FAIL(name, groups)                                                               \
    do {                                                                                 \
        if (hit(name, groups))                                                           \
            return -1;                                                                   \
    } while (0)

/* ---- files ------------------------------------------------------------------------- */

#define OPEN(name)                                                                       \
    int name(const char *path, int flags, ...)                                           \
    {                                                                                    \
        va_list ap;                                                                      \
        va_start(ap, flags);                                                             \
        mode_t mode = va_arg(ap, mode_t);                                                \
        va_end(ap);                                                                      \
        REAL(name);                                                                      \
        FAIL(#name, GROUP_FILE);                                                         \
        return real(path, flags, mode);                                                  \
    }
#define OPENAT(name)                                                                     \
    int name(int dir, const char *path, int flags, ...)                                  \
    {                                                                                    \
        va_list ap;                                                                      \
        va_start(ap, flags);                                                             \
        mode_t mode = va_arg(ap, mode_t);                                                \
        va_end(ap);                                                                      \
        REAL(name);                                                                      \
        FAIL(#name, flags &O_CREAT ? GROUP_FILE : GROUP_FILE | GROUP_FIND);              \
        return real(dir, path, flags, mode);                                             \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define CALL(ret, name, groups, params, args)                                            \
    ret name params                                                                      \
    {                                                                                    \
        REAL(name);                                                                      \
        FAIL(#name, groups);                                                             \
        return real args;                                                                \
    }
CALL(int, fstat, GROUP_FILE, (int fd, struct stat *st), (fd, st))
CALL(int, flock, GROUP_FILE, (int fd, int op), (fd, op))
CALL(int, renameat, GROUP_FILE, (int a, const char *b, int c, const char *d),
     (a, b, c, d))
CALL(int, renameat2, GROUP_FILE, (int a, const char *b, int c, const char *d, unsigned e),
     (a, b, c, d, e))
CALL(int, unlinkat, GROUP_FILE, (int fd, const char *path, int flags), (fd, path, flags))
CALL(int, unlink, GROUP_FILE, (const char *path), (path))
CALL(int, mkdirat, GROUP_FILE, (int fd, const char *path, mode_t m), (fd, path, m))
CALL(int, chdir, GROUP_FILE, (const char *path), (path))
CALL(int, fsync, GROUP_SYNC | GROUP_FLUSH, (int fd), (fd))
CALL(int, fdatasync, GROUP_SYNC | GROUP_FLUSH, (int fd), (fd))
CALL(int, ftruncate, GROUP_SYNC | GROUP_DISK, (int fd, off_t n), (fd, n))
CALL(int, ftruncate64, GROUP_SYNC | GROUP_DISK, (int fd, off64_t n), (fd, n))
CALL(int, fallocate, GROUP_SYNC | GROUP_DISK, (int fd, int m, off_t a, off_t n),
     (fd, m, a, n))

/* ---- bytes ------------------------------------------------------------------------- */

static int is_stream(int fd)
{
    int type = 0;
    socklen_t len = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* fstat without being counted as a call. */
static int syscall_stat(int fd, struct stat *st)
{
    static int (*real)(int, struct stat *);
    if (real == NULL)
        real = (int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
    return real(fd, st);
}

/* The daemon wakes its threads through descriptors on which nothing can fail. */
static int may_fail(int fd)
{
    struct stat st;
    return role != ROLE_VOLTD ||
           (syscall_stat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)));
}

#define MOVE(name, params, args)                                                         \
    ssize_t name params                                                                  \
    {                                                                                    \
        REAL(name);                                                                      \
        if (may_fail(fd))                                                                \
            FAIL(#name, GROUP_IO | GROUP_SLOW);                                          \
        n = is_stream(fd) ? portion(#name, n) : n;                                       \
        return real args;                                                                \
    }
MOVE(read, (int fd, void *buf, size_t n), (fd, buf, n))
MOVE(write, (int fd, const void *buf, size_t n), (fd, buf, n))

#define WHOLE(ret, name, params, args)                                                   \
    CALL(ret, name, GROUP_IO | GROUP_READ, params, args)
WHOLE(ssize_t, pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at))
WHOLE(ssize_t, pread64, (int fd, void *b, size_t n, off64_t at), (fd, b, n, at))
/* Without waiting there is nothing to be had while reads are armed. */
ssize_t preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
    REAL(preadv2);
    if (flags & RWF_NOWAIT && is_cold(GROUP_READ)) {
        errno = EAGAIN;
        return -1;
    }
    FAIL("preadv2", flags & RWF_NOWAIT ? GROUP_IO : GROUP_IO | GROUP_READ);
    return real(fd, v, n, at, flags);
}

CALL(ssize_t, pwrite, GROUP_IO | GROUP_DISK, (int fd, const void *b, size_t n, off_t at),
     (fd, b, n, at))
CALL(ssize_t, pwrite64, GROUP_IO | GROUP_DISK,
     (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
CALL(ssize_t, sendmsg, GROUP_IO | GROUP_SLOW, (int fd, const struct msghdr *m, int f),
     (fd, m, f))
CALL(ssize_t, writev, GROUP_IO | GROUP_SLOW, (int fd, const struct iovec *v, int n),
     (fd, v, n))

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    REAL(send);
    FAIL("send", GROUP_IO | GROUP_SLOW);
    return real(fd, buf, is_stream(fd) ? portion("send", n) : n, flags);
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    REAL(recv);
    FAIL("recv", GROUP_IO | GROUP_SLOW);
    return real(fd, buf, is_stream(fd) ? portion("recv", n) : n, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    REAL(recvmsg);
    FAIL("recvmsg", GROUP_IO | GROUP_SLOW);
    if (m->msg_iovlen != 1 || !is_stream(fd))
        return real(fd, m, flags);
    size_t n = m->msg_iov->iov_len;
    m->msg_iov->iov_len = portion("recvmsg", n);
    ssize_t r = real(fd, m, flags);
    m->msg_iov->iov_len = n;
    return r;
}

/* ---- processes and descriptors ----------------------------------------------------- */

pid_t fork(void)
{
    REAL(fork);
    FAIL("fork", GROUP_PROCESS | GROUP_BIRTH);
    pid_t self = getpid(), pid = real();
    if (pid == 0 && role == ROLE_KEEPER) {
        role = ROLE_KILLER;
        parent = self;
    }
    return pid;
}

/* The child runs in the memory of its parent, which sleeps meanwhile. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    REAL(__clone);
    FAIL("clone", GROUP_PROCESS | GROUP_BIRTH);
    enum role own = role;
    if (role == ROLE_SHIM)
        role = ROLE_CHILD;
    int pid = real(fn, stack, flags, arg);
    role = own;
    return pid;
}

CALL(int, accept4, GROUP_PROCESS | GROUP_SLOW,
     (int fd, struct sockaddr *a, socklen_t *n, int f), (fd, a, n, f))
CALL(int, socket, GROUP_PROCESS, (int a, int b, int c), (a, b, c))
CALL(int, connect, GROUP_PROCESS, (int fd, const struct sockaddr *a, socklen_t n),
     (fd, a, n))
CALL(int, inotify_init1, GROUP_WATCH, (int flags), (flags))
CALL(int, pipe2, GROUP_PROCESS, (int fds[2], int flags), (fds, flags))
CALL(int, dup2, GROUP_PROCESS, (int a, int b), (a, b))
CALL(pid_t, setsid, GROUP_PROCESS, (void), ())
CALL(int, socketpair, GROUP_PROCESS, (int a, int b, int c, int d[2]), (a, b, c, d))
CALL(pid_t, wait4, GROUP_PROCESS | GROUP_SLOW, (pid_t p, int *s, int o, struct rusage *u),
     (p, s, o, u))
CALL(pid_t, waitpid, GROUP_PROCESS | GROUP_SLOW, (pid_t p, int *s, int o), (p, s, o))
CALL(int, poll, GROUP_SLOW, (struct pollfd * p, nfds_t n, int t), (p, n, t))
CALL(int, sigprocmask, GROUP_PROCESS, (int h, const sigset_t *a, sigset_t *b), (h, a, b))
CALL(int, memfd_create, GROUP_PROCESS, (const char *name, unsigned f), (name, f))
CALL(int, execvpe, GROUP_PROCESS, (const char *p, char *const a[], char *const e[]),
     (p, a, e))

int prctl(int op, ...)
{
    va_list ap;
    va_start(ap, op);
    unsigned long a = va_arg(ap, unsigned long), b = va_arg(ap, unsigned long),
                  c = va_arg(ap, unsigned long), d = va_arg(ap, unsigned long);
    va_end(ap);
    static int (*real)(int, ...);
    if (real == NULL)
        real = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
    if (op == PR_SET_NAME && role == ROLE_KILLER)
        role = ROLE_SHIM;
    FAIL("prctl", GROUP_PROCESS);
    return real(op, a, b, c, d);
}

int fcntl(int fd, int op, ...)
{
    va_list ap;
    va_start(ap, op);
    void *arg = va_arg(ap, void *);
    va_end(ap);
    REAL(fcntl);
    FAIL("fcntl", GROUP_FILE);
    return real(fd, op, arg);
}

long syscall(long number, ...)
{
    va_list ap;
    long a[6];
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    static long (*real)(long, ...);
    if (real == NULL)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_openat2) { /* asked not to wait: see preadv2 */
        if (is_cold(GROUP_FIND)) {
            errno = EAGAIN;
            return -1;
        }
        FAIL("openat2", GROUP_FILE);
    } else if (number != SYS_futex) { /* how threads sleep */
        FAIL("syscall", GROUP_PROCESS);
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- memory ------------------------------------------------------------------------ */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    return hit("malloc", GROUP_MEMORY) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return hit("calloc", GROUP_MEMORY) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return hit("realloc", GROUP_MEMORY) ? NULL : __libc_realloc(p, n);
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    REAL(mmap);
    return hit("mmap", GROUP_MEMORY) ? MAP_FAILED : real(at, n, prot, flags, fd, offset);
}

/* ---- the time of day --------------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    REAL(clock_gettime);
    int r = real(clock, ret);
    int64_t jump = command ? atomic_load(&command->clock_usec) : 0;
    if (r == 0 && clock == CLOCK_REALTIME && jump != 0) {
        int64_t usec = ret->tv_sec * INT64_C(1000000) + ret->tv_nsec / 1000 + jump;
        ret->tv_sec = usec / 1000000;
        ret->tv_nsec = usec % 1000000 * 1000;
    }
    return r;
}
