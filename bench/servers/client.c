/* The clients of bench/servers/run: drives several echo servers in turns, so that what
 * the machine does meanwhile meets all of them.
 *
 *   client CONNECTIONS BYTES ROUNDS SLICE_MS PORT:PID...
 *
 * One thread has CONNECTIONS to each server, each with one message of BYTES on its way. In
 * each round every server is driven for a slice, in an order that rotates. A line for each
 * slice that counts: number of the server, echoes per second, and the server's CPU
 * nanoseconds for each. The first two rounds warm up. The last line is "all N": echoes,
 * those outside of the slices as well. */
#include "bench/servers/server.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVENTS = 256, WARM_ROUNDS = 2, STUCK_MS = 10000 };

struct connection {
    int fd;
    size_t sent, got;
};

struct server {
    int epoll;
    clockid_t cpu;
    struct connection *connection;
};

static int connections;
static size_t bytes;
static char *message, *answer;
static uint64_t all;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    server_must(clock_gettime(clock, &t) == 0, "clock");
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void connect_to(struct server *s, int i, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                            .data.u32 = (uint32_t)i};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    server_must(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0,
                "connect");
    server_no_delay(fd);
    server_must(epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
    s->connection[i] = (struct connection){.fd = fd, .sent = bytes, .got = bytes};
}

static struct server server_of(const char *name)
{
    struct server s = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                       .connection = calloc((size_t)connections, sizeof(*s.connection))};
    const char *pid = strchr(name, ':');

    server_must(s.connection && pid && clock_getcpuclockid(atoi(pid + 1), &s.cpu) == 0,
                name);
    for (int i = 0; i < connections; i++)
        connect_to(&s, i, atoi(name));
    return s;
}

static void put(struct connection *c)
{
    while (c->sent < bytes) {
        ssize_t n =
            send(c->fd, message + c->sent, bytes - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        server_must(n > 0 || errno == EAGAIN, "send");
        if (n < 0)
            return;
        c->sent += (size_t)n;
    }
}

/* True: the answer is complete. */
static bool get(struct connection *c)
{
    while (c->got < bytes) {
        size_t room = bytes - c->got;
        ssize_t n = recv(c->fd, answer, room, MSG_DONTWAIT);

        server_must(n > 0 || (n < 0 && errno == EAGAIN), "recv");
        c->got += n > 0 ? (size_t)n : 0;
        if (n < (ssize_t)room) /* nothing more is there yet */
            return false;
    }
    return true;
}

static void ask(struct connection *c)
{
    c->sent = c->got = 0;
    put(c);
}

/* Until `until`; then no new messages. Returns the number of answers before. */
static uint64_t drive(struct server *s, uint64_t until, bool ends)
{
    int waiting = connections;
    uint64_t echoes = 0;
    bool over = false;

    while (ends ? waiting > 0 : !over) {
        struct epoll_event e[EVENTS];
        int n = epoll_wait(s->epoll, e, EVENTS, STUCK_MS);

        server_must(n > 0, "a server does not answer");
        over = over || clock_ns(CLOCK_MONOTONIC) >= until;
        for (int i = 0; i < n; i++) {
            struct connection *c = &s->connection[e[i].data.u32];

            put(c);
            if (c->got == bytes || !get(c))
                continue;
            echoes += !over;
            all++;
            if (over && ends)
                waiting--;
            else
                ask(c);
        }
    }
    return echoes;
}

static void slice(struct server *s, int round, int number, uint64_t length)
{
    uint64_t start, cpu, echoes;

    for (int i = 0; i < connections; i++)
        ask(&s->connection[i]);
    (void)drive(s, clock_ns(CLOCK_MONOTONIC) + length / 8, false);
    cpu = clock_ns(s->cpu);
    start = clock_ns(CLOCK_MONOTONIC);
    echoes = drive(s, start + length, false);
    length = clock_ns(CLOCK_MONOTONIC) - start;
    cpu = clock_ns(s->cpu) - cpu;
    (void)drive(s, 0, true);
    if (round >= WARM_ROUNDS && echoes > 0)
        printf("%d %.1f %.1f\n", number, (double)echoes * 1e9 / (double)length,
               (double)cpu / (double)echoes);
}

int main(int argc, char **argv)
{
    enum { FIRST = 5 };
    int n = argc - FIRST, rounds;
    struct server *s = calloc((size_t)(n > 0 ? n : 1), sizeof(*s));
    uint64_t length;

    if (n < 1) {
        (void)fprintf(stderr,
                      "usage: client CONNECTIONS BYTES ROUNDS SLICE_MS PORT:PID...\n");
        return 2;
    }
    connections = atoi(argv[1]);
    bytes = (size_t)atoi(argv[2]);
    rounds = atoi(argv[3]);
    length = (uint64_t)atoi(argv[4]) * 1000000;
    message = calloc(1, bytes);
    answer = calloc(1, bytes);
    for (int i = 0; i < n; i++)
        s[i] = server_of(argv[FIRST + i]);
    for (int round = 0; round < rounds + WARM_ROUNDS; round++) {
        for (int i = 0; i < n; i++)
            slice(&s[(i + round) % n], round, (i + round) % n, length);
    }
    printf("all %llu\n", (unsigned long long)all);
    return 0;
}
