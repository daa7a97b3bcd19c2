/* What a keeper and its shims do not do for everybody who asks: another user's connection is
 * closed, what cannot be written down does not run, and no job gets a score of the OOM killer
 * that is not its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/child.h"
#include "daemon/keeper/keeper.h"
#include "daemon/keeper/tree.h"
#include "daemon/link/record_make.h"
#include "tests/support/keeper_job.h"

static int setup(void **state)
{
    struct keeper_client *c = malloc(sizeof(*c));

    assert_non_null(c);
    keeper_client_init(c);
    *state = c;
    return 0;
}

/* A keeper for `uid` in a child of ours; score: of oom_score_adj, opened so, NULL: none. */
static void keeper_with(struct keeper_client *c, uid_t uid, const char *score, int flags)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)unlink(c->socket_path);
    strcpy(a.sun_path, c->socket_path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    c->keeper = fork();
    assert_true(c->keeper >= 0);
    if (c->keeper == 0) {
        struct keeper_config config = {.listen_fd = fd,
                                       .peer_uid = uid,
                                       .rest_msec = -1};
        if (score != NULL)
            config.score_fd = open(score, flags | O_CLOEXEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(keeper_init(&config) < 0 || keeper_serve() < 0);
    }
    close(fd);
}

static void keeper_for(struct keeper_client *c, uid_t uid)
{
    keeper_with(c, uid, NULL, 0);
}

static ssize_t say_hello(const struct keeper_client *c)
{
    const struct keeper_hello hello = {.head = {KEEPER_MAGIC, KEEPER_HELLO, 1},
                                       .version = KEEPER_VERSION};
    union keeper_message reply;
    int fd = keeper_client_connect(c);

    (void)send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
    ssize_t n = recv(fd, &reply, sizeof(reply), 0);
    if (n < 0 && errno == ECONNRESET) /* closed with HELLO unread */
        n = 0;
    close(fd);
    return n;
}

static void end_keeper(struct keeper_client *c)
{
    assert_int_equal(kill(c->keeper, SIGTERM), 0);
    assert_int_equal(waitpid(c->keeper, NULL, 0), c->keeper);
    c->keeper = 0;
}

static void test_another_user(void **state)
{
    struct keeper_client *c = *state;

    keeper_for(c, geteuid() + 1);
    assert_int_equal(say_hello(c), 0);
    end_keeper(c);
    keeper_for(c, geteuid());
    assert_int_equal(say_hello(c), sizeof(struct keeper_welcome));
    end_keeper(c);
}

/* Without its own score a keeper starts nothing: a job would be born with that. */
static void test_a_score_that_cannot_be_set(void **state)
{
    struct keeper_client *c = *state;
    const struct job_key key = keeper_job_key();
    struct record rec;
    int status;

    keeper_with(c, geteuid(), "/proc", O_RDONLY | O_DIRECTORY);
    assert_int_equal(waitpid(c->keeper, &status, 0), c->keeper);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    keeper_with(c, geteuid(), "/proc/self/oom_score_adj", O_RDONLY);
    assert_int_equal(keeper_client_hello(c).status, 0);
    assert_int_equal(keeper_job_start_shell(c, &key, ":").status, -EBADF);
    assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &rec), 0);
    assert_int_equal(rec.verdict, RECORD_ABSENT);
}

/* One order: to start `touch ran`, with its record, which is open for reading alone. */
static void order(struct keeper_client *c, int channel, const struct job_key *key)
{
    _Alignas(8) char block[256];
    char *argv[] = {(char[]){"touch"}, (char[]){"ran"}, NULL}, *env[] = {NULL};
    const struct launch l = {.cwd = c->dir, .argv = argv, .argc = 2, .env = env};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct shim_args args = {.fd = {0, -1, -1, -1, -1},
                             .launch = block,
                             .launch_size =
                                 (uint64_t)launch_encode(&l, block, sizeof(block))};
    struct iovec iov[] = {{&args, sizeof(args)}, {block, args.launch_size}};
    struct msghdr msg = {.msg_iov = iov,
                         .msg_iovlen = 2,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    char name[JOB_KEY_TEXT_MAX];
    int made = record_create(c->record_fd, NULL, key, c->boot_id, KEEPER_KILL_TREE,
                             &args.record_seed);

    assert_true(made >= 0);
    (void)job_key_format(key, name);
    int record = openat(c->record_fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(record >= 0);
    *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(h), &record, sizeof(record));
    assert_true(sendmsg(channel, &msg, 0) > 0);
    close(record);
    close(made);
}

/* A shim of ours, which takes its orders from the other end. */
static pid_t start_shim(const int channel[2])
{
    const pid_t self = getpid();
    uint64_t tick = proc_tick();
    pid_t shim = fork();

    assert_true(shim >= 0);
    if (shim == 0) {
        close(channel[0]);
        shim_run(channel[1], self, tick);
    }
    close(channel[1]);
    return shim;
}

static void assert_verdict(struct keeper_client *c, const struct job_key *key,
                           enum record_verdict verdict)
{
    struct record rec;

    assert_int_equal(record_probe(c->record_fd, key, c->boot_id, &rec), 0);
    assert_int_equal(rec.verdict, verdict);
}

/* Of a record without slot 1 voltd says that its job never ran, and starts it again. */
static void test_a_record_that_cannot_be_written(void **state)
{
    struct keeper_client *c = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    int channel[2], status;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
    order(c, channel[0], &key);
    pid_t shim = start_shim(channel);
    assert_int_equal(waitpid(shim, &status, 0), shim);
    close(channel[0]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_verdict(c, &key, RECORD_NEVER_RAN);
    assert_int_equal(faccessat(c->dir_fd, "ran", F_OK, 0), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_another_user),
        TEST(test_a_score_that_cannot_be_set),
        TEST(test_a_record_that_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
