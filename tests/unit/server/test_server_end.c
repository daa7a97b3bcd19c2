/* Limits of connections, and the end of the server: who is told what, which connections go at
 * once, and which are cut. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/server/connection.h"
#include "tests/support/fn_task.h"
#include "tests/support/whole.h"

#define OF_A_USER 2

static int setup(void **state)
{
    struct config config;

    (void)state;
    whole_defaults(&config);
    config.max_connections_per_user = OF_A_USER;
    return whole_start(&config);
}

/* The one at hand stays open, and another one is at hand. */
static int keep_open(void)
{
    int fd = whole.client;

    assert_int_equal(whole.n, 0);
    whole.client = -1;
    whole_connect();
    return fd;
}

/* On the control socket there are more, for the account that voltd runs as. */
static void a_user_has_so_many(void **state)
{
    int fds[OF_A_USER + SERVER_RESERVE];

    (void)state;
    for (size_t i = 0; i < OF_A_USER + SERVER_RESERVE; i++) {
        assert_has(call(JOBS("List"), "{}"), "'jobs':[]");
        fds[i] = keep_open();
    }
    const char *told = hear();
    assert_non_null(told);
    assert_has(told, "'error':'org.voltd.jobs.LimitReached'");
    assert_has(told, "'key':'MaxConnectionsPerUser','limit':2");
    assert_null(hear());
    (void)close(fds[0]);
    fds[0] = -1;
    do { /* when that has gone there is room again */
        whole_connect();
        ask(JOBS("List"), "{}", false);
        told = hear();
    } while (!told || !strstr(told, "\"jobs\""));
    for (size_t i = 1; i < OF_A_USER + SERVER_RESERVE; i++)
        (void)close(fds[i]);
}

/* --- the end ------------------------------------------------------------------------------ */

static enum volt_poll drain_poll(struct volt_cx *cx, struct fn_task *f)
{
    if (server_drain_poll(cx, f->arg) == VOLT_PENDING)
        return VOLT_PENDING;
    server_drain_fini(f->arg);
    return VOLT_READY;
}

/* Until no connection is left; those that have to be cut are after so long. */
static void drain(uint64_t timeout_usec)
{
    struct server_drain d;
    struct volt_join join;

    server_drain_init(&d, whole.server, timeout_usec);
    assert_int_equal(fn_spawn(whole.rt, drain_poll, &d, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    server_drain_fini(&d); /* nothing is there any more */
}

/* Nobody is served any more, as soon as the listener has gone. */
static void await_refusal(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int r = 0;

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", whole.socket);
    while (r == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        r = connect(fd, (const struct sockaddr *)&a, sizeof(a));
        assert_true(r == 0 || errno == ECONNREFUSED);
        (void)close(fd);
    }
}

static void streams_end_and_others_when_they_are_answered(void **state)
{
    (void)state;
    (void)call(JOBS("Submit"), "{'spec':{'kind':'noop','hold':true}}");
    ask(JOBS("Wait"), "{'ids':['1']}", true);
    assert_has(hear(), "'left':1");
    int stream = keep_open();
    (void)call(JOBS("Get"), "{'id':'1'}"); /* it is accepted */
    server_close(whole.server);
    await_refusal();
    assert_has(call(JOBS("Get"), "{'id':'1'}"), "'id':'1'"); /* it is served still */
    drain(UINT64_C(3600000000));
    assert_null(hear());
    (void)close(whole.client);
    whole.client = stream;
    assert_null(hear());
}

/* What its client does not read is given up. */
static void what_is_not_read_is_cut(void **state)
{
    struct pollfd full;

    (void)state;
    assert_has(call(JOBS("Submit"),
                    "{'spec':{'kind':'noop','hold':true,'array':{'first':1,"
                    "'last':1000}}}"),
               "'id':'1'");
    for (int i = 0; i < 20; i++) /* more than a socket holds */
        ask(JOBS("List"), "{'filter':{'ids':['1'],'elements':true}}", false);
    full = (struct pollfd){.fd = whole.client, .events = POLLIN};
    assert_int_equal(poll(&full, 1, -1), 1);
    drain(1);
    while (hear())
        ; /* what was sent before */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, whole_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_user_has_so_many),
        T(streams_end_and_others_when_they_are_answered),
        T(what_is_not_read_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
