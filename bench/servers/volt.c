/* Echo server of libvolt, to be compared by bench/servers/run. A task for each
 * connection, and one that accepts.
 *
 *   volt WORKERS      prints its port of 127.0.0.1 and serves until it is killed */
#include "bench/servers/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <volt/volt.h>

struct connection {
    int at, fd;
    struct volt_io io;
    ssize_t got, put, done;
    char buf[SERVER_BUFFER];
};

static enum volt_poll connection_poll(struct volt_cx *cx, void *state)
{
    struct connection *c = state;

    VOLT_BEGIN(c->at);
    for (;;) {
        VOLT_AWAIT(c->at, volt_io_read_poll(cx, &c->io, c->buf, sizeof(c->buf), &c->got));
        if (c->got <= 0)
            return VOLT_READY;
        for (c->done = 0; c->done < c->got; c->done += c->put) {
            VOLT_AWAIT(c->at, volt_io_write_poll(cx, &c->io, c->buf + c->done,
                                                 (size_t)(c->got - c->done), &c->put));
            if (c->put < 0)
                return VOLT_READY;
        }
    }
    VOLT_END(c->at);
}

static void connection_drop(void *state)
{
    struct connection *c = state;

    volt_io_fini(&c->io);
    close(c->fd);
}

static const struct volt_task_type connection_type = {
    .name = "connection",
    .size = sizeof(struct connection),
    .poll = connection_poll,
    .drop = connection_drop,
};

struct listener {
    struct volt_io io;
};

static void serve(struct volt_runtime *rt, int fd)
{
    struct connection *c = volt_task_new(rt, &connection_type);

    server_must(c && volt_io_init(&c->io, rt, fd) == 0, "connection");
    c->fd = fd;
    server_no_delay(fd);
    (void)volt_task_spawn(c, NULL);
}

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *l = state;
    int fd;

    while (volt_io_accept_poll(cx, &l->io, &fd) == VOLT_READY) {
        server_must(fd >= 0, "accept");
        serve(volt_cx_runtime(cx), fd);
    }
    return VOLT_PENDING;
}

static const struct volt_task_type listener_type = {
    .name = "listener",
    .size = sizeof(struct listener),
    .poll = listener_poll,
};

int main(int argc, char **argv)
{
    struct volt_options opt = {.workers = argc > 1 ? (unsigned)atoi(argv[1]) : 1};
    struct volt_runtime *rt;
    struct volt_join join;
    struct listener *l;

    server_must(volt_runtime_new(&opt, &rt) == 0, "runtime");
    l = volt_task_new(rt, &listener_type);
    server_must(l && volt_io_init(&l->io, rt, server_listen()) == 0, "listener");
    server_must(volt_task_spawn(l, &join) == 0, "spawn");
    return volt_join_wait(&join);
}
