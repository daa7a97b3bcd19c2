/* See echo.h. */
#include "echo.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(bool done, const char *what)
{
    if (!done) {
        perror(what);
        exit(1);
    }
}

static void no_delay(int fd)
{
    int on = 1;

    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0, "TCP_NODELAY");
}

void echo_connect(int *ret_client, int *ret_server, int n)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(l >= 0 && bind(l, (struct sockaddr *)&a, len) == 0 && listen(l, n) == 0 &&
             getsockname(l, (struct sockaddr *)&a, &len) == 0,
         "listen");
    for (int i = 0; i < n; i++) {
        ret_client[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        must(ret_client[i] >= 0 &&
                 connect(ret_client[i], (struct sockaddr *)&a, len) == 0,
             "connect");
        ret_server[i] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        must(ret_server[i] >= 0, "accept");
        no_delay(ret_client[i]);
        no_delay(ret_server[i]);
    }
    close(l);
}

void echo_ask(const int *client, int n, int count)
{
    char question[ECHO_BYTES] = "", answer[ECHO_BYTES];

    for (int done = 0; done < count; done += n) {
        memcpy(question, &done, sizeof(done)); /* no two rounds are alike */
        for (int i = 0; i < n; i++)
            must(send(client[i], question, ECHO_BYTES, 0) == ECHO_BYTES, "send");
        for (int i = 0; i < n; i++) {
            must(recv(client[i], answer, ECHO_BYTES, MSG_WAITALL) == ECHO_BYTES, "recv");
            errno = EBADMSG;
            must(memcmp(answer, question, ECHO_BYTES) == 0, "answer");
        }
    }
}

void echo_hang_up(const int *client, int n)
{
    for (int i = 0; i < n; i++)
        close(client[i]);
}
