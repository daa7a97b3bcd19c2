/* Methods of org.voltd.jobs that steer jobs by ids or filter: Cancel, Hold, Release,
 * Pause, Resume, Edit. They differ in the verb (daemon/steer/steer.h), and in which jobs
 * named by id they refuse. */
#include "daemon/steer/steer.h"
#include "daemon/method/methods.h"

#include "daemon/auth/auth.h"
#include "daemon/config/config.h"
#include "daemon/method/edit_json.h"
#include "daemon/method/params.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>

#define PROGRESS_USEC UINT64_C(200000)

struct steering {
    struct steering_params {
        bool given; /* ids */
        struct filter filter;
        bool filtered;
        struct edit_read changes; /* Edit, like the next */
        bool first;
    } in;
    struct job_edit edit;
    struct job_owner of; /* owner of the jobs in its `after` */
    struct ids_reader ids;
    enum steer_verb verb;
    size_t looked, tried, steered; /* number of ids */
    size_t passed_over;            /* of those looked at */
    struct steer_at id;            /* for the next id */
    struct volt_sleep rest;        /* before its next portion */
    struct job_filter filter;
    struct steer_all all;
    struct steer_barrier kept;
    int64_t count, sent;
    uint64_t sent_usec;
    struct volt_sleep tick; /* of a stream */
    enum {
        STEERING_BEGIN = 0,
        STEERING_READS, /* reads the ids */
        STEERING_LOOKS,
        STEERING_TRIES, /* Edit */
        STEERING_IDS,
        STEERING_ALL,
        STEERING_KEEP,
    } at;
};

/* Refuses a job of an earlier voltd: nothing here steers it, but its processes can be
 * signalled. */
static enum volt_poll refuse_orphan(struct call *call, const struct job_key *key)
{
    char id[JOB_KEY_TEXT_MAX], reason[2 * JOB_KEY_TEXT_MAX + 96];

    (void)job_key_format_job(key, id);
    (void)snprintf(reason, sizeof(reason),
                   "job %s is of an earlier voltd and can only be signalled, as with "
                   "voltctl kill %s",
                   id, id);
    return call_error(call, "org.voltd.jobs.Refused",
                      json_pack("{s:s}", "reason", reason));
}

_Static_assert(JOB_HOLDS_MAX == 1000, "as why_not() says");

/* Returns why a job refuses, by the error of steer_step(). NULL: no refusal. */
static const char *why_not(enum steer_verb verb, int error)
{
    switch (error) {
    case -EALREADY:
        return "has ended";
    case -EOPNOTSUPP:
        return "has no process that could be paused";
    case -ENOTDIR:
        return verb == STEER_HOLD   ? "is an element: an array is held as a whole"
               : verb == STEER_EDIT ? "is an element: an array is edited as a whole"
                                    : "is an element: an array is released as a whole";
    case -EBUSY:
        return verb == STEER_HOLD ? "has started; `voltctl pause` stops what runs of it"
               : verb == STEER_EDIT
                   ? "has started: only what waits can be edited"
                   : "is not running; `voltctl hold` keeps it from starting";
    case -ERESTART:
        return "has been tried: only what has never started can be edited; "
               "`voltctl hold` keeps it from its next attempt";
    case -EINPROGRESS:
        return "is starting already; `voltctl hold` may still keep it from that";
    case -ESRCH:
        return verb == STEER_RELEASE ? "is not held" : "is not paused";
    case -EPERM:
        return "is held by an admin, and only an admin releases it";
    case -EDQUOT:
        return "has been held 1000 times, and is not once more: cancel it, and submit it "
               "again when it may start";
    default:
        return NULL;
    }
}

#define BEFORE_MAX 64

/* Returns text about the jobs already steered. */
static const char *before(enum steer_verb verb, int64_t count, char buf[BEFORE_MAX])
{
    static const char *const done[] = {"cancelled", "held",    "released",
                                       "paused",    "resumed", "edited"};

    *buf = '\0';
    if (count > 0)
        (void)snprintf(buf, BEFORE_MAX, "; %lld job%s before it: %s", (long long)count,
                       count == 1 ? "" : "s", done[verb]);
    return buf;
}

/* Refuses by the error of steer_step(). 0; negative: the call is answered. count: jobs
 * steered so far. */
static int refuse_if(struct call *call, enum steer_verb verb, const struct job_key *key,
                     int error, int64_t count)
{
    const char *why = why_not(verb, error);
    char id[JOB_KEY_TEXT_MAX], buf[BEFORE_MAX];
    char reason[JOB_KEY_TEXT_MAX + 128 + BEFORE_MAX];

    if (verb == STEER_CANCEL || !why)
        return 0;
    (void)job_key_format_job(key, id);
    (void)snprintf(reason, sizeof(reason), "job %s %s%s", id, why,
                   before(verb, count, buf));
    (void)call_error(call, "org.voltd.jobs.Refused",
                     json_pack("{s:s}", "reason", reason));
    return error;
}

/* Answers that the job cannot be edited so. */
static int refuse_edit(struct call *call, const struct job_key *key,
                       const struct volt_error *why, int64_t count)
{
    char id[JOB_KEY_TEXT_MAX], buf[BEFORE_MAX];
    char reason[JOB_KEY_TEXT_MAX + sizeof(why->text) + BEFORE_MAX + 8];

    (void)job_key_format_job(key, id);
    (void)snprintf(reason, sizeof(reason), "job %s: %s%s", id, why->text,
                   before(STEER_EDIT, count, buf));
    (void)call_error(call, "org.voltd.jobs.Refused",
                     json_pack("{s:o}", "reason", wire_text(reason)));
    return -EINVAL;
}

/* Returns the likely result of steer_step(), from a view: that does not show whether
 * starting elements have their slots. */
static int foresee_hold(const struct job_view *v, const struct asker *asker)
{
    const uint8_t state = v->status.state;

    if (state == JOB_DONE)
        return -EALREADY;
    if (v->key.index >= 0)
        return -ENOTDIR;
    if (!v->has_counts && state != JOB_QUEUED && state != JOB_STARTING)
        return -EBUSY;
    return v->status.holds >= JOB_HOLDS_MAX && !v->status.held &&
                   asker->who.uid == v->owner.uid
               ? -EDQUOT
               : 0;
}

static int foresee_release(const struct job_view *v, const struct asker *asker)
{
    if (v->status.state == JOB_DONE)
        return -EALREADY;
    if (v->key.index >= 0)
        return -ENOTDIR;
    if (!v->status.held)
        return -ESRCH;
    return v->status.held == JOB_HELD_BY_ADMIN && !auth_has(asker, AUTH_ADMIN_HOLDS)
               ? -EPERM
               : 0;
}

/* Likewise. A starting job may run in a moment. */
static int foresee_pause(const struct job_view *v)
{
    const uint8_t state = v->status.state;

    if (state == JOB_DONE)
        return -EALREADY;
    if (v->spec && !job_kinds[v->spec->kind].is_process)
        return -EOPNOTSUPP;
    return state == JOB_STARTING || state == JOB_RUNNING || state == JOB_PAUSED ? 0
                                                                                : -EBUSY;
}

static int foresee_resume(const struct job_view *v)
{
    if (v->status.state == JOB_DONE)
        return -EALREADY;
    return v->has_counts || v->status.state == JOB_PAUSED ? 0 : -ESRCH;
}

/* Likewise; core knows whether an array has begun. -ERESTART: a failed or lost attempt
 * will be followed by another. */
static int foresee_edit(const struct job_view *v)
{
    const uint8_t state = v->status.state;

    if (state == JOB_DONE)
        return -EALREADY;
    if (v->key.index >= 0)
        return -ENOTDIR;
    if (v->has_counts)
        return 0;
    if (state == JOB_QUEUED)
        return v->status.attempt ? -ERESTART : 0;
    return state == JOB_STARTING ? -EINPROGRESS : -EBUSY;
}

static int foresee(enum steer_verb verb, const struct job_view *v,
                   const struct asker *asker)
{
    switch (verb) {
    case STEER_HOLD:
        return foresee_hold(v, asker);
    case STEER_RELEASE:
        return foresee_release(v, asker);
    case STEER_PAUSE:
        return foresee_pause(v);
    case STEER_RESUME:
        return foresee_resume(v);
    case STEER_EDIT:
        return foresee_edit(v);
    case STEER_CANCEL:
        break;
    }
    return 0;
}

/* Returns whether one of several jobs is passed over for this error of steer_step(): it
 * went on or ended while others were paused or resumed, or the call is made again. */
static bool is_passed_over(const struct steering *s, int error)
{
    const bool resumes = s->verb == STEER_RESUME;

    return s->ids.list.n > 1 &&
           ((error == -EALREADY && (resumes || s->verb == STEER_PAUSE)) ||
            (error == -ESRCH && resumes));
}

/* Checks that a job named by id accepts the verb. A resume passes over those that go on,
 * but not over all. 0, or the call is answered. */
static int check_id(struct volt_cx *cx, struct call *call, struct steering *s,
                    const struct job_key *key)
{
    struct job_view view;
    int r = look_or_refuse(cx, call, key, &view);

    if (r < 0)
        return r;
    bool orphan = view.orphan && view.status.state != JOB_DONE;
    int why = foresee(s->verb, &view, call_asker(call));
    s->of = view.owner;
    job_view_fini(&view);
    if (s->verb == STEER_RESUME && is_passed_over(s, why) &&
        ++s->passed_over < s->ids.list.n)
        why = 0;
    if (!orphan)
        return refuse_if(call, s->verb, key, why, 0);
    (void)refuse_orphan(call, key);
    return -ESRCH;
}

/* Answers like a submission that comes now. */
static enum volt_poll refuse_unkept(struct call *call, int error)
{
    return call_error(call, "org.voltd.jobs.StoreUnavailable",
                      json_pack("{s:s}", "reason", store_refusal_text(error)));
}

static struct steer_at next_at(const struct call *call, const struct steering *s)
{
    return (struct steer_at){
        .verb = s->verb, .edit = &s->edit, .quota = call_quota(call)};
}

#define WHICH_FIELDS                                                                     \
    FIELD_AS(struct steering_params, given, "ids", FIELD_CUSTOM,                         \
             .read = expect_job_ids),                                                    \
        FIELD(struct steering_params, filter, FIELD_STRUCT, .fields = filter_fields,     \
              .present = FIELD_PRESENT(struct steering_params, filtered))

/* Checks an edit. 0, or the call is answered. */
static int check_edit(struct call *call, struct steering *s)
{
    struct field_error err;

    s->edit = (struct job_edit){.changes = s->in.changes.spec,
                                .tags = s->in.changes.tags,
                                .limits = s->in.changes.limits,
                                .first = s->in.first};
    s->ids.as_given = s->in.first;
    if (s->in.first && s->in.filtered)
        (void)call_invalid_parameter(call, "first", "only of ids: it is an order");
    else if (!s->in.first && !s->edit.tags)
        (void)call_invalid_parameter(call, "changes",
                                     "has nothing that is to be changed");
    else if (!s->edit.changes || check_rights(call, s->edit.changes, &err) == 0)
        return 0;
    else {
        field_prefix(&err, "changes");
        (void)params_refuse(call, &err);
    }
    return -EINVAL;
}

static void begin_all(struct call *call, struct steering *s)
{
    s->all = (struct steer_all){.core = call_service(call)->core,
                                .verb = s->verb,
                                .asker = *call_asker(call),
                                .filter = &s->filter,
                                .edit = &s->edit,
                                .paced = true,
                                .quota = call_quota(call)};
}

/* Reads the parameters. 0, or the call is answered. */
static int begin_steering(struct volt_cx *cx, struct call *call, struct steering *s)
{
    static const struct field fields[] = {WHICH_FIELDS, {.name = NULL}};
    static const struct field edit_fields[] = {
        WHICH_FIELDS,
        FIELD(struct steering_params, changes, FIELD_CUSTOM, .read = read_changes),
        FIELD(struct steering_params, first, FIELD_BOOL),
        {.name = NULL}};
    const bool edits = s->verb == STEER_EDIT;

    if (params_borrow(call, edits ? edit_fields : fields, &s->in) < 0 ||
        (edits && check_edit(call, s) < 0) ||
        filter_resolve(cx, call, &s->in.filter, false) < 0)
        return -EINVAL;
    if (!s->in.given)
        call_parameters_read(call);
    call_holds(call, filter_size(&s->in.filter));
    if (!s->in.given && !s->in.filtered) {
        (void)call_invalid_parameter(
            call, "ids",
            "is missing: give ids, or a filter (an empty one is all your jobs)");
        return -EINVAL;
    }
    s->filter = filter_for_query(&s->in.filter);
    s->of = *call_peer(call);
    if (s->filter.of_user && auth_sees(call_asker(call), s->filter.uid))
        s->of.uid = s->filter.uid;
    begin_all(call, s);
    s->id = next_at(call, s);
    return 0;
}

/* Looks up the jobs in `after` of an edit. 0, or the call is answered. */
static int look_at_after(struct volt_cx *cx, struct call *call, struct steering *s)
{
    struct volt_error err;

    if (!(s->edit.tags & SPEC_TAG(TAG_AFTER)))
        return 0;
    s->edit.uid = s->of.uid;
    int r = steer_look_at_after(cx, call_service(call)->core, &s->of, s->in.changes.spec,
                                call_quota(call), &err);
    if (r == -EINVAL)
        (void)call_error(call, "org.voltd.jobs.Refused",
                         json_pack("{s:o}", "reason", wire_text(err.text)));
    else if (r < 0)
        (void)call_abort(call);
    return r;
}

/* Steers a portion of the next id. READY: it was the last; *ret is negative if the call
 * is answered. */
static enum volt_poll steer_id_poll(struct volt_cx *cx, struct call *call,
                                    struct steering *s, int *ret)
{
    /* With `first`, the last id goes to the front first. */
    const size_t n = s->edit.first ? s->ids.list.n - 1 - s->steered : s->steered;
    const struct job_key *key = &s->ids.list.keys[n];

    if (s->rest.deadline_usec && volt_sleep_poll(cx, &s->rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&s->rest);
    s->rest = (struct volt_sleep){0};
    int r = steer_step(call_service(call)->core, call_asker(call), key->id, key->index,
                       &s->id);
    if (r == -EAGAIN && s->id.rests)
        volt_sleep_init(&s->rest, STEER_AGAIN);
    if (r == -ESTALE)
        *ret = look_at_after(cx, call, s);
    if (r == -EAGAIN || r == -ESTALE)
        return VOLT_PENDING;
    if (r == -ENOMEM || store_refusal_text(r)) /* not steered: the count cannot show it */
        s->all.ret = r;
    if (r == -EINVAL)
        *ret = refuse_edit(call, key, &s->id.err, s->count);
    else if (!is_passed_over(s, r))
        *ret = refuse_if(call, s->verb, key, r, s->count);
    s->count += r == 0;
    s->id = next_at(call, s);
    s->steered++;
    return VOLT_READY;
}

/* Tries the edit on the next id; *ret as above. */
static void try_edit(struct volt_cx *cx, struct call *call, struct steering *s, int *ret)
{
    const struct job_key *key = &s->ids.list.keys[s->tried];

    s->id.only_checks = true;
    int r = steer_step(call_service(call)->core, call_asker(call), key->id, key->index,
                       &s->id);
    if (r == -ESTALE) {
        *ret = look_at_after(cx, call, s);
        return;
    }
    *ret = r == -EINVAL ? refuse_edit(call, key, &s->id.err, 0)
                        : refuse_if(call, s->verb, key, r, 0);
    s->id = next_at(call, s);
    s->tried++;
}

/* Looks at all ids before the first is touched: one refusal changes nothing. READY: all
 * are done; *ret as above. */
static enum volt_poll ids_looked_poll(struct volt_cx *cx, struct call *call,
                                      struct steering *s, int *ret)
{
    const struct key_list *ids = &s->ids.list;

    for (; *ret == 0 && s->looked < ids->n; s->looked++) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        *ret = check_id(cx, call, s, &ids->keys[s->looked]);
    }
    if (*ret == 0 && s->at == STEERING_LOOKS)
        *ret = look_at_after(cx, call, s);
    s->at = STEERING_TRIES;
    while (*ret == 0 && s->verb == STEER_EDIT && ids->n > 1 && s->tried < ids->n) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        try_edit(cx, call, s, ret);
    }
    return VOLT_READY;
}

/* Steers the ids. READY: all are steered; or *ret is negative, and the call is
 * answered. */
static enum volt_poll ids_steered_poll(struct volt_cx *cx, struct call *call,
                                       struct steering *s, int *ret)
{
    const struct key_list *ids = &s->ids.list;

    if (s->at == STEERING_READS) {
        if (s->in.given && ids_poll(cx, call, &s->ids, ret) == VOLT_PENDING)
            return VOLT_PENDING;
        s->at = STEERING_LOOKS;
    }
    if (s->at < STEERING_IDS && ids_looked_poll(cx, call, s, ret) == VOLT_PENDING)
        return VOLT_PENDING;
    if (*ret < 0)
        return VOLT_READY;
    s->at = STEERING_IDS;
    while (*ret == 0 && s->all.ret == 0 && s->steered < ids->n) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (steer_id_poll(cx, call, s, ret) == VOLT_PENDING && s->rest.deadline_usec &&
            volt_sleep_poll(cx, &s->rest) == VOLT_PENDING)
            return VOLT_PENDING;
    }
    s->at = STEERING_ALL;
    return VOLT_READY;
}

static json_t *count_json(const struct steering *s)
{
    return json_pack("{s:I}", "count", (json_int_t)(s->count + s->all.ret_count));
}

/* Sends progress to a stream. 0; negative: no memory for it. */
static int tell_progress(struct volt_cx *cx, struct call *call, struct steering *s)
{
    while (call_more(call) && call_drained_poll(cx, call) == VOLT_READY &&
           volt_sleep_poll(cx, &s->tick) == VOLT_READY) {
        int64_t count = s->count + s->all.ret_count;
        uint64_t now = volt_now_usec();

        if (count != s->sent || now - s->sent_usec >= call_config(call)->heartbeat_usec) {
            if (call_continue(call, count_json(s)) < 0)
                return -ENOMEM;
            s->sent = count;
            s->sent_usec = now;
        }
        volt_sleep_fini(&s->tick);
        volt_sleep_init(&s->tick, PROGRESS_USEC);
    }
    return 0;
}

/* Steers the jobs of the filter. READY: done, or s->all.ret is negative; or *ret is, and
 * the call is answered. */
static enum volt_poll filtered_poll(struct volt_cx *cx, struct call *call,
                                    struct steering *s, int *ret)
{
    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    enum volt_poll r = steer_all_poll(cx, &s->all);
    if (r == VOLT_PENDING || s->all.ret != -ESTALE)
        return r;
    *ret = look_at_after(cx, call, s);
    steer_all_fini(&s->all);
    begin_all(call, s);
    volt_cx_wake(cx);
    return *ret < 0 ? VOLT_READY : VOLT_PENDING;
}

/* Steers the rest. READY: all are steered and durable, or s->all.ret or *ret is
 * negative. */
static enum volt_poll rest_poll(struct volt_cx *cx, struct call *call, struct steering *s,
                                int *ret)
{
    if (s->at == STEERING_ALL) {
        if (s->in.filtered && filtered_poll(cx, call, s, ret) == VOLT_PENDING)
            return VOLT_PENDING;
        if (*ret < 0 || s->all.ret < 0)
            return VOLT_READY;
        steer_barrier_init(&s->kept, call_service(call)->core);
        s->at = STEERING_KEEP;
    }
    return steer_barrier_poll(cx, &s->kept);
}

/* A cancel counts without the store: an ended job does not come back. */
static bool is_unkept(const struct steering *s)
{
    return s->verb != STEER_CANCEL && s->kept.commit.status < 0;
}

static enum volt_poll refuse_listed(struct call *call, const struct steering *s)
{
    const struct job_key key = {.id = s->all.ret_id, .index = JOB_NO_INDEX};

    (void)refuse_edit(call, &key, &s->all.err, s->count + s->all.ret_count);
    return VOLT_READY;
}

/* Steers the jobs; answers when that is durable. */
static enum volt_poll steering_poll(struct volt_cx *cx, struct call *call,
                                    struct steering *s, enum steer_verb verb)
{
    int r = 0;

    if (s->at == STEERING_BEGIN) {
        s->verb = verb;
        if (begin_steering(cx, call, s) < 0)
            return VOLT_READY;
        s->at = STEERING_READS;
        s->sent_usec = volt_now_usec();
        volt_sleep_init(&s->tick, 0);
    }
    if (s->at < STEERING_ALL && ids_steered_poll(cx, call, s, &r) == VOLT_PENDING) {
        bool begun = s->at == STEERING_IDS;
        return begun && tell_progress(cx, call, s) < 0 ? call_abort(call) : VOLT_PENDING;
    }
    if (r < 0)
        return VOLT_READY;
    if (rest_poll(cx, call, s, &r) == VOLT_PENDING)
        return tell_progress(cx, call, s) < 0 ? call_abort(call) : VOLT_PENDING;
    if (r < 0)
        return VOLT_READY;
    if (s->all.ret == -EINVAL)
        return refuse_listed(call, s);
    if (store_refusal_text(s->all.ret))
        return refuse_unkept(call, s->all.ret);
    if (s->all.ret < 0)
        return call_abort(call);
    return is_unkept(s) ? refuse_unkept(call, -EIO) : call_reply(call, count_json(s));
}

static void steering_drop(struct call *call, void *state)
{
    struct steering *s = state;

    if (s->steered < s->ids.list.n)
        steer_leave(call_service(call)->core, call_asker(call),
                    s->ids.list.keys[s->steered].id, &s->id);
    steer_all_fini(&s->all);
    steer_barrier_fini(&s->kept);
    if (s->at != STEERING_BEGIN)
        volt_sleep_fini(&s->tick);
    volt_sleep_fini(&s->rest);
    ids_fini(call, &s->ids);
    filter_fini(&s->in.filter);
    edit_read_fini(&s->in.changes);
}

static enum volt_poll cancel_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_CANCEL);
}

static enum volt_poll hold_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_HOLD);
}

static enum volt_poll release_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_RELEASE);
}

static enum volt_poll pause_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_PAUSE);
}

static enum volt_poll resume_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_RESUME);
}

static enum volt_poll edit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    return steering_poll(cx, call, state, STEER_EDIT);
}

#define METHOD_STEERING(name_, poll_)                                                    \
    {                                                                                    \
        METHOD_IS(jobs, name_), .flags = METHOD_MORE,                                    \
                                .state_size = sizeof(struct steering), .poll = (poll_),  \
                                .drop = steering_drop                                    \
    }

const struct method method_cancel = METHOD_STEERING(Cancel, cancel_poll);
const struct method method_hold = METHOD_STEERING(Hold, hold_poll);
const struct method method_release = METHOD_STEERING(Release, release_poll);
const struct method method_pause_jobs = METHOD_STEERING(Pause, pause_poll);
const struct method method_resume_jobs = METHOD_STEERING(Resume, resume_poll);
const struct method method_edit = METHOD_STEERING(Edit, edit_poll);
