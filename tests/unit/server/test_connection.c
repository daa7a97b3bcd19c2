/* The task of a connection that stands in the line of its user, where nothing moves. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/server/connection.h"

/* A method of five turns, that changes something, and one that only reads. */
enum { TURNS = 5 };
static unsigned turns_done;

static enum volt_poll long_poll(struct volt_cx *cx, struct call *call, void *state)
{
    (void)state;
    while (turns_done < TURNS) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        call_did(call, QUOTA_ENTRIES, 0);
        turns_done++;
    }
    return call_reply(call, json_object());
}

static const struct method change = {.name = "Change", .poll = long_poll};
static const struct method look = {
    .name = "Look", .flags = METHOD_READS, .poll = long_poll};
static const struct interface both = {
    .name = "t",
    .description = "",
    .methods = (const struct method *const[]){&change, &look, NULL}};
static const struct interface *const interfaces[] = {&both, NULL};

static struct fixture {
    struct turn_counts turns;
    struct service service;
    struct server *server;
    struct holder *user; /* of the first two */
    int client[2];
} f;

static struct connection *connection_of(struct list_node *n)
{
    return list_thing(n, struct connection, node);
}

/* Returns the client's end. */
static int open_connection(uid_t uid)
{
    const struct asker peer = auth_user(uid);
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

/* Until there are so many, those that have to go and have not gone yet included. */
static void await_connections(unsigned wanted)
{
    for (unsigned n = wanted + 1; n != wanted; sched_yield()) {
        n = 0;
        vlock_lock(&f.server->lock);
        for (struct list_node *at = f.server->connections.first; at; at = at->next)
            n++;
        vlock_unlock(&f.server->lock);
    }
}

/* How many turns of that method are done for a client that has gone at once. */
static unsigned turns_for_nobody(const char *method)
{
    char text[64];
    int fd = open_connection(8);

    turns_done = 0;
    (void)snprintf(text, sizeof(text), "{\"method\":\"t.%s\"}", method);
    struct lone_hold hold;
    lone_hold_begin(f.service.rt, &hold);
    ssize_t n = send(fd, text, strlen(text) + 1, 0);
    (void)close(fd);
    lone_hold_end(&hold);
    await_connections(1);
    assert_int_equal(n, strlen(text) + 1);
    return turns_done;
}

/* What was asked for is done, whether anybody waits for the answer or not. */
static void only_what_reads_is_in_vain(void **state)
{
    (void)state;
    (void)volt_sem_release(&f.user->served, 1);
    (void)close(f.client[1]);
    f.client[1] = -1;
    await_connections(1);
    assert_int_equal(turns_for_nobody("Look"), 1);
    assert_int_equal(turns_for_nobody("Change"), TURNS);
}

/* Those that were evicted are counted until they have gone. */
static void any_number_goes_for_others(void **state)
{
    char text[1024];

    (void)state;
    (void)volt_sem_release(&f.user->served, 1);
    for (int i = 0; i < 200; i++) {
        int fd = open_connection(8);

        assert_int_equal(hear(fd, text, sizeof(text)), -1); /* is served */
        await_connections(2);
        assert_true(hear(f.client[1], text, sizeof(text)) > 0);
        (void)close(f.client[1]);
        (void)close(fd);
        await_connections(1);
        f.client[1] = open_connection(7);
    }
}

/* The newest of those that are no admin's. */
static void what_is_reserved_goes_for_nobody(void **state)
{
    char text[1024];
    int other;

    (void)state;
    (void)volt_sem_release(&f.user->served, 1);
    connection_of(f.server->connections.first)->reserved = true;
    other = open_connection(8);
    assert_int_equal(hear(f.client[1], text, sizeof(text)), -1);
    assert_true(hear(f.client[0], text, sizeof(text)) > 0);
    (void)close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_for_another_waits_in_no_line, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nor_does_what_ends_with_the_server, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_what_reads_is_in_vain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_number_goes_for_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_reserved_goes_for_nobody, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
