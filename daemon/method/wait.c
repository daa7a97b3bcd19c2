/* Wait: until all of these jobs have ended. Without `more`: whether they have.
 *
 * A filter becomes ids first: those of the jobs that match at the time of the call. A
 * matching job that is purged before it is looked at has ended, in an unknown way.
 *
 * There is one entry per id, without repetitions, sorted by id. Each job is looked at
 * once. From then on a job's end is taken from its event; an array is looked at again
 * when one of its elements has ended, and an element when its array was cancelled. Other
 * jobs wake nobody here. Progress is sent at most every PROGRESS_USEC. Without `more`
 * each job is looked at once, without entries. Every step does as much as the turn allows
 * (daemon/call/turn.h). While any job has not ended, the job that the caller runs inside
 * of lends its slot (daemon/lease/lending.h).
 *
 * With `any` the wait is over when one job has ended. Of several that have ended by then,
 * the one that ended first is the answer. */
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/query/changes.h"
#include "daemon/method/inside.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include <errno.h>
#include <stdlib.h>

#define PROGRESS_USEC  UINT64_C(100000)
#define JOBS_MAX       1000
#define SKIPPED        16  /* known entries that count as one look */
#define RUN_MOST       64  /* jobs read from the store at a time */
#define JOB_TEXT       352 /* usual bytes of a job in an answer */
#define EXIT_UNKNOWN   125
#define CANCELLED_MOST ((UINT32_C(1) << 30) - 1)

struct entry {
    struct job_subscription job;
    uint32_t total, left, failed; /* of an array: at most MaxArray= */
    uint32_t cancelled : 30;
    bool is_array : 1; /* the whole array */
    bool stale : 1;    /* to be looked at */
};
/* 35 calls of 19,900 ids each fit into the default of MaxStreamMemoryPerUser=. */
_Static_assert(sizeof(struct entry) <= 96, "an entry of Wait has grown");

/* Freed by job_subscriber_leave(). */
struct room {
    struct job_subscriber ends;
    struct entry entries[];
};

struct wait {
    struct wait_params {
        bool given; /* ids */
        struct filter filter;
        bool filtered, any, forgotten;
        struct job_key inside_job;
        uint64_t inside_lease;
    } in;
    struct inside inside;
    struct ids_reader ids; /* until the ids have entries, if they get any */
    size_t room_for;       /* keys, for those that are found */
    size_t checked;        /* ids, before others are found */
    struct job_filter filter;
    struct query_walk walk;
    struct room *room;     /* NULL, like the next: without `more` */
    struct entry *entries; /* one per id, in their order */
    size_t n, entered;
    uint64_t total, left, failed, cancelled; /* sums */
    uint64_t unknown; /* part of failed: purged, so nobody knows how they ended */
    uint64_t sent_left, sent_failed;
    bool one_ended;      /* one at least, also if others have not */
    size_t chosen;       /* with `any`: entries looked at for the first end */
    bool has_first;      /* with `any`: the job that ended first is known */
    size_t first;        /* which one it is */
    uint64_t first_usec; /* its end */
    struct query_looks looks;
    uint64_t run;  /* all ids from this one to looks.last are waited for */
    size_t looked; /* entries before this one are not stale */
    uint64_t sent_usec;
    int exit_code; /* the greatest so far */
    struct volt_sleep tick;
    struct wire_buf text; /* of the last answer */
    size_t put;           /* jobs in it */
    enum {
        WAIT_BEGIN = 0,
        WAIT_READS,  /* reads the ids */
        WAIT_CHECKS, /* with a filter: that the ids exist */
        WAIT_FINDS,  /* with a filter: matching jobs */
        WAIT_ENTERS,
        WAIT_SUMS, /* without `more` */
        WAIT_LOOKS,
        WAIT_CHOOSES, /* with `any`: the first end */
        WAIT_ANSWERS,
    } at;
};

/* --- what is known of one job ------------------------------------------------------- */

static void note_total(struct wait *w, struct entry *e, uint64_t total)
{
    w->total += total - e->total;
    e->total = (uint32_t)total;
}

static void note(struct wait *w, struct entry *e, uint64_t left, uint64_t failed,
                 uint64_t cancelled, int exit_code)
{
    w->left += left - e->left;
    w->failed += failed - e->failed;
    w->cancelled += cancelled - e->cancelled;
    e->left = (uint32_t)left;
    e->failed = (uint32_t)failed;
    e->cancelled = (uint32_t)cancelled & CANCELLED_MOST;
    w->one_ended |= left == 0;
    if (exit_code > w->exit_code)
        w->exit_code = exit_code;
}

/* Returns whether a job that is looked at for the first time may have been purged. */
static bool may_be_gone(const struct wait *w)
{
    return w->in.filtered || w->in.forgotten;
}

static bool is_over(const struct wait *w)
{
    return w->left == 0 || (w->in.any && w->one_ended);
}

static void note_end(struct wait *w, struct entry *e, enum job_result result,
                     int exit_code)
{
    note(w, e, 0, job_result_failed(result), result == JOB_RESULT_CANCELLED, exit_code);
}

static struct job_key key_of(const struct wait *w, size_t i)
{
    if (!w->entries)
        return w->ids.list.keys[i];
    return (struct job_key){.id = w->entries[i].job.id, .index = w->entries[i].job.index};
}

/* Lets the store be read for a page of jobs, whose ids follow that of the i-th. */
static void note_run(struct wait *w, size_t i)
{
    const struct job_key key = key_of(w, i);
    uint64_t n = 0;

    if (key.id >= w->run && key.id <= w->looks.last)
        return;
    while (++n < RUN_MOST && i + n < w->n) {
        const struct job_key next = key_of(w, i + n);

        if (next.id != key.id + n || next.index != JOB_NO_INDEX)
            break;
    }
    w->run = key.id;
    w->looks.last = key.id + n - 1;
}

/* Looks at the i-th job. 0, -ENOENT, or -errno of reading the store. */
static int view(struct volt_cx *cx, struct call *call, struct wait *w, size_t i,
                bool status_only, struct job_view *ret)
{
    const struct job_key key = key_of(w, i);
    const bool had_page = w->looks.page;

    note_run(w, i);
    w->looks.status_only = status_only;
    w->looks.most = 1 + quota_entries_left(call_quota(call)) / QUERY_KEPT_COST;
    int r = query_looks_next(cx, &w->looks, &key, ret);
    if (w->looks.page && !had_page)
        call_holds(call, QUERY_LOOKS_PAGE);
    return r;
}

/* Looks at the i-th job, whose entry is e. */
static int look(struct volt_cx *cx, struct call *call, struct wait *w, size_t i,
                struct entry *e)
{
    struct job_view v;
    int r = view(cx, call, w, i, true, &v);

    e->stale = false;
    if (r < 0)
        return r;
    e->is_array = v.has_counts;
    note_total(w, e, v.has_counts ? v.total : 1);
    if (v.has_counts)
        note(w, e, v.total - v.done, v.failed, v.cancelled, v.exit_code);
    else if (v.status.state == JOB_DONE)
        note_end(w, e, v.status.result, v.exit_code);
    else
        note(w, e, 1, 0, 0, 0);
    job_view_fini(&v);
    return 0;
}

/* Notes a job that was purged after its end: its result is unknown. */
static void note_gone(struct wait *w, struct entry *e)
{
    if (!e->total) {
        note_total(w, e, 1);
        note(w, e, 1, 0, 0, 0);
    }
    w->unknown += e->left;
    note(w, e, 0, e->failed + e->left, e->cancelled, EXIT_UNKNOWN);
}

static void mark_stale(struct wait *w, size_t i)
{
    w->entries[i].stale = true;
    if (w->looked > i)
        w->looked = i;
}

static void apply(struct wait *w, struct entry *e, const struct change *c)
{
    if (e->left == 0)
        return;
    if (c->ended && !e->is_array)
        note_end(w, e, c->result, c->exit_code);
    else
        mark_stale(w, (size_t)(e - w->entries));
}

/* --- answers ------------------------------------------------------------------------ */

static void begin_answer(const struct wait *w, struct wire_writer *to)
{
    wire_open(to, NULL, '{');
    wire_put_int(to, "total", (int64_t)w->total);
    wire_put_int(to, "left", (int64_t)w->left);
    wire_put_int(to, "failed", (int64_t)w->failed);
    if (w->cancelled)
        wire_put_int(to, "cancelled", (int64_t)w->cancelled);
    if (w->unknown)
        wire_put_int(to, "unknown", (int64_t)w->unknown);
}

/* Returns how many jobs the answer shows. */
static size_t sent_jobs(const struct wait *w)
{
    if (w->in.any)
        return w->has_first;
    return w->n < JOBS_MAX ? w->n : JOBS_MAX;
}

/* Writes a job, unless it was purged. */
static void put_job(struct volt_cx *cx, struct call *call, struct wait *w, size_t i,
                    struct wire_writer *to)
{
    size_t before = wire_buf_len(to->out);
    struct job_view v;

    if (view(cx, call, w, i, false, &v) == 0) {
        job_write(to, NULL, &v, JOB_ALL_FIELDS, 0);
        job_view_fini(&v);
    }
    call_did(call, 0, wire_buf_len(to->out) - before);
}

static enum volt_poll answer_unfinished(struct call *call, const struct wait *w)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    begin_answer(w, &reply);
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

/* Finds the job that ended first. */
static enum volt_poll choose_poll(struct volt_cx *cx, struct call *call, struct wait *w)
{
    for (; w->chosen < w->n; w->chosen++) {
        const bool counts = w->chosen % SKIPPED == 0;
        const bool ended = !w->entries || w->entries[w->chosen].left == 0;
        struct job_view v;

        if ((counts || ended) && call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (counts)
            call_did(call, 1, 0);
        if (!ended || view(cx, call, w, w->chosen, true, &v) < 0)
            continue;
        if (v.status.state == JOB_DONE &&
            (!w->has_first || v.status.ended_usec < w->first_usec)) {
            w->has_first = true;
            w->first = w->chosen;
            w->first_usec = v.status.ended_usec;
            w->exit_code = v.exit_code;
        }
        job_view_fini(&v);
    }
    return VOLT_READY;
}

/* Answers, as the wait is over, and goes on with the text of earlier turns. */
static enum volt_poll answer_poll(struct volt_cx *cx, struct call *call, struct wait *w)
{
    struct wire_writer reply = {.out = &w->text};

    if (w->at < WAIT_CHOOSES)
        w->at = WAIT_CHOOSES;
    if (w->at == WAIT_CHOOSES) { /* allocated at once, not grown */
        if (w->in.any && choose_poll(cx, call, w) == VOLT_PENDING)
            return VOLT_PENDING;
        reply.error = wire_buf_reserve(&w->text, sent_jobs(w) * JOB_TEXT);
        call_holds(call, w->text.cap);
        begin_answer(w, &reply);
        wire_open(&reply, "jobs", '[');
        w->at = WAIT_ANSWERS;
    }
    while (reply.error == 0 && w->put < sent_jobs(w)) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        const size_t i = w->in.any ? w->first : w->put;

        w->put++;
        put_job(cx, call, w, i, &reply);
    }
    wire_close(&reply, ']');
    wire_put_int(&reply, "exit_code", w->exit_code);
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
    w->sent_left = w->left;
    w->sent_failed = w->failed;
    w->sent_usec = volt_now_usec();
    return call_continue_text(call, &reply);
}

/* --- the method --------------------------------------------------------------------- */

/* Allocates an entry per id. */
static int make_room(struct volt_cx *cx, struct call *call, struct wait *w)
{
    const struct key_list *ids = &w->ids.list;

    if (call_keep(call, sizeof(*w) + ids->n * sizeof(*w->entries)) < 0)
        return -EDQUOT;
    w->room = calloc(1, sizeof(*w->room) + ids->n * sizeof(*w->entries));
    if (!w->room) {
        (void)call_abort(call);
        return -ENOMEM;
    }
    w->entries = w->room->entries;
    job_subscriber_init(cx, &w->room->ends, call_service(call)->core, true,
                        &w->entries->job, sizeof(*w->entries));
    return 0;
}

/* Subscribes to each job before it is looked at. */
static enum volt_poll enter_poll(struct volt_cx *cx, struct call *call, struct wait *w)
{
    for (; w->entered < w->n; w->entered++) {
        const struct job_key *key = &w->ids.list.keys[w->entered];

        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        w->entries[w->entered].stale = true;
        job_subscriber_add(&w->room->ends, key);
        call_did(call, 1, 0);
    }
    ids_fini(call, &w->ids);
    return VOLT_READY;
}

/* --- what a filter finds ------------------------------------------------------------ */

#define FIND_AT_ONCE 500

static int find_room(struct call *call, struct wait *w)
{
    struct key_list *list = &w->ids.list;
    size_t more = w->room_for ? w->room_for : list->n + FIND_AT_ONCE;

    if (list->n + FIND_AT_ONCE <= w->room_for)
        return 0;
    if (call_keep(call, more * sizeof(*list->keys)) < 0)
        return -EDQUOT;
    struct job_key *grown =
        reallocarray(list->keys, w->room_for + more, sizeof(*list->keys));
    if (!grown) {
        (void)call_abort(call);
        return -ENOMEM;
    }
    list->keys = grown;
    w->room_for += more;
    return 0;
}

static int add_found(void *arg, const struct job_view *v)
{
    struct key_list *list = arg;

    list->keys[list->n++] = (struct job_key){.id = v->key.id, .index = v->key.index};
    return 0;
}

/* Checks that the ids exist, unless forgotten ones may be given. READY: they do; or *ret
 * is negative and the call is answered. */
static enum volt_poll check_poll(struct volt_cx *cx, struct call *call, struct wait *w,
                                 int *ret)
{
    for (; w->checked < w->ids.list.n; w->checked++) {
        struct job_view v;

        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        *ret = view(cx, call, w, w->checked, true, &v);
        if (*ret == -ENOENT && w->in.forgotten) {
            *ret = 0;
            continue;
        }
        if (*ret < 0) {
            (void)no_answer(call, *ret, &w->ids.list.keys[w->checked]);
            return VOLT_READY;
        }
        job_view_fini(&v);
    }
    return VOLT_READY;
}

/* Adds matching jobs to the ids. READY like check_poll(). */
static enum volt_poll find_poll(struct volt_cx *cx, struct call *call, struct wait *w,
                                int *ret)
{
    do {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if ((*ret = find_room(call, w)) < 0)
            return VOLT_READY;
        w->walk.limit = FIND_AT_ONCE;
        w->walk.kept_sum = 0;
        *ret = query_walk_step(cx, call_service(call)->core, call_asker(call), &w->filter,
                               &w->walk, add_found, &w->ids.list);
    } while (*ret == 0 && w->walk.cursor);
    if (*ret < 0)
        (void)no_answer(call, *ret, NULL);
    else
        volt_block_in_place(cx, key_list_sort, &w->ids.list);
    return VOLT_READY;
}

/* Reads the parameters. 0, or the call is answered. */
static int read_params(struct volt_cx *cx, struct call *call, struct wait *w)
{
    static const struct field fields[] = {
        FIELD_AS(struct wait_params, given, "ids", FIELD_CUSTOM, .read = expect_job_ids),
        FIELD(struct wait_params, filter, FIELD_STRUCT, .fields = filter_fields,
              .present = FIELD_PRESENT(struct wait_params, filtered)),
        FIELD(struct wait_params, any, FIELD_BOOL),
        FIELD(struct wait_params, forgotten, FIELD_BOOL),
        FIELD(struct wait_params, inside_job, FIELD_CUSTOM, .read = read_job_id),
        FIELD(struct wait_params, inside_lease, FIELD_INT, .min = 1, .max = INT64_MAX),
        {.name = NULL},
    };
    struct core *core = call_service(call)->core;

    if (params_borrow(call, fields, &w->in) < 0 ||
        filter_resolve(cx, call, &w->in.filter, false) < 0)
        return -EINVAL;
    if (!w->in.given && !w->in.filtered) {
        (void)call_invalid_parameter(
            call, "ids",
            "is missing: give ids, or a filter (an empty one is all your jobs)");
        return -EINVAL;
    }
    if (!w->in.given)
        call_parameters_read(call);
    call_holds(call, filter_size(&w->in.filter));
    w->filter = filter_for_query(&w->in.filter);
    w->walk = (struct query_walk){
        .quota = call_quota(call), .kept = true, .specs = QUERY_SPECS_NONE};
    w->looks = (struct query_looks){.core = core,
                                    .asker = *call_asker(call),
                                    .kept = true,
                                    .quota = call_quota(call)};
    w->sent_left = UINT64_MAX;
    return 0;
}

/* Reads and finds all ids. READY like check_poll(). */
static enum volt_poll ids_known_poll(struct volt_cx *cx, struct call *call,
                                     struct wait *w, int *ret)
{
    if (w->at == WAIT_READS) {
        if (w->in.given && ids_poll(cx, call, &w->ids, ret) == VOLT_PENDING)
            return VOLT_PENDING;
        w->at = WAIT_CHECKS;
    }
    if (*ret == 0 && w->in.filtered && w->at == WAIT_CHECKS &&
        check_poll(cx, call, w, ret) == VOLT_PENDING)
        return VOLT_PENDING;
    if (*ret < 0)
        return VOLT_READY;
    w->at = WAIT_FINDS;
    return w->in.filtered ? find_poll(cx, call, w, ret) : VOLT_READY;
}

/* Begins the call. READY: all ids are read, with entries if they get any; or *ret is
 * negative and the call is answered. */
static enum volt_poll begin_poll(struct volt_cx *cx, struct call *call, struct wait *w,
                                 int *ret)
{
    *ret = 0;
    if (w->at == WAIT_BEGIN) {
        if ((*ret = read_params(cx, call, w)) < 0)
            return VOLT_READY;
        w->at = WAIT_READS;
    }
    if (w->at <= WAIT_FINDS) {
        if (ids_known_poll(cx, call, w, ret) == VOLT_PENDING)
            return VOLT_PENDING;
        w->n = w->ids.list.n;
        w->at = call_more(call) ? WAIT_ENTERS : WAIT_SUMS;
        if (*ret < 0 || (call_more(call) && (*ret = make_room(cx, call, w)) < 0))
            return VOLT_READY;
    }
    if (w->at == WAIT_ENTERS) {
        if (enter_poll(cx, call, w) == VOLT_PENDING)
            return VOLT_PENDING;
        w->at = WAIT_LOOKS;
    }
    return VOLT_READY;
}

static enum volt_poll cannot_look(struct call *call, int error, const struct entry *e)
{
    const struct job_key key = {.id = e->job.id, .index = e->job.index};

    return no_answer(call, error, &key);
}

/* Looks at each job once, and answers. */
static enum volt_poll sum_poll(struct volt_cx *cx, struct call *call, struct wait *w)
{
    for (; w->looked < w->n; w->looked++) {
        const struct job_key *key = &w->ids.list.keys[w->looked];
        struct entry e = {.job = {.id = key->id, .index = key->index}};

        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        int r = look(cx, call, w, w->looked, &e);
        if (r == -ENOENT && may_be_gone(w))
            note_gone(w, &e);
        else if (r < 0)
            return cannot_look(call, r, &e);
    }
    return is_over(w) ? answer_poll(cx, call, w) : answer_unfinished(call, w);
}

/* Looks at stale entries, a portion per turn:
 *   0: none is stale
 *   1: more are, and the task is woken
 *   -errno, with the entry in *ret_gone; -ENOENT: the job never existed */
static int look_at_stale(struct volt_cx *cx, struct call *call, struct wait *w,
                         const struct entry **ret_gone)
{
    for (; w->looked < w->n; w->looked++) {
        struct entry *e = &w->entries[w->looked];
        bool counts = w->looked % SKIPPED == 0;

        if ((counts || e->stale) && call_turn_poll(cx, call) == VOLT_PENDING)
            return 1;
        if (counts)
            call_did(call, 1, 0);
        if (!e->stale)
            continue;
        int r = look(cx, call, w, w->looked, e);
        if (r == 0)
            continue;
        if ((w->sent_left == UINT64_MAX && !may_be_gone(w)) || r != -ENOENT) {
            *ret_gone = e;
            return r;
        }
        note_gone(w, e);
    }
    return 0;
}

/* Takes noted changes. Returns their number. */
static unsigned take_changes(struct call *call, struct wait *w)
{
    struct job_subscription *job;
    struct change change;
    unsigned n = 0;

    while (quota_entries_left(call_quota(call)) > 0 &&
           (job = job_subscriber_next(&w->room->ends, &change))) {
        apply(w, list_thing(job, struct entry, job), &change);
        call_did(call, 1, 0);
        n++;
    }
    return n;
}

/* Sends what is due, and sets the time of the next reply. 0, or negative. */
static int keep_telling(struct volt_cx *cx, struct call *call, struct wait *w)
{
    for (;;) {
        bool changed = w->left != w->sent_left || w->failed != w->sent_failed;
        uint64_t due =
            w->sent_usec + (changed ? PROGRESS_USEC : call_config(call)->heartbeat_usec);

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

static struct job_key key_of_entry(const void *arg, size_t i)
{
    return key_of(arg, i);
}

/* Registers the wait, as some jobs have not ended. 0; negative: it would wait for ever,
 * and the call is answered. A wait for any of several ends with those that can end. */
static int begin_inside(struct call *call, struct wait *w)
{
    if (w->in.any && w->n > 1) {
        lending_begin(call_service(call)->core, call_peer(call)->uid, &w->in.inside_job,
                      &w->inside.lending);
        return 0;
    }
    return inside_begin(call, &w->inside,
                        &(struct inner_wait){.in_job = w->in.inside_job,
                                             .in_lease = w->in.inside_lease,
                                             .job = key_of_entry,
                                             .arg = w,
                                             .n = w->n},
                        "org.voltd.jobs.Deadlock");
}

static enum volt_poll wait_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct wait *w = state;
    int r;

    if (begin_poll(cx, call, w, &r) == VOLT_PENDING)
        return VOLT_PENDING;
    if (r < 0)
        return VOLT_READY;
    if (w->at >= WAIT_CHOOSES)
        return answer_poll(cx, call, w);
    if (w->at == WAIT_SUMS)
        return sum_poll(cx, call, w);
    for (;;) {
        const struct entry *gone = NULL;

        r = look_at_stale(cx, call, w, &gone);
        if (r < 0)
            return cannot_look(call, r, gone);
        if (r > 0)
            return VOLT_PENDING;
        if (is_over(w) && call_drained_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (is_over(w)) {
            inside_end(call, &w->inside);
            return answer_poll(cx, call, w);
        }
        if (begin_inside(call, w) < 0)
            return VOLT_READY;
        if (w->sent_left == UINT64_MAX && tell(call, w, false) < 0)
            return call_abort(call);
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (take_changes(call, w) > 0)
            continue;
        return keep_telling(cx, call, w) < 0 ? call_abort(call) : VOLT_PENDING;
    }
}

static void wait_drop(struct call *call, void *state)
{
    struct wait *w = state;

    inside_end(call, &w->inside);
    if (w->room)
        job_subscriber_leave(&w->room->ends, call_service(call)->rt, w->room);
    volt_sleep_fini(&w->tick);
    query_looks_fini(&w->looks);
    ids_fini(call, &w->ids);
    filter_fini(&w->in.filter);
    wire_buf_fini(&w->text);
}

const struct method method_wait = {
    METHOD_IS(jobs, Wait),
    .flags = METHOD_MORE | METHOD_READS,
    .state_size = sizeof(struct wait),
    .poll = wait_poll,
    .drop = wait_drop,
};
