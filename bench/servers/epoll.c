/* The floor of echo servers: one thread, edge-triggered epoll, no call that could be left
 * out.
 *
 *   epoll      prints its port of 127.0.0.1 and serves until it is killed */
#include "bench/servers/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 256 };

static int epoll;

static void add(int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.fd = fd};

    server_must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
}

static void accept_one(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    server_no_delay(fd);
    add(fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

/* False: the connection has ended. Where there is no room it waits: the client reads. */
static bool put_all(int fd, const char *data, ssize_t n)
{
    while (n > 0) {
        ssize_t put = send(fd, data, (size_t)n, MSG_NOSIGNAL);

        if (put < 0 && errno != EAGAIN)
            return false;
        if (put < 0)
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        data += put > 0 ? put : 0;
        n -= put > 0 ? put : 0;
    }
    return true;
}

static void echo(int fd, bool ended)
{
    char buf[SERVER_BUFFER];
    ssize_t n;

    do {
        n = recv(fd, buf, sizeof(buf), 0);
        if (n == 0 || (n > 0 && !put_all(fd, buf, n))) {
            close(fd);
            return;
        }
    } while (n == SERVER_BUFFER || (ended && n > 0));
}

int main(void)
{
    int listener = server_listen();

    epoll = epoll_create1(EPOLL_CLOEXEC);
    add(listener, EPOLLIN);
    for (;;) {
        struct epoll_event e[EVENTS];
        int n = epoll_wait(epoll, e, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (e[i].data.fd == listener)
                accept_one(listener);
            else
                echo(e[i].data.fd, e[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
        }
    }
}
