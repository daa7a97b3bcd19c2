/* See client.h: framing, pipelining, descriptors. */
#include "client/client.h"
#include "wire/duration.h"
#include "wire/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A longer reply does not come from voltd. */
#define REPLY_MAX ((size_t)64 << 20)
#define READ_STEP ((size_t)64 << 10)

/* After how much silence that is said: in a call, and in a stream, which has a heartbeat
 * each HeartbeatSec=, at most 45 s. */
#define SILENCE_SEC        5
#define STREAM_SILENCE_SEC 60

struct client {
    int fd;
    int interrupt_fd, output_fd;
    char *in; /* bytes read, not yet consumed: in[start..end) */
    size_t start, end, size;
    size_t scanned; /* no NUL before this offset */
    int pending_fd; /* a descriptor received for the next reply */
    bool gone;      /* end of stream */
    bool heard;     /* a byte or the end was received */
    bool unheard;   /* client_is_unheard() */
    unsigned calls; /* calls sent whole */
    bool system;    /* the socket is the system daemon's */
    struct address address;
    void (*on_silence)(unsigned sec);
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

static int open_socket(const struct address_choice *choice, enum address_endpoint which,
                       struct client **ret, struct client_tried *tried)
{
    struct address list[ADDRESS_CANDIDATES];
    struct volt_error err = {.text = ""};
    *tried = (struct client_tried){.text = "",
                                   .named = choice->jobs || choice->control,
                                   .system = choice->scope == ADDRESS_SYSTEM};
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
            (*ret)->system = address_is_system(&list[i]);
            (*ret)->address = list[i];
            return 0;
        }
        tried->absent &= fd == -ENOENT || fd == -ECONNREFUSED;
        tried->forbidden |= fd == -EACCES;
        if (first == 0)
            first = fd;
        size_t used = strlen(tried->text);
        (void)snprintf(tried->text + used, sizeof(tried->text) - used, "  %s\n",
                       err.text);
    }
    return first;
}

int client_open(const struct address_choice *choice, enum address_endpoint which,
                struct client **ret, struct client_tried *tried)
{
    int r = open_socket(choice, which, ret, tried);
    if (r == 0 || which != ADDRESS_CONTROL || !tried->forbidden || choice->admin)
        return r;
    return open_socket(choice, ADDRESS_JOBS, ret, tried); /* which gives the same
                                                           * answers */
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

const char *client_socket(const struct client *c)
{
    return c->address.path;
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

void client_set_silence(struct client *c, void (*fn)(unsigned sec))
{
    c->on_silence = fn;
}

void client_set_output_fd(struct client *c, int fd)
{
    c->output_fd = fd;
}

/* Asks for the listening process: of a system's socket unit that is root. */
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

/* Makes room for READ_STEP bytes after end. */
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

/* Reads available bytes. Returns their number; -EAGAIN: none now; -ECONNRESET: the
 * end. */
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
        /* ECONNRESET: a Unix socket was closed with unread bytes, among them the end of
         * the first call; otherwise the end is an end of stream (Linux,
         * net/unix/af_unix.c: unix_release_sock()). */
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

/* Reads the rest after the peer stopped reading. Returns 0 if a message is there, which
 * answers what the peer did not read; -ECONNRESET otherwise. */
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

/* Sends bytes; fd goes with the first byte; -1: none. */
static ssize_t write_some(struct client *c, const char *data, size_t len, int fd)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control.room);
    }
    return sendmsg(c->fd, &message, MSG_NOSIGNAL);
}

static int write_all(struct client *c, const char *data, size_t len, int fd)
{
    while (len > 0) {
        ssize_t n = write_some(c, data, len, fd);
        if (n > 0) {
            fd = -1;
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

static int send_call(struct client *c, const char *method, json_t *parameters,
                     unsigned flags, int fd)
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
        r = write_all(c, text, strlen(text) + 1, fd);
    c->unheard |= r == -ECONNRESET && c->calls == 0;
    c->calls += r == 0;
out:
    free(text);
    json_decref(call);
    return r;
}

int client_send(struct client *c, const char *method, json_t *parameters, unsigned flags)
{
    return send_call(c, method, parameters, flags, -1);
}

/* Parses a message into a reply. */
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

/* Likewise, but leaves the list as text. The rest of the message is short. */
static int parse_around(struct client *c, char *text, size_t len,
                        struct client_list *list, struct client_reply *ret)
{
    const struct scan_limits limits = {
        .usual = {SIZE_MAX, UINT64_MAX}, .depth = UINT32_MAX, .usual_list = list->name};
    struct scan scan = {0};
    size_t used;
    list->text = NULL;
    list->len = 0;
    (void)scan_feed(&scan, &limits, text, len, &used);
    if (scan.list_end == 0)
        return parse_reply(c, text, len, ret);
    size_t behind = len - scan.list_end;
    char *rest = malloc(scan.list_begin + behind);
    if (!rest)
        return -ENOMEM;
    memcpy(rest, text, scan.list_begin);
    memcpy(rest + scan.list_begin, text + scan.list_end, behind);
    int r = parse_reply(c, rest, scan.list_begin + behind, ret);
    free(rest);
    list->text = text + scan.list_begin;
    list->len = scan.list_end - scan.list_begin;
    return r;
}

/* Takes a reply from the buffer. Returns 1; 0: not complete yet. list: stays text; or
 * NULL. */
static int take_reply(struct client *c, struct client_list *list,
                      struct client_reply *ret)
{
    char *nul = c->end > c->scanned
                    ? memchr(c->in + c->scanned, '\0', c->end - c->scanned)
                    : NULL;
    if (!nul) {
        c->scanned = c->end;
        return 0;
    }
    char *text = c->in + c->start;
    size_t len = (size_t)(nul - text);
    c->start += len + 1;
    c->scanned = c->start;
    return list ? parse_around(c, text, len, list, ret) : parse_reply(c, text, len, ret);
}

/* Returns the milliseconds until the deadline, rounded up. */
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

/* Ends the connection after a reply was lost, as the next reply would answer another
 * call. */
static int lose(struct client *c, int r)
{
    (void)shutdown(c->fd, SHUT_RDWR);
    c->start = c->end = c->scanned = 0;
    c->gone = true;
    return r;
}

static int receive(struct client *c, uint64_t timeout_usec, unsigned silence_sec,
                   struct client_list *list, struct client_reply *ret)
{
    const uint64_t begun = duration_now_usec();
    uint64_t deadline = CLIENT_FOREVER, silence = CLIENT_FOREVER;
    if (timeout_usec != CLIENT_FOREVER)
        deadline = begun + timeout_usec;
    if (c->on_silence)
        silence = begun + silence_sec * UINT64_C(1000000);
    for (;;) {
        int r = take_reply(c, list, ret);
        if (r != 0)
            return r < 0 ? lose(c, r) : r;
        if (c->gone)
            return -ECONNRESET;
        struct pollfd p[3] = {{.fd = c->fd, .events = POLLIN},
                              {.fd = c->interrupt_fd, .events = POLLIN},
                              {.fd = c->output_fd}};
        int n = poll(p, 3, poll_timeout(deadline < silence ? deadline : silence));
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
        } else if (n == 0) {
            const uint64_t now = duration_now_usec();
            if (now >= deadline)
                return 0;
            if (now >= silence) {
                c->on_silence(silence_sec);
                silence = CLIENT_FOREVER;
            }
        }
    }
}

int client_receive(struct client *c, uint64_t timeout_usec, struct client_reply *ret)
{
    return receive(c, timeout_usec, STREAM_SILENCE_SEC, NULL, ret);
}

int client_call(struct client *c, const char *method, json_t *parameters,
                struct client_reply *ret)
{
    int r = client_send(c, method, parameters, 0);
    return r < 0 ? r : client_answer_list(c, NULL, ret);
}

int client_call_fd(struct client *c, const char *method, json_t *parameters, int fd,
                   struct client_reply *ret)
{
    int r = send_call(c, method, parameters, 0, fd);
    return r < 0 ? r : client_answer_list(c, NULL, ret);
}

int client_answer_list(struct client *c, struct client_list *list,
                       struct client_reply *ret)
{
    int r = receive(c, CLIENT_FOREVER, SILENCE_SEC, list, ret);
    return r < 0 ? r : 0;
}

/* Returns the end of the string at p. Mostly its first quote ends it, and memchr() is
 * faster for long strings. */
static char *string_end(char *p, const char *end)
{
    char *quote = memchr(p + 1, '"', (size_t)(end - p - 1));
    if (quote && quote[-1] != '\\')
        return quote + 1;
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return p + 1;
}

char *client_list_next(const struct client_list *list, size_t *at)
{
    if (!list->text || *at >= list->len)
        return NULL;
    char *begin = list->text + *at, *end = list->text + list->len, *p = begin;
    unsigned depth = 0;
    while (p < end && (*p != ',' || depth > 0)) {
        if (*p == '"') {
            p = string_end(p, end);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= (*p == '}' || *p == ']') && depth > 0;
        p++;
    }
    if (p > end) /* a string without an end: no valid JSON */
        p = end;
    *p = '\0'; /* after the last value is the bracket of the list */
    *at = (size_t)(p - list->text) + 1;
    return begin;
}

bool client_is_full(const struct client_reply *reply)
{
    const char *key = json_string_value(json_object_get(reply->parameters, "key"));
    return client_error_is(reply, "LimitReached") && key &&
           (strncmp(key, "MaxConnections", 14) == 0 || strcmp(key, "LimitNOFILE") == 0);
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

/* Texts of errors that only have a reason. */
static const struct {
    const char *error, *text;
} plain_errors[] = {
    {"TooManyJobs", "too many jobs"},
    {"LimitReached", "refused"},
    {"KeyTaken", "refused"},
    {"Refused", "refused"},
    {"Deadlock", "refused"},
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

/* Writes the error with the names of existing queues. */
static void no_such_queue(const struct client_reply *reply, char *buf, size_t size)
{
    const json_t *queues = json_object_get(reply->parameters, "queues"), *name;
    int n = snprintf(buf, size, "no such queue: %s", parameter(reply, "name"));
    size_t i;

    json_array_foreach(queues, i, name)
    {
        const size_t at = n < 0 ? size : (size_t)n;
        if (at < size)
            n += snprintf(buf + at, size - at, "%s%s",
                          i ? ", " : "; there are: ", json_string_value(name));
    }
}

void client_error_text(const struct client_reply *reply, char *buf, size_t size)
{
    const char *id = parameter(reply, "id"), *reason = parameter(reply, "reason");
    const char *sep = *reason ? ": " : "", *plain = plain_error(reply);
    if (plain)
        (void)snprintf(buf, size, "%s%s%s", plain, sep, reason);
    else if (client_error_is(reply, "NoSuchJob"))
        (void)snprintf(buf, size, "no such job: %s", id);
    else if (client_error_is(reply, "NoSuchQueue"))
        no_such_queue(reply, buf, size);
    else if (client_error_is(reply, "NotRunning"))
        (void)snprintf(buf, size, "job %s is not running (%s)", id,
                       parameter(reply, "state"));
    else if (client_error_is(reply, "NoOutput"))
        (void)snprintf(buf, size, "job %s has no output here%s%s", id, sep, reason);
    else if (client_error_is(reply, "OutputGone"))
        (void)snprintf(buf, size,
                       "the output of job %s is gone: %s was removed or replaced", id,
                       parameter(reply, "path"));
    else if (client_error_is(reply, "OutputUnreadable"))
        (void)snprintf(buf, size, "the output of job %s cannot be read%s%s", id, sep,
                       reason);
    else if (client_error_is(reply, "InvalidParameter"))
        (void)snprintf(buf, size, "%s%s%s", parameter(reply, "parameter"),
                       *reason ? ": " : ": not a parameter this voltd knows", reason);
    else
        (void)snprintf(buf, size, "voltd answered %s%s%s",
                       reply->error ? reply->error : "no error", sep, reason);
}
