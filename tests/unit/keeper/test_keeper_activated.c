/* A keeper that systemd starts: what it takes from it, what it tells it, and for what it
 * waits. The linker redirects the open of /proc/self/cgroup (Makefile). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/activated.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], cgroup[SCRATCH_MAX + 16], path[SCRATCH_MAX + 16];
static int looks; /* written to at each look, if not -1 */

int __real_open(const char *file, int flags, ...);
int __wrap_open(const char *file, int flags, ...);

int __wrap_open(const char *file, int flags, ...)
{
    va_list args;
    if (strcmp(file, "/proc/self/cgroup") == 0) {
        if (looks >= 0)
            (void)!write(looks, "", 1);
        return __real_open(cgroup, flags);
    }
    va_start(args, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return __real_open(file, flags, mode);
}

static int setup(void **state)
{
    (void)state;
    looks = -1;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(cgroup, sizeof(cgroup), "%s/cgroup", dir);
    (void)snprintf(path, sizeof(path), "%s/socket", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    return scratch_remove(dir);
}

/* In the place of what was there, as a whole. */
static void show(const char *text)
{
    char new[sizeof(cgroup) + 4];
    (void)snprintf(new, sizeof(new), "%s.new", cgroup);
    FILE *f = fopen(new, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(new, cgroup), 0);
}

/* A process that waits, and has looked once. */
static pid_t wait_for_place(int *ret_looks)
{
    int pipe_fd[2];
    char byte;
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(pipe_fd[0]);
        looks = pipe_fd[1];
        _exit(activated_await_place(1000) == 0 ? 0 : 1);
    }
    (void)close(pipe_fd[1]);
    for (int i = 0; i < 2; i++) /* the second after it has judged the first */
        assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
    *ret_looks = pipe_fd[0];
    return pid;
}

static void it_waits_until_it_has_been_moved(void **state)
{
    static const char *const elsewhere[] = {
        "0::/\n",
        "",
        "0::/voltd-1000.slice/voltd-keeper@1000.service\n",
        "0::/voltd-jobs@1000.service/keeper/more\n",
        "0::/voltd-jobs@1000.service\n",
        "0::/voltd-jobs@100.service/keeper\n",
        "0::/xvoltd-jobs@1000.service/keeper\n",
        "1:name=systemd:/voltd-jobs@1000.service/keeper\n0::/init\n",
        "0::/voltd-jobs@1000.service/keeper", /* cut off */
    };
    int status, fd;
    char byte;
    (void)state;
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
        show(elsewhere[i]);
        pid_t pid = wait_for_place(&fd);
        assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
        show("2:cpu:/\n0::/voltd.slice/voltd-jobs@1000.service/keeper\n");
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        while (read(fd, &byte, 1) > 0)
            ;
        (void)close(fd);
    }
    assert_int_equal(unlink(cgroup), 0);
    assert_int_equal(activated_await_place(1000), -ENOENT);
}

static void it_tells_that_it_is_ready(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char got[32], abstract[64], far[256];
    (void)state;
    assert_int_equal(activated_tell_ready(), 0); /* nobody wants to know */
    assert_int_equal(setenv("NOTIFY_SOCKET", "", 1), 0);
    assert_int_equal(activated_tell_ready(), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
    assert_int_equal(activated_tell_ready(), -ENOENT);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)strcpy(a.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(activated_tell_ready(), 0);
    assert_int_equal(recv(fd, got, sizeof(got), 0), strlen("READY=1"));
    assert_memory_equal(got, "READY=1", strlen("READY=1"));
    (void)close(fd);
    (void)snprintf(abstract, sizeof(abstract), "@volt-test-%d", (int)getpid());
    memset(&a.sun_path, 0, sizeof(a.sun_path));
    (void)strcpy(a.sun_path + 1, abstract + 1);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&a,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(abstract))),
        0);
    assert_int_equal(setenv("NOTIFY_SOCKET", abstract, 1), 0);
    assert_int_equal(activated_tell_ready(), 0);
    assert_int_equal(recv(fd, got, sizeof(got), 0), strlen("READY=1"));
    (void)close(fd);
    memset(far, 'x', sizeof(far) - 1);
    far[sizeof(far) - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", far, 1), 0);
    assert_int_equal(activated_tell_ready(), -ENAMETOOLONG);
}

static bool has_socket(const char *pid, const char *fds)
{
    assert_int_equal(pid ? setenv("LISTEN_PID", pid, 1) : unsetenv("LISTEN_PID"), 0);
    assert_int_equal(fds ? setenv("LISTEN_FDS", fds, 1) : unsetenv("LISTEN_FDS"), 0);
    return activated_has_socket();
}

static void it_takes_what_is_for_it_alone(void **state)
{
    char own[16], other[16];
    (void)state;
    (void)snprintf(own, sizeof(own), "%d", (int)getpid());
    (void)snprintf(other, sizeof(other), "%d", (int)getppid());
    assert_true(has_socket(own, "1"));
    assert_false(has_socket(own, "2"));
    assert_false(has_socket(own, NULL));
    assert_false(has_socket(other, "1"));
    assert_false(has_socket(NULL, "1"));
}

static void it_serves_the_owner_of_the_socket(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    uid_t uid = (uid_t)-1;
    int pair[2];
    (void)state;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)strcpy(a.sun_path, path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(activated_peer(fd, &uid), 0);
    assert_int_equal(uid, geteuid());
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 0), 0);
        assert_int_equal(activated_peer(fd, &uid), 0);
        assert_int_equal(uid, 12345);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(activated_peer(fd, &uid), -ENOENT);
    (void)close(fd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(activated_peer(pair[0], &uid), -EAFNOSUPPORT); /* it has no name */
    (void)close(pair[0]);
    (void)close(pair[1]);
    assert_int_equal(activated_peer(-1, &uid), -EBADF);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_waits_until_it_has_been_moved),
        T(it_tells_that_it_is_ready),
        T(it_takes_what_is_for_it_alone),
        T(it_serves_the_owner_of_the_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
