/* The steps of a connection to a keeper, each by itself: with nobody there, with something else
 * in its place, with one that is stopped. Keepers are children of this test by that name. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/link/keeper_dial.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], path[SCRATCH_MAX + 16], far[300];

static int setup(void **state)
{
    (void)state;
    if (scratch_make(dir) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/socket", dir);
    memset(far, 'x', sizeof(far) - 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

static int listen_at(const char *at)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", at);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
        listen(fd, 4) < 0)
        return -1;
    return fd;
}

/* A child of that name, which listens and then stops. */
static pid_t stopped_keeper(const char *name)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, name);
        if (listen_at(path) < 0)
            _exit(1);
        (void)raise(SIGSTOP);
        for (;;)
            (void)pause();
    }
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void assert_killed(pid_t pid, int sig)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), sig);
}

static void nobody_is_there(void **state)
{
    (void)state;
    assert_int_equal(keeper_dial(path), -ENOENT);
    assert_int_equal(keeper_dial(far), -ENAMETOOLONG);
    int fd = listen_at(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(keeper_dial(path), -ECONNREFUSED);
}

static void it_is_greeted(void **state)
{
    struct keeper_hello m;
    int fd = listen_at(path), mine = keeper_dial(path), theirs;

    (void)state;
    assert_true(mine >= 0);
    assert_true(fcntl(mine, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(mine, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(keeper_say_hello(mine, 17), 0);
    theirs = accept(fd, NULL, NULL);
    assert_int_equal(recv(theirs, &m, sizeof(m), 0), sizeof(m));
    assert_int_equal(m.head.magic, KEEPER_MAGIC);
    assert_int_equal(m.head.op, KEEPER_HELLO);
    assert_int_equal(m.head.serial, 17);
    assert_int_equal(m.version, KEEPER_VERSION);
    assert_int_equal(m.pid, getpid());
    (void)close(theirs);
    assert_int_equal(keeper_say_hello(mine, 18), -EPIPE);
    (void)close(mine);
    (void)close(fd);
}

static void its_answer_is_judged(void **state)
{
    union keeper_message m = {.welcome = {.head = {KEEPER_MAGIC, KEEPER_WELCOME, 1},
                                          .version = KEEPER_VERSION,
                                          .pid = 77}};
    const ssize_t n = sizeof(m.welcome);

    (void)state;
    assert_int_equal(keeper_take_welcome(&m, 0), -ECONNRESET);
    assert_int_equal(keeper_take_welcome(&m, -EIO), -EIO);
    assert_int_equal(keeper_take_welcome(&m, n), 0);
    assert_int_equal(keeper_take_welcome(&m, n - 1), -EBADMSG);
    m.welcome.status = -EPROTO;
    assert_int_equal(keeper_take_welcome(&m, n), -EPROTO);
    m.reply = (struct keeper_reply){.head = {KEEPER_MAGIC, KEEPER_REPLY, 1}};
    assert_int_equal(keeper_take_welcome(&m, sizeof(m.reply)), -EBADMSG);
}

static void one_that_is_stopped_is_continued(void **state)
{
    pid_t pid = stopped_keeper("voltd-keeper");
    int status, fd = keeper_dial(path);

    (void)state;
    assert_true(fd >= 0);
    keeper_continue_behind(fd);
    assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
    assert_true(WIFCONTINUED(status));
    assert_int_equal(keeper_kill_stopped(fd), 0); /* it is not stopped */
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_int_equal(keeper_kill_stopped(fd), pid);
    assert_killed(pid, SIGKILL);
    keeper_continue(pid);
    keeper_continue(0);
    (void)close(fd);
}

/* What listens there, or has its pid now, may be anything. */
static void what_is_no_keeper_is_left_alone(void **state)
{
    pid_t pid = stopped_keeper("another");
    int status, fd = keeper_dial(path);

    (void)state;
    keeper_continue_behind(fd);
    keeper_continue(pid);
    assert_int_equal(keeper_kill_stopped(fd), 0);
    assert_int_equal(waitpid(pid, &status, WNOHANG | WCONTINUED), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_killed(pid, SIGKILL);
    (void)close(fd);
}

static void end_slowly(int sig)
{
    (void)sig;
    (void)poll(NULL, 0, 50);
    _exit(0);
}

/* Its place is not taken before it has gone. */
static void one_that_is_retired_is_waited_for(void **state)
{
    int ready[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGTERM, end_slowly);
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    assert_int_equal(keeper_retire(pid), 0);
    const pid_t gone = waitpid(pid, NULL, WNOHANG);
    if (gone == 0)
        (void)waitpid(pid, NULL, 0);
    assert_int_equal(gone, pid);
}

static void one_of_another_version_is_retired(void **state)
{
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    assert_int_equal(keeper_retire(0), -EBADMSG);
    assert_int_equal(keeper_retire(1), -EBADMSG);
    assert_int_equal(keeper_retire(pid), 0);
    assert_killed(pid, SIGTERM);
    assert_int_equal(keeper_retire(pid), 0); /* it has gone */
}

static void what_cannot_be_started_is_an_error(void **state)
{
    pid_t pid = 0;
    struct stat st;
    char none[SCRATCH_MAX + 16];

    (void)state;
    assert_int_equal(keeper_spawn(far, "/bin/true", NULL, &pid), -ENAMETOOLONG);
    (void)snprintf(none, sizeof(none), "%s/none/x", dir);
    assert_int_equal(keeper_spawn(none, "/bin/true", NULL, &pid), -ENOENT);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(keeper_spawn(path, "/bin/true", NULL, &pid), -EISDIR);
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(none, sizeof(none), "%s/program", dir);
    assert_int_equal(keeper_spawn(path, none, NULL, &pid), -ENOENT);
    assert_int_equal(pid, 0);
    assert_int_equal(keeper_dial(path), -ECONNREFUSED); /* nobody listens for it */
    assert_int_equal(keeper_spawn(path, "/bin/true", NULL, &pid), 0);
    assert_true(pid > 1);
    assert_int_equal(getsid(pid), pid); /* the terminal of this process is not its own */
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(keeper_dial(path), -ECONNREFUSED);
}

static bool is_spared; /* as voltd sees itself */

int __real_open(const char *file, int flags, ...);
int __wrap_open(const char *file, int flags, ...);

int __wrap_open(const char *file, int flags, ...)
{
    va_list args;
    int mode, fds[2];

    va_start(args, flags);
    mode = (flags & O_CREAT) ? va_arg(args, int) : 0;
    va_end(args);
    if (strcmp(file, "/proc/self/oom_score_adj") != 0)
        return __real_open(file, flags, mode);
    assert_int_equal(pipe(fds), 0);
    assert_true(dprintf(fds[1], is_spared ? "-1\n" : "0\n") > 0);
    assert_int_equal(close(fds[1]), 0);
    return fds[0];
}

/* The keeper of a spared voltd may set its score for its jobs. */
static void it_gets_its_score_to_set(void **state)
{
    static const char script[] = "#!/bin/sh\necho $# $1 >$0.said\n"
                                 "readlink /proc/self/fd/4 >>$0.said\nexit 0\n";
    char program[SCRATCH_MAX + 16], said[SCRATCH_MAX + 32], want[256];

    (void)state;
    (void)snprintf(program, sizeof(program), "%s/program", dir);
    (void)snprintf(said, sizeof(said), "%s.said", program);
    int fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, script, strlen(script)), strlen(script));
    assert_int_equal(close(fd), 0);
    for (int i = 0; i < 2; i++) {
        char text[256] = "";
        pid_t pid = 0;
        int status;

        is_spared = i == 0;
        assert_int_equal(keeper_spawn(path, program, NULL, &pid), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        fd = open(said, O_RDONLY | O_CLOEXEC);
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_int_equal(close(fd), 0);
        (void)snprintf(want, sizeof(want),
                       is_spared ? "1 --spared\n/proc/%d/oom_score_adj\n" : "0", (int)pid);
        assert_memory_equal(text, want, strlen(want));
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nobody_is_there),
        T(it_is_greeted),
        T(its_answer_is_judged),
        T(one_that_is_stopped_is_continued),
        T(what_is_no_keeper_is_left_alone),
        T(one_of_another_version_is_retired),
        T(one_that_is_retired_is_waited_for),
        T(what_cannot_be_started_is_an_error),
        T(it_gets_its_score_to_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
