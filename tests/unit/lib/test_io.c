/* Descriptors on a real runtime: the helpers over sockets, their errors, cancelling,
 * running out of descriptors, shutdown. */
#include "base/atomic.h"
#include "driver/registration.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

static void new_pair(int fds[2])
{
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

/* --- pumps: one task writes TOTAL bytes, another reads and checks them -------------- */

#define TOTAL (4 << 20)

struct pump {
    struct volt_io *io;
    size_t done;
    int at;
    ssize_t n;
    bool *bad;
    unsigned char buf[5000];
};

static enum volt_poll source_poll(struct volt_cx *cx, void *state)
{
    struct pump *s = state;

    VOLT_BEGIN(s->at);
    while (s->done < TOTAL) {
        for (size_t i = 0; i < sizeof(s->buf); i++)
            s->buf[i] = (unsigned char)((s->done + i) % 251);
        VOLT_AWAIT(s->at,
                   volt_io_write_poll(cx, s->io, s->buf,
                                      TOTAL - s->done < sizeof(s->buf) ? TOTAL - s->done
                                                                       : sizeof(s->buf),
                                      &s->n));
        if (s->n <= 0) {
            *s->bad = true;
            return VOLT_READY;
        }
        s->done += (size_t)s->n;
    }
    (void)shutdown(s->io->fd, SHUT_WR);
    VOLT_END(s->at);
}

static enum volt_poll sink_poll(struct volt_cx *cx, void *state)
{
    struct pump *s = state;

    VOLT_BEGIN(s->at);
    for (;;) {
        VOLT_AWAIT(s->at, volt_io_read_poll(cx, s->io, s->buf, sizeof(s->buf), &s->n));
        if (s->n <= 0)
            break;
        for (ssize_t i = 0; i < s->n; i++)
            *s->bad |= s->buf[i] != (s->done + (size_t)i) % 251;
        s->done += (size_t)s->n;
    }
    *s->bad |= s->n != 0 || s->done != TOTAL;
    VOLT_END(s->at);
}

static const struct volt_task_type source_type = {
    .name = "source",
    .size = sizeof(struct pump),
    .poll = source_poll,
};
static const struct volt_task_type sink_type = {
    .name = "sink",
    .size = sizeof(struct pump),
    .poll = sink_poll,
};

static void spawn_pump(struct volt_runtime *rt, const struct volt_task_type *type,
                       struct volt_io *io, bool *bad, struct volt_join *join)
{
    struct pump *s = volt_task_new(rt, type);

    assert_non_null(s);
    s->io = io;
    s->bad = bad;
    lone_spawn(s, join);
}

/* Both directions of several pairs at once: more than the socket buffers hold. */
static void test_streams_between_tasks(void **state)
{
    enum { PAIRS = 2 };
    struct volt_options opt = {.workers = 2, .seed = 3};
    struct volt_runtime *rt;
    struct volt_io io[PAIRS][2];
    struct volt_join join[PAIRS][4];
    bool bad[PAIRS][4] = {{false}};
    int fds[PAIRS][2];

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int p = 0; p < PAIRS; p++) {
        new_pair(fds[p]);
        for (int i = 0; i < 2; i++)
            assert_int_equal(volt_io_init(&io[p][i], rt, fds[p][i]), 0);
        for (int i = 0; i < 4; i++)
            spawn_pump(rt, i < 2 ? &sink_type : &source_type, &io[p][i % 2], &bad[p][i],
                       &join[p][i]);
    }
    for (int p = 0; p < PAIRS; p++) {
        for (int i = 0; i < 4; i++) {
            assert_int_equal(lone_join(&join[p][i]), 0);
            assert_false(bad[p][i]);
        }
        for (int i = 0; i < 2; i++) {
            volt_io_fini(&io[p][i]);
            close(fds[p][i]);
        }
    }
    volt_runtime_free(rt);
}

/* --- a single operation ------------------------------------------------------------- */

struct once {
    struct volt_io *io;
    ssize_t *ret;
    enum direction dir;
    unsigned char byte;
};

static enum volt_poll once_poll(struct volt_cx *cx, void *state)
{
    struct once *s = state;

    return s->dir == DIR_READ ? volt_io_read_poll(cx, s->io, &s->byte, 1, s->ret)
                              : volt_io_write_poll(cx, s->io, &s->byte, 1, s->ret);
}

static void once_drop(void *state)
{
    struct once *s = state;

    if (s->dir == DIR_READ)
        volt_io_forget_reader(s->io);
    else
        volt_io_forget_writer(s->io);
}

static const struct volt_task_type once_type = {
    .name = "once",
    .size = sizeof(struct once),
    .poll = once_poll,
    .drop = once_drop,
};

static void spawn_once(struct volt_runtime *rt, struct volt_io *io, enum direction dir,
                       ssize_t *ret, struct volt_join *join)
{
    struct once *s = volt_task_new(rt, &once_type);

    assert_non_null(s);
    *s = (struct once){.io = io, .ret = ret, .dir = dir};
    lone_spawn(s, join);
}

static void fill(int fd)
{
    static const char nothing[65536];

    while (write(fd, nothing, sizeof(nothing)) > 0)
        ;
    assert_int_equal(errno, EAGAIN);
}

static const struct volt_task *waiter_of(const struct volt_io *io, enum direction dir)
{
    struct registration *r = io->registration;

    vlock_lock(&r->lock);
    const struct volt_task *waiter = r->dir[dir].waiter;
    vlock_unlock(&r->lock);
    return waiter;
}

/* Of two tasks that share a descriptor one goes: the other waits on. */
static void test_cancelled_writer_leaves_the_reader(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join reader, writer;
    ssize_t got = -1, put = -1;
    struct volt_io io;
    int fds[2];

    (void)state;
    new_pair(fds);
    fill(fds[0]);
    assert_int_equal(volt_io_init(&io, rt, fds[0]), 0);
    spawn_once(rt, &io, DIR_READ, &got, &reader);
    spawn_once(rt, &io, DIR_WRITE, &put, &writer);
    lone_settle(rt);
    assert_non_null(waiter_of(&io, DIR_WRITE));
    volt_join_cancel(&writer);
    assert_int_equal(lone_join(&writer), -ECANCELED);
    lone_settle(rt);
    assert_null(waiter_of(&io, DIR_WRITE));
    assert_ptr_equal(waiter_of(&io, DIR_READ), reader.task);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(lone_join(&reader), 0);
    assert_int_equal(got, 1);
    assert_int_equal(put, -1);
    volt_io_fini(&io);
    close(fds[0]);
    close(fds[1]);
    volt_runtime_free(rt);
}

static void test_cancelled_reader_is_forgotten(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    struct volt_io io;
    ssize_t ret = -1;
    int fds[2];

    (void)state;
    new_pair(fds);
    assert_int_equal(volt_io_init(&io, rt, fds[0]), 0);
    spawn_once(rt, &io, DIR_READ, &ret, &join);
    lone_settle(rt);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(write(fds[1], "x", 1), 1); /* an event for nobody */
    spawn_once(rt, &io, DIR_READ, &ret, &join);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(ret, 1);
    volt_io_fini(&io);
    close(fds[0]);
    close(fds[1]);
    volt_runtime_free(rt);
}

/* Gives a read up, and goes on with the same descriptor without another call. */
struct asker {
    int at, status;
    struct volt_io io;
    struct volt_sleep limit;
    ssize_t n;
    char given_up[4], answer[4];
};

static enum volt_poll asker_poll(struct volt_cx *cx, void *state)
{
    struct asker *s = state;

    VOLT_BEGIN(s->at);
    VOLT_AWAIT_FOR(s->at, s->status, cx, &s->limit, 1000,
                   volt_io_read_poll(cx, &s->io, s->given_up, 4, &s->n));
    if (s->status != -ETIMEDOUT)
        return VOLT_READY;
    VOLT_AWAIT(s->at, volt_io_write_poll(cx, &s->io, "ask", 4, &s->n));
    VOLT_AWAIT(s->at, volt_io_read_poll(cx, &s->io, s->answer, 4, &s->n));
    VOLT_END(s->at);
}

static void asker_drop(void *state)
{
    struct asker *s = state;

    volt_sleep_fini(&s->limit);
    volt_io_fini(&s->io);
}

static const struct volt_task_type asker_type = {
    .name = "asker",
    .size = sizeof(struct asker),
    .poll = asker_poll,
    .drop = asker_drop,
};

static void test_a_read_that_was_given_up_binds_nothing(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct asker *s = volt_task_new(rt, &asker_type);
    struct volt_join join;
    char question[4];
    int fds[2];

    (void)state;
    assert_non_null(s);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(volt_io_init(&s->io, rt, fds[0]), 0);
    lone_spawn(s, &join);
    assert_int_equal(read(fds[1], question, 4), 4);
    assert_string_equal(question, "ask");
    assert_int_equal(write(fds[1], "yes", 4), 4);
    assert_int_equal(volt_join_wait(&join), 0);
    s = volt_join_state(&join);
    assert_int_equal(s->n, 4);
    assert_string_equal(s->answer, "yes");
    assert_string_equal(s->given_up, "");
    volt_join_fini(&join);
    volt_runtime_free(rt);
    close(fds[0]);
    close(fds[1]);
}

static void test_what_cannot_be_registered(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    int regular = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int directory = open("/", O_RDONLY | O_CLOEXEC);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), fds[2];
    struct volt_io io;

    (void)state;
    assert_int_equal(volt_io_init(&io, rt, regular), -EPERM);
    assert_int_equal(volt_io_init(&io, rt, directory), -EPERM);
    assert_int_equal(volt_io_init(&io, rt, null), -EPERM);
    assert_int_equal(volt_io_init(&io, rt, -1), -EBADF);
    assert_int_equal(volt_io_init(&io, rt, event), 0);
    volt_io_fini(&io);
    volt_io_fini(&(struct volt_io){0});
    assert_int_equal(fcntl(event, F_SETFL, 0), 0);
    assert_int_equal(volt_io_init(&io, rt, event), -EINVAL);
    new_pair(fds);
    assert_int_equal(fcntl(fds[0], F_SETFL, 0), 0);
    assert_int_equal(volt_io_init(&io, rt, fds[0]), -EINVAL);
    close(fds[0]);
    close(fds[1]);
    close(regular);
    close(directory);
    close(null);
    close(event);
    volt_runtime_free(rt);
}

static void test_shutdown_ends_waiting_and_refuses(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    struct volt_io io, late;
    ssize_t ret = 1;
    int fds[2];

    (void)state;
    new_pair(fds);
    assert_int_equal(volt_io_init(&io, rt, fds[0]), 0);
    spawn_once(rt, &io, DIR_READ, &ret, &join);
    lone_settle(rt);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(volt_io_init(&late, rt, fds[1]), -ESHUTDOWN);
    volt_io_fini(&io);
    close(fds[0]);
    close(fds[1]);
    volt_runtime_free(rt);
}

/* --- registering ------------------------------------------------------------------- */

static void test_a_descriptor_has_one_volt_io(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    struct volt_io io, second;
    ssize_t ret = -1;
    int fds[2];

    (void)state;
    new_pair(fds);
    assert_int_equal(volt_io_init(&io, rt, fds[0]), 0);
    spawn_once(rt, &io, DIR_READ, &ret, &join);
    lone_settle(rt);
    assert_int_equal(volt_io_init(&second, rt, fds[0]), -EEXIST);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(lone_join(&join), 0); /* the first hears as before */
    assert_int_equal(ret, 1);
    volt_io_fini(&io);
    assert_int_equal(volt_io_init(&second, rt, fds[0]), 0);
    spawn_once(rt, &second, DIR_READ, &ret, &join);
    lone_settle(rt);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(lone_join(&join), 0);
    volt_io_fini(&second);
    close(fds[0]);
    close(fds[1]);
    volt_runtime_free(rt);
}

/* --- accepting with no descriptor left ---------------------------------------------- */

struct acceptor {
    struct volt_io *io;
    vat_u32 *polls, *refused;
    int *ret;
};

static enum volt_poll acceptor_poll(struct volt_cx *cx, void *state)
{
    struct acceptor *s = state;

    vat_u32_add(s->polls, 1, VAT_RLX);
    while (volt_io_accept_poll(cx, s->io, s->ret) == VOLT_READY) {
        if (*s->ret >= 0)
            return VOLT_READY;
        vat_u32_add(s->refused, 1, VAT_AR); /* a server that only logs it */
    }
    return VOLT_PENDING;
}

static const struct volt_task_type acceptor_type = {
    .name = "acceptor",
    .size = sizeof(struct acceptor),
    .poll = acceptor_poll,
};

static int listening_socket(struct sockaddr_un *address, socklen_t *len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* A name in the abstract namespace, chosen by the kernel. */
    assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(sa_family_t)), 0);
    *len = sizeof(*address);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void test_accept_without_descriptors_does_not_spin(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct rlimit limit, none;
    struct sockaddr_un address;
    struct volt_join join;
    struct acceptor *s;
    struct volt_io io;
    vat_u32 polls, refused;
    socklen_t len;
    int listener = listening_socket(&address, &len), accepted = -1;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    vat_u32_init(&polls, 0);
    vat_u32_init(&refused, 0);
    assert_int_equal(volt_io_init(&io, rt, listener), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
    s = volt_task_new(rt, &acceptor_type);
    assert_non_null(s);
    *s = (struct acceptor){
        .io = &io, .polls = &polls, .refused = &refused, .ret = &accepted};
    lone_spawn(s, &join);
    lone_settle(rt);
    assert_int_equal(vat_u32_load(&refused, VAT_ACQ), 1); /* told once, then it pauses */
    assert_int_equal(vat_u32_load(&polls, VAT_ACQ), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(lone_join(&join), 0); /* no new event: the pause ends by itself */
    assert_true(accepted >= 0);
    assert_int_equal(fcntl(accepted, F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(accepted, F_GETFL) & O_NONBLOCK);
    volt_io_fini(&io);
    close(accepted);
    close(client);
    close(listener);
    volt_runtime_free(rt);
}

/* The next accept_fails calls of accept4() fail with accept_error. */
static vat_u32 accept_error, accept_fails;

int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    uint32_t left = vat_u32_load(&accept_fails, VAT_ACQ);

    if (!left)
        return __real_accept4(fd, addr, len, flags);
    vat_u32_store(&accept_fails, left - 1, VAT_REL);
    errno = (int)vat_u32_load(&accept_error, VAT_RLX);
    return -1;
}

/* Returns how often a server is told of the error before it pauses. A client waits, and
 * accept4() fails that often. */
static unsigned refusals(int error, unsigned fails)
{
    struct volt_runtime *rt = lone_runtime();
    struct acceptor *s = volt_task_new(rt, &acceptor_type);
    struct sockaddr_un address;
    struct volt_join join;
    struct volt_io io;
    vat_u32 polls, refused;
    socklen_t len;
    int listener = listening_socket(&address, &len), accepted = -1;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_non_null(s);
    vat_u32_init(&polls, 0);
    vat_u32_init(&refused, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
    assert_int_equal(volt_io_init(&io, rt, listener), 0);
    *s = (struct acceptor){
        .io = &io, .polls = &polls, .refused = &refused, .ret = &accepted};
    vat_u32_store(&accept_error, (uint32_t)error, VAT_RLX);
    vat_u32_store(&accept_fails, fails, VAT_REL);
    lone_spawn(s, &join);
    lone_settle(rt);
    unsigned told = vat_u32_load(&refused, VAT_ACQ);
    vat_u32_store(&accept_fails, 0, VAT_REL);
    assert_int_equal(lone_join(&join), 0);
    assert_true(accepted >= 0);
    volt_io_fini(&io);
    close(accepted);
    close(client);
    close(listener);
    volt_runtime_free(rt);
    return told;
}

static void test_accept_pauses_for_whatever_the_system_lacks(void **state)
{
    (void)state;
    assert_int_equal(refusals(EMFILE, 20), 1);
    assert_int_equal(refusals(ENFILE, 20), 1);
    assert_int_equal(refusals(ENOBUFS, 20), 1);
    assert_int_equal(refusals(ENOMEM, 20), 1);
    assert_int_equal(refusals(EPERM, 20), 20);       /* of that client alone */
    assert_int_equal(refusals(ECONNABORTED, 20), 0); /* it has gone; not even told */
}

static void forget_acceptor(void *state)
{
    volt_io_forget_reader(((struct acceptor *)state)->io);
}

/* In its pause: no timer is left of it on the listener, which is others' as well. */
static void test_cancelled_acceptor_takes_its_pause_along(void **state)
{
    struct volt_task_type type = acceptor_type;
    struct volt_runtime *rt = lone_runtime();
    struct rlimit limit, none;
    struct sockaddr_un address;
    struct volt_stats stats;
    struct volt_join join;
    struct acceptor *s;
    struct volt_io io;
    vat_u32 polls, refused;
    socklen_t len;
    int listener = listening_socket(&address, &len), accepted = -1;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    vat_u32_init(&polls, 0);
    vat_u32_init(&refused, 0);
    type.drop = forget_acceptor;
    assert_int_equal(volt_io_init(&io, rt, listener), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
    s = volt_task_new(rt, &type);
    assert_non_null(s);
    *s = (struct acceptor){
        .io = &io, .polls = &polls, .refused = &refused, .ret = &accepted};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0; /* and the pause begins anew whenever it is over */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    lone_spawn(s, &join);
    lone_settle(rt);
    volt_join_cancel(&join);
    int r = lone_join(&join);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(r, -ECANCELED);
    assert_true(vat_u32_load(&refused, VAT_ACQ) > 0);
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.timers, 0);
    volt_io_fini(&io);
    close(client);
    close(listener);
    volt_runtime_free(rt);
}

/* --- messages ----------------------------------------------------------------------- */

struct messenger {
    struct volt_io *io;
    bool send;
    int *status;
    struct msghdr msg;
    struct iovec iov;
    char text[16];
};

static enum volt_poll messenger_poll(struct volt_cx *cx, void *state)
{
    struct messenger *s = state;
    ssize_t n;

    s->iov = (struct iovec){s->text, sizeof(s->text)};
    s->msg = (struct msghdr){.msg_iov = &s->iov, .msg_iovlen = 1};
    if ((s->send ? volt_io_sendmsg_poll(cx, s->io, &s->msg, MSG_NOSIGNAL, &n)
                 : volt_io_recvmsg_poll(cx, s->io, &s->msg, MSG_CMSG_CLOEXEC, &n)) ==
        VOLT_PENDING)
        return VOLT_PENDING;
    *s->status = n == sizeof(s->text) && !strcmp(s->text, "hello") ? 0 : -1;
    return VOLT_READY;
}

static const struct volt_task_type messenger_type = {
    .name = "messenger",
    .size = sizeof(struct messenger),
    .poll = messenger_poll,
};

static void test_messages(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_io io[2];
    struct volt_join join[2];
    int fds[2], status[2] = {1, 1};

    (void)state;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    for (int i = 0; i < 2; i++) { /* the receiver first: it has to wait */
        struct messenger *s = volt_task_new(rt, &messenger_type);

        assert_non_null(s);
        assert_int_equal(volt_io_init(&io[i], rt, fds[i]), 0);
        s->io = &io[i];
        s->send = i == 1;
        s->status = &status[i];
        if (s->send)
            (void)snprintf(s->text, sizeof(s->text), "hello");
        lone_spawn(s, &join[i]);
        lone_settle(rt);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lone_join(&join[i]), 0);
        assert_int_equal(status[i], 0);
        volt_io_fini(&io[i]);
        close(fds[i]);
    }
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_between_tasks),
        cmocka_unit_test(test_cancelled_writer_leaves_the_reader),
        cmocka_unit_test(test_cancelled_reader_is_forgotten),
        cmocka_unit_test(test_a_read_that_was_given_up_binds_nothing),
        cmocka_unit_test(test_what_cannot_be_registered),
        cmocka_unit_test(test_shutdown_ends_waiting_and_refuses),
        cmocka_unit_test(test_a_descriptor_has_one_volt_io),
        cmocka_unit_test(test_accept_without_descriptors_does_not_spin),
        cmocka_unit_test(test_accept_pauses_for_whatever_the_system_lacks),
        cmocka_unit_test(test_cancelled_acceptor_takes_its_pause_along),
        cmocka_unit_test(test_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
