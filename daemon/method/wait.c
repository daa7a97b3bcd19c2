/* Wait: until all of these jobs have ended.
 *
 * One entry per id that was asked for, each once, sorted by id. The manager is asked
 * about each once; from then on the end of a single job is taken from its event, and an
 * array is asked about again when one of its elements has ended, or an element when its
 * array was cancelled. What happens to others wakes nobody here. Progress goes out at
 * most every PROGRESS_USEC. */
#include "daemon/method/methods.h"

#include "daemon/config.h"
#include "daemon/exec/changes.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include <errno.h>
#include <stdlib.h>

#define PROGRESS_USEC    UINT64_C(100000)
#define JOBS_MAX         1000
#define LOOKS_PER_POLL   256
#define CHANGES_PER_POLL 1024
#define JOB_TEXT         352 /* bytes that one mostly takes in an answer */
#define EXIT_UNKNOWN     125

struct entry {
    struct job_key key;
    uint64_t left, failed;
    int exit_code;
    bool is_array; /* the array as a whole */
    bool stale;    /* to be asked about */
    struct interest interest;
};

struct wait {
    struct key_list ids;
    struct entry *entries; /* one per id, in their order */
    uint64_t left, failed; /* sums */
    uint64_t told_left, told_failed;
    size_t looked; /* entries before this one are not stale */
    uint64_t told_usec;
    struct listener ends;
    struct volt_sleep tick;
    bool begun;
};

/* --- what is known of one job ------------------------------------------------------- */

static void note(struct wait *w, struct entry *e, uint64_t left, uint64_t failed,
                 int exit_code)
{
    w->left += left - e->left;
    w->failed += failed - e->failed;
    e->left = left;
    e->failed = failed;
    e->exit_code = exit_code;
}

/* 0, -ENOENT, or -errno of reading the store, which only what memory knows nothing of
 * takes. */
static int look(struct volt_cx *cx, struct call *call, struct wait *w, struct entry *e)
{
    struct manager *m = call_service(call)->manager;
    struct job_view v;
    int r = manager_get(m, call_peer(call), e->key.id, e->key.index, &v);

    if (r == -ENOENT)
        r = manager_look(cx, m, call_peer(call), e->key.id, e->key.index, &v);
    e->stale = false;
    if (r < 0)
        return r;
    e->is_array = v.has_counts;
    if (v.has_counts)
        note(w, e, v.total - v.done, v.failed, v.exit_code);
    else if (v.status.state == JOB_DONE)
        note(w, e, 0, v.status.result != JOB_RESULT_SUCCESS, v.exit_code);
    else
        note(w, e, 1, 0, 0);
    job_view_fini(&v);
    return 0;
}

static void mark_stale(struct wait *w, size_t i)
{
    w->entries[i].stale = true;
    if (w->looked > i)
        w->looked = i;
}

static void apply(struct wait *w, struct entry *e, const struct change *c)
{
    struct job_status end = {
        .state = JOB_DONE, .result = c->result, .code = c->code, .attempt = 1};

    if (e->left == 0)
        return;
    if (c->ended && !e->is_array)
        note(w, e, 0, c->result != JOB_RESULT_SUCCESS, job_exit_code(&end));
    else
        mark_stale(w, (size_t)(e - w->entries));
}

/* --- answers ------------------------------------------------------------------------ */

static void begin_answer(const struct wait *w, struct wire_writer *to)
{
    wire_open(to, NULL, '{');
    wire_put_int(to, "left", (int64_t)w->left);
    wire_put_int(to, "failed", (int64_t)w->failed);
}

/* How the jobs ended; of as many as an answer has room for. */
static void put_jobs(struct call *call, const struct wait *w, struct wire_writer *to)
{
    struct manager *m = call_service(call)->manager;

    wire_open(to, "jobs", '[');
    for (size_t i = 0; i < w->ids.n && i < JOBS_MAX; i++) {
        const struct job_key *key = &w->ids.keys[i];
        struct job_view v;

        if (manager_get(m, call_peer(call), key->id, key->index, &v) < 0)
            continue;
        job_write(to, NULL, &v, false);
        job_view_fini(&v);
    }
    wire_close(to, ']');
}

static enum volt_poll finish(struct call *call, const struct wait *w)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};
    int exit_code = 0;

    if (w->left == 0) /* at once, rather than to grow into it */
        reply.error = wire_buf_reserve(
            &text, (w->ids.n < JOBS_MAX ? w->ids.n : JOBS_MAX) * JOB_TEXT);
    begin_answer(w, &reply);
    if (w->left == 0) {
        for (size_t i = 0; i < w->ids.n; i++)
            if (w->entries[i].exit_code > exit_code)
                exit_code = w->entries[i].exit_code;
        put_jobs(call, w, &reply);
        wire_put_int(&reply, "exit_code", exit_code);
    }
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

static int tell(struct call *call, struct wait *w, bool heartbeat)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    begin_answer(w, &reply);
    if (heartbeat)
        wire_put_bool(&reply, "heartbeat", true);
    wire_close(&reply, '}');
    w->told_left = w->left;
    w->told_failed = w->failed;
    w->told_usec = volt_now_usec();
    return call_continue_text(call, &reply);
}

/* --- the method --------------------------------------------------------------------- */

static int begin(struct volt_cx *cx, struct call *call, struct wait *w)
{
    static const struct field fields[] = {
        FIELD(struct wait, ids, FIELD_CUSTOM, .read = read_job_ids, .required = true),
        {.name = NULL},
    };
    struct manager *m = call_service(call)->manager;

    if (params_read(call, fields, w) < 0)
        return -EINVAL;
    w->entries = calloc(w->ids.n + 1, sizeof(*w->entries));
    if (!w->entries) {
        (void)call_abort(call);
        return -ENOMEM;
    }
    if (call_more(call))
        listener_init(cx, &w->ends, m, true);
    for (size_t i = 0; i < w->ids.n; i++) {
        w->entries[i].key = w->ids.keys[i];
        w->entries[i].stale = true;
        if (call_more(call))
            listener_add(&w->ends, &w->entries[i].interest, &w->ids.keys[i]);
    }
    w->told_left = UINT64_MAX;
    w->begun = true;
    return 0;
}

/* Asks about what is stale, some at a time. 0: all is known, 1: more to ask, or -errno
 * with the entry in *ret_gone; -ENOENT: a job that was not there from the beginning. */
static int look_at_stale(struct volt_cx *cx, struct call *call, struct wait *w,
                         const struct entry **ret_gone)
{
    unsigned looks = 0;

    for (; w->looked < w->ids.n && looks < LOOKS_PER_POLL; w->looked++) {
        struct entry *e = &w->entries[w->looked];

        if (!e->stale)
            continue;
        looks++;
        int r = look(cx, call, w, e);
        if (r == 0)
            continue;
        if (w->told_left == UINT64_MAX || r != -ENOENT) {
            *ret_gone = e;
            return r;
        }
        /* Ended and forgotten since: how, nobody knows any more. */
        note(w, e, 0, e->failed + e->left, EXIT_UNKNOWN);
    }
    return w->looked < w->ids.n;
}

/* How many there were. */
static unsigned take_changes(struct wait *w)
{
    struct interest *i;
    struct change change;
    unsigned n = 0;

    while (n < CHANGES_PER_POLL && (i = listener_next(&w->ends, &change))) {
        apply(w, (struct entry *)((char *)i - offsetof(struct entry, interest)), &change);
        n++;
    }
    return n;
}

/* Tells what there is to tell. 0, or negative. Sets the time of the next telling. */
static int keep_telling(struct volt_cx *cx, struct call *call, struct wait *w)
{
    for (;;) {
        bool changed = w->left != w->told_left || w->failed != w->told_failed;
        uint64_t due =
            w->told_usec + (changed ? PROGRESS_USEC : call_config(call)->heartbeat_usec);

        if (call_drained_poll(cx, call) == VOLT_PENDING)
            return 0;
        if (volt_now_usec() >= due && tell(call, w, !changed) < 0)
            return -ENOMEM;
        if (volt_now_usec() >= due)
            continue;
        volt_sleep_fini(&w->tick);
        volt_sleep_init_at(&w->tick, due);
        if (volt_sleep_poll(cx, &w->tick) == VOLT_PENDING)
            return 0;
    }
}

static enum volt_poll wait_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct wait *w = state;

    if (!w->begun && begin(cx, call, w) < 0)
        return VOLT_READY;
    for (;;) {
        const struct entry *gone = NULL;
        int r = look_at_stale(cx, call, w, &gone);

        if (r < 0)
            return no_answer(call, r, &gone->key);
        if (r > 0) {
            volt_cx_wake(cx); /* others first */
            return VOLT_PENDING;
        }
        if (w->left == 0 || !call_more(call))
            return finish(call, w);
        if (w->told_left == UINT64_MAX && tell(call, w, false) < 0)
            return call_abort(call);
        if (volt_coop_take(cx) == VOLT_PENDING)
            return VOLT_PENDING;
        if (take_changes(w) > 0)
            continue;
        return keep_telling(cx, call, w) < 0 ? call_abort(call) : VOLT_PENDING;
    }
}

static void wait_drop(struct call *call, void *state)
{
    struct wait *w = state;

    (void)call;
    if (w->begun) {
        listener_fini(&w->ends);
        volt_sleep_fini(&w->tick);
    }
    free(w->ids.keys);
    free(w->entries);
}

const struct method method_wait = {
    .name = "Wait",
    .flags = METHOD_MORE,
    .state_size = sizeof(struct wait),
    .poll = wait_poll,
    .drop = wait_drop,
};
