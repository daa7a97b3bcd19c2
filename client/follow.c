/* See follow.h. */
#include "wire/base64.h"
#include "client/follow.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/patience.h"
#include "client/reconnect.h"
#include "client/retry_watch.h"
#include "client/say.h"
#include "client/term.h"
#include "wire/duration.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)

/* Closing an inotify instance takes 10 to 20 ms, as the kernel waits until no CPU can see
 * its watches. So a file is watched only when its job has lived for WATCH_AFTER_USEC.
 * Before that it is checked every LOOK_MSEC. */
#define WATCH_AFTER_USEC 100000
#define LOOK_MSEC        5

bool follow_is_cut(int fd, const char *id, off_t *offset)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size >= *offset)
        return false;
    say("note: the output of job %s was truncated (`tee FILE` and `>FILE` do so, also of "
        "/dev/stderr; `tee -a` and `>>` do not): it goes on from its beginning",
        id);
    *offset = 0;
    return true;
}

/* Prints the file from *offset to its present end. */
static int drain(const struct follow_request *rq, int fd, off_t *offset, char *buf)
{
    for (;;) {
        ssize_t n = pread(fd, buf, CHUNK, *offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && follow_is_cut(fd, rq->id, offset))
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

enum { REFUSED = 2 };

/* Adds inside_job unless the job follows its own output. A job may do that in the
 * background without waiting, and would be refused. */
static void add_inside(json_t *params, const struct client *c,
                       const struct follow_request *rq)
{
    if (!inside_is_own(c, rq->id))
        inside_add(params, c);
}

/* Takes all replies that have come in, as poll() does not report replies that were read
 * together with another one. Returns REFUSED with *error. */
static int take_news(struct client *c, bool *ended, struct client_reply *error)
{
    int got = 1;
    while (got > 0 && !*ended) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        got = client_receive(c, 0, &reply);
        /* A job that was purged since has ended. */
        if (got > 0 && reply.error && !client_error_is(&reply, "NoSuchJob")) {
            *error = reply;
            return REFUSED;
        }
        *ended = got > 0 && !reply.continues;
        client_reply_fini(&reply);
    }
    return got < 0 ? got : 0;
}

/* Sleeps until the job or its file may have changed. in < 0: the file is not watched
 * yet. */
static int await_news(struct client *c, const struct follow_request *rq, int in)
{
    struct pollfd p[5] = {{.fd = client_fd(c), .events = POLLIN},
                          {.fd = in, .events = POLLIN},
                          {.fd = rq->printer->out, .events = 0},
                          {.fd = rq->interrupt, .events = POLLIN},
                          {.fd = retry_watch_fd(rq->retries), .events = POLLIN}};
    if (poll(p, 5, in < 0 ? LOOK_MSEC : -1) < 0 && errno != EINTR)
        return -errno;
    char events[4096];
    if (p[4].revents)
        retry_watch_take(rq->retries);
    if (p[1].revents)
        (void)!read(in, events, sizeof(events));
    if (p[2].revents & POLLERR) {
        rq->printer->failed = true;
        return -EPIPE; /* no reader is left */
    }
    return 0;
}

/* Prints growth until the daemon reports the job's end (Wait on c). Returns 0; 1: the
 * file cannot be watched, and the job goes on; REFUSED with *error. */
static int follow_file(struct client *c, const struct follow_request *rq, int fd,
                       off_t *offset, char *buf, struct client_reply *error)
{
    const uint64_t watch_at = duration_now_usec() + WATCH_AFTER_USEC;
    json_t *params = json_pack("{s:[s]}", "ids", rq->id);
    add_inside(params, c, rq);
    int r = client_send(c, "org.voltd.jobs.Wait", params, CLIENT_MORE), in = -1;
    bool ended = false;
    while (r == 0 && !ended) {
        if (in < 0 && duration_now_usec() >= watch_at && (in = watch_file(fd)) < 0)
            r = 1;
        if (r == 0)
            r = drain(rq, fd, offset, buf);
        if (r == 0)
            r = await_news(c, rq, in);
        if (r == 0)
            r = take_news(c, &ended, error);
    }
    if (r == 0)
        r = drain(rq, fd, offset, buf);
    if (in >= 0)
        (void)close(in);
    return r;
}

/* Prints the file: to its present end, or following. Returns as follow_file(). */
static int print_file(struct client *c, const struct follow_request *rq, int fd,
                      bool follow, off_t *offset, struct client_reply *error)
{
    char *buf = malloc(CHUNK);
    if (!buf)
        return -ENOMEM;
    int r =
        follow ? follow_file(c, rq, fd, offset, buf, error) : drain(rq, fd, offset, buf);
    free(buf);
    return r;
}

/* Decodes the bytes of a reply of Read into *ret, to be freed with free(). Returns their
 * number, or negative. */
static ssize_t reply_bytes(const struct client_reply *reply, unsigned char **ret)
{
    const json_t *data = json_object_get(reply->parameters, "data");
    size_t len = json_string_length(data);
    unsigned char *buf = malloc(len / 4 * 3 + 3);
    if (!buf)
        return -ENOMEM;
    ssize_t n = base64_decode(len > 0 ? json_string_value(data) : "", len, buf);
    if (n < 0) {
        free(buf);
        return -EPROTO;
    }
    *ret = buf;
    return n;
}

static int print_reply(const struct follow_request *rq, const struct client_reply *reply)
{
    unsigned char *bytes;
    ssize_t n = reply_bytes(reply, &bytes);
    if (n < 0)
        return (int)n;
    int r = n > 0 ? printer_put(rq->printer, (char *)bytes, (size_t)n, false) : 0;
    free(bytes);
    return r;
}

/* Prints the output by Read, without a descriptor. */
static int print_by_read(struct client *c, const struct follow_request *rq, off_t *offset,
                         struct client_reply *error)
{
    for (;;) {
        json_t *params = json_pack("{s:s, s:s, s:I}", "id", rq->id, "stream", rq->stream,
                                   "offset", (json_int_t)*offset);
        if (rq->follow)
            add_inside(params, c, rq);
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

/* Returns whether a job or an event in the list has started. */
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

/* Prints what the job waits for, asked on another connection, as this one has a
 * stream. */
static void say_waits(const struct follow_request *rq)
{
    struct client_tried tried;
    struct client *c;
    char names[512];
    if (client_open(rq->choice, ADDRESS_JOBS, &c, &tried) < 0)
        return;
    client_set_interrupt_fd(c, rq->interrupt);
    if (patience_name(c, json_pack("{s:[s]}", "ids", rq->id), PATIENCE_ALL, names,
                      sizeof(names)))
        say("waiting for %s", names);
    client_free(c);
}

/* Receives the next reply. Until it comes, prints on a terminal what the job waits
 * for. */
static int receive_patiently(struct client *c, const struct follow_request *rq,
                             struct patience *patience, struct client_reply *ret)
{
    const bool person = term_is_tty(STDERR_FILENO);
    int r;
    do {
        r = client_receive(c, person ? patience_left(patience) : CLIENT_FOREVER, ret);
        if (person && r == 0 && patience_is_over(patience))
            say_waits(rq);
    } while (r == 0);
    return r;
}

static bool prints_to_file(const struct follow_request *rq, const json_t *job)
{
    const char *field = strcmp(rq->stream, "stderr") == 0 ? "error_path" : "output_path";
    return json_object_get(json_object_get(job, "spec"), field);
}

/* Waits until a queued job has started. Returns:
 *   1        it has started or ended
 *   0        nothing to wait for: an array, or no output that can be read
 *   REFUSED  with *error
 *   negative as client_receive() */
static int await_start(struct client *c, const struct follow_request *rq,
                       struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    struct patience patience;
    int r = client_call(c, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", rq->id, "with_spec", 1), &reply);
    const json_t *job = json_object_get(reply.parameters, "job");
    bool early = is_early(job);
    bool any =
        job && !json_object_get(job, "counts") && (rq->files || !prints_to_file(rq, job));
    client_reply_fini(&reply);
    if (r < 0 || !any)
        return r;
    if (!early) /* perhaps since its output was asked for */
        return 1;
    json_t *params = json_pack("{s:{s:[s]}}", "filter", "ids", rq->id);
    add_inside(params, c, rq);
    r = client_send(c, "org.voltd.jobs.Watch", params, CLIENT_MORE);
    patience_init(&patience);
    while (r == 0) {
        r = receive_patiently(c, rq, &patience, &reply);
        if (r < 0)
            return r;
        if (reply.error) {
            *error = reply;
            return REFUSED;
        }
        bool over = !reply.continues;
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

/* Opens a file of the user, from *offset on. */
static int open_file(struct client *c, const struct follow_request *rq, off_t *offset,
                     struct client_reply *reply)
{
    off_t from;
    int r = job_files_open(rq->files, c, rq->id, rq->stream, reply, &from);
    if (r > 0 && *offset < 0)
        *offset = from;
    return r < 0 ? r : 0;
}

/* Replaces a connection that a stream occupies. */
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

struct by_read {
    struct client *c;
    const struct follow_request *rq;
};

/* Reads as a tail_read(), by Read. */
static ssize_t read_by_read(void *source, char *buf, size_t n, off_t at)
{
    const struct by_read *b = source;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    unsigned char *bytes = NULL;
    ssize_t got = client_call(b->c, "org.voltd.logs.Read",
                              json_pack("{s:s, s:s, s:I, s:I}", "id", b->rq->id, "stream",
                                        b->rq->stream, "offset", (json_int_t)at,
                                        "max_bytes", (json_int_t)n),
                              &reply);
    if (got == 0 && !reply.error) /* the error comes again when printing */
        got = reply_bytes(&reply, &bytes);
    if (got > (ssize_t)n)
        got = -EPROTO;
    if (got > 0)
        memcpy(buf, bytes, (size_t)got);
    free(bytes);
    client_reply_fini(&reply);
    return got;
}

/* Finds where to begin. Prints a notice if the limit of bytes cuts lines off. */
static int begin(struct client *c, const struct follow_request *rq,
                 const struct client_reply *reply, off_t *offset)
{
    char text[160];
    bool cut;
    struct by_read by_read = {c, rq};
    int fd = reply->fd;
    off_t end = (off_t)job_view_int(reply->parameters, "size_bytes");
    off_t from = fd < 0 ? tail_begin(&rq->tail, end, read_by_read, &by_read, &cut)
                        : tail_begin(&rq->tail, end, tail_read_file, &fd, &cut);
    if (from < 0)
        return (int)from;
    *offset = from;
    if (!cut)
        return 0;
    int n = snprintf(text, sizeof(text),
                     "[the last %lld of %lld bytes; voltctl logs %s prints all]\n",
                     (long long)(end - from), (long long)end, rq->id);
    return printer_put(rq->printer, text, (size_t)n, false);
}

/* Prints the output that Open has answered, from *offset on; < 0: from the tail. If
 * growth cannot be watched here (the user's inotify instances are used up), the daemon
 * watches and sends. */
static int print_opened(struct client **c, const struct follow_request *rq,
                        const struct client_reply *reply, off_t *offset,
                        struct client_reply *error)
{
    bool follow =
        rq->follow && !json_is_true(json_object_get(reply->parameters, "ended"));
    int r = *offset < 0 ? begin(*c, rq, reply, offset) : 0;
    if (r == 0 && reply->fd < 0)
        return print_by_read(*c, rq, offset, error);
    if (r == 0)
        r = print_file(*c, rq, reply->fd, follow, offset, error);
    if (r != 1)
        return r == REFUSED ? 1 : r;
    r = reopen(c, rq);
    return r < 0 ? r : print_by_read(*c, rq, offset, error);
}

/* Prints the output on one connection, from *offset on. */
static int print_output(struct client **c, const struct follow_request *rq, off_t *offset,
                        struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = open_output(*c, rq, &reply);
    if (r == 0 && rq->follow && client_error_is(&reply, "NoOutput")) {
        r = await_start(*c, rq, error);
        if (r > 0)
            client_reply_fini(&reply);
        if (r == REFUSED)
            return 1;
        if (r > 0) {
            r = reopen(c, rq);
            if (r == 0)
                r = open_output(*c, rq, &reply);
        }
    }
    if (r == 0 && rq->files && client_error_is(&reply, "NoOutput"))
        r = open_file(*c, rq, offset, &reply);
    if (r == 0 && reply.error) {
        *error = reply;
        return 1;
    }
    if (r == 0)
        r = print_opened(c, rq, &reply, offset, error);
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
