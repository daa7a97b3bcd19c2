/* An echo server over TCP. A client that says nothing for a while is sent away, and so is
 * one that does not take its answer. `echo_timeout PORT` serves on 127.0.0.1 until it is
 * killed; without PORT it serves a client of its own, and ends. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/volt.h>

static uint64_t idle_usec = 10000000;

struct peer {
    int at, fd, status;
    struct volt_io io;
    struct volt_sleep limit;
    ssize_t got, put, done;
    char buf[1024];
};

static void peer_drop(void *state)
{
    struct peer *p = state;

    volt_sleep_fini(&p->limit);
    volt_io_fini(&p->io);
    close(p->fd);
}

static enum volt_poll serve_poll(struct volt_cx *cx, void *state)
{
    struct peer *p = state;

    VOLT_BEGIN(p->at);
    for (;;) {
        VOLT_AWAIT_FOR(p->at, p->status, cx, &p->limit, idle_usec,
                       volt_io_read_poll(cx, &p->io, p->buf, sizeof(p->buf), &p->got));
        if (p->status < 0 || p->got <= 0)
            return VOLT_READY;
        for (p->done = 0; p->done < p->got; p->done += p->put) {
            VOLT_AWAIT_FOR(p->at, p->status, cx, &p->limit, idle_usec,
                           volt_io_write_poll(cx, &p->io, p->buf + p->done,
                                              (size_t)(p->got - p->done), &p->put));
            if (p->status < 0 || p->put < 0)
                return VOLT_READY;
        }
    }
    VOLT_END(p->at);
}

static const struct volt_task_type serve_type = {
    .name = "serve", .size = sizeof(struct peer), .poll = serve_poll, .drop = peer_drop};

/* Takes fd. */
static int start(struct volt_runtime *rt, const struct volt_task_type *type, int fd)
{
    struct volt_io io = {0};
    int r = volt_io_init(&io, rt, fd);
    if (r == 0)
        r = VOLT_SPAWN(rt, type, NULL, struct peer, .fd = fd, .io = io);
    if (r == -ENOMEM || !io.registration) { /* else the task's drop has it */
        volt_io_fini(&io);
        close(fd);
    }
    return r;
}

static enum volt_poll accept_poll(struct volt_cx *cx, void *state)
{
    struct peer *p = state;
    int fd;

    while (volt_io_accept_poll(cx, &p->io, &fd) == VOLT_READY)
        if (fd >= 0) /* else it passes */
            (void)start(volt_cx_runtime(cx), &serve_type, fd);
    return VOLT_PENDING;
}

static const struct volt_task_type accept_type = {"accept", sizeof(struct peer),
                                                  accept_poll, peer_drop, NULL};

/* A client, on a thread that may block. It speaks before the server, and with it the
 * limit, begins; it is answered what it said, and then sent away. */
static bool is_echoed(const struct sockaddr_in *a, struct volt_runtime *rt, int server)
{
    char buf[6];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 &&
              write(fd, "hello\n", 6) == 6 && start(rt, &accept_type, server) == 0 &&
              recv(fd, buf, 6, MSG_WAITALL) == 6 && memcmp(buf, "hello\n", 6) == 0 &&
              read(fd, buf, 1) == 0;

    close(fd);
    return ok;
}

int main(int argc, char **argv)
{
    uint16_t port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 0);
    struct sockaddr_in a = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(a);
    struct volt_runtime *rt;

    if (bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0 ||
        volt_runtime_new(NULL, &rt) < 0) {
        perror("echo_timeout");
        return EXIT_FAILURE;
    }
    if (argc > 1 && start(rt, &accept_type, fd) == 0)
        for (;;)
            pause();
    idle_usec = 20000;
    bool ok = argc == 1 && is_echoed(&a, rt, fd);
    volt_runtime_free(rt); /* cancels the server */
    puts(ok ? "it was answered what it said, and sent away" : "wrong");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
