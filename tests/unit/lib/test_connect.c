/* Connecting as a leaf: made at once, made later, refused, given up; and that what waits
 * for the socket afterwards misses nothing. */
#include "driver/registration.h"
#include "tests/support/lone.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

struct client {
    int at, fd, status;
    struct volt_io io;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } to;
    socklen_t len;
    ssize_t put, got;
    char byte;
};

static enum volt_poll client_poll(struct volt_cx *cx, void *state)
{
    struct client *c = state;

    VOLT_BEGIN(c->at);
    VOLT_AWAIT(c->at, volt_io_connect_poll(cx, &c->io, &c->to.any, c->len, &c->status));
    if (c->status < 0)
        return VOLT_READY;
    VOLT_AWAIT(c->at, volt_io_write_poll(cx, &c->io, "x", 1, &c->put));
    VOLT_AWAIT(c->at, volt_io_read_poll(cx, &c->io, &c->byte, 1, &c->got));
    VOLT_END(c->at);
}

static void client_drop(void *state)
{
    struct client *c = state;

    volt_io_fini(&c->io);
    close(c->fd);
}

static const struct volt_task_type client_type = {
    .name = "client",
    .size = sizeof(struct client),
    .poll = client_poll,
    .drop = client_drop,
};

static struct sockaddr_in listening(int backlog, int *ret_fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*ret_fd >= 0);
    assert_int_equal(bind(*ret_fd, (struct sockaddr *)&a, len), 0);
    if (backlog >= 0)
        assert_int_equal(listen(*ret_fd, backlog), 0);
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&a, &len), 0);
    return a;
}

static struct client *new_client(struct volt_runtime *rt, const void *to, socklen_t len)
{
    struct client *c = volt_task_new(rt, &client_type);

    assert_non_null(c);
    memcpy(&c->to, to, len);
    c->len = len;
    c->fd = socket(c->to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(volt_io_init(&c->io, rt, c->fd), 0);
    return c;
}

static struct volt_join connect_to(struct volt_runtime *rt, const void *to, socklen_t len)
{
    struct volt_join join;

    lone_spawn(new_client(rt, to, len), &join);
    return join;
}

static int status_of(struct volt_join *join)
{
    assert_int_equal(volt_join_wait(join), 0);
    int status = ((struct client *)volt_join_state(join))->status;

    volt_join_fini(join);
    return status;
}

/* Takes the connection and sends back what comes. */
static void answer(int listener)
{
    int fd = accept(listener, NULL, NULL);
    char byte = 0;

    assert_true(fd >= 0);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(write(fd, &byte, 1), 1);
    close(fd);
}

static void test_connected_and_used(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(un);
    struct volt_join join;
    int fd;

    (void)state;
    for (int i = 0; i < 50; i++) {
        struct sockaddr_in in = listening(8, &fd);

        join = connect_to(rt, &in, sizeof(in));
        answer(fd);
        assert_int_equal(volt_join_wait(&join), 0);
        assert_int_equal(((struct client *)volt_join_state(&join))->byte, 'x');
        assert_int_equal(status_of(&join), 0);
        close(fd);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&un, &len), 0);
    join = connect_to(rt, &un, len);
    answer(fd);
    assert_int_equal(status_of(&join), 0);
    close(fd);
    volt_runtime_free(rt);
}

static void test_refused(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    int fd;

    (void)state;
    struct sockaddr_in in = listening(-1, &fd); /* bound, but nobody listens */
    join = connect_to(rt, &in, sizeof(in));
    assert_int_equal(status_of(&join), -ECONNREFUSED);
    close(fd);
    volt_runtime_free(rt);
}

/* A full listener answers nobody: the last ones wait. Accepting makes room for them; one
 * is given up meanwhile. */
static void test_made_later_or_given_up(void **state)
{
    enum { N = 4 };
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join[N], gone;
    int fd;

    (void)state;
    struct sockaddr_in in = listening(0, &fd);
    for (int i = 0; i < N; i++)
        join[i] = connect_to(rt, &in, sizeof(in));
    gone = connect_to(rt, &in, sizeof(in));
    lone_settle(rt);
    assert_int_equal(volt_join_status(&gone), -EINPROGRESS);
    volt_join_cancel(&gone);
    assert_int_equal(lone_join(&gone), -ECANCELED);
    for (int i = 0; i < N; i++)
        answer(fd);
    for (int i = 0; i < N; i++)
        assert_int_equal(status_of(&join[i]), 0);
    close(fd);
    volt_runtime_free(rt);
}

/* Until the first event of the socket: the word counts them from bit 8 on. */
static void wait_event(const struct volt_io *io)
{
    const struct registration *r = io->registration;

    while (vat_u64_load(&r->dir[DIR_WRITE].word, VAT_ACQ) >> 8 == 0)
        vat_pause();
}

/* A socket that is not connected is reported at once, as hung up and writable. */
static void test_an_event_from_before_is_no_connection(void **state)
{
    enum { N = 4 };
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join[N + 1];
    int fd;

    (void)state;
    struct sockaddr_in in = listening(0, &fd);
    for (int i = 0; i < N; i++)
        join[i] = connect_to(rt, &in, sizeof(in));
    lone_settle(rt);
    struct client *late = new_client(rt, &in, sizeof(in));
    late->status = 1; /* until there is one */
    wait_event(&late->io);
    lone_spawn(late, &join[N]);
    lone_settle(rt);
    assert_int_equal(late->status, 1);
    for (int i = 0; i <= N; i++)
        answer(fd);
    for (int i = 0; i <= N; i++)
        assert_int_equal(status_of(&join[i]), 0);
    close(fd);
    volt_runtime_free(rt);
}

/* A task that waits is cancelled. One that the shutdown meets in a poll is told: an event
 * of its socket has just woken it. */
static void assert_shut_down(struct volt_join *join)
{
    int r = volt_join_wait(join);
    const struct client *c = volt_join_state(join);

    if (r == 0)
        assert_true(c->status == -ESHUTDOWN || c->put == -ESHUTDOWN ||
                    c->got == -ESHUTDOWN);
    else
        assert_int_equal(r, -ECANCELED);
    volt_join_fini(join);
}

static void test_shutdown_while_it_waits(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join[3];
    int fd;

    (void)state;
    struct sockaddr_in in = listening(0, &fd);
    for (int i = 0; i < 3; i++)
        join[i] = connect_to(rt, &in, sizeof(in));
    lone_settle(rt);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    for (int i = 0; i < 3; i++)
        assert_shut_down(&join[i]);
    close(fd);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connected_and_used),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_made_later_or_given_up),
        cmocka_unit_test(test_an_event_from_before_is_no_connection),
        cmocka_unit_test(test_shutdown_while_it_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
