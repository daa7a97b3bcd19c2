/* Output of a job; see follow.h. */
#include "client/follow.h"
#include "client/base64.h"
#include "client/job_view.h"
#include "client/reconnect.h"
#include "client/term.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)

off_t follow_tail(int fd, uint64_t lines)
{
    off_t end = lseek(fd, 0, SEEK_END);
    if (lines == UINT64_MAX || end <= 0)
        return 0;
    char buf[4096];
    uint64_t seen = 0;
    bool last = true; /* a line end at the very end closes a line, and opens none */
    for (off_t at = end; at > 0;) {
        size_t want = at < (off_t)sizeof(buf) ? (size_t)at : sizeof(buf);
        ssize_t n = pread(fd, buf, want, at - (off_t)want);
        if (n != (ssize_t)want)
            return 0;
        for (size_t i = want; i > 0; i--) {
            if (buf[i - 1] == '\n' && !last && ++seen == lines)
                return at - (off_t)want + (off_t)i;
            if (last && lines == 0)
                return end;
            last = false;
        }
        at -= (off_t)want;
    }
    return 0;
}

/* Copies what is there from *offset on. */
static int drain(const struct follow_request *rq, int fd, off_t *offset, char *buf)
{
    for (;;) {
        ssize_t n = pread(fd, buf, CHUNK, *offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        *offset += n;
        int r = printer_put(rq->printer, buf, (size_t)n, false);
        if (r < 0)
            return r;
    }
}

static int watch_file(int fd)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (in >= 0 && inotify_add_watch(in, path, IN_MODIFY) < 0) {
        (void)close(in);
        in = -1;
    }
    return in;
}

/* All replies that are there: poll() knows nothing of those that came in one read with
 * another. */
static int take_news(struct client *c, bool *ended)
{
    int got = 1;
    while (got > 0 && !*ended) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        got = client_receive(c, 0, &reply);
        *ended = got > 0 && !reply.continues;
        client_reply_fini(&reply);
    }
    return got < 0 ? got : 0;
}

/* Copies growth, of which inotify descriptor `in` tells, until the daemon says that the
 * job has ended (the Wait call on c). */
static int follow_file(struct client *c, const struct follow_request *rq, int fd, int in,
                       off_t *offset, char *buf)
{
    json_t *params = json_pack("{s:[s]}", "ids", rq->id);
    int r = client_send(c, "org.voltd.jobs.Wait", params, CLIENT_MORE);
    bool ended = false;
    while (r == 0 && !ended) {
        r = drain(rq, fd, offset, buf);
        if (r < 0)
            break;
        struct pollfd p[4] = {{.fd = client_fd(c), .events = POLLIN},
                              {.fd = in, .events = POLLIN},
                              {.fd = rq->printer->out, .events = 0},
                              {.fd = rq->interrupt, .events = POLLIN}};
        if (poll(p, 4, -1) < 0 && errno != EINTR)
            r = -errno;
        char events[4096];
        if (p[1].revents)
            (void)!read(in, events, sizeof(events));
        if (p[2].revents & POLLERR) {
            rq->printer->failed = true;
            r = -EPIPE; /* nobody reads any more */
        }
        if (r == 0)
            r = take_news(c, &ended);
    }
    if (r == 0)
        r = drain(rq, fd, offset, buf);
    return r;
}

/* in < 0: to the end that the file has now. */
static int print_file(struct client *c, const struct follow_request *rq, int fd, int in,
                      off_t *offset)
{
    char *buf = malloc(CHUNK);
    if (!buf)
        return -ENOMEM;
    int r =
        in >= 0 ? follow_file(c, rq, fd, in, offset, buf) : drain(rq, fd, offset, buf);
    free(buf);
    return r;
}

/* The bytes of one Read reply. */
static int print_reply(const struct follow_request *rq, const struct client_reply *reply)
{
    const json_t *data = json_object_get(reply->parameters, "data");
    size_t len = json_string_length(data);
    if (len == 0)
        return 0;
    unsigned char *buf = malloc(len / 4 * 3 + 3);
    if (!buf)
        return -ENOMEM;
    ssize_t n = base64_decode(json_string_value(data), len, buf);
    int r = n < 0 ? -EPROTO : printer_put(rq->printer, (char *)buf, (size_t)n, false);
    free(buf);
    return r;
}

/* Without a descriptor: by Read. The whole of it; -n is for local files. */
static int print_by_read(struct client *c, const struct follow_request *rq, off_t *offset,
                         struct client_reply *error)
{
    if (*offset < 0)
        *offset = 0;
    for (;;) {
        json_t *params = json_pack("{s:s, s:s, s:I}", "id", rq->id, "stream", rq->stream,
                                   "offset", (json_int_t)*offset);
        int r =
            client_send(c, "org.voltd.logs.Read", params, rq->follow ? CLIENT_MORE : 0);
        bool more = r == 0, end = false;
        while (more) {
            struct client_reply reply = CLIENT_REPLY_EMPTY;
            r = client_receive(c, CLIENT_FOREVER, &reply);
            if (r < 0)
                return r;
            if (reply.error) {
                *error = reply;
                return 1;
            }
            r = print_reply(rq, &reply);
            more = r == 0 && reply.continues;
            off_t next = (off_t)json_integer_value(
                json_object_get(reply.parameters, "next_offset"));
            end = json_is_true(json_object_get(reply.parameters, "end")) ||
                  (next <= *offset && !more);
            *offset = next > *offset ? next : *offset;
            client_reply_fini(&reply);
        }
        if (r < 0 || end)
            return r;
    }
}

static bool is_early(const json_t *job)
{
    const char *state = job_view_string(job, "state");
    return strcmp(state, "queued") == 0 || strcmp(state, "starting") == 0;
}

/* Of jobs, or of events. */
static bool any_started(const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        if (*job_view_string(item, "state") && !is_early(item))
            return true;
    }
    return false;
}

/* Waits until a queued job has started. 1: it has, or has ended; 0: there is nothing to
 * wait for, as of an array, which has no output; negative as client_receive(). */
static int await_start(struct client *c, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(c, "org.voltd.jobs.Get", json_pack("{s:s}", "id", id), &reply);
    const json_t *job = json_object_get(reply.parameters, "job");
    bool early = is_early(job), any = job && !json_object_get(job, "counts");
    client_reply_fini(&reply);
    if (r < 0 || !any)
        return r;
    if (!early) /* since we asked for its output, perhaps */
        return 1;
    json_t *params = json_pack("{s:{s:[s]}}", "filter", "ids", id);
    r = client_send(c, "org.voltd.jobs.Watch", params, CLIENT_MORE);
    while (r == 0) {
        r = client_receive(c, CLIENT_FOREVER, &reply);
        if (r < 0)
            return r;
        bool over = reply.error || !reply.continues;
        bool started = any_started(json_object_get(reply.parameters, "jobs")) ||
                       any_started(json_object_get(reply.parameters, "events"));
        client_reply_fini(&reply);
        r = started ? 1 : over ? -EPROTO : 0;
    }
    return r;
}

static int open_output(struct client *c, const struct follow_request *rq,
                       struct client_reply *reply)
{
    json_t *params = json_pack("{s:s, s:s}", "id", rq->id, "stream", rq->stream);
    return client_call(c, "org.voltd.logs.Open", params, reply);
}

/* A new connection in place of one that a stream occupies. */
static int reopen(struct client **c, const struct follow_request *rq)
{
    struct client_tried tried;
    struct client *fresh;
    if (client_open(rq->choice, ADDRESS_JOBS, &fresh, &tried) < 0)
        return -ECONNRESET; /* gone since */
    client_free(*c);
    *c = fresh;
    client_set_interrupt_fd(fresh, rq->interrupt);
    return 0;
}

/* What Open has answered, from *offset on; < 0: not begun. Growth is watched here; where
 * that cannot be (a user has so many inotify instances), the daemon watches and sends. */
static int print_opened(struct client *c, const struct follow_request *rq,
                        const struct client_reply *reply, off_t *offset,
                        struct client_reply *error)
{
    bool follow =
        rq->follow && !json_is_true(json_object_get(reply->parameters, "ended"));
    if (reply->fd < 0)
        return print_by_read(c, rq, offset, error);
    if (*offset < 0)
        *offset = follow_tail(reply->fd, rq->lines);
    int in = follow ? watch_file(reply->fd) : -1;
    if (follow && in < 0)
        return print_by_read(c, rq, offset, error);
    int r = print_file(c, rq, reply->fd, in, offset);
    if (in >= 0)
        (void)close(in);
    return r;
}

/* On one connection, from *offset on. */
static int print_output(struct client **c, const struct follow_request *rq, off_t *offset,
                        struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = open_output(*c, rq, &reply);
    if (r == 0 && rq->follow && client_error_is(&reply, "NoOutput")) {
        r = await_start(*c, rq->id);
        if (r > 0) {
            client_reply_fini(&reply);
            r = reopen(c, rq);
            if (r == 0)
                r = open_output(*c, rq, &reply);
        }
    }
    if (r == 0 && reply.error) {
        *error = reply;
        return 1;
    }
    if (r == 0)
        r = print_opened(*c, rq, &reply, offset, error);
    client_reply_fini(&reply);
    return r;
}

int follow_output(struct client **c, const struct follow_request *rq,
                  struct client_reply *error)
{
    off_t offset = rq->offset;
    int r = print_output(c, rq, &offset, error);
    while (r == -ECONNRESET && rq->follow && !rq->printer->failed) {
        r = reconnect(c, rq->choice, ADDRESS_JOBS, rq->reconnect_usec, rq->interrupt);
        if (r < 0)
            break;
        client_set_interrupt_fd(*c, rq->interrupt);
        r = print_output(c, rq, &offset, error);
    }
    if (!rq->printer->failed) {
        int flushed = printer_put(rq->printer, "", 0, true);
        r = flushed < 0 ? flushed : r;
    }
    return r;
}
