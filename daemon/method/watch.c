/* Watch: a snapshot, then every event, without a gap between the two.
 *
 * The number from which a watcher reads on is noted before the snapshot. Events up to it
 * count in the table (daemon/log/watermark.h); events during the snapshot may be sent
 * twice but never missed. Watchers read the log by number, which costs the writer
 * nothing, and share the text of an event. Sent events are durable, like their numbers: a
 * cursor is valid after a restart too. A slow watcher gets nothing while its output is
 * full. If it is then more than max_watch_backlog events behind, it skips to the newest
 * of them, and `lagged` counts the skipped ones, like those that the ring has
 * overwritten.
 *
 * Of a job that has left memory the store says whether the filter wants it. Where nobody
 * knows, as it is purged, the event counts as `lagged`.
 *
 * After the snapshot, the job that the caller runs inside of lends its slot until the
 * call ends (daemon/lease/lending.h).
 *
 * Every reply has as much as its turn allows (daemon/call/turn.h); jobs that the filter
 * does not want count as looked at. */
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/log/event_log.h"
#include "daemon/method/event_texts.h"
#include "daemon/method/inside.h"
#include "daemon/method/job_json.h"
#include "daemon/method/job_walk.h"
#include "daemon/method/params.h"
#include <errno.h>

#define GLOB_SHORT       32 /* bytes */
#define EVENTS_PER_REPLY 256
#define JOBS_PER_REPLY   500
#define EVENT_TEXT       256 /* usual bytes of an event in a reply */
#define RUN_MOST         64  /* jobs read from the store at a time */

struct watch {
    struct watch_params {
        struct filter filter;
        uint64_t after;
        bool resumes;
        struct job_wish wish;
        struct job_key inside_job;
        uint64_t inside_lease;
    } in;
    struct inside inside;     /* its wait only for a single job */
    uint64_t cursor;          /* events up to here were sent or skipped */
    uint64_t lagged;          /* skipped, not yet reported */
    struct job_walk jobs;     /* of the snapshot */
    struct query_looks looks; /* at jobs that are not in memory */
    bool begun;               /* something was sent */
    bool slow;                /* the output was full */
    enum {
        WATCH_BEGIN = 0,
        WATCH_SNAPSHOT,
        WATCH_EVENTS,
    } at;
    struct subscriber subscriber;
    struct subscription of_log;
    uint64_t sent_usec;
    struct volt_sleep silence; /* at most until the next heartbeat */
};

static uint64_t heartbeat_due(struct call *call, const struct watch *w)
{
    return w->sent_usec + call_config(call)->heartbeat_usec;
}

static int begin(struct volt_cx *cx, struct call *call, struct watch *w)
{
    static const struct field fields[] = {
        FIELD(struct watch_params, filter, FIELD_STRUCT, .fields = filter_fields),
        FIELD(struct watch_params, after, FIELD_INT, .max = INT64_MAX,
              .present = FIELD_PRESENT(struct watch_params, resumes)),
        JOB_WISH_FIELDS(struct watch_params, wish),
        FIELD(struct watch_params, inside_job, FIELD_CUSTOM, .read = read_job_id),
        FIELD(struct watch_params, inside_lease, FIELD_INT, .min = 1, .max = INT64_MAX),
        {.name = NULL},
    };
    struct core *core = call_service(call)->core;
    struct event_log *log = query_log(core);

    if (params_read(call, fields, &w->in) < 0 ||
        filter_resolve(cx, call, &w->in.filter, false) < 0 ||
        call_keep(call, sizeof(*w) + filter_size(&w->in.filter)) < 0)
        return -EINVAL;
    subscriber_init(cx, &w->subscriber, event_log_subscriptions(log));
    subscription_add(&w->subscriber, &w->of_log, 0);
    w->cursor = query_log_begin(core);
    w->at = w->in.resumes ? WATCH_EVENTS : WATCH_SNAPSHOT;
    /* Jobs named by id also from the store. */
    job_walk_init(&w->jobs, &w->in.wish, w->in.filter.ids.keys != NULL);
    w->looks = (struct query_looks){.core = core,
                                    .asker = *call_asker(call),
                                    .kept = true,
                                    .quota = call_quota(call)};
    w->sent_usec = volt_now_usec();
    volt_sleep_init_at(&w->silence, heartbeat_due(call, w));
    if (w->in.resumes && w->in.after == 0)
        w->in.after = event_log_oldest(log);
    if (w->in.resumes &&
        (w->in.after > event_log_newest(log) || w->in.after < event_log_first(log))) {
        (void)call_invalid_parameter(call, "after",
                                     "is the cursor of another store, whose events are "
                                     "not known here; watch without it");
        return -EINVAL;
    }
    if (w->in.resumes)
        w->cursor = w->in.after;
    return 0;
}

/* Begins a reply, which tell() ends with `lagged`. */
static void begin_telling(const struct watch *w, struct wire_writer *to)
{
    wire_open(to, NULL, '{');
    wire_put_int(to, "cursor", (int64_t)w->cursor);
}

static int tell(struct call *call, struct watch *w, struct wire_writer *reply)
{
    if (w->lagged)
        wire_put_int(reply, "lagged", (int64_t)w->lagged);
    wire_close(reply, '}');
    w->lagged = 0;
    w->begun = true;
    w->sent_usec = volt_now_usec();
    return call_continue_text(call, reply);
}

/* Sends what the turn finds of the snapshot. An empty page is sent only at its end, so
 * that the client sees a beginning. */
static int tell_page(struct volt_cx *cx, struct call *call, struct watch *w)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    const struct job_filter filter = filter_for_query(&w->in.filter);
    int r;

    begin_telling(w, &reply);
    wire_open(&reply, "jobs", '[');
    w->jobs.walk.limit = JOBS_PER_REPLY;
    do
        r = job_walk_portion(cx, call, &filter, &w->jobs, &text);
    while (r == 0 && !w->jobs.walk.end && quota_entries_left(call_quota(call)) &&
           quota_bytes_left(call_quota(call)));
    if (w->jobs.walk.cursor == 0)
        w->at = WATCH_EVENTS;
    bool none = w->jobs.walk.limit == JOBS_PER_REPLY;
    if (r < 0 || (none && (w->begun || w->at == WATCH_SNAPSHOT))) {
        wire_buf_fini(&text);
        return r;
    }
    wire_close(&reply, ']');
    return tell(call, w, &reply);
}

static void skip_backlog(struct call *call, struct watch *w)
{
    uint64_t newest = event_log_newest(query_log(call_service(call)->core));
    uint64_t bound = call_config(call)->max_watch_backlog;

    if (newest - w->cursor > bound) {
        w->lagged += newest - bound - w->cursor;
        w->cursor = newest - bound;
    }
    w->slow = false;
}

/* Writes an event; its first watcher looks up the job's name. 1; -EAGAIN: the job is not
 * in the table yet. */
static int put_event(struct call *call, const struct job_news *ev, struct wire_writer *to)
{
    const struct service *s = call_service(call);
    struct job_spec *spec = NULL;

    if (event_texts_copy(s->event_texts, ev->seq, to))
        return 1;
    int r = query_brief_spec(s->core, ev->key.id, &spec, call_quota(call));
    if (r == -EAGAIN)
        return r;
    char buf[JOB_NAME_BYTES + 1];
    const char *name = spec ? job_spec_element_name(spec, ev->key.index, buf) : NULL;
    event_texts_put(s->event_texts, ev, name, to);
    job_spec_unref(spec);
    return 1;
}

/* Returns whether the filter wants the job of an event, which is not in memory:
 *   1, 0
 *   -ENOENT  nobody knows
 *   -EAGAIN  the turn is used up, and this is not the first event */
static int wants_stored(struct volt_cx *cx, struct call *call, struct watch *w,
                        const struct job_news *ev, bool first)
{
    const struct job_key job = {.id = ev->key.id, .index = JOB_NO_INDEX};
    struct job_filter rest = filter_for_query(&w->in.filter);
    const bool had_page = w->looks.page;
    struct job_view v;

    if (!first && quota_entries_left(call_quota(call)) == 0)
        return -EAGAIN;
    w->looks.last = job.id + RUN_MOST - 1;
    w->looks.most = 1 + quota_entries_left(call_quota(call)) / QUERY_KEPT_COST;
    int r = query_looks_next(cx, &w->looks, &job, &v);
    if (w->looks.page && !had_page)
        call_holds(call, QUERY_LOOKS_PAGE);
    if (r < 0)
        return -ENOENT;
    rest.states = rest.results = 0; /* those of the event count */
    r = v.forgotten ? -ENOENT : job_filter_wants_view(&v, &rest);
    job_view_fini(&v);
    return r;
}

static int wants(struct volt_cx *cx, struct call *call, struct watch *w,
                 const struct job_news *ev, bool first)
{
    const int r = filter_wants(&w->in.filter, call, ev);

    return r == -ENOENT ? wants_stored(cx, call, w, ev, first) : r;
}

/* Writes the wanted events. Stops at an event whose job is not in the table yet (read
 * again after news), or when unpacked specs use the turn up. Returns their number. cx
 * NULL: not on a worker. */
static int put_wanted(struct volt_cx *cx, struct call *call, struct watch *w,
                      const struct job_news *events, size_t n, struct wire_writer *to)
{
    int wanted = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t before = wire_buf_len(to->out);
        bool over = i > 0 && quota_bytes_left(call_quota(call)) == 0;
        int r = over ? -EAGAIN : wants(cx, call, w, &events[i], i == 0);

        if (r == -ENOENT) {
            w->lagged++;
            continue;
        }
        if (r > 0)
            r = put_event(call, &events[i], to);
        if (r < 0) {
            w->cursor = events[i].seq - 1;
            break;
        }
        call_did(call, 0, wire_buf_len(to->out) - before);
        wanted += r > 0;
    }
    return wanted;
}

/* Sends a reply made of shared texts. 1: sent; 0: nothing to send. */
static int tell_wanted(struct volt_cx *cx, struct call *call, struct watch *w,
                       const struct job_news *events, size_t n)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    wire_open(&reply, NULL, '{');
    wire_open(&reply, "events", '[');
    if (put_wanted(cx, call, w, events, n, &reply) == 0 && w->lagged == 0) {
        wire_buf_fini(&text);
        return reply.error;
    }
    wire_close(&reply, ']');
    wire_put_int(&reply, "cursor", (int64_t)w->cursor);
    return tell(call, w, &reply) < 0 ? -ENOMEM : 1;
}

/* Returns how many events the turn may look at. Where a job may have to be looked up in
 * the store, half of the turn is for that. */
static size_t scan_of_turn(const struct call *call, const struct watch *w)
{
    const size_t n = quota_entries_left(call_quota(call));

    return filter_needs_job(&w->in.filter) ? (n + 1) / 2 : n;
}

/* Returns how many events of these the turn may send. */
static size_t events_of_turn(const struct call *call, size_t scan)
{
    size_t n = 1 + quota_bytes_left(call_quota(call)) / EVENT_TEXT;

    n = n < scan ? n : scan;
    return n < EVENTS_PER_REPLY ? n : EVENTS_PER_REPLY;
}

struct telling {
    struct volt_cx *cx; /* NULL: not on a worker */
    struct call *call;
    struct watch *w;
    const struct job_news *events;
    size_t n;
    int r;
};

static void tell_aside(void *arg)
{
    struct telling *t = arg;

    t->r = tell_wanted(t->cx, t->call, t->w, t->events, t->n);
}

/* Matches and sends events. A long pattern takes up to 0.25 ms per job: not on a
 * worker. */
static int tell_some(struct volt_cx *cx, struct telling *t)
{
    const char *glob = t->w->in.filter.name_glob;

    if (t->n > 0 && glob && strlen(glob) > GLOB_SHORT) {
        volt_block_in_place(cx, tell_aside, t);
    } else {
        t->cx = cx;
        tell_aside(t);
    }
    return t->r;
}

/* Reads on in the log and sends what the filter wants. 1: there was something to read. */
static int tell_events(struct volt_cx *cx, struct call *call, struct watch *w)
{
    struct event_log *log = query_log(call_service(call)->core);
    struct job_news events[EVENTS_PER_REPLY];
    const size_t scan = scan_of_turn(call, w);
    uint64_t before = w->cursor, lost = 0;
    size_t n;
    int r;

    n = event_log_read(log, call_asker(call), w->cursor, events,
                       events_of_turn(call, scan), scan, &w->cursor, &lost);
    call_did(call, 1 + (size_t)(w->cursor - before - lost), 0);
    w->lagged += lost;
    if (n == 0 && w->lagged == 0)
        return w->cursor != before;
    r = tell_some(cx, &(struct telling){.call = call, .w = w, .events = events, .n = n});
    return r == 0 ? w->cursor != before : r;
}

static int tell_nothing(struct call *call, struct watch *w)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    begin_telling(w, &reply);
    wire_put_bool(&reply, "heartbeat", true);
    return tell(call, w, &reply);
}

/* Sends a heartbeat if due. 1: sent. */
static int keep_alive(struct volt_cx *cx, struct call *call, struct watch *w)
{
    while (volt_sleep_poll(cx, &w->silence) == VOLT_READY) {
        uint64_t due = heartbeat_due(call, w);

        volt_sleep_fini(&w->silence);
        volt_sleep_init_at(&w->silence, due);
        if (due <= volt_now_usec())
            return tell_nothing(call, w) < 0 ? -ENOMEM : 1;
    }
    return 0;
}

static struct job_key key_of_one(const void *arg, size_t i)
{
    const struct watch *w = arg;

    (void)i;
    return w->in.filter.ids.keys[0];
}

/* Registers the wait. 0; -EDEADLK: the call is answered. A client that watches several
 * jobs may go on after the first end. */
static int begin_inside(struct call *call, struct watch *w)
{
    if (w->in.filter.ids.n == 1)
        return inside_begin(call, &w->inside,
                            &(struct inner_wait){.in_job = w->in.inside_job,
                                                 .in_lease = w->in.inside_lease,
                                                 .job = key_of_one,
                                                 .arg = w,
                                                 .n = 1},
                            "org.voltd.jobs.Deadlock");
    lending_begin(call_service(call)->core, call_peer(call)->uid, &w->in.inside_job,
                  &w->inside.lending);
    return 0;
}

/* Does the next step. 1: something was done; 0: nothing to do yet; -EDEADLK: the call is
 * answered. */
static int advance(struct volt_cx *cx, struct call *call, struct watch *w)
{
    int r;

    if (call_drained_poll(cx, call) == VOLT_PENDING) {
        w->slow = true;
        return 0;
    }
    if (w->at == WATCH_SNAPSHOT)
        return tell_page(cx, call, w) < 0 ? -ENOMEM : 1;
    if (w->slow)
        skip_backlog(call, w);
    r = tell_events(cx, call, w);
    if (r != 0)
        return r;
    if (subscriber_arm(&w->subscriber))
        return 1;
    r = begin_inside(call, w);
    if (r < 0)
        return r;
    return keep_alive(cx, call, w);
}

static enum volt_poll watch_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct watch *w = state;
    int r;

    if (w->at == WATCH_BEGIN && begin(cx, call, w) < 0)
        return VOLT_READY;
    do {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        r = advance(cx, call, w);
    } while (r > 0);
    if (r == -EDEADLK)
        return VOLT_READY;
    return r < 0 ? call_abort(call) : VOLT_PENDING;
}

static void watch_drop(struct call *call, void *state)
{
    struct watch *w = state;

    inside_end(call, &w->inside);
    query_looks_fini(&w->looks);
    if (w->at != WATCH_BEGIN) {
        subscription_remove(&w->subscriber, &w->of_log, 0);
        subscriber_fini(&w->subscriber);
        volt_sleep_fini(&w->silence);
        query_log_end(call_service(call)->core);
    }
    filter_fini(&w->in.filter);
}

const struct method method_watch = {
    METHOD_IS(jobs, Watch),
    .flags = METHOD_MORE_REQUIRED | METHOD_BULKY | METHOD_READS,
    .state_size = sizeof(struct watch),
    .poll = watch_poll,
    .drop = watch_drop,
};
