/* Clients of one user that mean no good, all from one process:
 *
 *   crowd SOCKET CLIENTS stand [UID]   they never read, and end little of what they begin:
 *                                      half a call, a call of 250 KB, a batch of 15 MB without
 *                                      its end, thousands of calls whose answers are long, a
 *                                      watch, noise
 *   crowd SOCKET CLIENTS flood [UID]   each asks for the newest job, reads the answer and asks
 *                                      again, as fast as it goes
 *
 * Says "ready" on a line once nobody takes any more, or all are at it, and goes on until
 * its input ends. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CALL "{\"method\":\"org.voltd.jobs."
#define ASK  CALL "List\",\"parameters\":{\"limit\":1,\"newest_first\":true}}"

/* What one kind of client sends: head, then body so many times. */
struct kind {
    const char *head, *body;
    size_t head_len, body_len, times;
};

#define KIND(head, body, times)                                                          \
    {                                                                                    \
        head, body, sizeof(head) - 1, sizeof(body) - 1, times                            \
    }

static const struct kind stands[] = {
    KIND("", "", 0),
    KIND(CALL "Li", "", 0),
    KIND("", "{", 3000),
    KIND("", "\xff\x01 no call", 300),
    KIND("", CALL "List\"}\0", 2000),
    KIND("{\"a\":\"", "x", 250000),
    KIND(CALL "Watch\",\"more\":true}\0", "", 0),
    KIND("", CALL "Submit\",\"parameters\":{\"spec\":{\"kind\":\"noop\"}}}\0", 100),
    KIND(
        CALL "SubmitBatch\",\"parameters\":{\"specs\":[",
        "{\"kind\":\"noop\",\"name\":\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\"},",
        190000),
};
static const struct kind floods = KIND("", ASK "\0", 1);

struct client {
    const struct kind *kind;
    size_t sent; /* of all that it has to send */
    int fd;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void become(uid_t uid)
{
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        die("becoming another user");
}

static int open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        die(path);
    return fd;
}

/* Sends what is left and goes. False: the connection has ended, or all is sent. */
static int send_some(struct client *c)
{
    const struct kind *k = c->kind;
    size_t all = k->head_len + k->body_len * k->times;

    while (c->sent < all) {
        static char text[1 << 17];
        size_t n = 0, at = c->sent;

        while (n < sizeof(text) && at < all) {
            text[n++] = at < k->head_len ? k->head[at]
                                         : k->body[(at - k->head_len) % k->body_len];
            at++;
        }
        ssize_t done = send(c->fd, text, n, MSG_NOSIGNAL);
        if (done < 0)
            return errno == EAGAIN;
        c->sent += (size_t)done;
    }
    return 0;
}

/* Reads what has come and asks again. False: the connection has ended. */
static int ask_again(struct client *c)
{
    char answer[65536];
    ssize_t n = recv(c->fd, answer, sizeof(answer), 0);

    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    if (answer[n - 1] != '\0')
        return 1;
    c->sent = 0;
    (void)send_some(c);
    return 1;
}

/* Serves until standard input ends. */
static void serve(int epoll, int flood)
{
    struct epoll_event events[64];
    int said = 0, n;

    for (;;) {
        while ((n = epoll_wait(epoll, events, 64, said ? -1 : 500)) < 0 && errno == EINTR)
            ;
        if (n < 0)
            die("epoll");
        if (!said && (n == 0 || flood)) {
            (void)puts("ready");
            (void)fflush(stdout);
            said = 1;
        }
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;

            if (!c)
                return;
            if (!(flood ? ask_again(c) : send_some(c)))
                (void)epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
        }
    }
}

int main(int argc, char **argv)
{
    size_t clients = argc > 3 ? (size_t)atol(argv[2]) : 0;
    struct client *all = calloc(clients + 1, sizeof(*all));
    struct epoll_event input = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct rlimit files;

    if (argc < 4 || !all)
        return 2;
    int flood = strcmp(argv[3], "flood") == 0;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    if (argc > 4)
        become((uid_t)atol(argv[4]));
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input) < 0)
        die("epoll");
    for (size_t i = 0; i < clients; i++) {
        struct epoll_event e = {.events = flood ? EPOLLIN : EPOLLOUT,
                                .data.ptr = &all[i]};

        all[i].kind = flood ? &floods : &stands[i % (sizeof(stands) / sizeof(stands[0]))];
        all[i].fd = open_socket(argv[1]);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &e) < 0)
            die("epoll");
        (void)send_some(&all[i]);
    }
    serve(epoll, flood);
    return 0;
}
