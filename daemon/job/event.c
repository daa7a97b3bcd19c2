/* The rows of event.h, and what their columns call. */
#include "daemon/job/event.h"

#include <errno.h>
#include <string.h>

#define TYPE_BITS 4 /* of the word that an event begins with; then, of EXITED, */
#define KEPT_MAX  UINT64_C(15)
#define KEPT(ev)  ((uint64_t)(ev)->kept << TYPE_BITS)
#define NAMED     (UINT64_C(1) << 8) /* it ends with the pids of survivors ... */
#define OVER      (UINT64_C(1) << 9) /* ... and with what it printed beyond its limit */
#define END_FLAGS (KEPT_MAX << TYPE_BITS | NAMED | OVER)
#define TYPE_MAX  ((UINT64_C(1) << TYPE_BITS) - 1)

_Static_assert(JOB_EV_COUNT <= TYPE_MAX + 1, "a type has room");

/* --- what they change --------------------------------------------------------------- */

/* Only a status that has never been submitted takes it: queued is also the zero value. */
static int apply_submit(struct job_status *st, const struct job_event *ev)
{
    if (st->submitted_usec)
        return -EPROTO;
    st->submitted_usec = ev->at_usec;
    st->retry_lost = ev->retry_lost;
    return 0;
}

static int apply_starting(struct job_status *st, const struct job_event *ev)
{
    if (ev->attempt != st->attempt + 1)
        return -EPROTO;
    st->attempt = ev->attempt;
    st->other_life = ev->other_life;
    return 0;
}

static int apply_started(struct job_status *st, const struct job_event *ev)
{
    st->pid = ev->pid;
    st->started_usec = ev->at_usec;
    return 0;
}

static int apply_timeout(struct job_status *st, const struct job_event *ev)
{
    (void)ev;
    st->timed_out = true;
    return 0;
}

static int apply_output_limit(struct job_status *st, const struct job_event *ev)
{
    (void)ev;
    st->printed_too_much = true;
    return 0;
}

/* That attempt never began: its number is free again. */
static int apply_deferred(struct job_status *st, const struct job_event *ev)
{
    (void)ev;
    st->attempt--;
    st->other_life = false;
    return 0;
}

/* A second one is only noted. */
static int apply_cancel(struct job_status *st, const struct job_event *ev)
{
    st->cancel_asked = true;
    if (st->state == JOB_QUEUED) {
        st->result = JOB_RESULT_CANCELLED;
        st->ended_usec = ev->at_usec;
    }
    return 0;
}

/* Policy over what the process did. What came first wins: a job that is stopped for its
 * timeout and then cancelled timed out. A lost status and a failed exec stay what they
 * are: the process did not end because we stopped it, as far as anybody knows. */
static enum job_result verdict(const struct job_status *st, enum job_result seen)
{
    if (seen == JOB_RESULT_LOST || seen == JOB_RESULT_EXEC_FAILED)
        return seen;
    if (st->timed_out)
        return JOB_RESULT_TIMEOUT;
    if (st->printed_too_much)
        return JOB_RESULT_OUTPUT_LIMIT;
    if (st->cancel_asked)
        return JOB_RESULT_CANCELLED;
    return seen;
}

static bool result_allowed(enum job_result r)
{
    return r == JOB_RESULT_SUCCESS || r == JOB_RESULT_EXIT || r == JOB_RESULT_SIGNAL ||
           r == JOB_RESULT_EXEC_FAILED || r == JOB_RESULT_LOST;
}

bool job_goes_again(const struct job_status *st, const struct job_event *exited)
{
    return exited->result == JOB_RESULT_LOST && st->retry_lost &&
           st->lost < JOB_LOST_MAX && !st->cancel_asked && !st->timed_out &&
           !st->printed_too_much && exited->survivors == 0;
}

/* As before the attempt; its number stays, so that the next one is another. */
static void go_again(struct job_status *st)
{
    *st = (struct job_status){.retry_lost = st->retry_lost,
                              .lost = (uint8_t)(st->lost + 1),
                              .attempt = st->attempt,
                              .submitted_usec = st->submitted_usec};
}

/* Success without a process is that of a kind that needs none, or of an attempt that was
 * cancelled before it began. */
static enum job_code code_of(const struct job_status *st, const struct job_event *exited)
{
    switch (exited->result) {
    case JOB_RESULT_SUCCESS:
        return st->pid > 0 ? JOB_CODE_STATUS : JOB_CODE_NONE;
    case JOB_RESULT_EXIT:
        return JOB_CODE_STATUS;
    case JOB_RESULT_SIGNAL:
        return JOB_CODE_SIGNAL;
    case JOB_RESULT_EXEC_FAILED:
        return JOB_CODE_ERROR;
    default:
        return JOB_CODE_NONE;
    }
}

static int apply_exited(struct job_status *st, const struct job_event *ev)
{
    bool has_step = ev->result == JOB_RESULT_EXEC_FAILED || ev->result == JOB_RESULT_LOST;

    if (!result_allowed(ev->result))
        return -EPROTO;
    if (job_goes_again(st, ev)) {
        go_again(st);
        return 1;
    }
    st->result = (uint8_t)verdict(st, ev->result);
    st->code = ev->code;
    st->code_is = (uint8_t)code_of(st, ev);
    st->step = has_step ? ev->step : NULL;
    st->usage = ev->usage;
    st->survivors = ev->survivors;
    st->over_kib = st->result == JOB_RESULT_OUTPUT_LIMIT ? ev->over_kib : 0;
    st->named = ev->named;
    st->kept = ev->kept;
    st->ended_usec = ev->at_usec;
    return 0;
}

int job_update(struct job_status *st, const struct job_event *ev)
{
    if ((unsigned)ev->type >= JOB_EV_COUNT)
        return -EPROTO;

    const struct job_event_row *row = &job_event_rows[ev->type];
    int next = row->next[st->state];
    int r = next == JOB_EVENT_NO ? -EPROTO : row->apply(st, ev);

    if (r == 0)
        st->state = (uint8_t)next;
    return r < 0 ? r : 0;
}

const char *job_event_name(enum job_event_type t)
{
    return job_event_rows[t].name;
}

/* --- their bytes -------------------------------------------------------------------- */

static void pack_starting(struct pack *p, const struct job_event *ev, uint64_t life)
{
    pack_number(p, ev->attempt);
    pack_number(p, life);
}

static void unpack_starting(struct job_event_bytes *b, struct job_event *ret)
{
    ret->attempt = (uint32_t)unpack_number_max(b->from, UINT32_MAX);
    b->life = unpack_number(b->from);
}

static void pack_started(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, (uint32_t)ev->pid);
}

static void unpack_started(struct job_event_bytes *b, struct job_event *ret)
{
    ret->pid = (int32_t)unpack_number_max(b->from, INT32_MAX);
}

static uint64_t flags_of(const struct job_event *ev)
{
    return KEPT(ev) | (ev->named ? NAMED : 0) | (ev->over_kib ? OVER : 0);
}

static void pack_exited(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->result);
    pack_signed(p, ev->code);
    pack_string(p, ev->step ? ev->step : "");
    pack_number(p, ev->usage.user_usec);
    pack_number(p, ev->usage.system_usec);
    pack_number(p, ev->usage.max_rss_bytes);
    pack_number(p, ev->survivors);
    for (size_t i = 0; ev->named && i < JOB_NAMED_MAX; i++)
        pack_number(p, ev->named->pid[i]);
    if (ev->over_kib)
        pack_number(p, ev->over_kib);
}

static void unpack_exited(struct job_event_bytes *b, struct job_event *ret)
{
    struct unpack *u = b->from;
    struct job_event_room *room = b->room;

    ret->kept = b->flags >> TYPE_BITS & KEPT_MAX;
    ret->result = (enum job_result)unpack_number_max(u, JOB_RESULT_COUNT - 1);
    ret->code = (int32_t)unpack_signed(u);
    size_t n = unpack_number_max(u, JOB_STEP_MAX - 1);
    const uint8_t *step = unpack_raw(u, n);
    if (step && n) {
        memcpy(room->step, step, n);
        room->step[n] = '\0';
        ret->step = room->step;
    }
    ret->usage.user_usec = unpack_number(u);
    ret->usage.system_usec = unpack_number(u);
    ret->usage.max_rss_bytes = unpack_number(u);
    ret->survivors = (uint32_t)unpack_number_max(u, UINT32_MAX);
    if (b->flags & NAMED) {
        for (size_t i = 0; i < JOB_NAMED_MAX; i++)
            room->named.pid[i] = (uint32_t)unpack_number_max(u, UINT32_MAX);
        ret->named = &room->named;
    }
    if (b->flags & OVER)
        ret->over_kib = (uint32_t)unpack_number_max(u, UINT32_MAX);
}

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life)
{
    const struct job_event_row *row = &job_event_rows[ev->type];

    pack_number(p, (uint64_t)ev->type | (flags_of(ev) & row->flags));
    pack_number(p, ev->at_usec);
    if (row->pack)
        row->pack(p, ev, life);
}

int job_event_unpack(struct unpack *u, struct job_event *ret, uint64_t *ret_life,
                     struct job_event_room *room)
{
    uint64_t word = unpack_number_max(u, END_FLAGS | TYPE_MAX), type = word & TYPE_MAX;
    struct job_event_bytes b = {.from = u, .flags = word & END_FLAGS, .room = room};
    const struct job_event_row *row = type < JOB_EV_COUNT ? &job_event_rows[type] : NULL;

    *ret = (struct job_event){.type = (enum job_event_type)type};
    *ret_life = 0;
    if (!row || !row->is_own_entry || (b.flags & ~row->flags)) {
        u->failed = true;
        return -EBADMSG;
    }
    ret->at_usec = unpack_number(u);
    if (row->unpack)
        row->unpack(&b, ret);
    *ret_life = b.life;
    return u->failed ? -EBADMSG : 0;
}

/* --- the rows ----------------------------------------------------------------------- */

#define NO       JOB_EVENT_NO
#define QUEUED   JOB_QUEUED
#define STARTING JOB_STARTING
#define RUNNING  JOB_RUNNING
#define STOPPING JOB_STOPPING
#define DONE     JOB_DONE

/* Beside each: from queued, starting, running, stopping, done. EXITED leads to queued
 * instead of done when job_goes_again(). */
const struct job_event_row job_event_rows[JOB_EV_COUNT] = {
    [JOB_EV_SUBMIT] = {.name = "submit",
                       .next = {QUEUED, NO, NO, NO, NO},
                       .when = JOB_EVENT_BEFORE,
                       .apply = apply_submit},
    [JOB_EV_STARTING] = {.name = "starting",
                         .next = {STARTING, NO, NO, NO, NO},
                         .when = JOB_EVENT_NOW,
                         .owed_without_process = true,
                         .awaited = true,
                         .apply = apply_starting,
                         .pack = pack_starting,
                         .unpack = unpack_starting,
                         .is_own_entry = true},
    [JOB_EV_STARTED] = {.name = "started",
                        .next = {NO, RUNNING, NO, STOPPING, NO},
                        .when = JOB_EVENT_OWED,
                        .apply = apply_started,
                        .pack = pack_started,
                        .unpack = unpack_started,
                        .is_own_entry = true},
    [JOB_EV_TIMEOUT] = {.name = "timeout",
                        .next = {NO, NO, STOPPING, NO, NO},
                        .when = JOB_EVENT_NOW,
                        .apply = apply_timeout,
                        .is_own_entry = true},
    [JOB_EV_CANCEL] = {.name = "cancel",
                       .next = {DONE, STOPPING, STOPPING, STOPPING, NO},
                       .when = JOB_EVENT_NOW,
                       .apply = apply_cancel,
                       .is_own_entry = true},
    [JOB_EV_EXITED] = {.name = "exited",
                       .next = {NO, DONE, DONE, DONE, NO},
                       .when = JOB_EVENT_AT_COMMIT,
                       .awaited = true,
                       .apply = apply_exited,
                       .pack = pack_exited,
                       .unpack = unpack_exited,
                       .flags = END_FLAGS,
                       .is_own_entry = true},
    [JOB_EV_OUTPUT_LIMIT] = {.name = "output_limit",
                             .next = {NO, NO, STOPPING, NO, NO},
                             .when = JOB_EVENT_NOW,
                             .apply = apply_output_limit,
                             .is_own_entry = true},
    [JOB_EV_DEFERRED] = {.name = "deferred",
                         .next = {NO, QUEUED, NO, NO, NO},
                         .when = JOB_EVENT_NOW,
                         .apply = apply_deferred,
                         .is_own_entry = true},
};
