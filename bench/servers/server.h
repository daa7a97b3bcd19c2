/* What the echo servers written in C share. */
#ifndef BENCH_SERVERS_SERVER_H
#define BENCH_SERVERS_SERVER_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { SERVER_BUFFER = 16384 }; /* of every server, in other languages as well */

static inline void server_must(bool done, const char *what)
{
    if (!done) {
        perror(what);
        exit(1);
    }
}

static inline void server_no_delay(int fd)
{
    int on = 1;

    server_must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0,
                "TCP_NODELAY");
}

/* A listening socket, whose port is printed. */
static inline int server_listen(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    server_must(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 &&
                    listen(fd, 1024) == 0 &&
                    getsockname(fd, (struct sockaddr *)&a, &len) == 0,
                "listen");
    printf("%d\n", ntohs(a.sin_port));
    (void)fflush(stdout);
    return fd;
}

#endif
