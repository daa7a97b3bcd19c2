/* Jobs of a keeper in tests: see keeper_job.h. */
#include "tests/support/keeper_job.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/tree.h"

#define WORDS_MAX 8

struct job_key keeper_job_key(void)
{
    static uint64_t id;
    return (struct job_key){++id, JOB_NO_INDEX, 1};
}

struct keeper_reply keeper_job_start(struct keeper_client *c, const struct job_key *key,
                                     const char *const words[], int out)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .env = env, .envc = 1};
    for (; words[l.argc] != NULL; l.argc++)
        argv[l.argc] = strdup(words[l.argc]);
    struct keeper_reply r = keeper_client_start(c, key, &l, out, KEEPER_KILL_TREE);
    for (size_t i = 0; i < l.argc; i++)
        free(argv[i]);
    return r;
}

struct keeper_reply keeper_job_start_shell(struct keeper_client *c,
                                           const struct job_key *key, const char *script)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    return keeper_job_start(c, key, words, -1);
}

struct record keeper_job_run(struct keeper_client *c, const char *script)
{
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(c, &key, script).status, 0);
    return keeper_client_wait(c, &key);
}

void keeper_job_wait_file(struct keeper_client *c, const char *name)
{
    while (faccessat(c->dir_fd, name, F_OK, 0) != 0)
        poll(NULL, 0, 1);
}

pid_t keeper_job_read_pid(struct keeper_client *c, const char *name)
{
    char buf[32] = "";
    while (strchr(buf, '\n') == NULL) {
        keeper_job_wait_file(c, name);
        int fd = openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0 && read(fd, buf, sizeof(buf) - 1) >= 0);
        close(fd);
    }
    return (pid_t)atoi(buf);
}

bool keeper_job_is_gone(pid_t pid)
{
    struct proc p;
    return proc_read(pid, &p) < 0 || p.dead;
}

void keeper_job_wait_stopped(pid_t pid)
{
    struct proc p;
    do
        assert_int_equal(proc_read(pid, &p), 0);
    while (!p.stopped && poll(NULL, 0, 1) == 0);
    assert_true(p.stopped);
}

void keeper_job_stop(pid_t pid)
{
    assert_int_equal(kill(pid, SIGSTOP), 0);
    keeper_job_wait_stopped(pid);
}

void keeper_job_wait_gone(pid_t pid)
{
    while (!keeper_job_is_gone(pid))
        poll(NULL, 0, 1);
}

void keeper_job_assert_end(const struct record *r, enum record_end end, int status)
{
    assert_int_equal(r->verdict, RECORD_DONE);
    assert_int_equal(r->exited.end, end);
    assert_int_equal(r->exited.status, status);
}

char *keeper_job_self(void)
{
    static char path[512];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(n > 0);
    path[n] = '\0';
    return path;
}
