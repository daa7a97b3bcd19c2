/* A keeper for tests: see keeper_client.h. */
#include "tests/support/keeper_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/keeper.h"
#include "daemon/link/record_make.h"

void keeper_client_init(struct keeper_client *c)
{
    memset(c, 0, sizeof(*c));
    c->fd = -1;
    assert_int_equal(scratch_make(c->dir), 0);
    snprintf(c->socket_path, sizeof(c->socket_path), "%s/keeper.sock", c->dir);
    snprintf(c->record_path, sizeof(c->record_path), "%s/rec", c->dir);
    assert_int_equal(mkdir(c->record_path, 0700), 0);
    c->dir_fd = open(c->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    c->record_fd = open(c->record_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(c->dir_fd >= 0 && c->record_fd >= 0);
    assert_int_equal(record_boot_id(c->boot_id), 0);
}

void keeper_client_fini(struct keeper_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    if (c->keeper > 0) {
        kill(c->keeper, SIGCONT);
        kill(c->keeper, SIGTERM);
        waitpid(c->keeper, NULL, 0);
    }
    close(c->record_fd);
    close(c->dir_fd);
    assert_int_equal(scratch_remove(c->dir), 0);
}

void keeper_client_kill(struct keeper_client *c)
{
    assert_int_equal(kill(c->keeper, SIGKILL), 0);
    waitpid(c->keeper, NULL, 0);
    c->keeper = 0;
}

static struct sockaddr_un address(const struct keeper_client *c)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", c->socket_path);
    return a;
}

/* A descriptor beyond those that a keeper expects. */
static int listen_high(struct keeper_client *c)
{
    struct sockaddr_un a = address(c);
    (void)unlink(c->socket_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 16), 0);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    close(fd);
    return high;
}

/* The same keeper, but in a child of ours, which inherits no unwritten output: the
 * sanitizers have _exit(2) write it. */
void keeper_client_spawn_patient(struct keeper_client *c)
{
    int high = listen_high(c);
    (void)fflush(NULL);
    c->keeper = fork();
    assert_true(c->keeper >= 0);
    if (c->keeper == 0) {
        const struct keeper_config config = {.listen_fd = high,
                                             .peer_uid = geteuid(),
                                             .rest_msec = -1,
                                             .leaves_stopped = true};
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(keeper_init(&config) < 0 || keeper_serve() < 0);
    }
    close(high);
}

void keeper_client_spawn(struct keeper_client *c)
{
    char program[512];
    char *argv[] = {program, NULL};
    posix_spawn_file_actions_t actions;
    const char *bin = getenv("VOLT_BIN");
    snprintf(program, sizeof(program), "%s/voltd-keeper",
             bin != NULL ? bin : "build/bin");
    int high = listen_high(c);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, high, 3);
    assert_int_equal(posix_spawn(&c->keeper, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(high);
}

int keeper_client_connect(const struct keeper_client *c)
{
    struct sockaddr_un a = address(c);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static int set_up(void **state, void (*begin)(struct keeper_client *c))
{
    struct keeper_client *c = malloc(sizeof(*c));
    assert_non_null(c);
    keeper_client_init(c);
    begin(c);
    struct keeper_welcome w = keeper_client_hello(c);
    assert_int_equal(w.status, 0);
    assert_int_equal(w.pid, c->keeper);
    *state = c;
    return 0;
}

int keeper_client_setup(void **state)
{
    return set_up(state, keeper_client_spawn);
}

int keeper_client_setup_patient(void **state)
{
    return set_up(state, keeper_client_spawn_patient);
}

int keeper_client_teardown(void **state)
{
    keeper_client_fini(*state);
    free(*state);
    return 0;
}

uint64_t keeper_client_send(struct keeper_client *c, union keeper_message *m, size_t size,
                            const int *fds, int nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS_MAX * sizeof(int))] = {0};
    struct iovec iov = {m, size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    m->head.magic = KEEPER_MAGIC;
    m->head.serial = ++c->serial;
    if (nfds > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
        struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
        memcpy(CMSG_DATA(h), fds, (size_t)nfds * sizeof(int));
    }
    (void)sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    return c->serial;
}

static size_t receive(int fd, union keeper_message *m)
{
    struct pollfd p = {fd, POLLIN, 0};
    assert_int_equal(poll(&p, 1, -1), 1);
    ssize_t n = recv(fd, m, sizeof(*m), 0);
    if (n <= 0)
        return 0;
    assert_true(keeper_answer_is_valid(m, (size_t)n, 0));
    return (size_t)n;
}

struct keeper_welcome keeper_client_hello(struct keeper_client *c)
{
    union keeper_message m = {
        .hello = {.head.op = KEEPER_HELLO, .version = KEEPER_VERSION}};
    if (c->fd >= 0)
        close(c->fd);
    c->fd = keeper_client_connect(c);
    keeper_client_send(c, &m, sizeof(m.hello), NULL, 0);
    assert_true(receive(c->fd, &m) > 0);
    assert_int_equal(m.head.op, KEEPER_WELCOME);
    assert_int_equal(m.head.serial, c->serial);
    return m.welcome;
}

struct keeper_reply keeper_client_reply(struct keeper_client *c, uint64_t serial)
{
    union keeper_message m;
    for (;;) {
        if (receive(c->fd, &m) == 0)
            return (struct keeper_reply){.status = -ECONNRESET};
        if (m.head.op == KEEPER_REPLY && m.head.serial == serial)
            return m.reply;
    }
}

int keeper_client_record(struct keeper_client *c, const struct job_key *key,
                         union keeper_message *m)
{
    return record_create(c->record_fd, NULL, key, c->boot_id, m->start.kill_mode,
                         &m->start.seed);
}

struct keeper_reply keeper_client_start(struct keeper_client *c,
                                        const struct job_key *key, const struct launch *l,
                                        int out_fd, enum keeper_kill_mode kill_mode)
{
    uint64_t size = 0;
    int fds[3], nfds = 0;
    union keeper_message m = {.start = {
                                  .head.op = KEEPER_START,
                                  .key = keeper_key_pack(key),
                                  .fds = out_fd >= 0 ? KEEPER_FD_STDOUT : 0,
                                  .umask = 022,
                                  .limits = KEEPER_NO_LIMITS,
                                  .kill_mode = kill_mode,
                              }};
    int record = keeper_client_record(c, key, &m);
    if (record < 0)
        return (struct keeper_reply){.status = record};
    fds[nfds++] = record;
    int launch_fd = launch_memfd(l, &size);
    assert_true(launch_fd >= 0);
    m.start.launch_size = size;
    if (c->serial % 2 == 0 && size <= KEEPER_INLINE_MAX) { /* both ways in turn */
        m.start.flags = KEEPER_START_INLINE;
        assert_int_equal(launch_encode(l, &m.start + 1, size), size);
        size += sizeof(m.start);
    } else {
        fds[nfds++] = launch_fd;
        size = sizeof(m.start);
    }
    if (out_fd >= 0)
        fds[nfds++] = out_fd;
    uint64_t serial = keeper_client_send(c, &m, size, fds, nfds);
    close(launch_fd);
    close(record);
    struct keeper_reply r = keeper_client_reply(c, serial);
    if (r.status < 0)
        (void)keeper_client_remove(c, key);
    return r;
}

uint64_t keeper_client_send_signal(struct keeper_client *c, const struct job_key *key,
                                   int sig, enum keeper_scope scope)
{
    union keeper_message m = {.signal = {.head.op = KEEPER_SIGNAL,
                                         .key = keeper_key_pack(key),
                                         .signal = (uint32_t)sig,
                                         .scope = scope}};
    int record = record_open(c->record_fd, key);
    assert_true(record >= 0 || record == -ENOENT);
    uint64_t serial =
        keeper_client_send(c, &m, sizeof(m.signal), &record, record >= 0 ? 1 : 0);
    if (record >= 0)
        close(record);
    return serial;
}

struct keeper_reply keeper_client_signal(struct keeper_client *c,
                                         const struct job_key *key, int sig,
                                         enum keeper_scope scope)
{
    return keeper_client_reply(c, keeper_client_send_signal(c, key, sig, scope));
}

int keeper_client_remove(struct keeper_client *c, const struct job_key *key)
{
    return record_remove(c->record_fd, NULL, key, c->boot_id);
}

/* IN_MODIFY tells of slots, IN_CLOSE_WRITE of the end; the lock drops just after it,
 * hence the short timeout. */
static struct record wait_for(struct keeper_client *c, const struct job_key *key,
                              bool end)
{
    char events[4096];
    struct record r;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, c->record_path, IN_CLOSE_WRITE | IN_MODIFY) >= 0);
    struct pollfd p = {fd, POLLIN, 0};
    for (;;) {
        assert_int_equal(record_probe(c->record_fd, key, c->boot_id, &r), 0);
        if (r.verdict != RECORD_RUNNING || (!end && r.has_started))
            break;
        (void)poll(&p, 1, 5);
        (void)!read(fd, events, sizeof(events));
    }
    close(fd);
    return r;
}

struct record keeper_client_wait(struct keeper_client *c, const struct job_key *key)
{
    return wait_for(c, key, true);
}

struct record keeper_client_wait_started(struct keeper_client *c,
                                         const struct job_key *key)
{
    return wait_for(c, key, false);
}
