/* See outputs_watch.h and outputs.c. */
#include "client/outputs_watch.h"
#include "client/follow.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/patience.h"
#include "client/retry_watch.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/tail.h"
#include "client/term.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)

/* An open source: running, or being printed. */
struct opened {
    struct opened *next;
    struct source *source;
    int fd, wd; /* wd -1: not watched */
    char prefix[52];
    struct printer printer;
};

struct watching {
    struct outputs *o;
    struct client *calls; /* the other connection has the watch */
    struct opened *open;
    int in;         /* inotify */
    bool unwatched; /* a source could not be watched */
    size_t left;
    char *buf;
};

enum source_state outputs_state(const json_t *job)
{
    const char *state = job_view_string(job, "state");
    if (strcmp(state, "done") == 0)
        return SOURCE_ENDED;
    return strcmp(state, "queued") == 0 || strcmp(state, "starting") == 0 ? SOURCE_WAITS
                                                                          : SOURCE_RUNS;
}

/* --- one output --------------------------------------------------------------------- */

static bool is_cut(const struct opened *p)
{
    char id[48];
    outputs_id(p->source, id, sizeof(id));
    return follow_is_cut(p->fd, id, &p->source->offset);
}

/* Prints a source: whole lines while it runs, all at its end. A line longer than CHUNK is
 * printed in pieces. */
static int drain(struct watching *w, struct opened *p)
{
    struct source *s = p->source;
    bool last = s->state == SOURCE_ENDED;
    int r = 0;
    for (;;) {
        ssize_t n = pread(p->fd, w->buf, CHUNK, s->offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0 && is_cut(p))
            continue;
        const char *nl = last ? NULL : memrchr(w->buf, '\n', (size_t)n);
        size_t whole = nl                            ? (size_t)(nl - w->buf) + 1
                       : last || n == (ssize_t)CHUNK ? (size_t)n
                                                     : 0;
        if (whole > 0)
            r = printer_put(&p->printer, w->buf, whole, false);
        s->offset += (off_t)whole;
        if (r < 0 || n < (ssize_t)CHUNK)
            break;
    }
    if (r == 0 && last)
        r = printer_put(&p->printer, "", 0, true);
    w->o->writing |= p->printer.failed;
    return r;
}

static void close_one(struct watching *w, struct opened *p)
{
    struct opened **at = &w->open;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (p->wd >= 0)
        (void)inotify_rm_watch(w->in, p->wd);
    (void)close(p->fd);
    free(p);
}

/* Returns the offset of the last lines; 0 on error, which comes again when printing. */
static off_t begin_of(int fd, uint64_t lines)
{
    const struct tail tail = {lines, UINT64_MAX};
    bool cut;
    off_t at = tail_begin(&tail, lseek(fd, 0, SEEK_END), tail_read_file, &fd, &cut);
    return at < 0 ? 0 : at;
}

/* Adds an open source; takes fd. Returns 0; -ENOMEM; or why its growth cannot be watched
 * (-ENOSPC: this user's watches are used up), before anything is printed. */
static int opened_new(struct watching *w, struct source *s, int fd, struct opened **ret)
{
    char id[48], path[64];
    struct opened *p = calloc(1, sizeof(*p));
    if (!p) {
        (void)close(fd);
        return -ENOMEM;
    }
    outputs_id(s, id, sizeof(id));
    *p = (struct opened){.next = w->open, .source = s, .fd = fd, .wd = -1};
    (void)snprintf(p->prefix, sizeof(p->prefix), "%s: ", id);
    p->printer = outputs_printer(w->o, p->prefix);
    if (s->offset < 0)
        s->offset = begin_of(fd, w->o->rq->lines);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (s->state != SOURCE_ENDED)
        p->wd = inotify_add_watch(w->in, path, IN_MODIFY);
    w->unwatched = s->state != SOURCE_ENDED && p->wd < 0;
    if (w->unwatched) {
        int error = errno;
        (void)close(fd);
        free(p);
        return -error;
    }
    w->open = p;
    *ret = p;
    return 0;
}

static void finish(struct watching *w, struct source *s)
{
    w->left -= !s->finished;
    s->finished = true;
}

/* Opens a file of the user. */
static int open_file(struct watching *w, struct source *s, const char *id,
                     struct client_reply *reply)
{
    off_t from;
    int r = job_files_open(w->o->rq->files, w->calls, id, w->o->rq->stream, reply, &from);
    if (r > 0 && s->offset < 0)
        s->offset = from;
    return r < 0 ? r : 0;
}

/* Opens a source. Returns 0 with *ret, NULL: no output; or negative. */
static int open_one(struct watching *w, struct source *s, struct opened **ret)
{
    char id[48];
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    outputs_id(s, id, sizeof(id));
    *ret = NULL;
    int r = client_call(w->calls, "org.voltd.logs.Open",
                        json_pack("{s:s, s:s}", "id", id, "stream", w->o->rq->stream),
                        &reply);
    if (r < 0)
        return r;
    if (w->o->rq->files && client_error_is(&reply, "NoOutput"))
        r = open_file(w, s, id, &reply);
    if (r < 0)
        return r;
    bool none = client_error_is(&reply, "NoOutput");
    if (reply.error && !(none && outputs_may_lack(w->o, s))) {
        finish(w, s);
        outputs_refused(w->o, w->calls, &reply);
        return 0;
    }
    if (none)
        outputs_skipped(w->o, &reply);
    else if (reply.fd >= 0) {
        w->o->any |= outputs_may_lack(w->o, s);
        r = opened_new(w, s, reply.fd, ret);
        reply.fd = -1;
    } else {
        r = -EPROTO; /* a local voltd sends a descriptor */
    }
    client_reply_fini(&reply);
    return r;
}

static struct opened *find_open(const struct watching *w, const struct source *s)
{
    struct opened *p = w->open;
    while (p && p->source != s)
        p = p->next;
    return p;
}

/* Takes a reported state: opens the source, prints it, and closes it at its end. */
static int take_state(struct watching *w, struct source *s, enum source_state state)
{
    struct opened *p = find_open(w, s);
    int r = 0;
    if (s->finished || state == SOURCE_WAITS)
        return 0;
    s->state = (uint8_t)state;
    if (!p)
        r = open_one(w, s, &p);
    if (r == 0 && p)
        r = drain(w, p);
    if (r == 0 && state == SOURCE_ENDED) {
        if (p)
            close_one(w, p);
        finish(w, s);
    }
    return r;
}

/* --- all of them -------------------------------------------------------------------- */

/* Queries the present state of each source, after the watch began. */
static int look_at_all(struct watching *w)
{
    int r = 0;
    for (size_t i = 0; i < w->o->n && r == 0; i++) {
        struct source *s = &w->o->sources[i];
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        char id[48];
        if (s->finished)
            continue;
        if (s->state != SOURCE_ENDED) {
            outputs_id(s, id, sizeof(id));
            r = client_call(w->calls, "org.voltd.jobs.Get", json_pack("{s:s}", "id", id),
                            &reply);
            if (r == 0 && !reply.error)
                s->state =
                    (uint8_t)outputs_state(json_object_get(reply.parameters, "job"));
            else if (r == 0) /* purged since */
                s->state = SOURCE_ENDED;
            client_reply_fini(&reply);
        }
        if (r == 0)
            r = take_state(w, s, (enum source_state)s->state);
    }
    return r;
}

enum { REFUSED = 1 };

/* Takes a reply of the watch. Returns REFUSED after an error message. */
static int take_reply(struct watching *w, struct client_reply *reply)
{
    size_t i;
    const json_t *event;
    int r = 0;
    if (client_error_is(reply, "ShuttingDown"))
        return -ECONNRESET;
    if (reply->error) {
        outputs_refused(w->o, *w->o->c, reply);
        return REFUSED;
    }
    if (!reply->continues)
        return -EPROTO;
    if (job_view_int(reply->parameters, "lagged") > 0)
        r = look_at_all(w);
    json_array_foreach(json_object_get(reply->parameters, "events"), i, event)
    {
        struct source *s = outputs_find(w->o, job_view_string(event, "id"));
        if (s && r == 0)
            r = take_state(w, s, outputs_state(event));
    }
    return r;
}

static int read_watch(struct watching *w)
{
    int r = 0;
    while (r == 0 && w->left > 0) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        int got = client_receive(*w->o->c, 0, &reply);
        if (got <= 0)
            return got;
        r = take_reply(w, &reply);
        client_reply_fini(&reply);
    }
    return r;
}

static int read_growth(struct watching *w)
{
    _Alignas(struct inotify_event) char buf[4096];
    ssize_t n;
    int r = 0;
    while (r == 0 && (n = read(w->in, buf, sizeof(buf))) > 0)
        for (char *at = buf; r == 0 && at < buf + n;) {
            const struct inotify_event *ev = (const struct inotify_event *)(void *)at;
            at += sizeof(*ev) + ev->len;
            for (struct opened *p = w->open; r == 0 && p; p = p->next)
                if (p->wd == ev->wd || ev->mask & IN_Q_OVERFLOW)
                    r = drain(w, p);
        }
    return r;
}

/* Prints what the sources wait for, while there is nothing to print. */
static void say_waits(struct watching *w, struct patience *patience)
{
    char names[512];
    if (w->open || !patience_is_over(patience))
        return;
    json_t *ids = json_array();
    for (size_t i = 0; i < w->o->rq->nids; i++)
        (void)json_array_append_new(ids, json_string(w->o->rq->ids[i]));
    if (patience_name(w->calls, json_pack("{s:o}", "ids", ids), PATIENCE_ALL, names,
                      sizeof(names)))
        say("waiting for %s", names);
}

static int follow_on(struct watching *w)
{
    const bool person = term_is_tty(STDERR_FILENO);
    struct patience patience;
    int r = 0;
    patience_init(&patience);
    while (r == 0 && w->left > 0) {
        struct retry_watch *retries = w->o->rq->retries;
        struct pollfd p[5] = {{.fd = client_fd(*w->o->c), .events = POLLIN},
                              {.fd = w->in, .events = POLLIN},
                              {.fd = w->o->rq->out},
                              {.fd = w->o->rq->interrupt, .events = POLLIN},
                              {.fd = retry_watch_fd(retries), .events = POLLIN}};
        r = read_watch(w); /* poll() does not report a reply read with another one */
        if (r != 0 || w->left == 0)
            break;
        if (poll(p, 5, person && !w->open ? patience_left_ms(&patience) : -1) < 0 &&
            errno != EINTR)
            return -errno;
        if (p[3].revents)
            return -EINTR;
        if (p[4].revents)
            retry_watch_take(retries);
        if (person)
            say_waits(w, &patience);
        if (p[2].revents & POLLERR) {
            w->o->writing = true;
            return -EPIPE; /* no reader is left */
        }
        r = read_growth(w);
    }
    return r;
}

/* Follows on a pair of connections; keeps the free one. */
static int follow_once(struct watching *w)
{
    const struct outputs_request *rq = w->o->rq;
    struct client_tried tried;
    json_t *ids = json_array();
    for (size_t i = 0; i < rq->nids; i++)
        (void)json_array_append_new(ids, json_string(rq->ids[i]));
    json_t *params = json_pack("{s:{s:o}}", "filter", "ids", ids);
    inside_add(params, *w->o->c);
    int r = client_send(*w->o->c, "org.voltd.jobs.Watch", params, CLIENT_MORE);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    if (r == 0) /* events follow the snapshot */
        r = client_receive(*w->o->c, CLIENT_FOREVER, &reply);
    r = r == 1 ? take_reply(w, &reply) : r;
    client_reply_fini(&reply);
    if (r == 0 && client_open(rq->choice, ADDRESS_JOBS, &w->calls, &tried) < 0)
        r = -ECONNRESET;
    if (r == 0)
        client_set_interrupt_fd(w->calls, rq->interrupt);
    if (r == 0)
        r = look_at_all(w);
    if (r == 0)
        r = follow_on(w);
    while (w->open)
        close_one(w, w->open);
    if (w->calls) { /* the stream occupies the other one for good */
        client_free(*w->o->c);
        *w->o->c = w->calls;
        w->calls = NULL;
    }
    return r;
}

int outputs_watch(struct outputs *o)
{
    const struct outputs_request *rq = o->rq;
    struct watching w = {.o = o, .in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    int r = w.in < 0 ? -errno : 0;
    w.left = o->n;
    for (size_t i = 1; i < o->n; i++) /* named twice */
        if (o->sorted[i]->job == o->sorted[i - 1]->job &&
            o->sorted[i]->index == o->sorted[i - 1]->index)
            finish(&w, o->sorted[i]);
    w.buf = malloc(CHUNK);
    if (r == 0 && !w.buf)
        r = -ENOMEM;
    if (r == 0)
        r = follow_once(&w);
    while (r == -ECONNRESET && !o->writing) {
        r = reconnect(o->c, rq->choice, ADDRESS_JOBS, rq->reconnect_usec, rq->interrupt);
        if (r < 0)
            break;
        client_set_interrupt_fd(*o->c, rq->interrupt);
        r = follow_once(&w);
    }
    free(w.buf);
    if (w.in >= 0)
        (void)close(w.in);
    if (w.in < 0 || w.unwatched)
        return OUTPUTS_UNWATCHED;
    return r == REFUSED ? 0 : r;
}
