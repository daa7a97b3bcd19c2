/* A voltd that does not come up has seen no job's end: it must not have the keeper wait
 * for the end of what runs before anybody is told why. Nor may it go before those of its
 * tasks that were started. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/life/life.h"
#include "daemon/query/query.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"
#include "daemon/keeper/protocol.h"
#include "tests/support/scratch.h"

enum { SETTLED = 7, UNSETTLED, ELSE };

/* A keeper with a job: answers HELLO and BYE, and ends with what BYE said. */
_Noreturn static void be_keeper(int listen_fd)
{
    union keeper_message m;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int fd = accept(listen_fd, NULL, NULL);
    if (recv(fd, &m, sizeof(m), 0) != (ssize_t)sizeof(m.hello))
        _exit(ELSE);
    struct keeper_welcome w = {.head = {KEEPER_MAGIC, KEEPER_WELCOME, m.head.serial},
                               .version = KEEPER_VERSION,
                               .pid = (uint32_t)getpid(),
                               .live = 1};
    (void)send(fd, &w, sizeof(w), MSG_NOSIGNAL);
    if (recv(fd, &m, sizeof(m), 0) != (ssize_t)sizeof(m.bye) || m.head.op != KEEPER_BYE)
        _exit(ELSE);
    struct keeper_reply r = {.head = {KEEPER_MAGIC, KEEPER_REPLY, m.head.serial},
                             .status = -EBUSY};
    (void)send(fd, &r, sizeof(r), MSG_NOSIGNAL);
    _exit(m.bye.settled ? SETTLED : UNSETTLED);
}

static pid_t fork_keeper(const char *dir)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/keeper.sock", dir);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    pid_t pid = fork();
    if (pid == 0)
        be_keeper(fd);
    (void)close(fd);
    return pid;
}

static void no_store(const char *dir)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "%s/jobs.1.db", dir);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs("nobody wrote this", f);
    (void)fclose(f);
}

static struct volt_runtime *rt;

/* The last of the tasks is not to be had; the others wait by then for what may
 * come. */
int __wrap_recover_start(struct core *core);
int __wrap_recover_start(struct core *core)
{
    struct volt_stats stats;

    (void)core;
    do {
        (void)sched_yield();
        volt_runtime_stats(rt, &stats);
    } while (stats.total.polled < 5 || stats.workers_parked == 0);
    return -EMFILE;
}

/* A voltd that is refused for this, in a directory with such a store. */
static void refused(void (*prepare)(const char *dir), const char *why)
{
    char dir[SCRATCH_MAX];
    struct volt_options opt = {.workers = 1};
    struct volt_error err = {{0}};
    struct core *core;
    struct config config;
    int status;

    config_defaults(&config);
    assert_int_equal(scratch_make(dir), 0);
    prepare(dir);
    pid_t keeper = fork_keeper(dir);
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    const struct life_options o = {.rt = rt,
                                   .config = &config,
                                   .runtime_dir = dir,
                                   .state_dir = dir,
                                   .record_dir = dir,
                                   .keeper_path = "/no/keeper/is/started",
                                   .socket = "/x"};
    assert_true(life_new(&o, &core, &err) < 0);
    assert_non_null(strstr(err.text, why));
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), UNSETTLED);
    (void)volt_runtime_shutdown(rt, UINT64_MAX);
    volt_runtime_free(rt);
    assert_int_equal(scratch_remove(dir), 0);
}

static void a_refused_store_is_told_at_once(void **state)
{
    (void)state;
    refused(no_store, "jobs.1.db");
}

static void nothing(const char *dir)
{
    (void)dir;
}

static void tasks_that_were_started_end_before_the_jobs_are_freed(void **state)
{
    (void)state;
    refused(nothing, "cannot start the tasks of voltd: Too many open files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_store_is_told_at_once),
        cmocka_unit_test(tasks_that_were_started_end_before_the_jobs_are_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
