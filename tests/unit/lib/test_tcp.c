/* TCP streams on a real runtime: what a short read or write lets out, and that neither
 * data, room nor an end is missed for it. Each case makes its moment by itself: the
 * runtime's one worker is held, or the peer acts within recv() or send(). */
#include "base/atomic.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

/* --- the calls of lib/io ------------------------------------------------------------ */

static struct {
    vat_u32 calls; /* stored last, read first */
    vat_u32 refused;
    void (*before)(void); /* the next call */
    void (*after)(void);  /* the next one that has moved bytes */
} hook;

static void hook_set(void (*before)(void), void (*after)(void))
{
    hook.before = before;
    hook.after = after;
    vat_u32_store(&hook.refused, 0, VAT_RLX);
    vat_u32_store(&hook.calls, 0, VAT_REL);
}

static void call_begins(void)
{
    void (*before)(void);

    vat_u32_add(&hook.calls, 1, VAT_AR);
    before = hook.before;
    hook.before = NULL;
    if (before)
        before();
}

static ssize_t call_ends(ssize_t n)
{
    void (*after)(void) = hook.after;

    if (n < 0 && errno == EAGAIN)
        vat_u32_add(&hook.refused, 1, VAT_AR);
    if (n > 0 && after) {
        hook.after = NULL;
        after();
    }
    return n;
}

/* These stand in for libc's, which lib/io calls for sockets. */
ssize_t recv(int fd, void *to, size_t n, int flags)
{
    call_begins();
    return call_ends(recvfrom(fd, to, n, flags, NULL, NULL));
}

ssize_t send(int fd, const void *from, size_t n, int flags)
{
    call_begins();
    return call_ends(sendto(fd, from, n, flags, NULL, 0));
}

static uint32_t calls(void)
{
    return vat_u32_load(&hook.calls, VAT_ACQ);
}

/* --- a stream between a task and the test ------------------------------------------- */

enum { ROOM = 64, BULK = 4 << 20, SEND_ROOM = 1 << 16 };

static struct {
    struct volt_runtime *rt;
    struct volt_io io;
    struct volt_join join;
    int mine, theirs; /* theirs: the task's */
    vat_u32 saying;
    vat_u64 done; /* bytes that the task has read or written */
    vat_u64 end;  /* what it ended with, as a ssize_t; PENDING: it goes on */
} stream;

#define PENDING UINT64_C(1)

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void say(const char *text)
{
    vat_u32_store(&stream.saying, 1, VAT_RLX);
    must(write(stream.mine, text, strlen(text)) == (ssize_t)strlen(text));
    vat_u32_store(&stream.saying, 0, VAT_REL);
}

static void reset_peer(void)
{
    struct linger at_once = {.l_onoff = 1};

    while (vat_u32_load(&stream.saying, VAT_ACQ))
        (void)sched_yield(); /* the test's thread is still in that write() */
    must(setsockopt(stream.mine, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
    must(close(stream.mine) == 0);
    stream.mine = -1;
}

static void finish_peer(void)
{
    must(shutdown(stream.mine, SHUT_WR) == 0);
}

/* An urgent byte, at which reads stop. */
static void urge_peer(void)
{
    must(sendto(stream.mine, "!", 1, MSG_OOB, NULL, 0) == 1);
    say("more");
}

static void tcp_pair(int *ret_a, int *ret_b)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    int room = SEND_ROOM;
    socklen_t len = sizeof(at);

    must(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0 &&
         getsockname(listener, (struct sockaddr *)&at, &len) == 0);
    *ret_a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(connect(*ret_a, (struct sockaddr *)&at, len) == 0);
    *ret_b = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    must(*ret_b >= 0);
    must(setsockopt(*ret_a, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
    must(setsockopt(*ret_b, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == 0);
    close(listener);
}

struct side {
    ssize_t n;
    char buf[ROOM];
};

static enum volt_poll ended(ssize_t how)
{
    vat_u64_store(&stream.end, (uint64_t)how, VAT_REL);
    return VOLT_READY;
}

static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct side *s = state;

    while (volt_io_read_poll(cx, &stream.io, s->buf, ROOM, &s->n) == VOLT_READY) {
        if (s->n <= 0)
            return ended(s->n);
        vat_u64_add(&stream.done, (uint64_t)s->n, VAT_AR);
    }
    return VOLT_PENDING;
}

static enum volt_poll writer_poll(struct volt_cx *cx, void *state)
{
    static const char bulk[BULK];
    struct side *s = state;
    uint64_t done;

    while ((done = vat_u64_load(&stream.done, VAT_RLX)) < BULK) {
        if (volt_io_write_poll(cx, &stream.io, bulk, BULK - done, &s->n) == VOLT_PENDING)
            return VOLT_PENDING;
        if (s->n <= 0)
            return ended(s->n);
        vat_u64_add(&stream.done, (uint64_t)s->n, VAT_AR);
    }
    return ended(0);
}

static const struct volt_task_type reader_type = {
    .name = "reader",
    .size = sizeof(struct side),
    .poll = reader_poll,
};
static const struct volt_task_type writer_type = {
    .name = "writer",
    .size = sizeof(struct side),
    .poll = writer_poll,
};

static void wait_for(vat_u64 *word, uint64_t value)
{
    while (vat_u64_load(word, VAT_ACQ) != value)
        (void)sched_yield();
}

static void start(const struct volt_task_type *type, int mine, int theirs)
{
    stream.rt = lone_runtime();
    stream.mine = mine;
    stream.theirs = theirs;
    vat_u32_init(&stream.saying, 0);
    vat_u64_init(&stream.done, 0);
    vat_u64_init(&stream.end, PENDING);
    assert_int_equal(volt_io_init(&stream.io, stream.rt, theirs), 0);
    lone_spawn(volt_task_new(stream.rt, type), &stream.join);
}

static void start_tcp(const struct volt_task_type *type)
{
    int mine, theirs;

    tcp_pair(&mine, &theirs);
    start(type, mine, theirs);
}

/* Returns what the task ended with. */
static ssize_t finish(void)
{
    ssize_t end;

    assert_int_equal(lone_join(&stream.join), 0);
    end = (ssize_t)vat_u64_load(&stream.end, VAT_ACQ);
    volt_io_fini(&stream.io);
    close(stream.theirs);
    if (stream.mine >= 0)
        close(stream.mine);
    volt_runtime_free(stream.rt);
    return end;
}

/* --- reads -------------------------------------------------------------------------- */

/* The calls of a reader that waits, gets a short message, and waits again. */
static uint32_t calls_for_a_message(void)
{
    uint32_t n;

    lone_settle(stream.rt);
    hook_set(NULL, NULL);
    say("hello");
    wait_for(&stream.done, 5);
    lone_settle(stream.rt);
    n = calls();
    finish_peer();
    assert_int_equal(finish(), 0);
    return n;
}

static void test_a_short_read_of_tcp_saves_the_next(void **state)
{
    int pair[2];

    (void)state;
    start_tcp(&reader_type);
    assert_int_equal(calls_for_a_message(), 1);
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    start(&reader_type, pair[0], pair[1]);
    assert_int_equal(calls_for_a_message(), 2); /* these may stop at descriptors */
}

static void (*const ends[])(void) = {finish_peer, reset_peer, urge_peer};
static const ssize_t end_of[] = {0, -ECONNRESET, 0};
enum { HELLO = 5, MORE = 4, ENDS = sizeof(ends) / sizeof(ends[0]) };

/* After ends[how] behind so many bytes: the reader gets what is there, and the end. */
static void assert_heard(int how, uint64_t bytes)
{
    if (ends[how] == urge_peer) { /* that was no end yet */
        wait_for(&stream.done, bytes + MORE);
        finish_peer();
    }
    assert_int_equal(finish(), end_of[how]);
}

/* One event tells of the data and of the end behind it. */
static void test_an_end_that_comes_with_the_data(void **state)
{
    (void)state;
    for (int how = 0; how < ENDS; how++) {
        struct lone_hold hold;

        hook_set(NULL, NULL);
        start_tcp(&reader_type);
        say("hello"); /* the first short read */
        wait_for(&stream.done, HELLO);
        lone_hold_begin(stream.rt, &hold);
        say("again");
        ends[how]();
        lone_hold_end(&hold);
        assert_heard(how, 2 * HELLO);
    }
}

/* The end comes after the reader has seen the event of the data, before it reads. */
static void test_an_end_that_the_event_did_not_tell(void **state)
{
    (void)state;
    for (int how = 0; how < ENDS; how++) {
        start_tcp(&reader_type);
        lone_settle(stream.rt);
        hook_set(ends[how], NULL);
        say("hello");
        assert_heard(how, HELLO);
    }
}

/* It comes after the short read, before that clears. */
static void test_an_end_right_after_the_read(void **state)
{
    (void)state;
    for (int how = 0; how < ENDS; how++) {
        start_tcp(&reader_type);
        lone_settle(stream.rt);
        hook_set(NULL, ends[how]);
        say("hello");
        assert_heard(how, HELLO);
    }
}

static void say_more(void)
{
    say("more");
}

static void test_data_right_after_the_read(void **state)
{
    (void)state;
    start_tcp(&reader_type);
    lone_settle(stream.rt);
    hook_set(NULL, say_more);
    say("hello");
    wait_for(&stream.done, HELLO + MORE);
    finish_peer();
    assert_int_equal(finish(), 0);
}

/* --- writes ------------------------------------------------------------------------- */

static bool discard(int flags)
{
    static char into[1 << 16];

    return recvfrom(stream.mine, into, sizeof(into), flags, NULL, NULL) > 0;
}

static void discard_what_is_there(void)
{
    while (discard(MSG_DONTWAIT))
        ;
}

static void *discard_all(void *arg)
{
    (void)arg;
    while (discard(0))
        ;
    return NULL;
}

/* Reads all that the writer has left, as its peer. */
static void finish_bulk(void)
{
    pthread_t reader;

    assert_int_equal(pthread_create(&reader, NULL, discard_all, NULL), 0);
    wait_for(&stream.done, BULK);
    assert_int_equal(shutdown(stream.theirs, SHUT_WR), 0);
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_int_equal(finish(), 0);
}

static void test_a_short_write_saves_the_next(void **state)
{
    (void)state;
    hook_set(NULL, NULL);
    start_tcp(&writer_type);
    finish_bulk();
    assert_true(calls() > 1);
    assert_int_equal(vat_u32_load(&hook.refused, VAT_ACQ), 0);
}

/* Nobody else reads until the writer has written again. */
static void test_room_right_after_the_write(void **state)
{
    (void)state;
    hook_set(NULL, discard_what_is_there);
    start_tcp(&writer_type);
    while (calls() < 2)
        (void)sched_yield();
    finish_bulk();
}

static void shut_own(void)
{
    must(shutdown(stream.theirs, SHUT_WR) == 0);
}

/* The peer resets, or the writer's own side is shut, right after a short write; or while
 * the writer waits, or before it writes. */
static void test_an_end_of_what_is_written(void **state)
{
    static void (*const how[])(void) = {reset_peer, shut_own};

    (void)state;
    for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
        hook_set(NULL, how[i]);
        start_tcp(&writer_type);
        assert_true(finish() < 0);

        hook_set(how[i], NULL);
        start_tcp(&writer_type);
        assert_true(finish() < 0);

        hook_set(NULL, NULL);
        start_tcp(&writer_type);
        while (vat_u64_load(&stream.done, VAT_ACQ) == 0)
            (void)sched_yield();
        lone_settle(stream.rt);
        how[i]();
        assert_true(finish() < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_short_read_of_tcp_saves_the_next),
        cmocka_unit_test(test_an_end_that_comes_with_the_data),
        cmocka_unit_test(test_an_end_that_the_event_did_not_tell),
        cmocka_unit_test(test_an_end_right_after_the_read),
        cmocka_unit_test(test_data_right_after_the_read),
        cmocka_unit_test(test_a_short_write_saves_the_next),
        cmocka_unit_test(test_room_right_after_the_write),
        cmocka_unit_test(test_an_end_of_what_is_written),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
