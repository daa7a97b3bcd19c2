/* systemd's notifications and sockets, with this test in the role of systemd. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "daemon/sysd/sysd.h"

static const char *const names[] = {"varlink", "control"};

static void test_without_systemd_nothing_happens(void **state)
{
    (void)state;
    int fds[2];
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("WATCHDOG_USEC");
    assert_int_equal(sysd_notify_ready(), 0);
    assert_int_equal(sysd_notify_status("%d jobs", 3), 0);
    assert_int_equal(sysd_take_sockets(names, fds, 2, NULL), 0);
    assert_int_equal(fds[0], -1);
    assert_int_equal(fds[1], -1);
    assert_int_equal(sysd_watchdog_usec(), 0);
}

static void expect(int fd, const char *text)
{
    char buf[256];
    ssize_t n = recv(fd, buf, sizeof(buf) - 1, 0);
    assert_true(n > 0);
    buf[n] = '\0';
    if (strncmp(buf, text, strlen(text)) != 0)
        fail_msg("'%s' is not '%s'", buf, text);
}

static void test_notifications(void **state)
{
    (void)state;
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(sun.sun_path, sizeof(sun.sun_path), "/tmp/test_sysd.%d",
                   (int)getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", sun.sun_path, 1), 0);
    assert_int_equal(sysd_notify_ready(), 0);
    expect(fd, "READY=1");
    assert_int_equal(sysd_notify_status("%d jobs", 3), 0);
    expect(fd, "STATUS=3 jobs");
    assert_int_equal(sysd_notify_reloading(), 0);
    expect(fd, "RELOADING=1\nMONOTONIC_USEC=");
    assert_int_equal(sysd_notify_watchdog(), 0);
    expect(fd, "WATCHDOG=1");
    assert_int_equal(sysd_notify_stopping(), 0);
    expect(fd, "STOPPING=1");
    (void)unlink(sun.sun_path);
    (void)close(fd);
    assert_true(sysd_notify_ready() < 0);
    (void)unsetenv("NOTIFY_SOCKET");
}

static void test_watchdog_period(void **state)
{
    (void)state;
    assert_int_equal(setenv("WATCHDOG_USEC", "2000000", 1), 0);
    (void)unsetenv("WATCHDOG_PID");
    assert_int_equal(sysd_watchdog_usec(), 2000000);
    (void)unsetenv("WATCHDOG_USEC");
}

static int listener(int type)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX}; /* autobind: an abstract name */
    int fd = socket(AF_UNIX, type, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&sun, sizeof(sa_family_t)) < 0)
        _exit(99);
    if (type == SOCK_STREAM && listen(fd, 1) < 0)
        _exit(99);
    return fd;
}

/* A child with two descriptors passed as systemd does, the first of the given type.
 * Returns its exit status: 0 when taking them gave `expected` and, after success, all was
 * in place. */
static int activated(const char *fdnames, int type, int expected, const char *words)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fds[2], a = listener(type), b = listener(SOCK_STREAM);
        char self[32];
        struct volt_error err = {.text = ""};
        int high_a = fcntl(a, F_DUPFD, 20), high_b = fcntl(b, F_DUPFD, 20);
        if (dup2(high_a, 3) != 3 || dup2(high_b, 4) != 4)
            _exit(98);
        (void)snprintf(self, sizeof(self), "%d", (int)getpid());
        (void)setenv("LISTEN_PID", self, 1);
        (void)setenv("LISTEN_FDS", "2", 1);
        (void)setenv("LISTEN_FDNAMES", fdnames, 1);
        if (sysd_take_sockets(names, fds, 2, &err) != expected)
            _exit(1);
        if (expected < 0)
            _exit(fds[0] == -1 && fds[1] == -1 && strstr(err.text, words) &&
                          fcntl(3, F_GETFD) < 0 && fcntl(4, F_GETFD) < 0
                      ? 0
                      : 2);
        bool good = fds[0] == 4 && fds[1] == 3 && (fcntl(3, F_GETFD) & FD_CLOEXEC) &&
                    (fcntl(4, F_GETFD) & FD_CLOEXEC) && !getenv("LISTEN_FDS");
        _exit(good ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_sockets_by_name(void **state)
{
    (void)state;
    assert_int_equal(activated("control:varlink", SOCK_STREAM, 2, NULL), 0);
}

static void test_wrong_sockets_are_refused(void **state)
{
    (void)state;
    assert_int_equal(activated("other:varlink", SOCK_STREAM, -EINVAL, "'other'"), 0);
    assert_int_equal(activated("varlink:varlink", SOCK_STREAM, -EINVAL, "twice"), 0);
    assert_int_equal(activated("control:varlink", SOCK_DGRAM, -EINVAL, "stream socket"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_systemd_nothing_happens),
        cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_watchdog_period),
        cmocka_unit_test(test_sockets_by_name),
        cmocka_unit_test(test_wrong_sockets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
