/* An echo server over a Unix socket, with its clients, in one process.
 *
 *   echo                 ends by itself with a check of what the clients got back
 *   echo serve PATH      serves until it is killed: try `nc -U PATH`
 *
 * What it shows: a task is a poll function over your struct. What a task waits for are
 * leaf futures: volt_io_accept_poll() and the like. VOLT_AWAIT returns from the poll
 * function while they are pending, and the next poll comes back to the same place. One
 * task per connection; none of them ever blocks a thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include <volt/volt.h>

/* --- one connection ----------------------------------------------------------------- */

struct connection {
    int at; /* where VOLT_AWAIT has stopped */
    int fd;
    struct volt_io io;
    ssize_t got, put, done;
    char buf[4096]; /* lives here, not on the stack: it must survive an await */
};

static enum volt_poll connection_poll(struct volt_cx *cx, void *state)
{
    struct connection *c = state;

    VOLT_BEGIN(c->at);
    for (;;) {
        VOLT_AWAIT(c->at, volt_io_read_poll(cx, &c->io, c->buf, sizeof(c->buf), &c->got));
        if (c->got <= 0) /* the end, or an error: either way we are done */
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

/* Runs exactly once, whether the task has ended or was cancelled in the middle. */
static void connection_drop(void *state)
{
    struct connection *c = state;

    volt_io_fini(&c->io); /* before the descriptor is closed */
    close(c->fd);
}

static const struct volt_task_type connection_type = {
    .name = "connection",
    .size = sizeof(struct connection),
    .poll = connection_poll,
    .drop = connection_drop,
};

/* Takes fd. A connection that cannot be served is closed. */
static void connection_start(struct volt_runtime *rt, int fd)
{
    struct connection *c = volt_task_new(rt, &connection_type);

    if (!c || volt_io_init(&c->io, rt, fd) < 0) {
        volt_task_discard(c);
        close(fd);
        return;
    }
    c->fd = fd;
    (void)volt_task_spawn(c, NULL); /* detached: nobody waits for it */
}

/* --- the listener ------------------------------------------------------------------- */

struct listener {
    int at;
    int fd;
    struct volt_io io;
    int client;
};

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *l = state;

    VOLT_BEGIN(l->at);
    for (;;) {
        VOLT_AWAIT(l->at, volt_io_accept_poll(cx, &l->io, &l->client));
        if (l->client >= 0)
            connection_start(volt_cx_runtime(cx), l->client);
        else if (l->client == -ESHUTDOWN)
            break;
        /* Anything else passes: out of descriptors, the next accept waits by itself. */
    }
    VOLT_END(l->at);
}

static void listener_drop(void *state)
{
    struct listener *l = state;

    volt_io_fini(&l->io);
    close(l->fd);
}

static const struct volt_task_type listener_type = {
    .name = "listener",
    .size = sizeof(struct listener),
    .poll = listener_poll,
    .drop = listener_drop,
};

/* path "": a name that the kernel chooses. Fills in *ret_address for the clients. */
static int listen_on(const char *path, struct sockaddr_un *ret_address,
                     socklen_t *ret_len)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t len = *path ? sizeof(a) : sizeof(sa_family_t);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    (void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    *ret_len = sizeof(*ret_address);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)ret_address, ret_len) < 0) {
        perror("echo: cannot listen");
        exit(EXIT_FAILURE);
    }
    return fd;
}

static struct volt_join serve(struct volt_runtime *rt, int fd)
{
    struct listener *l = volt_task_new(rt, &listener_type);
    struct volt_join join;

    if (!l || volt_io_init(&l->io, rt, fd) < 0) {
        (void)fprintf(stderr, "echo: cannot serve\n");
        exit(EXIT_FAILURE);
    }
    l->fd = fd;
    (void)volt_task_spawn(l, &join);
    return join;
}

/* --- a client ----------------------------------------------------------------------- */

#define CLIENTS 100
#define LINES   20

struct client {
    int at;
    int fd;
    struct volt_io io;
    int number, line;
    ssize_t n;
    size_t len, got;
    char sent[64], echoed[64];
    int wrong; /* the output: lines that did not come back as they were */
};

static enum volt_poll client_poll(struct volt_cx *cx, void *state)
{
    struct client *c = state;

    VOLT_BEGIN(c->at);
    for (c->line = 0; c->line < LINES; c->line++) {
        c->len = (size_t)snprintf(c->sent, sizeof(c->sent), "client %d, line %d\n",
                                  c->number, c->line);
        VOLT_AWAIT(c->at, volt_io_write_poll(cx, &c->io, c->sent, c->len, &c->n));
        for (c->got = 0; c->got < c->len; c->got += (size_t)c->n) {
            VOLT_AWAIT(c->at, volt_io_read_poll(cx, &c->io, c->echoed + c->got,
                                                c->len - c->got, &c->n));
            if (c->n <= 0)
                break;
        }
        if (c->got != c->len || memcmp(c->sent, c->echoed, c->len) != 0)
            c->wrong++;
    }
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

static struct volt_join client_start(struct volt_runtime *rt, int number,
                                     const struct sockaddr_un *address, socklen_t len)
{
    struct client *c = volt_task_new(rt, &client_type);
    struct volt_join join;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    /* Connects while the socket still blocks: we are on no worker, so we may wait. */
    if (!c || fd < 0 || connect(fd, (const struct sockaddr *)address, len) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || volt_io_init(&c->io, rt, fd) < 0) {
        perror("echo: cannot connect");
        exit(EXIT_FAILURE);
    }
    c->fd = fd;
    c->number = number;
    (void)volt_task_spawn(c, &join);
    return join;
}

int main(int argc, char **argv)
{
    int forever = argc == 3 && strcmp(argv[1], "serve") == 0;
    struct volt_runtime *rt;
    struct sockaddr_un address;
    struct volt_join listener, client[CLIENTS];
    socklen_t len;
    int wrong = 0, r;

    r = volt_runtime_new(NULL, &rt); /* NULL: one worker per CPU */
    if (r < 0) {
        (void)fprintf(stderr, "echo: no runtime: %s\n", strerror(-r));
        return EXIT_FAILURE;
    }
    listener = serve(rt, listen_on(forever ? argv[2] : "", &address, &len));
    if (forever)
        return volt_join_wait(&listener) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;

    for (int i = 0; i < CLIENTS; i++)
        client[i] = client_start(rt, i, &address, len);
    for (int i = 0; i < CLIENTS; i++) {
        (void)volt_join_wait(&client[i]);
        /* The join handle keeps the ended task's state for us to read. */
        wrong += ((struct client *)volt_join_state(&client[i]))->wrong;
        volt_join_fini(&client[i]);
    }
    volt_join_cancel(&listener); /* it would accept for ever */
    (void)volt_join_wait(&listener);
    volt_join_fini(&listener);
    volt_runtime_free(rt);

    (void)printf("%d clients, %d lines each, %d wrong\n", CLIENTS, LINES, wrong);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
