/* See outputs_watch.h and outputs.c. */
#include "client/outputs_watch.h"
#include "client/id_range.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/patience.h"
#include "client/retry_watch.h"
#include "client/say.h"
#include "client/tail.h"
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
 * its watches. So the file of a single source is watched only when it has been open for
 * WATCH_AFTER_USEC. Before that it is checked every LOOK_MSEC. */
#define WATCH_AFTER_USEC 100000
#define LOOK_MSEC        5

/* An open source: running, or being printed. */
struct opened {
    struct opened *next;
    struct source *source;
    int fd, wd;        /* wd -1: not watched */
    uint64_t watch_at; /* when to watch it */
    char prefix[52];
    struct printer printer;
};

struct watching {
    struct outputs *o;
    struct source *first; /* n sources */
    size_t n;
    struct client *calls; /* where outputs are opened; NULL: not connected yet. The other
                           * connection may have a stream */
    bool streams, waits;  /* it has one; it is that of Wait */
    struct opened *open;
    int in;         /* inotify; -1: not yet */
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

/* Returns whether an output was truncated below what was printed of it. Then prints a
 * notice, and goes back to its beginning. */
static bool is_cut(const struct opened *p)
{
    struct stat st;
    char id[48];
    if (fstat(p->fd, &st) < 0 || st.st_size >= p->source->offset)
        return false;
    outputs_id(p->source, id, sizeof(id));
    say("note: the output of job %s was truncated (`tee FILE` and `>FILE` do so, also of "
        "/dev/stderr; `tee -a` and `>>` do not): it goes on from its beginning",
        id);
    p->source->offset = 0;
    return true;
}

/* Prints a source: of several whole lines while it runs, all at its end. A line longer
 * than CHUNK is printed in pieces. */
static int drain(struct watching *w, struct opened *p)
{
    struct source *s = p->source;
    bool last = s->state == SOURCE_ENDED, all = last || (w->n == 1 && !w->o->prefixed);
    int r = 0;
    for (;;) {
        ssize_t n = tail_read_file(&p->fd, w->buf, CHUNK, s->offset);
        if (n < 0)
            return (int)n;
        if (n == 0 && is_cut(p))
            continue;
        const char *nl = all ? NULL : memrchr(w->buf, '\n', (size_t)n);
        size_t whole = nl                           ? (size_t)(nl - w->buf) + 1
                       : all || n == (ssize_t)CHUNK ? (size_t)n
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

/* Watches the growth of an open source. Returns 0, or why that cannot be (-ENOSPC: this
 * user's watches are used up). */
static int watch_growth(struct watching *w, struct opened *p)
{
    char path[64];
    if (w->in < 0)
        w->in = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
    if (w->in >= 0)
        p->wd = inotify_add_watch(w->in, path, IN_MODIFY);
    w->unwatched = p->wd < 0;
    return p->wd < 0 ? -errno : 0;
}

/* Adds an open source; takes fd. Returns 0; -ENOMEM; or as watch_growth(), before
 * anything is printed. */
static int opened_new(struct watching *w, struct source *s, int fd, struct opened **ret)
{
    char id[48];
    int r = 0;
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
    p->watch_at = w->n == 1 ? duration_now_usec() + WATCH_AFTER_USEC : 0;
    if (s->state != SOURCE_ENDED && !p->watch_at)
        r = watch_growth(w, p);
    if (r < 0) {
        (void)close(fd);
        free(p);
        return r;
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

/* Connects where outputs are opened, if that is needed. */
static int need_calls(struct watching *w)
{
    struct client_tried tried;
    if (w->calls)
        return 0;
    if (client_open(w->o->rq->choice, ADDRESS_JOBS, &w->calls, &tried) < 0)
        return -ECONNRESET;
    client_set_interrupt_fd(w->calls, w->o->rq->interrupt);
    return 0;
}

/* Opens a source. Returns 0 with *ret, NULL: no output; or negative. */
static int open_one(struct watching *w, struct source *s, struct opened **ret)
{
    char id[48];
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    outputs_id(s, id, sizeof(id));
    *ret = NULL;
    int r = need_calls(w);
    if (r == 0)
        r = client_call(w->calls, "org.voltd.logs.Open",
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
        w->unwatched = true; /* a local voltd sends a descriptor */
        r = -EPROTO;
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

static enum source_state state_now(const struct source *s)
{
    return s->elsewhere ? SOURCE_ENDED : (enum source_state)s->state;
}

/* Queries the present state of each source, after the watch began. */
static int look_at_all(struct watching *w)
{
    int r = need_calls(w);
    for (size_t i = 0; i < w->n && r == 0; i++) {
        struct source *s = &w->first[i];
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
            r = take_state(w, s, state_now(s));
    }
    return r;
}

enum { REFUSED = 1 };

/* Takes the states of jobs or events that are of the sources. */
static int take_states(struct watching *w, const json_t *list)
{
    const json_t *item;
    size_t i;
    int r = 0;
    json_array_foreach(list, i, item)
    {
        struct source *s =
            w->n == 1 ? w->first : outputs_find(w->o, job_view_string(item, "id"));
        if (s && r == 0)
            r = take_state(w, s, outputs_state(item));
    }
    return r;
}

/* Takes a reply of the stream. Returns REFUSED after an error message. */
static int take_reply(struct watching *w, struct client_reply *reply)
{
    int r = 0;
    if (client_error_is(reply, "ShuttingDown"))
        return -ECONNRESET;
    if (w->waits && (!reply->continues || client_error_is(reply, "NoSuchJob"))) {
        w->streams = false; /* a job that was purged since has ended */
        if (!reply->error || client_error_is(reply, "NoSuchJob"))
            return take_state(w, w->first, SOURCE_ENDED);
    }
    if (reply->error) {
        outputs_refused(w->o, *w->o->c, reply);
        return REFUSED;
    }
    if (!reply->continues)
        return -EPROTO;
    if (job_view_int(reply->parameters, "lagged") > 0)
        r = look_at_all(w);
    const json_t *jobs = json_object_get(reply->parameters, "jobs");
    if (r == 0 && w->n == 1 && jobs) /* of several each is looked at */
        r = json_array_size(jobs) > 0 ? take_states(w, jobs)
                                      : take_state(w, w->first, SOURCE_ENDED);
    return r == 0 ? take_states(w, json_object_get(reply->parameters, "events")) : r;
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
    while (r == 0 && w->in >= 0 && (n = read(w->in, buf, sizeof(buf))) > 0)
        for (char *at = buf; r == 0 && at < buf + n;) {
            const struct inotify_event *ev = (const struct inotify_event *)(void *)at;
            at += sizeof(*ev) + ev->len;
            for (struct opened *p = w->open; r == 0 && p; p = p->next)
                if (p->wd == ev->wd || ev->mask & IN_Q_OVERFLOW)
                    r = drain(w, p);
        }
    return r;
}

/* Returns the ids that were named, for a filter; of a single source its own. */
static json_t *ids_of(const struct watching *w)
{
    char id[48];
    if (w->n > 1)
        return id_list(w->o->rq->ids, w->o->rq->nids);
    outputs_id(w->first, id, sizeof(id));
    return json_pack("[s]", id);
}

/* Prints a single source that is not watched yet, and watches it when it is time. */
static int read_unwatched(struct watching *w, struct opened *p)
{
    int r = duration_now_usec() < p->watch_at ? 0 : watch_growth(w, p);
    return r == 0 ? drain(w, p) : r;
}

/* Prints what the sources wait for, while there is nothing to print. */
static void say_waits(struct watching *w, struct patience *patience)
{
    char names[512];
    if (w->open || !patience_is_over(patience))
        return;
    if (need_calls(w) == 0 &&
        patience_name(w->calls, json_pack("{s:o}", "ids", ids_of(w)), PATIENCE_ALL, names,
                      sizeof(names)))
        say("waiting for %s", names);
}

/* Sends a call whose stream tells of the sources. */
static int begin_stream(struct watching *w, const char *method, json_t *params)
{
    struct client *c = *w->o->c;
    char id[48];
    outputs_id(w->first, id, sizeof(id));
    if (w->n == 1)
        inside_add_for(params, c, id);
    else
        inside_add(params, c);
    w->streams = true;
    return client_send(c, method, params, CLIENT_MORE);
}

/* Leaves a stream for the connection without one. */
static int leave_stream(struct watching *w)
{
    int r = w->streams ? need_calls(w) : 0;
    if (w->calls && w->calls != *w->o->c) {
        client_free(*w->o->c);
        *w->o->c = w->calls;
    }
    w->calls = NULL;
    w->streams &= r < 0;
    return r;
}

/* Waits for the end of a single source that is open, or has begun without output: events
 * of other jobs then wake neither this program nor voltd for it. */
static int begin_wait(struct watching *w)
{
    int r = leave_stream(w);
    w->waits = true;
    return r < 0 ? r
                 : begin_stream(w, "org.voltd.jobs.Wait",
                                json_pack("{s:o}", "ids", ids_of(w)));
}

/* Watches the sources, and takes the snapshot, which is before all events. */
static int begin_watch(struct watching *w)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = begin_stream(w, "org.voltd.jobs.Watch",
                         json_pack("{s:{s:o}}", "filter", "ids", ids_of(w)));
    if (r == 0)
        r = client_receive(*w->o->c, CLIENT_FOREVER, &reply);
    r = r == 1 ? take_reply(w, &reply) : r;
    client_reply_fini(&reply);
    return r;
}

static int follow_on(struct watching *w)
{
    const bool person = term_is_tty(STDERR_FILENO);
    struct patience patience;
    int r = 0;
    patience_init(&patience);
    while (r == 0 && w->left > 0) {
        if (w->n == 1 && (w->open || !w->streams) && !w->waits && (r = begin_wait(w)) < 0)
            break;
        r = read_watch(w); /* poll() does not report a reply read with another one */
        if (r != 0 || w->left == 0)
            break;
        struct retry_watch *retries = w->o->rq->retries;
        struct pollfd p[5] = {{.fd = client_fd(*w->o->c), .events = POLLIN},
                              {.fd = w->in, .events = POLLIN},
                              {.fd = w->o->rq->out},
                              {.fd = w->o->rq->interrupt, .events = POLLIN},
                              {.fd = retry_watch_fd(retries), .events = POLLIN}};
        struct opened *unwatched = w->open && w->open->wd < 0 ? w->open : NULL;
        if (poll(p, 5,
                 unwatched            ? LOOK_MSEC
                 : person && !w->open ? patience_left_ms(&patience)
                                      : -1) < 0 &&
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
        r = unwatched ? read_unwatched(w, unwatched) : read_growth(w);
    }
    return r;
}

/* Begins with a source that is open already, or has begun, by one connection; otherwise
 * watches until it begins. */
static int begin_single(struct watching *w)
{
    struct source *s = w->first;
    struct opened *p = NULL;
    int r = 0;
    w->calls = *w->o->c;
    if (state_now(s) != SOURCE_WAITS)
        return take_state(w, s, state_now(s));
    if (w->o->rq->direct)
        r = open_one(w, s, &p);
    if (r == 0 && p)
        return take_state(w, s, SOURCE_RUNS);
    w->calls = NULL;
    return r == 0 && !s->finished ? begin_watch(w) : r;
}

/* Watches several sources. */
static int begin_several(struct watching *w)
{
    int r = begin_watch(w);
    return r == 0 ? look_at_all(w) : r;
}

/* Follows on one connection, or two; keeps one without a stream. */
static int follow_once(struct watching *w)
{
    int r = w->n > 1 ? begin_several(w) : begin_single(w);
    if (r == 0)
        r = follow_on(w);
    while (w->open)
        close_one(w, w->open);
    w->streams &= r >= 0 || w->unwatched; /* otherwise nothing more is asked there */
    if (leave_stream(w) == 0)
        return r;
    w->unwatched = false;
    return -ECONNRESET;
}

int outputs_watch(struct outputs *o, struct source *first, size_t n)
{
    struct watching w = {.o = o, .first = first, .n = n, .in = -1};
    int r = 0;
    for (size_t i = 0; i < n; i++)
        w.left += !first[i].finished;
    for (size_t i = 1; n > 1 && i < o->n; i++) /* named twice */
        if (o->sorted[i]->job == o->sorted[i - 1]->job &&
            o->sorted[i]->index == o->sorted[i - 1]->index)
            finish(&w, o->sorted[i]);
    w.buf = malloc(CHUNK);
    if (!w.buf)
        r = -ENOMEM;
    if (r == 0)
        r = follow_once(&w);
    free(w.buf);
    if (w.in >= 0)
        (void)close(w.in);
    if (w.unwatched)
        return OUTPUTS_UNWATCHED;
    return r == REFUSED ? 0 : r;
}
