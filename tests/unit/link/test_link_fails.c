/* Each allocation and each system call of voltd's end of the keeper's link fails once, and each
 * that a signal can interrupt is interrupted once: from the connection to the end of a job,
 * with a keeper that dies meanwhile, and at the end of the link. No descriptor is left, a
 * job whose start was answered ends as it does, one whose start was not has run once or never,
 * and the link goes on. */
#include "tests/support/call_hook.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <volt/runtime.h>

#include "daemon/link/keeper_link.h"
#include "daemon/link/record_make.h"
#include "daemon/link/record_watch.h"
#include "tests/support/keeper_client.h"

static const struct siphash_key secret = {1, 2};

static struct {
    struct keeper_client files; /* the folder only; the link starts the keeper */
    char program[512];
    struct volt_runtime *rt;
    struct keeper_link *link;
    struct record_watch *watch;
    int launch_fd;
    uint64_t launch_size;
    unsigned usual; /* descriptors, without a link */
    uint64_t id;    /* of the next job */
} g;

static unsigned descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int setup(void **state)
{
    const char *bin = getenv("VOLT_BIN");
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 3"}, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};

    (void)state;
    hook_arm(0, false);
    hook_spares = true;
    memset(&g, 0, sizeof(g));
    keeper_client_init(&g.files);
    (void)snprintf(g.program, sizeof(g.program), "%s/voltd-keeper",
                   bin ? bin : "build/bin");
    const struct launch l = {
        .cwd = g.files.dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    g.launch_fd = launch_memfd(&l, &g.launch_size);
    assert_true(g.launch_fd >= 0);
    g.usual = descriptors();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)close(g.launch_fd);
    keeper_client_fini(&g.files);
    return 0;
}

/* --- a link ------------------------------------------------------------------------------- */

static int open_parts(void)
{
    const struct keeper_link_options opt = {.socket_path = g.files.socket_path,
                                            .record_fd = g.files.record_fd,
                                            .program = g.program};
    struct volt_error err = {""};
    int r = keeper_link_open(&opt, &err, &g.link);

    assert_true(r == 0 || err.text[0]);
    if (r < 0)
        return r;
    r = record_watch_open(g.files.record_fd, g.files.boot_id, &secret, &err, &g.watch);
    if (r == 0)
        r = volt_runtime_new(&(struct volt_options){.workers = 1}, &g.rt);
    if (r == 0)
        r = keeper_link_start(g.link, g.rt);
    return r < 0 ? r : record_watch_start(g.watch, g.rt);
}

static void close_parts(void)
{
    if (g.rt)
        assert_int_equal(volt_runtime_shutdown(g.rt, UINT64_MAX), 0);
    keeper_link_free(g.link, true);
    record_watch_free(g.watch);
    volt_runtime_free(g.rt);
    g.rt = NULL;
    g.link = NULL;
    g.watch = NULL;
}

/* Of this thread what is between begin and end fails; of the others all. */
static int open_link(void)
{
    hook_spares = false;
    int r = open_parts();
    hook_spares = true;
    if (r < 0)
        close_parts();
    return r;
}

/* No keeper of this test lives on. */
static void reap_keepers(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* --- a job on it -------------------------------------------------------------------------- */

struct job {
    struct job_key key;
    bool starts; /* and is waited for; otherwise the keeper is asked for it */
    int at, status, waited;
    struct keeper_call call;
    struct record_wait wait;
    struct record record;
};

static enum volt_poll job_poll(struct volt_cx *cx, void *state)
{
    struct keeper_start_args args = {.launch_fd = g.launch_fd,
                                     .launch_size = g.launch_size,
                                     .stdin_fd = -1,
                                     .stdout_fd = -1,
                                     .stderr_fd = -1,
                                     .script_fd = -1,
                                     .umask = 022};
    struct job *j = state;

    VOLT_BEGIN(j->at);
    if (j->starts) {
        args.record_fd = record_create(g.files.record_fd, NULL, &j->key, g.files.boot_id,
                                       KEEPER_KILL_TREE, &args.record_seed);
        j->status = args.record_fd;
        if (args.record_fd < 0)
            return VOLT_READY;
        keeper_call_init_start(&j->call, g.link, &j->key, &args);
    } else {
        keeper_call_init_signal(&j->call, g.link, &j->key, SIGCONT, KEEPER_SCOPE_TREE);
    }
    VOLT_AWAIT(j->at, keeper_call_poll(cx, &j->call));
    j->status = keeper_call_status(&j->call);
    keeper_call_fini(&j->call);
    if (!j->starts || j->status < 0)
        return VOLT_READY;
    record_wait_init(&j->wait, g.watch, &j->key);
    VOLT_AWAIT(j->at, record_wait_poll(cx, &j->wait));
    j->waited = record_wait_result(&j->wait, &j->record);
    record_wait_fini(&j->wait);
    VOLT_END(j->at);
}

static void job_drop(void *state)
{
    struct job *j = state;

    keeper_call_fini(&j->call);
    record_wait_fini(&j->wait);
}

static const struct volt_task_type job_type = {
    .name = "test-job", .size = sizeof(struct job), .poll = job_poll, .drop = job_drop};

/* What came of it. */
static struct job run(uint64_t id, bool starts)
{
    struct job *j = volt_task_new(g.rt, &job_type), result;
    struct volt_join join;

    assert_non_null(j);
    j->key = (struct job_key){id, JOB_NO_INDEX, 1};
    j->starts = starts;
    assert_int_equal(volt_task_spawn(j, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    result = *(const struct job *)volt_join_state(&join);
    volt_join_fini(&join);
    return result;
}

static void assert_ended(const struct record *r)
{
    assert_int_equal(r->verdict, RECORD_DONE);
    assert_int_equal(r->exited.end, RECORD_END_EXIT);
    assert_int_equal(r->exited.status, 3);
}

/* Of what was not answered the record tells: it ran, or it never will. */
static void judge(const struct job *j, uint64_t n)
{
    struct record r;

    while (run(UINT32_MAX, false).status != -ESRCH) /* until a keeper answers */
        ;
    do
        assert_int_equal(record_probe(g.files.record_fd, &j->key, g.files.boot_id, &r),
                         0);
    while (r.verdict == RECORD_RUNNING);
    if (j->status == 0) {
        assert_int_equal(j->waited, 0);
        assert_ended(&j->record);
    } else if (r.verdict != RECORD_ABSENT && r.verdict != RECORD_NEVER_RAN) {
        if (j->status != -ECONNRESET)
            fail_msg("call %lu: it runs although %d", (unsigned long)n, j->status);
        assert_ended(&r);
    }
    assert_int_equal(record_remove(g.files.record_fd, NULL, &j->key, g.files.boot_id), 0);
}

static void kill_keeper(void)
{
    struct keeper_link_info info;

    keeper_link_info(g.link, &info);
    assert_int_equal(kill((pid_t)info.keeper_pid, SIGKILL), 0);
}

/* One life of a link in which call n fails. Returns how many there were. */
static uint64_t live(uint64_t n, bool dies, bool interrupts)
{
    if (interrupts)
        hook_arm_interrupts(n);
    else
        hook_arm(n, false);
    int r = open_link();
    if (interrupts)
        assert_int_equal(r, 0);
    if (r < 0) {
        assert_int_equal(descriptors(), g.usual);
        hook_arm(0, false);
        assert_int_equal(open_link(), 0);
        close_parts();
        reap_keepers();
        return n;
    }
    if (dies)
        kill_keeper();
    const struct job j = run(++g.id, true);
    uint64_t calls = hook_count();
    hook_arm(0, false);
    hook_arm_interrupts(0);
    if (interrupts && !dies)
        assert_int_equal(j.status, 0);
    judge(&j, n);
    close_parts();
    assert_int_equal(descriptors(), g.usual);
    reap_keepers();
    return calls;
}

static void whatever_fails_the_link_goes_on(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 1; live(n, false, false) >= n; n++)
        ;
    assert_true(n > 40);
}

static void also_when_its_keeper_dies(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 1; live(n, true, false) >= n; n++)
        ;
    assert_true(n > 60);
}

static void what_is_interrupted_is_done_again(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 1; live(n, false, true) >= n; n++)
        ;
    assert_true(n > 5);
    for (n = 1; live(n, true, true) >= n; n++)
        ;
}

/* The good-bye: the keeper leaves at once, or when it has heard nothing for a while. */
static void the_end_fails(void **state)
{
    uint64_t calls = UINT64_MAX;

    (void)state;
    for (uint64_t n = 1; calls >= n - 1; n++) {
        struct keeper_link_info info;

        assert_int_equal(open_link(), 0);
        assert_int_equal(run(++g.id, true).status, 0);
        assert_int_equal(run(g.id, false).status, -ESRCH);
        keeper_link_info(g.link, &info);
        hook_arm(n, false);
        hook_spares = false;
        close_parts();
        hook_spares = true;
        calls = hook_count();
        hook_arm(0, false);
        assert_int_equal(descriptors(), g.usual);
        (void)kill((pid_t)info.keeper_pid, SIGTERM);
        reap_keepers();
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(whatever_fails_the_link_goes_on),
        T(also_when_its_keeper_dies),
        T(what_is_interrupted_is_done_again),
        T(the_end_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
