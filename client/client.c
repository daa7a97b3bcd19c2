/* The connection: framing, pipelining, descriptors; see client.h. */
#include "client/client.h"
#include "wire/duration.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A reply longer than this is no reply of voltd. */
#define REPLY_MAX ((size_t)64 << 20)
#define READ_STEP ((size_t)64 << 10)

#define SILENCE_USEC UINT64_C(5000000)

struct client {
    int fd;
    int interrupt_fd, output_fd;
    char *in; /* bytes read, not yet consumed: in[start..end) */
    size_t start, end, size;
    size_t scanned; /* no NUL before this offset */
    int pending_fd; /* a descriptor that came and waits for its reply */
    bool gone;      /* end of stream seen */
    bool heard;     /* a byte or the end has come */
    bool unheard;   /* client_is_unheard() */
    unsigned calls; /* sent as a whole */
    bool system;    /* the socket is that of the system's daemon */
    struct address address;
    void (*on_silence)(void);
};

void client_reply_fini(struct client_reply *reply)
{
    json_decref(reply->parameters);
    free(reply->error);
    if (reply->fd >= 0)
        (void)close(reply->fd);
    *reply = CLIENT_REPLY_EMPTY;
}

struct client *client_new(int fd)
{
    struct client *c = calloc(1, sizeof(*c));
    if (!c) {
        (void)close(fd);
        return NULL;
    }
    c->fd = fd;
    c->interrupt_fd = c->output_fd = c->pending_fd = -1;
    int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return c;
}

int client_open(const struct address_choice *choice, enum address_endpoint which,
                struct client **ret, struct client_tried *tried)
{
    struct address list[2];
    struct volt_error err = {.text = ""};
    *tried = (struct client_tried){.text = ""};
    int n = address_candidates(choice, which, list, &err);
    if (n < 0) {
        (void)snprintf(tried->text, sizeof(tried->text), "  %s\n", err.text);
        return n;
    }
    int first = 0;
    tried->absent = true;
    for (int i = 0; i < n; i++) {
        int fd = address_connect(&list[i], &err);
        if (fd >= 0) {
            *ret = client_new(fd);
            if (!*ret)
                return -ENOMEM;
            (*ret)->system = address_is_system(&list[i], which);
            (*ret)->address = list[i];
            return 0;
        }
        tried->absent &= fd == -ENOENT || fd == -ECONNREFUSED;
        if (first == 0)
            first = fd;
        size_t used = strlen(tried->text);
        (void)snprintf(tried->text + used, sizeof(tried->text) - used, "  %s\n",
                       err.text);
    }
    return first;
}

int client_open_same(const struct client *c, struct client **ret, struct volt_error *err)
{
    int fd = address_connect(&c->address, err);
    if (fd < 0)
        return fd;
    struct client *same = client_new(fd);
    if (!same) {
        if (err)
            (void)snprintf(err->text, sizeof(err->text), "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    same->system = c->system;
    same->address = c->address;
    *ret = same;
    return 0;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    (void)close(c->fd);
    if (c->pending_fd >= 0)
        (void)close(c->pending_fd);
    free(c->in);
    free(c);
}

void client_set_interrupt_fd(struct client *c, int fd)
{
    c->interrupt_fd = fd;
}

void client_set_silence(struct client *c, void (*fn)(void))
{
    c->on_silence = fn;
}

void client_set_output_fd(struct client *c, int fd)
{
    c->output_fd = fd;
}

/* The listening process: for a socket unit of the system that is root. */
bool client_is_own(const struct client *c)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return !c->system && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           peer.uid == geteuid();
}

bool client_is_unheard(const struct client *c)
{
    return c->unheard;
}

int client_fd(const struct client *c)
{
    return c->fd;
}

/* Room for READ_STEP bytes behind end. */
static int make_room(struct client *c)
{
    if (c->start > 0 && (c->start == c->end || c->size - c->end < READ_STEP)) {
        memmove(c->in, c->in + c->start, c->end - c->start);
        c->end -= c->start;
        c->scanned -= c->start;
        c->start = 0;
    }
    if (c->size - c->end >= READ_STEP)
        return 0;
    if (c->end > REPLY_MAX)
        return -EPROTO;
    size_t size = c->size * 2 > c->end + READ_STEP ? c->size * 2 : c->end + READ_STEP;
    char *in = realloc(c->in, size);
    if (!in)
        return -ENOMEM;
    c->in = in;
    c->size = size;
    return 0;
}

static void keep_fd(struct client *c, struct msghdr *msg)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            if (c->pending_fd < 0)
                c->pending_fd = fd;
            else
                (void)close(fd);
        }
    }
}

/* Reads what is there. Positive: bytes; -EAGAIN: nothing now; -ECONNRESET: the end. */
static int read_some(struct client *c)
{
    int r = make_room(c);
    if (r < 0)
        return r;
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = c->in + c->end, .iov_len = c->size - c->end};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return -EAGAIN;
    if (n < 0) {
        /* Of a Unix socket that was closed with bytes that nobody had read; otherwise its
         * end is an end of stream (Linux, net/unix/af_unix.c: unix_release_sock()). The
         * end of the first call is among them. */
        c->unheard = errno == ECONNRESET && c->calls <= 1 && !c->heard;
        return -ECONNRESET;
    }
    c->heard = true;
    if (n == 0) {
        c->gone = true;
        return -ECONNRESET;
    }
    keep_fd(c, &msg);
    c->end += (size_t)n;
    return 1;
}

/* The peer reads no further. 0: it has said something before it went, why perhaps, which
 * is the answer to what it did not read. */
static int unread(struct client *c)
{
    int r;
    do
        r = read_some(c);
    while (r > 0);
    return c->end > c->start && memchr(c->in + c->start, '\0', c->end - c->start)
               ? 0
               : -ECONNRESET;
}

static int write_all(struct client *c, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
        if (n > 0) {
            data += n;
            len -= (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return unread(c);
        struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLOUT};
        if (poll(&p, 1, -1) > 0 && (p.revents & POLLIN)) {
            int r = read_some(c);
            if (r == -ECONNRESET)
                return unread(c);
            if (r < 0 && r != -EAGAIN)
                return r;
        }
    }
    return 0;
}

int client_send(struct client *c, const char *method, json_t *parameters, unsigned flags)
{
    json_t *call = json_pack("{s:s, s:o*}", "method", method, "parameters", parameters);
    if (!call)
        return -ENOMEM;
    int r = -ENOMEM;
    char *text = NULL;
    if ((flags & CLIENT_MORE) && json_object_set_new(call, "more", json_true()) < 0)
        goto out;
    text = json_dumps(call, JSON_COMPACT);
    if (text)
        r = write_all(c, text, strlen(text) + 1);
    c->unheard |= r == -ECONNRESET && c->calls == 0 && !c->heard;
    c->calls += r == 0;
out:
    free(text);
    json_decref(call);
    return r;
}

/* Turns one message into a reply. */
static int parse_reply(struct client *c, const char *text, size_t len,
                       struct client_reply *ret)
{
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return -EPROTO;
    }
    int r = -ENOMEM;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *parameters = json_object_get(root, "parameters");
    reply.parameters =
        json_is_object(parameters) ? json_incref(parameters) : json_object();
    reply.continues = json_is_true(json_object_get(root, "continues"));
    const char *error = json_string_value(json_object_get(root, "error"));
    if (error && !(reply.error = strdup(error)))
        goto out;
    if (!reply.parameters)
        goto out;
    reply.fd = c->pending_fd;
    c->pending_fd = -1;
    *ret = reply;
    reply = CLIENT_REPLY_EMPTY;
    r = 1;
out:
    client_reply_fini(&reply);
    json_decref(root);
    return r;
}

/* 1: a reply was in the buffer; 0: not yet. */
static int take_reply(struct client *c, struct client_reply *ret)
{
    char *nul = c->end > c->scanned
                    ? memchr(c->in + c->scanned, '\0', c->end - c->scanned)
                    : NULL;
    if (!nul) {
        c->scanned = c->end;
        return 0;
    }
    const char *text = c->in + c->start;
    size_t len = (size_t)(nul - text);
    c->start += len + 1;
    c->scanned = c->start;
    return parse_reply(c, text, len, ret);
}

/* Milliseconds for poll() until the deadline, rounded up. */
static int poll_timeout(uint64_t deadline)
{
    if (deadline == CLIENT_FOREVER)
        return -1;
    uint64_t now = duration_now_usec();
    if (now >= deadline)
        return 0;
    uint64_t ms = (deadline - now + 999) / 1000;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* A reply was lost: the next one would be taken for the answer to another call, so there
 * is none. */
static int lose(struct client *c, int r)
{
    (void)shutdown(c->fd, SHUT_RDWR);
    c->start = c->end = c->scanned = 0;
    c->gone = true;
    return r;
}

int client_receive(struct client *c, uint64_t timeout_usec, struct client_reply *ret)
{
    uint64_t deadline = CLIENT_FOREVER;
    if (timeout_usec != CLIENT_FOREVER)
        deadline = duration_now_usec() + timeout_usec;
    for (;;) {
        int r = take_reply(c, ret);
        if (r != 0)
            return r < 0 ? lose(c, r) : r;
        if (c->gone)
            return -ECONNRESET;
        struct pollfd p[3] = {{.fd = c->fd, .events = POLLIN},
                              {.fd = c->interrupt_fd, .events = POLLIN},
                              {.fd = c->output_fd}};
        int n = poll(p, 3, poll_timeout(deadline));
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && p[1].revents)
            return -EINTR;
        if (n > 0 && (p[2].revents & POLLERR))
            return -EPIPE;
        if (n > 0 && p[0].revents) {
            r = read_some(c);
            if (r < 0 && r != -EAGAIN)
                return lose(c, r);
        } else if (n == 0 && deadline != CLIENT_FOREVER &&
                   duration_now_usec() >= deadline) {
            return 0;
        }
    }
}

int client_call(struct client *c, const char *method, json_t *parameters,
                struct client_reply *ret)
{
    int r = client_send(c, method, parameters, 0);
    return r < 0 ? r : client_answer(c, ret);
}

int client_answer(struct client *c, struct client_reply *ret)
{
    int r = client_receive(c, c->on_silence ? SILENCE_USEC : CLIENT_FOREVER, ret);
    if (r == 0) {
        c->on_silence();
        r = client_receive(c, CLIENT_FOREVER, ret);
    }
    return r < 0 ? r : 0;
}

bool client_error_is(const struct client_reply *reply, const char *name)
{
    const char *dot = reply->error ? strrchr(reply->error, '.') : NULL;
    return dot && strcmp(dot + 1, name) == 0;
}

static const char *parameter(const struct client_reply *reply, const char *name)
{
    const char *s = json_string_value(json_object_get(reply->parameters, name));
    return s ? s : "";
}

/* What the errors say that have a reason and nothing else. */
static const struct {
    const char *error, *text;
} plain_errors[] = {
    {"TooManyJobs", "too many jobs"},
    {"LimitReached", "refused"},
    {"KeyTaken", "refused"},
    {"Refused", "refused"},
    {"PermissionDenied", "refused"},
    {"ShuttingDown", "voltd is shutting down"},
    {"StoreUnavailable", "the store of voltd is out of order"},
    {"ReloadFailed", "the configuration was not reloaded"},
};

static const char *plain_error(const struct client_reply *reply)
{
    for (size_t i = 0; i < sizeof(plain_errors) / sizeof(plain_errors[0]); i++)
        if (client_error_is(reply, plain_errors[i].error))
            return plain_errors[i].text;
    return NULL;
}

void client_error_text(const struct client_reply *reply, char *buf, size_t size)
{
    const char *id = parameter(reply, "id"), *reason = parameter(reply, "reason");
    const char *sep = *reason ? ": " : "", *plain = plain_error(reply);
    if (plain)
        (void)snprintf(buf, size, "%s%s%s", plain, sep, reason);
    else if (client_error_is(reply, "NoSuchJob"))
        (void)snprintf(buf, size, "no such job: %s", id);
    else if (client_error_is(reply, "NotRunning"))
        (void)snprintf(buf, size, "job %s is not running (%s)", id,
                       parameter(reply, "state"));
    else if (client_error_is(reply, "NoOutput"))
        (void)snprintf(buf, size, "job %s has no output here%s%s", id, sep, reason);
    else if (client_error_is(reply, "OutputGone"))
        (void)snprintf(buf, size,
                       "the output of job %s is gone: %s was removed or replaced", id,
                       parameter(reply, "path"));
    else if (client_error_is(reply, "InvalidParameter"))
        (void)snprintf(buf, size, "%s%s%s", parameter(reply, "parameter"),
                       *reason ? ": " : ": not a parameter this voltd knows", reason);
    else
        (void)snprintf(buf, size, "voltd answered %s%s%s",
                       reply->error ? reply->error : "no error", sep, reason);
}
