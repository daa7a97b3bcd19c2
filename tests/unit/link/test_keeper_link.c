/* voltd's end of the link and the watch on the records, as tasks on a real runtime with a
 * real keeper. Checks inside tasks count failures: cmocka's own would end in a worker. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/runtime.h>
#include "daemon/link/keeper_dial.h"
#include "daemon/link/keeper_link.h"
#include "daemon/link/keeper_link_parts.h"
#include "daemon/link/record_watch.h"
#include "daemon/keeper/tree.h"
#include "daemon/link/record_make.h"
#include "tests/support/keeper_client.h"

struct rig {
    struct keeper_client files; /* the folder only; the link starts the keeper */
    char program[512];
    struct volt_runtime *rt;
    struct keeper_link *link;
    struct record_watch *watch;
};

static const struct siphash_key secret = {1, 2};

static void rig_open(struct rig *g)
{
    const char *bin = getenv("VOLT_BIN");
    struct volt_error err = {""};
    snprintf(g->program, sizeof(g->program), "%s/voltd-keeper",
             bin != NULL ? bin : "build/bin");
    struct keeper_link_options opt = {
        .socket_path = g->files.socket_path,
        .record_fd = g->files.record_fd,
        .program = g->program,
    };
    int r = keeper_link_open(&opt, &err, &g->link);
    if (r < 0)
        fail_msg("%s", err.text);
    r = record_watch_open(g->files.record_fd, g->files.boot_id, &secret, &err, &g->watch);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &g->rt), 0);
    assert_int_equal(keeper_link_start(g->link, g->rt), 0);
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
}

/* settled: no job is left. */
static void rig_close(struct rig *g, bool settled)
{
    assert_int_equal(volt_runtime_shutdown(g->rt, UINT64_MAX), 0);
    keeper_link_free(g->link, settled);
    record_watch_free(g->watch);
    volt_runtime_free(g->rt);
}

static int setup(void **state)
{
    struct rig *g = calloc(1, sizeof(*g));
    keeper_client_init(&g->files);
    rig_open(g);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;
    rig_close(g, true);
    keeper_client_fini(&g->files);
    free(g);
    return 0;
}

static pid_t keeper_pid(struct rig *g)
{
    struct keeper_link_info info;
    keeper_link_info(g->link, &info);
    return (pid_t)info.keeper_pid;
}

/* One job as the executor drives it: its record, START, wait for the record, removal. */
struct job {
    struct rig *g;
    struct job_key key;
    char script[96];
    int kill_signal; /* 0: none; sent when the job is there */
    bool keep;       /* do not remove the record */
    bool sent;       /* START has gone out before the task was spawned */
    int at, launch_fd;
    struct keeper_call call;
    struct record_wait wait;
    int start_status, signal_status, remove_status, wait_status;
    uint32_t survivors;
    struct record record;
};

/* False: there is a record. */
static bool job_prepare(struct job *j)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, j->script, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {
        .cwd = j->g->files.dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    struct keeper_start_args args = {
        .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .script_fd = -1, .umask = 022};
    args.record_fd =
        record_create(j->g->files.record_fd, NULL, &j->key, j->g->files.boot_id,
                      KEEPER_KILL_TREE, &args.record_seed);
    j->start_status = args.record_fd;
    if (args.record_fd < 0)
        return false;
    j->launch_fd = args.launch_fd = launch_memfd(&l, &args.launch_size);
    keeper_call_init_start(&j->call, j->g->link, &j->key, &args);
    return true;
}

static enum volt_poll job_poll(struct volt_cx *cx, void *state)
{
    struct job *j = state;
    VOLT_BEGIN(j->at);
    if (j->sent || job_prepare(j)) {
        VOLT_AWAIT(j->at, keeper_call_poll(cx, &j->call));
        j->start_status = keeper_call_status(&j->call);
        keeper_call_fini(&j->call);
        close(j->launch_fd);
        j->launch_fd = -1;
    }
    if (j->kill_signal != 0) {
        keeper_call_init_signal(&j->call, j->g->link, &j->key, j->kill_signal,
                                KEEPER_SCOPE_TREE);
        VOLT_AWAIT(j->at, keeper_call_poll(cx, &j->call));
        j->signal_status = keeper_call_status(&j->call);
        j->survivors = keeper_call_reply(&j->call)->survivors;
        keeper_call_fini(&j->call);
    }
    record_wait_init(&j->wait, j->g->watch, &j->key);
    VOLT_AWAIT(j->at, record_wait_poll(cx, &j->wait));
    j->wait_status = record_wait_result(&j->wait, &j->record);
    record_wait_fini(&j->wait);
    if (!j->keep)
        j->remove_status =
            record_remove(j->g->files.record_fd, NULL, &j->key, j->g->files.boot_id);
    VOLT_END(j->at);
}

static void job_drop(void *state)
{
    struct job *j = state;
    keeper_call_fini(&j->call);
    record_wait_fini(&j->wait);
    if (j->launch_fd > 0)
        close(j->launch_fd);
}

static const struct volt_task_type job_type = {
    .name = "test-job", .size = sizeof(struct job), .poll = job_poll, .drop = job_drop};

static struct job *job_new(struct rig *g, uint64_t id, const char *script)
{
    struct job *j = volt_task_new(g->rt, &job_type);
    assert_non_null(j);
    j->g = g;
    j->key = (struct job_key){id, JOB_NO_INDEX, 1};
    snprintf(j->script, sizeof(j->script), "%s", script);
    return j;
}

static void assert_exit(const struct job *j, int code)
{
    assert_int_equal(j->start_status, 0);
    assert_int_equal(j->wait_status, 0);
    assert_int_equal(j->record.verdict, RECORD_DONE);
    assert_int_equal(j->record.exited.end, RECORD_END_EXIT);
    assert_int_equal(j->record.exited.status, code);
}

static void test_many_jobs(void **state)
{
    enum { N = 200 };
    struct rig *g = *state;
    struct volt_join joins[N];
    struct record r;
    char script[32];
    for (int i = 0; i < N; i++) {
        snprintf(script, sizeof(script), "exit %d", i % 256);
        assert_int_equal(volt_task_spawn(job_new(g, (uint64_t)i + 1, script), &joins[i]),
                         0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(volt_join_wait(&joins[i]), 0);
        const struct job *j = volt_join_state(&joins[i]);
        assert_exit(j, i % 256);
        assert_int_equal(j->remove_status, 0);
        assert_int_equal(record_probe(g->files.record_fd, &j->key, g->files.boot_id, &r),
                         0);
        assert_int_equal(r.verdict, RECORD_ABSENT);
        volt_join_fini(&joins[i]);
    }
}

static void until_ended(struct rig *g, const struct job_key *key)
{
    struct record r = {.verdict = RECORD_ABSENT};
    while (r.verdict != RECORD_DONE) {
        assert_int_equal(record_probe(g->files.record_fd, key, g->files.boot_id, &r), 0);
        poll(NULL, 0, 1);
    }
}

/* The answer comes while nobody has polled the call, or the keeper goes. Answers come in
 * the order of what was asked. */
static void test_sent_before_it_is_polled(void **state)
{
    enum { N = 100, ANSWERED = N / 2 };
    struct rig *g = *state;
    struct volt_join joins[N], last;
    struct job *jobs[N];
    for (int i = 0; i < N; i++) {
        if (i == ANSWERED) {
            assert_int_equal(volt_task_spawn(job_new(g, N + 1, "exit 3"), &last), 0);
            assert_int_equal(volt_join_wait(&last), 0);
            volt_join_fini(&last);
        }
        jobs[i] = job_new(g, (uint64_t)i + 1, "exit 3");
        assert_true(job_prepare(jobs[i]));
        keeper_call_send(&jobs[i]->call);
        jobs[i]->sent = true;
        if (i % 2 == 0 && i < ANSWERED)
            until_ended(g, &jobs[i]->key);
        if (i == (ANSWERED + N) / 2)
            kill(keeper_pid(g), SIGKILL);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(volt_task_spawn(jobs[i], &joins[i]), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal(volt_join_wait(&joins[i]), 0);
        const struct job *j = volt_join_state(&joins[i]);
        if (j->start_status == 0)
            assert_exit(j, 3);
        else
            assert_int_equal(j->start_status, -ECONNRESET);
        assert_true(j->start_status == 0 || i >= ANSWERED);
        volt_join_fini(&joins[i]);
    }
}

/* Of a keeper that stands still, one request more is asked for than may be on their way. */
static void test_withdrawn(void **state)
{
    enum { N = 9 };
    struct rig *g = *state;
    struct keeper_call calls[N];
    pid_t keeper = keeper_pid(g);
    int status = 0;
    assert_int_equal(keeper_link_away_usec(g->link), 0);
    kill(keeper, SIGSTOP);
    assert_int_equal(waitpid(keeper, &status, WUNTRACED), keeper);
    assert_true(WIFSTOPPED(status));
    for (unsigned i = 0; i < N; i++) {
        const struct job_key key = {i + 1, JOB_NO_INDEX, 1};
        keeper_call_init_signal(&calls[i], g->link, &key, SIGCONT, KEEPER_SCOPE_TREE);
        keeper_call_send(&calls[i]);
    }
    assert_false(keeper_call_withdraw(&calls[0]));
    assert_true(keeper_call_withdraw(&calls[N - 1]));
    assert_int_equal(keeper_call_status(&calls[N - 1]), -ECANCELED);
    uint64_t away = keeper_link_away_usec(g->link), later = away;
    while (later == away) {
        poll(NULL, 0, 1);
        later = keeper_link_away_usec(g->link);
    }
    assert_true(later > away);
    kill(keeper, SIGCONT);
    for (int i = 0; i < 10000 && keeper_link_away_usec(g->link) > 0; i++)
        poll(NULL, 0, 1);
    assert_int_equal(keeper_link_away_usec(g->link), 0);
    for (unsigned i = 0; i < N; i++)
        keeper_call_fini(&calls[i]);
}

static void test_kill(void **state)
{
    struct rig *g = *state;
    struct volt_join join;
    struct job *j = job_new(g, 1, "sleep 60 & sleep 60");
    j->kill_signal = SIGKILL;
    assert_int_equal(volt_task_spawn(j, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    j = volt_join_state(&join);
    assert_int_equal(j->signal_status, 0);
    assert_int_equal(j->survivors, 0);
    assert_int_equal(j->record.exited.end, RECORD_END_SIGNAL);
    assert_int_equal(j->record.exited.status, SIGKILL);
    volt_join_fini(&join);
}

/* A job outlives its keeper; the link starts another one, through which the next job
 * goes. */
static void test_keeper_dies(void **state)
{
    struct rig *g = *state;
    struct volt_join first, second;
    struct keeper_link_info info;
    struct record r;
    pid_t old = keeper_pid(g);
    assert_int_equal(mkfifoat(g->files.dir_fd, "gate", 0600), 0);
    struct job *j = job_new(g, 1, "read x <gate; exit $x");
    assert_int_equal(volt_task_spawn(j, &first), 0);
    r = (struct record){.verdict = RECORD_ABSENT};
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    while (!r.has_started) {
        assert_int_equal(record_probe(g->files.record_fd, &key, g->files.boot_id, &r), 0);
        poll(NULL, 0, 1);
    }
    kill(old, SIGKILL);
    /* sent to the dead one or kept for the next: never lost, never run twice */
    assert_int_equal(volt_task_spawn(job_new(g, 2, "exit 9"), &second), 0);
    assert_int_equal(volt_join_wait(&second), 0);
    j = volt_join_state(&second);
    if (j->start_status == 0)
        assert_exit(j, 9);
    else
        assert_int_equal(j->start_status, -ECONNRESET);
    volt_join_fini(&second);

    int gate = openat(g->files.dir_fd, "gate", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(gate, "42\n", 3), 3);
    close(gate);
    assert_int_equal(volt_join_wait(&first), 0);
    j = volt_join_state(&first);
    if (j->start_status == -ECONNRESET) /* the shim was faster than the reply */
        j->start_status = 0;
    assert_exit(j, 42);
    assert_int_equal(j->remove_status, 0);
    volt_join_fini(&first);
    do
        keeper_link_info(g->link, &info);
    while (info.connects < 2 && poll(NULL, 0, 1) == 0); /* what was reset needs none */
    assert_int_equal(info.started, 2);
    assert_int_equal(info.connects, 2);
    assert_int_not_equal(info.keeper_pid, old);
}

/* A new voltd finds the keeper of the old one; without jobs an orderly end takes it
 * along. */
static void test_keeper_found_again(void **state)
{
    struct rig *g = *state;
    struct keeper_link_info info;
    struct volt_join join;
    struct proc p;
    pid_t keeper = keeper_pid(g);
    struct job *j = job_new(g, 1, "exec sleep 60");
    assert_int_equal(volt_task_spawn(j, &join), 0);
    volt_join_fini(&join);
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct record r = keeper_client_wait_started(&g->files, &key);
    while (r.verdict == RECORD_ABSENT) {
        poll(NULL, 0, 1);
        r = keeper_client_wait_started(&g->files, &key);
    }
    assert_int_equal(r.verdict, RECORD_RUNNING);
    rig_close(g, false);
    assert_int_equal(proc_read(keeper, &p), 0);
    rig_open(g);
    keeper_link_info(g->link, &info);
    assert_int_equal(info.keeper_pid, keeper);
    assert_int_equal(info.started, 0);
    assert_int_equal(info.live, 1);

    j = job_new(g, 1, "never");
    j->kill_signal = SIGKILL;
    assert_int_equal(volt_task_spawn(j, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    j = volt_join_state(&join);
    assert_int_equal(j->start_status, -EEXIST);
    assert_int_equal(j->signal_status, 0);
    assert_int_equal(j->record.exited.end, RECORD_END_SIGNAL);
    volt_join_fini(&join);
    kill(keeper,
         SIGTERM); /* the first link's child: reaped below, whatever it was doing */
    while (proc_read(keeper, &p) == 0 && !p.dead)
        poll(NULL, 0, 1);
    (void)waitpid(keeper, NULL, 0);
}

/* An idle keeper that its voltd leaves in good order leaves as well, at once. More than
 * once, because the end of the runtime may come before or amid the first poll of a
 * task. */
static void test_bye(void **state)
{
    struct rig *g = *state;
    struct proc p;
    for (int i = 0; i < 10; i++) {
        pid_t keeper = keeper_pid(g);
        rig_close(g, true);
        int r = proc_read(keeper, &p);
        rig_open(g);
        assert_int_equal(r, -ESRCH);
    }
}

/* Reaps what has ended. Whether a child of ours lives. */
static bool a_child_lives(void)
{
    pid_t pid;
    do
        pid = waitpid(-1, NULL, WNOHANG);
    while (pid > 0);
    return pid == 0;
}

/* So does one that has just been started and has not answered yet. */
static void test_bye_while_dialling(void **state)
{
    struct rig *g = *state;
    for (int ms = 0; ms < 8; ms++) {
        pid_t old = keeper_pid(g);
        kill(old, SIGKILL);
        poll(NULL, 0, ms); /* the link gets as far as it may: any moment will do */
        rig_close(g, true);
        (void)waitpid(old, NULL, 0); /* where the link has not done it */
        bool left = a_child_lives();
        rig_open(g);
        assert_false(left);
    }
}

/* What a keeper of another version does. Ends by SIGTERM. */
static void be_another_version(int listen_fd)
{
    union keeper_message m;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = accept(listen_fd, NULL, NULL);
        if (recv(fd, &m, sizeof(m), 0) < (ssize_t)sizeof(m.hello))
            _exit(1);
        struct keeper_welcome w = {
            .head = {KEEPER_MAGIC, KEEPER_WELCOME, m.head.serial},
            .status = -EPROTO,
            .version = KEEPER_VERSION + 1,
            .pid = (uint32_t)getpid(),
        };
        (void)!send(fd, &w, sizeof(w), MSG_NOSIGNAL);
        close(fd);
    }
}

static void test_another_version_is_replaced(void **state)
{
    struct rig g = {.link = NULL};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int status = 0;
    (void)state;
    keeper_client_init(&g.files);
    int listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", g.files.socket_path);
    assert_int_equal(bind(listen_fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(listen_fd, 4), 0);
    pid_t old = fork();
    if (old == 0)
        be_another_version(listen_fd);
    close(listen_fd);
    /* With no program of its own a voltd leaves it alone: somebody else sees to
     * keepers. */
    struct keeper_link_options opt = {.socket_path = g.files.socket_path,
                                      .record_fd = g.files.record_fd};
    struct keeper_link *link;
    assert_int_equal(keeper_link_open(&opt, NULL, &link), -EPROTO);
    assert_int_equal(waitpid(old, &status, WNOHANG), 0);
    rig_open(&g);
    assert_int_equal(waitpid(old, &status, 0), old);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    rig_close(&g, true);
    keeper_client_fini(&g.files);
}

static void test_cannot_start(void **state)
{
    struct keeper_client files;
    struct volt_error err = {""};
    struct keeper_link *link;
    (void)state;
    keeper_client_init(&files);
    struct keeper_link_options opt = {.socket_path = files.socket_path,
                                      .record_fd = files.record_fd,
                                      .program = "/no/such/keeper"};
    assert_int_equal(keeper_link_open(&opt, &err, &link), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/keeper"));
    opt.program = NULL;
    assert_int_equal(keeper_link_open(&opt, NULL, &link), -ECONNREFUSED);
    keeper_client_fini(&files);
}

/* Something with a keeper's name that listens and cannot stop: it awaits its vfork(2). The
 * kernel holds back what would stop it until that has ended. */
static pid_t start_unstoppable(const char *path, int *ret_gate)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int ready[2], gate[2];
    char byte;
    strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        (void)close(gate[1]);
        if (prctl(PR_SET_NAME, "voltd-keeper") < 0 ||
            bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4) < 0)
            _exit(1);
        /* vfork(2) with memory of its own; the thread sanitizer has fork(2) for vfork(). */
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
            (void)!write(ready[1], "", 1);
            (void)!read(gate[0], &byte, 1);
            _exit(0);
        }
        _exit(0);
    }
    (void)close(gate[0]);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    *ret_gate = gate[1];
    return pid;
}

static bool awaits_stop(pid_t pid)
{
    char path[32], line[128];
    unsigned long long pending = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "ShdPnd: %llx", &pending) == 1)
            break;
    (void)fclose(f);
    return (pending & 1ULL << (SIGSTOP - 1)) != 0;
}

/* What attaches to a keeper with ptrace(2) awaits the SIGSTOP that it has sent: the leak
 * checker does when a keeper exits, just when the next voltd dials it. */
static void test_a_stop_on_its_way_is_left_alone(void **state)
{
    struct keeper_client files;
    int status, gate;
    (void)state;
    keeper_client_init(&files);
    pid_t pid = start_unstoppable(files.socket_path, &gate);
    int fd = keeper_dial(files.socket_path);
    assert_true(fd >= 0);
    kill(pid, SIGSTOP);
    assert_true(awaits_stop(pid));
    keeper_continue_behind(fd);
    keeper_continue(pid);
    assert_true(awaits_stop(pid));
    (void)close(gate);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    keeper_continue_behind(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(fd);
    keeper_client_fini(&files);
}

/* A keeper that is the child of its voltd is continued whenever it is stopped, without a
 * call that waits for it. */
static void test_a_child_that_is_stopped_is_continued(void **state)
{
    struct rig g = {0};
    sigset_t set, was;
    int status;
    (void)state;
    assert_int_equal(sigemptyset(&set) | sigaddset(&set, SIGCHLD), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &was), 0);
    keeper_client_init(&g.files);
    rig_open(&g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill(keeper_pid(&g), SIGSTOP), 0);
        assert_int_equal(waitpid(keeper_pid(&g), &status, WCONTINUED), keeper_pid(&g));
        assert_true(WIFCONTINUED(status));
    }
    rig_close(&g, true);
    keeper_client_fini(&g.files);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &was, NULL), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_many_jobs),
        TEST(test_sent_before_it_is_polled),
        TEST(test_withdrawn),
        TEST(test_kill),
        TEST(test_keeper_dies),
        TEST(test_keeper_found_again),
        TEST(test_bye),
        TEST(test_bye_while_dialling),
        cmocka_unit_test(test_another_version_is_replaced),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_a_child_that_is_stopped_is_continued),
        cmocka_unit_test(test_a_stop_on_its_way_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
