/* A real keeper with real jobs, each in a temporary folder of its own. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/tree.h"
#include "tests/support/keeper_job.h"
#include "tests/support/probe.h"

static void test_exit_and_signal(void **state)
{
    struct record r = keeper_job_run(*state, "exit 7");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 7);
    assert_true(r.has_started && r.started.pid > 1 && r.started.shim_pid > 1);
    r = keeper_job_run(*state, "kill -9 $$");
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, 9);
    r = keeper_job_run(*state, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
    assert_true(r.exited.user_usec + r.exited.system_usec > 0);
    assert_true(r.exited.max_rss_kib > 100);
    assert_true(r.exited.mono_usec > r.started.mono_usec);
}

/* Whether a process that aborts here leaves a core dump, if its limit lets it. */
static bool dumps_core(const struct keeper_client *c)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit;
        (void)(getrlimit(RLIMIT_CORE, &limit) < 0 || fchdir(c->dir_fd) < 0);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &limit);
        abort();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return WCOREDUMP(status);
}

/* The bit in the record is the kernel's. */
static void test_core_dump(void **state)
{
    struct keeper_client *c = *state;
    struct record r = keeper_job_run(c, "ulimit -S -c unlimited; kill -ABRT $$");
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGABRT);
    assert_int_equal(r.exited.core_dumped, dumps_core(c));
    r = keeper_job_run(c, "ulimit -c 0; kill -ABRT $$");
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGABRT);
    assert_int_equal(r.exited.core_dumped, 0);
    r = keeper_job_run(c, "exit 134");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 134);
    assert_int_equal(r.exited.core_dumped, 0);
}

static void test_exec_failures(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    const char *const missing[] = {"no-such-program-at-all", NULL};
    const char *const folder[] = {"/tmp", NULL};
    assert_int_equal(keeper_job_start(c, &key, missing, -1).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, ENOENT);
    assert_int_equal(r.exited.step, CHILD_STEP_EXEC);

    key = keeper_job_key();
    assert_int_equal(keeper_job_start(c, &key, folder, -1).status, 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, EACCES);

    char *argv[] = {(char[]){"true"}, NULL}, *env[] = {NULL};
    const struct launch bad[] = {
        {.cwd = "/no/such/folder", .argv = argv, .argc = 1, .env = env},
        {.stdin_path = "/no/such/file", .argv = argv, .argc = 1, .env = env},
        {.stdout_path = "/dev/zero", .argv = argv, .argc = 1, .env = env},
        {.stderr_path = "/tmp", .argv = argv, .argc = 1, .env = env},
    };
    const struct {
        enum child_step step;
        int error;
    } want[] = {{CHILD_STEP_CWD, ENOENT},
                {CHILD_STEP_STDIN, ENOENT},
                {CHILD_STEP_STDOUT, EINVAL},
                {CHILD_STEP_STDERR, EISDIR}};
    for (size_t i = 0; i < 4; i++) {
        key = keeper_job_key();
        assert_int_equal(keeper_client_start(c, &key, &bad[i], -1, 0).status, 0);
        r = keeper_client_wait(c, &key);
        keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, want[i].error);
        assert_int_equal(r.exited.step, want[i].step);
    }
}

/* Through a symbolic link nothing is written, made or emptied. */
static void test_no_link_is_followed(void **state)
{
    struct keeper_client *c = *state;
    char *argv[] = {(char[]){"echo"}, (char[]){"lost"}, NULL}, *env[] = {NULL};
    const struct launch outputs[] = {
        {.stdout_path = "link", .truncate = true},
        {.stderr_path = "link", .truncate = true},
        {.stdout_path = "dangling"},
    };
    const enum child_step step[] = {CHILD_STEP_STDOUT, CHILD_STEP_STDERR,
                                    CHILD_STEP_STDOUT};
    struct stat st;
    int fd = openat(c->dir_fd, "precious", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "hello", 5), 5);
    assert_int_equal(symlinkat("precious", c->dir_fd, "link"), 0);
    assert_int_equal(symlinkat("nowhere", c->dir_fd, "dangling"), 0);
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        struct job_key key = keeper_job_key();
        struct launch l = outputs[i];
        l.cwd = c->dir;
        l.argv = argv;
        l.argc = 2;
        l.env = env;
        assert_int_equal(keeper_client_start(c, &key, &l, -1, 0).status, 0);
        struct record r = keeper_client_wait(c, &key);
        keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, ELOOP);
        assert_int_equal(r.exited.step, step[i]);
    }
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(faccessat(c->dir_fd, "nowhere", F_OK, 0), -1);
    close(fd);
}

static void test_refused_requests(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    struct record r;
    assert_int_equal(keeper_job_start_shell(c, &key, "exit 0").status, 0);
    assert_int_equal(keeper_job_start_shell(c, &key, "touch twice").status, -EEXIST);
    (void)keeper_client_wait(c, &key);
    assert_int_equal(keeper_job_start_shell(c, &key, "touch twice").status, -EEXIST);
    assert_int_equal(faccessat(c->dir_fd, "twice", F_OK, 0), -1);

    /* an unsealed launch block starts nothing */
    key = keeper_job_key();
    FILE *plain = tmpfile();
    int fds[] = {-1, fileno(plain)};
    assert_int_equal(ftruncate(fds[1], 100), 0);
    union keeper_message m = {.start = {.head.op = KEEPER_START,
                                        .key = keeper_key_pack(&key),
                                        .launch_size = 100}};
    fds[0] = keeper_client_record(c, &key, &m);
    assert_true(fds[0] >= 0);
    uint64_t serial = keeper_client_send(c, &m, sizeof(m.start), fds, 2);
    assert_int_equal(keeper_client_reply(c, serial).status, -EBADMSG);
    fclose(plain);
    /* nor does a memfd that can still change in one way, or one of another size */
    static const int each[] = {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, 0};
    for (size_t i = 0; i < 4; i++) {
        const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
        fds[1] = memfd_create("launch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(fds[1], each[i] != 0 ? 100 : 101), 0);
        assert_int_equal(fcntl(fds[1], F_ADD_SEALS, all & ~each[i]), 0);
        serial = keeper_client_send(c, &m, sizeof(m.start), fds, 2);
        assert_int_equal(keeper_client_reply(c, serial).status, -EBADMSG);
        close(fds[1]);
    }
    /* and the keeper has the record no more */
    close(fds[0]);
    assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &r), 0);
    assert_int_equal(r.verdict, RECORD_NEVER_RAN);

    assert_int_equal(keeper_client_signal(c, &key, 15, KEEPER_SCOPE_TREE).status, -ESRCH);
    /* one that is longer than any is none, whatever its beginning says */
    static union keeper_message longer[2];
    longer[0].start = m.start;
    longer[0].start.flags = KEEPER_START_INLINE;
    longer[0].start.launch_size = KEEPER_INLINE_MAX;
    serial = keeper_client_send(c, longer, sizeof(longer), NULL, 0);
    assert_int_equal(keeper_client_reply(c, serial).status, -ECONNRESET);
    keeper_client_hello(c);
    /* garbage ends the connection, and the keeper goes on */
    m.head.op = 99;
    serial = keeper_client_send(c, &m, sizeof(m.start), NULL, 0);
    assert_int_equal(keeper_client_reply(c, serial).status, -ECONNRESET);
    keeper_client_hello(c);
    r = keeper_job_run(c, "exit 3");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 3);
}

static void test_remove(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_client_remove(c, &key), 0);
    assert_int_equal(keeper_job_start_shell(c, &key, "exec sleep 60").status, 0);
    assert_int_equal(keeper_client_remove(c, &key), -EBUSY);
    assert_int_equal(keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_MAIN).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
    assert_int_equal(keeper_client_remove(c, &key), 0);
    r = keeper_client_wait(c, &key);
    assert_int_equal(r.verdict, RECORD_ABSENT);
    assert_int_equal(keeper_job_start_shell(c, &key, "exit 0").status, 0);
}

/* A job that has ended, and whose shim was stopped before it got round to it, which the
 * signal continues. */
static void test_signal_nobody(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(
        keeper_job_start_shell(c, &key, "echo $$ >pid; exec sleep 60").status, 0);
    pid_t job = keeper_job_read_pid(c, "pid");
    struct record r = keeper_client_wait_started(c, &key);
    keeper_job_stop((pid_t)r.started.shim_pid);
    kill(job, SIGKILL);
    keeper_job_wait_gone(job);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE).status,
                     -ESRCH);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* In kill mode `main` if at all something may be left. */
static struct record run_mode(struct keeper_client *c, const char *script,
                              enum keeper_kill_mode mode)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, strdup(script), NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_client_start(c, &key, &l, -1, mode).status, 0);
    free(argv[2]);
    return keeper_client_wait(c, &key);
}

/* Runs the script, and short jobs until one has had its shim: that may not be ready again
 * in time, so that others come first, or gone after a pause. Returns the short one's
 * record, and the script's. */
static struct record run_reused(struct keeper_client *c, const char *script,
                                struct record *ret_first)
{
    enum { SHIMS = 40 }; /* more than wait at a time */
    struct record r, first;
    int tries = 0;
    do {
        first = keeper_job_run(c, script);
        for (int i = 0; i < SHIMS; i++) {
            r = keeper_job_run(c, "exit 2");
            if (r.started.shim_pid == first.started.shim_pid)
                break;
        }
    } while (r.started.shim_pid != first.started.shim_pid && ++tries < 1000);
    assert_int_equal(r.started.shim_pid, first.started.shim_pid);
    assert_int_equal(r.started.shim_start, first.started.shim_start);
    if (ret_first != NULL)
        *ret_first = first;
    return r;
}

static void test_clean_room(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    char *argv[] = {keeper_job_self(), (char[]){"probe"}, NULL};
    char *env[] = {(char[]){"ONE=1"}, (char[]){"TWO="}, (char[]){"LD_DUMMY=x"}, NULL};
    char want[2048], got[4096] = "";
    int in = openat(c->dir_fd, "in", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(in, "hello", 5), 5);
    close(in);
    struct launch l = {.cwd = c->dir,
                       .stdin_path = "in",
                       .stderr_path = "err",
                       .argv = argv,
                       .argc = 2,
                       .env = env,
                       .envc = 3};
    int out = openat(c->dir_fd, "out", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    (void)run_reused(c, "exit 1", NULL); /* so is the shim of what follows */
    assert_int_equal(keeper_client_start(c, &key, &l, out, KEEPER_KILL_TREE).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
    assert_true(pread(out, got, sizeof(got) - 1, 0) > 0);
    close(out);
    snprintf(want, sizeof(want),
             "fds: 0 1 2\nignored:\nblocked:\numask: 22\ncwd: %s\nsession leader: 1\n"
             "ids: %u %u %u %u\nnice: 0\nscheduler: 0\nparent death: 0\nno_new_privs: 0\n"
             "subreaper: 0\noom: %d\nstdin: %s/in flags 0\nstdout: %s/out flags 2002\n"
             "stderr: %s/err flags 2001\ninput: hello\n"
             "env: ONE=1\nenv: TWO=\nenv: LD_DUMMY=x\n",
             c->dir, getuid(), geteuid(), getgid(), getegid(), 0, c->dir, c->dir, c->dir);
    assert_string_equal(got, want);
    struct stat st;
    assert_int_equal(fstatat(c->dir_fd, "err", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
}

/* The figures of a job are its own, whatever its shim has had before. */
static void test_shim_again(void **state)
{
    struct keeper_client *c = *state;
    struct record heavy;
    struct record r =
        run_reused(c, "x=$(head -c 2000000 /dev/zero | tr '\\0' x)", &heavy);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 2);
    assert_true(r.exited.user_usec + r.exited.system_usec <
                heavy.exited.user_usec + heavy.exited.system_usec);
#if !defined(VOLT_TSAN) && !defined(__SANITIZE_ADDRESS__)
    /* A job begins in its shim's memory, and that counts: there it is the sanitizer's. */
    assert_true(r.exited.max_rss_kib < heavy.exited.max_rss_kib);
#endif
    /* one that waits is killed: another takes its place */
    pid_t shim = (pid_t)r.started.shim_pid;
    kill(shim, SIGKILL);
    keeper_job_wait_gone(shim);
    r = keeper_job_run(c, "exit 3");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 3);
    assert_int_not_equal(r.started.shim_pid, shim);
}

/* A shim whose job has left something behind gets no other job; the others go when there
 * is nothing to do. */
static void test_shim_not_again(void **state)
{
    struct keeper_client *c = *state;
    struct record r = run_mode(c, "sleep 60 & echo $! >left", KEEPER_KILL_MAIN);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 0);
    /* and stays as long as that, which is no child of the keeper's then */
    pid_t left = keeper_job_read_pid(c, "left");
    struct proc p;
    assert_int_equal(proc_read(left, &p), 0);
    assert_int_equal(p.parent, r.started.shim_pid);
    kill(left, SIGKILL);
    keeper_job_wait_gone((pid_t)r.started.shim_pid);
    r = run_mode(c, "exit 4", KEEPER_KILL_MAIN);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 4);
    r = run_reused(c, "exit 1", NULL);
    keeper_job_wait_gone((pid_t)r.started.shim_pid);
}

/* In kill mode `main`: what is left has a parent that no other job has had. */
static void test_a_shim_of_its_own(void **state)
{
    struct keeper_client *c = *state;
    const pid_t waits = (pid_t)run_reused(c, "exit 1", NULL).started.shim_pid;
    for (int i = 0; i < 20; i++) { /* it may not be ready again at once */
        struct record r = run_mode(c, "exit 0", KEEPER_KILL_MAIN);
        assert_int_not_equal(r.started.shim_pid, waits);
    }
}

/* While somebody is about to signal a job by its shim, none is used again. */
static void test_shim_not_again_under_fire(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key, next = keeper_job_key();
    pid_t seen[1001], shim;
    unsigned n = 0;
    /* A job that has not begun when it is to be signalled is waited for. Its shim may have
     * been stopped before it could say that it was ready again: then another one. */
    do {
        shim = (pid_t)run_reused(c, "exit 1", NULL).started.shim_pid;
        keeper_job_stop(shim);
        key = keeper_job_key();
        seen[n] = (pid_t)keeper_job_start_shell(c, &key, "exec sleep 60").pid;
        if (seen[n] != shim)
            kill(shim, SIGCONT);
    } while (seen[n++] != shim && n < 1000);
    assert_int_equal(seen[n - 1], shim);
    seen[n++] = (pid_t)keeper_job_run(c, "exit 1").started.shim_pid; /* one that waits */
    (void)keeper_client_send_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE);
    pid_t fresh = (pid_t)keeper_job_start_shell(c, &next, "exit 5").pid;
    for (unsigned i = 0; i < n; i++)
        assert_int_not_equal(fresh, seen[i]);
    kill(shim, SIGCONT);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGTERM);
    r = keeper_client_wait(c, &next);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 5);
}

/* Those of real time as well, 32 and 33 among them, which the library refuses. */
static void set_real_time_signals(void (*how)(int sig), int mask)
{
    const struct {
        void (*handler)(int sig);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action = {how, 0, NULL, 0};
    const uint64_t set = UINT64_MAX << 31;
    for (int sig = 32; sig <= 64; sig++)
        assert_int_equal(syscall(SYS_rt_sigaction, sig, &action, NULL, 8), 0);
    assert_int_equal(syscall(SYS_rt_sigprocmask, mask, &set, NULL, 8), 0);
}

/* Everything a careless daemon could hand on, handed to the keeper. */
static int pollute(void **state)
{
    sigset_t set;
    int nice = getpriority(PRIO_PROCESS, 0);
    sigfillset(&set);
    /* Only root may take it back; others may only give less. */
    assert_int_equal(setpriority(PRIO_PROCESS, 0, geteuid() == 0 ? -5 : nice), 0);
    set_real_time_signals(SIG_IGN, SIG_BLOCK);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    umask(0);
    setenv("NOTIFY_SOCKET", "/nowhere", 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("INVOCATION_ID", "x", 1);
    for (int fd = 20; fd < 30; fd++)
        assert_int_equal(dup2(2, fd), fd); /* not CLOEXEC */
    int r = keeper_client_setup(state);
    for (int fd = 20; fd < 30; fd++)
        close(fd);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_FDS");
    unsetenv("INVOCATION_ID");
    umask(022);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    set_real_time_signals(SIG_DFL, SIG_UNBLOCK);
    assert_int_equal(setpriority(PRIO_PROCESS, 0, nice), 0);
    return r;
}

/* One end stays open in the keeper, if in anybody. */
static int inherited[2];

static int start_with_a_pipe(void **state)
{
    assert_int_equal(pipe(inherited), 0);
    int r = keeper_client_setup(state);
    (void)close(inherited[1]);
    return r;
}

/* Whoever reads what voltd's own starter prints would wait for as long as jobs live. */
static void test_nothing_of_the_starter_stays(void **state)
{
    char byte;
    (void)state;
    assert_int_equal(fcntl(inherited[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(inherited[0], &byte, 1), 0);
    (void)close(inherited[0]);
}

static void test_keeper_killed(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    struct record r;
    assert_int_equal(mkfifoat(c->dir_fd, "gate", 0600), 0);
    assert_int_equal(
        keeper_job_start_shell(c, &key, "echo $$ >pid; read x <gate; exit $x").status, 0);
    pid_t job = keeper_job_read_pid(c, "pid");
    kill(c->keeper, SIGKILL);
    waitpid(c->keeper, NULL, 0);
    assert_false(keeper_job_is_gone(job));
    keeper_client_spawn(c);
    assert_int_equal(keeper_client_hello(c).live, 0);
    assert_int_equal(keeper_job_start_shell(c, &key, "touch twice").status, -EEXIST);
    assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING);
    assert_int_equal(r.started.pid, job);
    struct proc shim;
    assert_int_equal(proc_read((pid_t)r.started.shim_pid, &shim), 0);
    assert_int_equal(getpgid(shim.pid),
                     shim.pid); /* no signal to the keeper's group hits it */
    assert_int_equal(shim.start, r.started.shim_start);
    /* the new keeper can signal what the old one has started */
    assert_int_equal(keeper_client_signal(c, &key, SIGCONT, KEEPER_SCOPE_TREE).reached,
                     1);
    int gate = openat(c->dir_fd, "gate", O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(gate, "42\n", 3), 3);
    close(gate);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 42);
}

/* The program is searched in the job's PATH, not in the keeper's. */
static void test_path_of_the_job(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    char path[96];
    char *argv[] = {(char[]){"only-here"}, NULL}, *env[] = {path, NULL};
    struct launch l = {.argv = argv, .argc = 1, .env = env, .envc = 1};
    snprintf(path, sizeof(path), "PATH=/nowhere:%s", c->dir);
    int fd = openat(c->dir_fd, "only-here", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "#!/bin/sh\nexit 21\n", 18), 18);
    close(fd);
    assert_int_equal(keeper_client_start(c, &key, &l, -1, 0).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXEC_FAILED, EACCES);
    assert_int_equal(fchmodat(c->dir_fd, "only-here", 0700, 0), 0);
    key = keeper_job_key();
    assert_int_equal(keeper_client_start(c, &key, &l, -1, 0).status, 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 21);
}

static void test_hello_supersedes(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key(), lost = keeper_job_key();
    int old = c->fd;
    char byte;
    /* waits in a builtin: a shell caught in vfork could not stop */
    assert_int_equal(mkfifoat(c->dir_fd, "gate", 0600), 0);
    assert_int_equal(keeper_job_start_shell(c, &key, "exec sleep 60").status, 0);
    /* With the keeper stopped, an old request and a new HELLO wait side by side. */
    keeper_job_stop(c->keeper);
    int new_fd = keeper_client_connect(c);
    struct keeper_client newer = *c;
    newer.fd = new_fd;
    union keeper_message m = {
        .hello = {.head.op = KEEPER_HELLO, .version = KEEPER_VERSION}};
    keeper_client_send(&newer, &m, sizeof(m.hello), NULL, 0);
    kill(c->keeper, SIGCONT);
    struct pollfd p = {new_fd, POLLIN, 0};
    assert_int_equal(poll(&p, 1, -1), 1);
    assert_int_equal(recv(new_fd, &m, sizeof(m), 0), sizeof(m.welcome));
    assert_int_equal(m.welcome.live, 1);
    /* the older connection is closed, and what is sent on it starts nothing */
    p.fd = old;
    assert_int_equal(poll(&p, 1, -1), 1);
    assert_int_equal(recv(old, &byte, 1, 0), 0);
    (void)keeper_client_send_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    struct record r;
    assert_int_equal(record_probe(c->record_fd, &lost, c->boot_id, &r), 0);
    assert_int_equal(r.verdict, RECORD_ABSENT);
    close(old);
    c->fd = new_fd;
    c->serial = newer.serial;
    assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &r), 0);
    assert_int_equal(r.verdict, RECORD_RUNNING);
    assert_int_equal(keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE).status, 0);
}

/* Requests before HELLO, and of another version, are not served. A keeper that is told of
 * another version leaves; its jobs go on. */
static void test_hello_first(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    int status = -1;
    assert_int_equal(
        keeper_job_start_shell(c, &key, "echo $$ >pid; exec sleep 60").status, 0);
    pid_t job = keeper_job_read_pid(c, "pid");
    close(c->fd);
    c->fd = keeper_client_connect(c);
    assert_int_equal(keeper_client_signal(c, &key, SIGCONT, KEEPER_SCOPE_TREE).status,
                     -ECONNRESET);
    close(c->fd);
    c->fd = keeper_client_connect(c);
    union keeper_message m = {
        .hello = {.head.op = KEEPER_HELLO, .version = KEEPER_VERSION + 1}};
    keeper_client_send(c, &m, sizeof(m.hello), NULL, 0);
    assert_int_equal(recv(c->fd, &m, sizeof(m), 0), sizeof(m.welcome));
    assert_int_equal(m.welcome.status, -EPROTO);
    assert_int_equal(recv(c->fd, &m, sizeof(m), 0), 0);
    assert_int_equal(waitpid(c->keeper, &status, 0), c->keeper);
    assert_int_equal(status, 0);
    keeper_client_spawn(c);
    assert_int_equal(keeper_client_hello(c).status, 0);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE).status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGTERM);
    assert_true(keeper_job_is_gone(job));
}

/* The end of a job is no message: its record says it, to whoever looks. */
static void test_nothing_comes_unasked(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    union keeper_message m;
    struct record r = keeper_job_run(c, "exit 1");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 1);
    assert_int_equal(keeper_job_start_shell(c, &key, "exit 2").status, 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 2);
    assert_int_equal(keeper_client_remove(c, &key), 0);
    assert_int_equal(recv(c->fd, &m, sizeof(m), MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

/* Every connection takes the place of the one before, also without a HELLO. */
static void test_newer_connection(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    struct pollfd p = {c->fd, POLLIN, 0};
    int silent = keeper_client_connect(c);
    assert_int_equal(poll(&p, 1, -1), 1);
    assert_int_equal(recv(c->fd, &key, 1, 0), 0);
    close(c->fd);
    assert_int_equal(keeper_client_hello(c).status, 0);
    p.fd = silent;
    assert_int_equal(poll(&p, 1, -1), 1);
    assert_int_equal(recv(silent, &key, 1, 0), 0);
    close(silent);
    key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(c, &key, "exit 3").status, 0);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_EXIT, 3);
}

static uint64_t say_bye(struct keeper_client *c, uint32_t settled)
{
    union keeper_message m = {.bye = {.head.op = KEEPER_BYE, .settled = settled}};
    return keeper_client_send(c, &m, sizeof(m.bye), NULL, 0);
}

/* With jobs it stays, and says so at once; a voltd that has seen the end of all of them
 * is answered when the keeper has too, and that is its last word. */
static void test_bye(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    union keeper_message m;
    int status = -1;
    assert_int_equal(mkfifoat(c->dir_fd, "go", 0600), 0);
    assert_int_equal(keeper_job_start_shell(c, &key, "read x <go").status, 0);
    assert_int_equal(keeper_client_reply(c, say_bye(c, 0)).status, -EBUSY);
    uint64_t bye = say_bye(c, 1);
    /* first: not yet answered */
    assert_int_equal(keeper_client_signal(c, &key, SIGCONT, KEEPER_SCOPE_TREE).status, 0);
    int go = openat(c->dir_fd, "go", O_WRONLY | O_CLOEXEC);
    close(go);
    assert_int_equal(keeper_client_reply(c, bye).status, 0);
    assert_int_equal(recv(c->fd, &m, sizeof(m), 0), 0);
    assert_int_equal(waitpid(c->keeper, &status, 0), c->keeper);
    assert_int_equal(status, 0);
    c->keeper = 0;
}

/* What a job of mode main has left on purpose is no reason for a voltd that has seen the end
 * of every job to wait. */
static void test_bye_beside_what_is_left(void **state)
{
    struct keeper_client *c = *state;
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
                    (char[]){"sleep 1000 & echo $! >left"}, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    struct job_key key = keeper_job_key();
    int status = -1;
    assert_int_equal(keeper_client_start(c, &key, &l, -1, KEEPER_KILL_MAIN).status, 0);
    pid_t left = keeper_job_read_pid(c, "left");
    (void)keeper_client_wait(c, &key);
    assert_int_equal(keeper_client_reply(c, say_bye(c, 0)).status, -EBUSY);
    uint64_t bye = say_bye(c, 1);
    assert_int_equal(shutdown(c->fd, SHUT_WR), 0); /* the last word of this side, too */
    int r = keeper_client_reply(c, bye).status;
    bool stays = !keeper_job_is_gone(left);
    (void)kill(left, SIGKILL);
    assert_int_equal(r, 0);
    assert_true(stays);
    assert_int_equal(waitpid(c->keeper, &status, 0), c->keeper);
    assert_int_equal(status, 0);
    c->keeper = 0;
}

static void test_many_at_once(void **state)
{
    enum { N = 100 };
    struct keeper_client *c = *state;
    char script[32];
    for (uint64_t i = 0; i < N; i++) {
        struct job_key key = {1000, (int64_t)i, 1};
        snprintf(script, sizeof(script), "exit %d", (int)i);
        assert_int_equal(keeper_job_start_shell(c, &key, script).status, 0);
    }
    for (uint64_t i = 0; i < N; i++) {
        struct job_key key = {1000, (int64_t)i, 1};
        struct record r = keeper_client_wait(c, &key);
        keeper_job_assert_end(&r, RECORD_END_EXIT, (int)i);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "probe") == 0)
        return probe_main();
#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_exit_and_signal),
        TEST(test_core_dump),
        TEST(test_exec_failures),
        TEST(test_no_link_is_followed),
        TEST(test_refused_requests),
        TEST(test_remove),
        cmocka_unit_test_setup_teardown(test_signal_nobody, keeper_client_setup_patient,
                                        keeper_client_teardown),
        TEST(test_clean_room),
        cmocka_unit_test_setup_teardown(test_clean_room, pollute, keeper_client_teardown),
        cmocka_unit_test_setup_teardown(test_shim_again, keeper_client_setup_patient,
                                        keeper_client_teardown),
        TEST(test_shim_not_again),
        cmocka_unit_test_setup_teardown(
            test_a_shim_of_its_own, keeper_client_setup_patient, keeper_client_teardown),
        cmocka_unit_test_setup_teardown(test_shim_not_again_under_fire,
                                        keeper_client_setup_patient,
                                        keeper_client_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_of_the_starter_stays,
                                        start_with_a_pipe, keeper_client_teardown),
        TEST(test_keeper_killed),
        TEST(test_path_of_the_job),
        TEST(test_hello_supersedes),
        TEST(test_hello_first),
        TEST(test_newer_connection),
        TEST(test_nothing_comes_unasked),
        TEST(test_bye),
        TEST(test_bye_beside_what_is_left),
        TEST(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
