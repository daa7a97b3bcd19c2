/* Keepers that do not do what they should: one that does not answer, one that is stopped again
 * and again, one that has gone, one that has other records or is of another version, one that
 * breaks the protocol. voltd starts without it, goes on with another one, and no call is
 * lost. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
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

#include <volt/runtime.h>

#include "daemon/link/keeper_link.h"
#include "daemon/link/record_make.h"
#include "tests/support/keeper_client.h"

static struct {
    struct keeper_client files; /* the folder only */
    char program[512];
    struct keeper_link_options options;
    struct keeper_link *link;
    struct volt_runtime *rt;
    int gate; /* closed: a keeper that does not answer ends */
} g;

static int setup(void **state)
{
    const char *bin = getenv("VOLT_BIN");

    (void)state;
    memset(&g, 0, sizeof(g));
    keeper_client_init(&g.files);
    (void)snprintf(g.program, sizeof(g.program), "%s/voltd-keeper",
                   bin ? bin : "build/bin");
    g.options = (struct keeper_link_options){.socket_path = g.files.socket_path,
                                             .record_fd = g.files.record_fd,
                                             .program = g.program};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    keeper_client_fini(&g.files);
    return 0;
}

/* --- a link ------------------------------------------------------------------------------- */

/* Without a thread. */
static void connect_link(void)
{
    struct volt_error err = {""};

    if (keeper_link_open(&g.options, &err, &g.link) < 0)
        fail_msg("%s", err.text);
}

static void open_link(void)
{
    connect_link();
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &g.rt), 0);
    assert_int_equal(keeper_link_start(g.link, g.rt), 0);
}

static void close_link(bool settled)
{
    assert_int_equal(volt_runtime_shutdown(g.rt, UINT64_MAX), 0);
    keeper_link_free(g.link, settled);
    volt_runtime_free(g.rt);
}

static pid_t keeper_pid(void)
{
    struct keeper_link_info info;

    keeper_link_info(g.link, &info);
    return (pid_t)info.keeper_pid;
}

struct asking {
    struct keeper_call call;
    bool begun;
};

static enum volt_poll asking_poll(struct volt_cx *cx, void *state)
{
    static const struct job_key none = {1, JOB_NO_INDEX, 1};
    struct asking *a = state;

    if (!a->begun)
        keeper_call_init_signal(&a->call, g.link, &none, SIGCONT, KEEPER_SCOPE_TREE);
    a->begun = true;
    return keeper_call_poll(cx, &a->call);
}

static void asking_drop(void *state)
{
    struct asking *a = state;

    keeper_call_fini(&a->call);
}

static const struct volt_task_type asking_type = {.name = "test-ask",
                                                  .size = sizeof(struct asking),
                                                  .poll = asking_poll,
                                                  .drop = asking_drop};

/* A call that was sent before its task is there. */
static struct asking *new_asking(void)
{
    struct asking *a = volt_task_new(g.rt, &asking_type);

    assert_non_null(a);
    a->begun = true;
    return a;
}

/* A call that goes out; its status with await_call(). */
static void begin_call(struct volt_join *join)
{
    struct asking *a = volt_task_new(g.rt, &asking_type);

    assert_non_null(a);
    assert_int_equal(volt_task_spawn(a, join), 0);
}

static int await_call(struct volt_join *join)
{
    assert_int_equal(volt_join_wait(join), 0);
    int r = keeper_call_status(&((struct asking *)volt_join_state(join))->call);
    volt_join_fini(join);
    return r == -ESRCH ? 0 : r; /* there is no such job */
}

static int call(void)
{
    struct volt_join join;

    begin_call(&join);
    return await_call(&join);
}

/* --- what is no good keeper --------------------------------------------------------------- */

/* Says WELCOME to the first voltd. Returns the connection. */
static int welcome_one(int listen_fd)
{
    struct keeper_welcome w = {.head = {KEEPER_MAGIC, KEEPER_WELCOME, 0},
                               .version = KEEPER_VERSION,
                               .pid = (uint32_t)getpid()};
    union keeper_message m;
    int fd = accept(listen_fd, NULL, NULL);

    if (recv(fd, &m, sizeof(m), 0) < (ssize_t)sizeof(m.hello))
        _exit(1);
    w.head.serial = m.head.serial;
    if (send(fd, &w, sizeof(w), MSG_NOSIGNAL) != sizeof(w))
        _exit(1);
    return fd;
}

static void never_answer(int listen_fd)
{
    char byte;

    (void)listen_fd;
    (void)!read(g.gate, &byte, 1);
}

static void stop_again_and_again(int listen_fd)
{
    (void)welcome_one(listen_fd);
    for (;;)
        (void)raise(SIGSTOP);
}

static void send_reply(int fd, uint64_t serial)
{
    const struct keeper_reply r = {.head = {KEEPER_MAGIC, KEEPER_REPLY, serial}};

    (void)!send(fd, &r, sizeof(r), MSG_NOSIGNAL);
}

static void stop_once(int listen_fd)
{
    union keeper_message m;
    int fd = welcome_one(listen_fd);

    (void)raise(SIGSTOP);
    (void)!recv(fd, &m, sizeof(m), 0);
    send_reply(fd, m.head.serial);
    (void)!recv(fd, &m, sizeof(m), 0); /* until the connection ends */
}

static void talk_nonsense(int listen_fd)
{
    union keeper_message m;
    int fd = welcome_one(listen_fd);

    (void)!recv(fd, &m, sizeof(m), 0);
    (void)!send(fd, "nonsense", 8, MSG_NOSIGNAL);
    (void)!recv(fd, &m, sizeof(m), 0); /* until the connection ends */
}

static void answer_another_request(int listen_fd)
{
    union keeper_message m;
    int fd = welcome_one(listen_fd);

    (void)!recv(fd, &m, sizeof(m), 0);
    send_reply(fd, m.head.serial + 1);
    (void)!recv(fd, &m, sizeof(m), 0); /* until the connection ends */
}

static void welcome_twice(int listen_fd)
{
    struct keeper_welcome w = {.head = {KEEPER_MAGIC, KEEPER_WELCOME, 0},
                               .version = KEEPER_VERSION,
                               .pid = (uint32_t)getpid()};
    union keeper_message m;
    int fd = welcome_one(listen_fd);

    (void)!recv(fd, &m, sizeof(m), 0);
    w.head.serial = m.head.serial;
    (void)!send(fd, &w, sizeof(w), MSG_NOSIGNAL);
    (void)!recv(fd, &m, sizeof(m), 0); /* until the connection ends */
}

static void answer_two_at_once(int listen_fd)
{
    union keeper_message first, second;
    int fd = welcome_one(listen_fd);

    (void)!recv(fd, &first, sizeof(first), 0);
    (void)!recv(fd, &second, sizeof(second), 0);
    send_reply(fd, first.head.serial);
    send_reply(fd, second.head.serial);
    (void)!recv(fd, &first, sizeof(first), 0); /* until the connection ends */
}

static void leave_at_the_gate(int listen_fd)
{
    (void)welcome_one(listen_fd);
    never_answer(listen_fd);
}

/* It is there to be asked a second time. */
static void be_of_another_version(int listen_fd)
{
    const struct keeper_welcome w = {.head = {KEEPER_MAGIC, KEEPER_WELCOME, 0},
                                     .status = -EPROTO,
                                     .version = KEEPER_VERSION + 1,
                                     .pid = (uint32_t)getpid()};
    union keeper_message m;

    for (int i = 0; i < 2; i++) {
        int fd = accept(listen_fd, NULL, NULL);

        (void)!recv(fd, &m, sizeof(m), 0);
        (void)!send(fd, &w, sizeof(w), MSG_NOSIGNAL);
        (void)!recv(fd, &m, sizeof(m), 0); /* until it is left */
        (void)close(fd);
    }
}

static int listen_now(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", g.files.socket_path);
    (void)unlink(a.sun_path); /* of a keeper that has left */
    if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 4) < 0)
        _exit(1);
    return fd;
}

/* A child with a keeper's name that listens and does this. */
static pid_t start(void (*behave)(int listen_fd))
{
    int gate[2], ready[2];
    char byte;

    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_NAME, "voltd-keeper");
        (void)close(gate[1]);
        g.gate = gate[0];
        int fd = listen_now(); /* itself: that is how it is known */
        (void)!write(ready[1], "", 1);
        behave(fd);
        _exit(0);
    }
    (void)close(gate[0]);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    g.gate = gate[1];
    return pid;
}

/* --- cases -------------------------------------------------------------------------------- */

static void one_that_does_not_answer_is_not_waited_for(void **state)
{
    struct keeper_link_info info;
    struct volt_join join;
    pid_t pid = start(never_answer);
    int status;

    (void)state;
    open_link();
    assert_true(keeper_link_is_late(g.link));
    assert_true(keeper_link_away_usec(g.link) > 0);
    keeper_link_info(g.link, &info);
    begin_call(&join); /* waits for the one that follows */
    (void)close(g.gate);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(await_call(&join), 0);
    assert_false(keeper_link_is_late(g.link));
    assert_int_equal(keeper_link_away_usec(g.link), 0);
    assert_int_not_equal(keeper_pid(), pid);
    close_link(true);
}

static void one_that_is_stopped_again_and_again_is_killed(void **state)
{
    pid_t pid = start(stop_again_and_again);
    int status;

    (void)state;
    open_link();
    assert_int_equal(keeper_pid(), pid);
    assert_int_equal(call(), -ECONNRESET); /* its fate is not known */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(call(), 0);
    assert_int_not_equal(keeper_pid(), pid);
    close_link(true);
    (void)close(g.gate);
}

/* SIGCONT comes first. */
static void one_that_was_stopped_once_is_not_killed(void **state)
{
    pid_t pid = start(stop_once);
    int status;

    (void)state;
    open_link();
    assert_int_equal(call(), 0);
    assert_int_equal(keeper_pid(), pid);
    close_link(true);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(g.gate);
}

static void is_left(void (*behave)(int listen_fd))
{
    pid_t pid = start(behave);
    int status;

    open_link();
    assert_int_equal(call(), -ECONNRESET);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(call(), 0);
    close_link(true);
    (void)close(g.gate);
}

static void one_that_breaks_the_protocol_is_left(void **state)
{
    (void)state;
    is_left(talk_nonsense);
    is_left(answer_another_request);
    is_left(welcome_twice);
}

static void an_answer_to_an_abandoned_call_is_none_too_many(void **state)
{
    static const struct job_key none = {1, JOB_NO_INDEX, 1};
    struct keeper_call abandoned;
    pid_t pid = start(answer_two_at_once);

    (void)state;
    open_link();
    keeper_call_init_signal(&abandoned, g.link, &none, SIGCONT, KEEPER_SCOPE_TREE);
    keeper_call_send(&abandoned);
    keeper_call_fini(&abandoned);
    assert_int_equal(call(), 0);
    close_link(true);
    (void)close(g.gate);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The link has not seen yet that it has gone: what could not be sent goes to the next one. */
static void what_was_not_sent_goes_to_the_next(void **state)
{
    static const struct job_key none = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    pid_t pid = start(leave_at_the_gate);

    (void)state;
    connect_link();
    (void)close(g.gate);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &g.rt), 0);
    struct asking *a = new_asking();
    keeper_call_init_signal(&a->call, g.link, &none, SIGCONT, KEEPER_SCOPE_TREE);
    keeper_call_send(&a->call);
    assert_int_equal(keeper_link_start(g.link, g.rt), 0);
    assert_int_equal(volt_task_spawn(a, &join), 0);
    assert_int_equal(await_call(&join), 0);
    assert_int_not_equal(keeper_pid(), pid);
    close_link(true);
}

static enum record_verdict verdict_of(const struct job_key *key)
{
    struct record r;

    assert_int_equal(record_probe(g.files.record_fd, key, g.files.boot_id, &r), 0);
    return r.verdict;
}

/* What lies in the socket of a keeper has the record alone, and loses it with the keeper;
 * what was not sent loses it when it is withdrawn. */
static void the_record_goes_with_its_start(void **state)
{
    enum { N = 65 }; /* one more than may be on their way */
    static struct keeper_call calls[N];
    static uint64_t launch[8];
    const struct job_key sent = {1, JOB_NO_INDEX, 1}, unsent = {N, JOB_NO_INDEX, 1};
    pid_t pid = start(leave_at_the_gate);

    (void)state;
    connect_link();
    for (unsigned i = 0; i < N; i++) {
        const struct job_key key = {i + 1, JOB_NO_INDEX, 1};
        struct keeper_start_args args = {.launch = launch,
                                         .launch_size = sizeof(launch),
                                         .launch_fd = -1,
                                         .stdin_fd = -1,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .script_fd = -1};
        args.record_fd = record_create(g.files.record_fd, NULL, &key, g.files.boot_id,
                                       KEEPER_KILL_TREE, &args.record_seed);
        assert_true(args.record_fd >= 0);
        keeper_call_init_start(&calls[i], g.link, &key, &args);
        assert_int_equal(args.record_fd, -1);
        keeper_call_send(&calls[i]);
    }
    assert_int_equal(verdict_of(&sent), RECORD_RUNNING);
    assert_int_equal(verdict_of(&unsent), RECORD_RUNNING);
    assert_false(keeper_call_withdraw(&calls[0]));
    assert_true(keeper_call_withdraw(&calls[N - 1]));
    assert_int_equal(verdict_of(&unsent), RECORD_NEVER_RAN);
    (void)close(g.gate);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(verdict_of(&sent), RECORD_NEVER_RAN);
    for (unsigned i = 0; i < N; i++)
        keeper_call_fini(&calls[i]);
    keeper_link_free(g.link, true);
}

/* The signal waits a second for the job to start; what is asked behind it does not. */
static void an_answer_is_that_of_its_request(void **state)
{
    static const struct job_key held = {7, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;

    (void)state;
    open_link();
    int fd = record_create(g.files.record_fd, NULL, &held, g.files.boot_id,
                           KEEPER_KILL_TREE, &seed);
    assert_true(fd >= 0);
    struct asking *a = new_asking();
    keeper_call_init_signal(&a->call, g.link, &held, SIGTERM, KEEPER_SCOPE_TREE);
    keeper_call_send(&a->call);
    const int other = call();
    assert_int_equal(volt_task_spawn(a, &join), 0);
    assert_int_equal(await_call(&join), -EAGAIN);
    assert_int_equal(other, 0);
    (void)close(fd);
    close_link(true);
}

/* The programs were upgraded while this voltd ran: the keeper is not this one's to end. */
static void one_of_another_version_that_comes_later_is_let_be(void **state)
{
    pid_t first = start(leave_at_the_gate);
    const int gate = g.gate; /* which the second one has as well */
    int status;

    (void)state;
    connect_link();
    assert_int_equal(unlink(g.files.socket_path), 0);
    pid_t other = start(be_of_another_version);
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_int_equal(waitpid(first, NULL, 0), first);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &g.rt), 0);
    assert_int_equal(keeper_link_start(g.link, g.rt), 0);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(gate);
    (void)close(g.gate);
    assert_int_equal(call(), 0);
    close_link(true);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(one_that_does_not_answer_is_not_waited_for),
        T(one_that_is_stopped_again_and_again_is_killed),
        T(one_that_was_stopped_once_is_not_killed),
        T(one_that_breaks_the_protocol_is_left),
        T(an_answer_to_an_abandoned_call_is_none_too_many),
        T(what_was_not_sent_goes_to_the_next),
        T(the_record_goes_with_its_start),
        T(an_answer_is_that_of_its_request),
        T(one_of_another_version_that_comes_later_is_let_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
