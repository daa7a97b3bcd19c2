/* The task of a connection that stands in the line of its user, where nothing moves. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "daemon/server/connection.h"

static const struct interface *const interfaces[] = {NULL};

static struct fixture {
    struct turn_counts turns;
    struct service service;
    struct server *server;
    struct holder *user; /* of the first two */
    int client[2];
} f;

/* Returns the client's end. */
static int open_connection(uid_t uid)
{
    const struct job_owner peer = {.uid = uid};
    int ends[2];

    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(connection_spawn(f.server, interfaces, ends[0], &peer, false), 0);
    lone_settle(f.service.rt);
    return ends[1];
}

/* Two connections of a user, and the only place of it is taken by none of them. */
static int set_up(void **state)
{
    struct config config;

    (void)state;
    f = (struct fixture){.service = {.rt = lone_runtime(), .turns = &f.turns}};
    config_defaults(&config);
    config.max_connections = 2;
    f.server = server_new(&f.service, &config);
    assert_non_null(f.server);
    vat_u64_store(&f.server->shared_at, UINT64_MAX / 2, VAT_RLX); /* others are busy */
    f.client[0] = open_connection(7);
    f.client[1] = open_connection(7);
    f.user = list_thing(f.server->holders.first, struct holder, node);
    assert_true(volt_sem_try_acquire(&f.user->served, 1));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(f.client[0]);
    (void)close(f.client[1]);
    volt_runtime_free(f.service.rt);
    server_free(f.server);
    return 0;
}

/* What the peer has been told; -1: nothing yet. */
static ssize_t hear(int fd, char *buf, size_t size)
{
    memset(buf, 0, size);
    return recv(fd, buf, size - 1, 0);
}

static void what_goes_for_another_waits_in_no_line(void **state)
{
    char text[1024];
    int other;

    (void)state;
    other = open_connection(8);
    assert_true(hear(f.client[1], text, sizeof(text)) > 0);
    assert_non_null(strstr(text, "MaxConnections"));
    assert_int_equal(hear(f.client[1], text, sizeof(text)), 0);
    assert_int_equal(hear(f.client[0], text, sizeof(text)), -1);
    (void)volt_sem_release(&f.user->served, 1);
    (void)close(other);
}

static void nor_does_what_ends_with_the_server(void **state)
{
    char text[1024];

    (void)state;
    assert_int_equal(send(f.client[0], "{", 1, 0), 1); /* stands in the line with it */
    lone_settle(f.service.rt);
    vlock_lock(&f.server->lock);
    f.server->phase = SERVER_CUT;
    vlock_unlock(&f.server->lock);
    volt_notify_all(&f.server->changed);
    lone_settle(f.service.rt);
    assert_true(hear(f.client[0], text, sizeof(text)) <= 0);
    assert_null(f.server->connections.first);
    assert_int_equal(hear(f.client[1], text, sizeof(text)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_for_another_waits_in_no_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nor_does_what_ends_with_the_server, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
