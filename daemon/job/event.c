/* The rows of event.h, and the functions in their columns. */
#include "daemon/job/event.h"
#include "daemon/job/news.h"
#include "daemon/job/spec_edit.h"

#include <errno.h>
#include <string.h>

#define TYPE_BITS 4 /* of an event's first word; then, for EXITED: */
#define KEPT_MAX  UINT64_C(15)
#define KEPT(ev)  ((uint64_t)(ev)->kept << TYPE_BITS)
#define NAMED     (UINT64_C(1) << 8)  /* ends with the pids of survivors ... */
#define OVER      (UINT64_C(1) << 9)  /* ... and with the KiB printed above its limit */
#define STARTS    (UINT64_C(1) << 10) /* NAMED: their start times as well */
#define LEFT      (UINT64_C(1) << 11) /* ... and how many left processes it killed */
#define AGAIN     (UINT64_C(1) << 12) /* ... and when another attempt follows */
#define RAN       (UINT64_C(1) << 13) /* a record says whether it had a cgroup; ... */
#define CONTAINED (UINT64_C(1) << 14) /* ... it had, and there are its figures */
#define BASE      (UINT64_C(1) << TYPE_BITS) /* STARTING: what came before */
#define END_FLAGS                                                                        \
    (KEPT_MAX << TYPE_BITS | NAMED | OVER | STARTS | LEFT | AGAIN | RAN | CONTAINED)
#define TYPE_MAX ((UINT64_C(1) << TYPE_BITS) - 1)

_Static_assert(JOB_EV_COUNT <= TYPE_MAX + 1, "a type has room");
_Static_assert(JOB_RESULT_COUNT <= 16 && JOB_LOST_MAX < 16, "four bits are enough");

/* --- --- changes of the status ------------------------------------------------------ */

/* Accepted only by a fresh status: queued is also the zero value. */
static int apply_submit(struct job_status *st, const struct job_event *ev)
{
    if (st->submitted_usec)
        return -EPROTO;
    st->submitted_usec = ev->at_usec;
    st->retry_lost = ev->retry_lost;
    st->held = (uint8_t)ev->held;
    return 0;
}

/* Sets what came before from the base. Only the submission is known, and maybe what it
 * waited for: a held job was released. */
static void take_base(struct job_status *st, const struct job_base *base)
{
    st->held = JOB_HELD_NO;
    st->has_started = base->has_started;
    st->lost = base->lost & 0xf;
    st->last = base->last & 0xf;
    st->again = base->again;
}

static int apply_starting(struct job_status *st, const struct job_event *ev)
{
    const bool lacks = ev->is_base && ev->attempt > st->attempt + 1;

    if (!lacks && (ev->attempt != st->attempt + 1 || st->held))
        return -EPROTO;
    if (lacks)
        take_base(st, &ev->base);
    st->attempt = ev->attempt;
    st->other_life = ev->other_life;
    return 0;
}

static int apply_started(struct job_status *st, const struct job_event *ev)
{
    st->pid = ev->pid;
    st->started_usec = ev->at_usec;
    st->has_started = true;
    return 0;
}

/* Ends the pause, if there is one. A clock set back makes it a short one. */
static void end_pause(struct job_status *st, uint64_t at_usec)
{
    const uint64_t since = st->paused_at_usec;

    if (st->state != JOB_PAUSED)
        return;
    st->paused_usec += at_usec > since ? at_usec - since : 1;
    st->paused_at_usec = 0;
}

static int apply_timeout(struct job_status *st, const struct job_event *ev)
{
    end_pause(st, ev->at_usec);
    st->timed_out = true;
    return 0;
}

static int apply_output_limit(struct job_status *st, const struct job_event *ev)
{
    end_pause(st, ev->at_usec);
    st->printed_too_much = true;
    return 0;
}

/* Undoes STARTING: the attempt never began, its number is free again. */
static int apply_deferred(struct job_status *st, const struct job_event *ev)
{
    (void)ev;
    st->attempt--;
    st->other_life = false;
    return 0;
}

static void end_in_queue(struct job_status *st, enum job_result result, uint64_t at)
{
    st->result = (uint8_t)result & 0xf;
    st->ended_usec = at;
    st->held = JOB_HELD_NO;
    st->usage = (struct job_usage){0};
}

/* A second CANCEL is only noted. */
static int apply_cancel(struct job_status *st, const struct job_event *ev)
{
    st->cancel_asked = true;
    end_pause(st, ev->at_usec);
    if (st->state == JOB_QUEUED)
        end_in_queue(st, JOB_RESULT_CANCELLED, ev->at_usec);
    return 0;
}

static int apply_expired(struct job_status *st, const struct job_event *ev)
{
    end_in_queue(st, JOB_RESULT_EXPIRED, ev->at_usec);
    return 0;
}

static int apply_dependency(struct job_status *st, const struct job_event *ev)
{
    end_in_queue(st, JOB_RESULT_DEPENDENCY, ev->at_usec);
    st->cause = (struct job_cause){ev->antecedent, ev->result};
    return 0;
}

/* MET changes nothing here: the store keeps what is still waited for. */
static int apply_met(struct job_status *st, const struct job_event *ev)
{
    (void)st;
    (void)ev;
    return 0;
}

static int apply_pause(struct job_status *st, const struct job_event *ev)
{
    st->paused_at_usec = ev->at_usec;
    return 0;
}

static int apply_resume(struct job_status *st, const struct job_event *ev)
{
    end_pause(st, ev->at_usec);
    return 0;
}

/* An admin's hold stays when the user holds the job as well. */
int job_held_update(uint8_t *held, uint16_t *holds, const struct job_event *ev)
{
    if (ev->type == JOB_EV_RELEASE && !*held)
        return -EPROTO;
    if (ev->type == JOB_EV_RELEASE) {
        *held = JOB_HELD_NO;
        return 0;
    }
    if (ev->held != JOB_HELD_BY_ADMIN && *holds < JOB_HOLDS_MAX)
        ++*holds;
    if (*held < ev->held)
        *held = (uint8_t)ev->held;
    return 0;
}

static int apply_held(struct job_status *st, const struct job_event *ev)
{
    return job_held_update(&st->held, &st->holds, ev);
}

void job_edited_update(uint16_t *edited, uint16_t *edits, const struct job_event *ev)
{
    *edited = (uint16_t)(*edited | job_edit_fields(&ev->changes));
    *edits = (uint16_t)(*edits + (*edits < JOB_EDITS_MAX));
}

static int apply_edit(struct job_status *st, const struct job_event *ev)
{
    if (st->attempt)
        return -EPROTO;
    job_edited_update(&st->edited, &st->edits, ev);
    return 0;
}

/* Applies policy to what the process did. The first cause wins: a job stopped for its
 * timeout and then cancelled timed out. LOST and EXEC_FAILED stay: as far as is known,
 * the process did not end because voltd stopped it. */
enum job_result job_verdict(const struct job_status *st, enum job_result seen)
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
           r == JOB_RESULT_EXEC_FAILED || r == JOB_RESULT_LOST || r == JOB_RESULT_OOM;
}

bool job_has_begun(const struct job_status *st)
{
    return st->started_usec || st->last ||
           (st->state == JOB_DONE && st->result != JOB_RESULT_CANCELLED &&
            st->result != JOB_RESULT_EXPIRED && st->result != JOB_RESULT_DEPENDENCY);
}

bool job_after_is_met(enum job_after when, bool started, enum job_result result)
{
    switch (when) {
    case JOB_AFTER_OK:
        return result == JOB_RESULT_SUCCESS;
    case JOB_AFTER_NOTOK:
        return result != JOB_RESULT_NONE && result != JOB_RESULT_SUCCESS;
    case JOB_AFTER_ANY:
        return result != JOB_RESULT_NONE;
    case JOB_AFTER_START:
        break;
    }
    return started;
}

bool job_goes_again(const struct job_status *st, const struct job_event *exited)
{
    if (exited->again)
        return true;
    return exited->result == JOB_RESULT_LOST && st->retry_lost &&
           st->lost < JOB_LOST_MAX && !st->cancel_asked && !st->timed_out &&
           !st->printed_too_much && exited->survivors == 0;
}

struct job_event job_starting(const struct job_status *st, uint64_t now_usec)
{
    struct job_event ev = {
        .type = JOB_EV_STARTING, .at_usec = now_usec, .attempt = st->attempt + 1};

    ev.is_base = st->attempt > 0 && st->attempt % JOB_ATTEMPTS_KEPT == 0;
    if (ev.is_base)
        ev.base = (struct job_base){.again = st->again,
                                    .lost = st->lost,
                                    .last = st->last,
                                    .has_started = st->has_started};
    return ev;
}

static uint64_t first_start(const struct job_status *st, const struct job_event *exited)
{
    if (st->again.first_usec)
        return st->again.first_usec;
    return st->started_usec ? st->started_usec : exited->at_usec;
}

/* Resets the status to that before the attempt; the attempt's number stays used. */
static void go_again(struct job_status *st, const struct job_event *exited)
{
    const enum job_result result = job_verdict(st, exited->result);

    *st = (struct job_status){
        .retry_lost = st->retry_lost,
        .has_started = st->has_started,
        .edited = st->edited,
        .edits = st->edits,
        .holds = st->holds,
        .lost = (uint8_t)(st->lost + (result == JOB_RESULT_LOST)) & 0xf,
        .last = (uint8_t)result & 0xf,
        .attempt = st->attempt,
        .submitted_usec = st->submitted_usec,
        .again = {first_start(st, exited), exited->at_usec, exited->wait_usec}};
}

/* Success without a process: a kind without processes, or an attempt cancelled before it
 * began. */
static enum job_code code_of(const struct job_status *st, const struct job_event *exited)
{
    switch (exited->result) {
    case JOB_RESULT_SUCCESS:
        return st->pid > 0 ? JOB_CODE_STATUS : JOB_CODE_NONE;
    case JOB_RESULT_EXIT:
        return JOB_CODE_STATUS;
    case JOB_RESULT_SIGNAL:
    case JOB_RESULT_OOM:
        return JOB_CODE_SIGNAL;
    case JOB_RESULT_EXEC_FAILED:
        return JOB_CODE_ERROR;
    default:
        return JOB_CODE_NONE;
    }
}

struct job_end job_end_notified(const struct job_event *ev, const struct job_status *st)
{
    if (ev->type != JOB_EV_EXITED || st->state != JOB_QUEUED)
        return job_end_of(st);
    struct job_status then = {.state = JOB_DONE,
                              .result = st->last,
                              .pid = 1,
                              .code = ev->code,
                              .step = ev->step};
    then.code_is = (uint8_t)code_of(&then, ev) & 3;
    return job_end_of(&then);
}

/* EXEC_FAILED and LOST are verdicts by themselves; OOM is one only if voltd had not asked
 * for the end. */
static bool has_step(enum job_result verdict)
{
    return verdict == JOB_RESULT_EXEC_FAILED || verdict == JOB_RESULT_LOST ||
           verdict == JOB_RESULT_OOM;
}

static int apply_exited(struct job_status *st, const struct job_event *ev)
{
    if (!result_allowed(ev->result) || (ev->again && (st->cancel_asked || ev->survivors)))
        return -EPROTO;
    if (job_goes_again(st, ev)) {
        go_again(st, ev);
        return 1;
    }
    end_pause(st, ev->at_usec);
    st->result = (uint8_t)job_verdict(st, ev->result) & 0xf;
    st->code = ev->code;
    st->code_is = (uint8_t)code_of(st, ev) & 3;
    st->step = has_step((enum job_result)st->result) ? ev->step : NULL;
    st->usage = ev->usage;
    st->survivors = ev->survivors;
    st->over_kib = st->result == JOB_RESULT_OUTPUT_LIMIT ? ev->over_kib : 0;
    st->named = ev->named;
    st->kept = ev->kept & 0xf;
    st->left_killed = ev->left_killed;
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

void job_news_set_more(struct job_news *news, const struct job_event *ev)
{
    if (ev->type == JOB_EV_EXITED)
        news->again_usec = ev->wait_usec;
    else
        news->cause = ev->antecedent;
    news->cause_result =
        ev->type == JOB_EV_DEPENDENCY ? (uint8_t)ev->result : (uint8_t)JOB_RESULT_NONE;
}

const char *job_event_name(enum job_event_type t)
{
    return job_event_rows[t].name;
}

/* --- --- bytes ---------------------------------------------------------------------- */

static void pack_starting(struct pack *p, const struct job_event *ev, uint64_t life)
{
    const struct job_base *base = &ev->base;

    pack_number(p, ev->attempt);
    pack_number(p, life);
    if (!ev->is_base)
        return;
    pack_number(p, base->again.first_usec);
    pack_number(p, base->again.ended_usec);
    pack_number(p, base->again.wait_usec);
    pack_number(p, base->lost);
    pack_number(p, base->last);
    pack_number(p, base->has_started);
}

static void unpack_base(struct unpack *u, struct job_base *ret)
{
    ret->again.first_usec = unpack_number(u);
    ret->again.ended_usec = unpack_number(u);
    ret->again.wait_usec = unpack_number(u);
    ret->lost = (uint8_t)unpack_number_max(u, JOB_LOST_MAX);
    ret->last = (uint8_t)unpack_number_max(u, JOB_RESULT_COUNT - 1);
    ret->has_started = unpack_number_max(u, 1);
}

static void unpack_starting(struct job_event_bytes *b, struct job_event *ret)
{
    ret->attempt = (uint32_t)unpack_number_max(b->from, UINT32_MAX);
    b->life = unpack_number(b->from);
    ret->is_base = b->flags & BASE;
    if (ret->is_base)
        unpack_base(b->from, &ret->base);
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

static bool has_starts(const struct job_event *ev)
{
    for (size_t i = 0; ev->named && i < JOB_NAMED_MAX; i++)
        if (ev->named->start[i])
            return true;
    return false;
}

static uint64_t flags_of(const struct job_event *ev)
{
    return KEPT(ev) | (ev->named ? NAMED : 0) | (has_starts(ev) ? STARTS : 0) |
           (ev->over_kib ? OVER : 0) | (ev->left_killed ? LEFT : 0) |
           (ev->again ? AGAIN : 0) | (ev->is_base ? BASE : 0) |
           (ev->usage.contained ? RAN : 0) |
           (ev->usage.contained == JOB_CONTAINED_YES ? CONTAINED : 0);
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
    for (size_t i = 0; has_starts(ev) && i < JOB_NAMED_MAX; i++)
        pack_number(p, ev->named->start[i]);
    if (ev->over_kib)
        pack_number(p, ev->over_kib);
    if (ev->left_killed)
        pack_number(p, ev->left_killed);
    if (ev->usage.contained == JOB_CONTAINED_YES) {
        pack_number(p, ev->usage.memory_peak_kib);
        pack_number(p, ev->usage.oom_kills);
    }
    if (!ev->again)
        return;
    pack_number(p, ev->wait_usec);
    pack_number(p, ev->printed[0]);
    pack_number(p, ev->printed[1]);
}

static const struct job_named *unpack_named(struct unpack *u, bool starts,
                                            struct job_named *ret)
{
    *ret = (struct job_named){.pid = {0}};
    for (size_t i = 0; i < JOB_NAMED_MAX; i++)
        ret->pid[i] = (uint32_t)unpack_number_max(u, UINT32_MAX);
    for (size_t i = 0; starts && i < JOB_NAMED_MAX; i++)
        ret->start[i] = (uint32_t)unpack_number_max(u, UINT32_MAX);
    return ret;
}

static void unpack_contained(struct unpack *u, uint64_t flags, struct job_usage *ret)
{
    ret->contained = flags & CONTAINED ? JOB_CONTAINED_YES
                     : flags & RAN     ? JOB_CONTAINED_NO
                                       : JOB_CONTAINED_UNKNOWN;
    u->failed |= flags & CONTAINED && !(flags & RAN);
    if (!(flags & CONTAINED))
        return;
    ret->memory_peak_kib = unpack_number_max(u, JOB_PEAK_KIB_MAX) & JOB_PEAK_KIB_MAX;
    ret->oom_kills = unpack_number_max(u, JOB_OOM_KILLS_MAX) & JOB_OOM_KILLS_MAX;
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
    if (b->flags & NAMED)
        ret->named = unpack_named(u, b->flags & STARTS, &room->named);
    if (b->flags & OVER)
        ret->over_kib = (uint32_t)unpack_number_max(u, UINT32_MAX);
    if (b->flags & LEFT)
        ret->left_killed = (uint8_t)unpack_number_max(u, UINT8_MAX);
    unpack_contained(u, b->flags, &ret->usage);
    ret->again = b->flags & AGAIN;
    if (!ret->again)
        return;
    ret->wait_usec = unpack_number(u);
    ret->printed[0] = unpack_number(u);
    ret->printed[1] = unpack_number(u);
}

static void pack_hold(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->held);
    pack_number(p, ev->by);
}

static void unpack_hold(struct job_event_bytes *b, struct job_event *ret)
{
    ret->held = (enum job_held)unpack_number_max(b->from, JOB_HELD_BY_ADMIN);
    ret->by = (uint32_t)unpack_number_max(b->from, UINT32_MAX);
}

static void pack_by(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->by);
}

static void unpack_by(struct job_event_bytes *b, struct job_event *ret)
{
    ret->by = (uint32_t)unpack_number_max(b->from, UINT32_MAX);
}

static void pack_dependency(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->antecedent);
    pack_number(p, ev->result);
}

static void unpack_dependency(struct job_event_bytes *b, struct job_event *ret)
{
    ret->antecedent = unpack_number(b->from);
    ret->result = (enum job_result)unpack_number_max(b->from, JOB_RESULT_COUNT - 1);
}

static void pack_met(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->antecedent);
    pack_number(p, ev->when);
}

static void unpack_met(struct job_event_bytes *b, struct job_event *ret)
{
    ret->antecedent = unpack_number(b->from);
    ret->when = (enum job_after)unpack_number_max(b->from, JOB_AFTER_START);
}

static void pack_edit(struct pack *p, const struct job_event *ev, uint64_t life)
{
    (void)life;
    pack_number(p, ev->by);
    pack_number(p, ev->changes.front);
    pack_number(p, ev->changes.n);
    pack_raw(p, ev->changes.bytes, ev->changes.n);
}

static void unpack_edit(struct job_event_bytes *b, struct job_event *ret)
{
    ret->by = (uint32_t)unpack_number_max(b->from, UINT32_MAX);
    ret->changes.front = unpack_number_max(b->from, JOB_FRONT_MAX);
    ret->changes.n = (uint32_t)unpack_number_max(b->from, unpack_left(b->from));
    ret->changes.bytes = unpack_raw(b->from, ret->changes.n);
}

void job_event_pack(struct pack *p, const struct job_event *ev, uint64_t life)
{
    const struct job_event_row *row = &job_event_rows[ev->type];

    pack_number(p, (uint64_t)ev->type | (flags_of(ev) & row->flags));
    pack_number(p, ev->at_usec);
    if (row->pack)
        row->pack(p, ev, life);
}

struct job_event_glance job_event_glance(const void *bytes, size_t n)
{
    struct unpack u = unpack_of(bytes, n);
    const uint64_t word = unpack_number(&u), type = word & TYPE_MAX;
    struct job_event_glance ret = {.passes = type < JOB_EV_COUNT &&
                                             job_event_rows[type].passes};

    (void)unpack_number(&u);
    if (word == (JOB_EV_STARTING | BASE))
        ret.base = (uint32_t)unpack_number(&u);
    return ret;
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
#define PAUSED   JOB_PAUSED
#define STOPPING JOB_STOPPING
#define DONE     JOB_DONE

/* next: from queued, starting, running, paused, stopping, done. EXITED leads to queued
 * instead of done when job_goes_again(). */
const struct job_event_row job_event_rows[JOB_EV_COUNT] = {
    [JOB_EV_SUBMIT] = {.name = "submit",
                       .next = {QUEUED, NO, NO, NO, NO, NO},
                       .when = JOB_EVENT_BEFORE,
                       .of_array = true,
                       .apply = apply_submit},
    [JOB_EV_STARTING] = {.name = "starting",
                         .next = {STARTING, NO, NO, NO, NO, NO},
                         .when = JOB_EVENT_NOW,
                         .owed_without_process = true,
                         .awaited = true,
                         .apply = apply_starting,
                         .pack = pack_starting,
                         .unpack = unpack_starting,
                         .flags = BASE,
                         .is_own_entry = true,
                         .passes = true},
    [JOB_EV_STARTED] = {.name = "started",
                        .next = {NO, RUNNING, NO, NO, STOPPING, NO},
                        .when = JOB_EVENT_OWED,
                        .apply = apply_started,
                        .pack = pack_started,
                        .unpack = unpack_started,
                        .is_own_entry = true,
                        .passes = true},
    [JOB_EV_TIMEOUT] = {.name = "timeout",
                        .next = {NO, NO, STOPPING, STOPPING, NO, NO},
                        .when = JOB_EVENT_NOW,
                        .apply = apply_timeout,
                        .is_own_entry = true,
                        .passes = true},
    [JOB_EV_CANCEL] = {.name = "cancel",
                       .next = {DONE, STOPPING, STOPPING, STOPPING, STOPPING, NO},
                       .when = JOB_EVENT_NOW,
                       .of_array = true,
                       .apply = apply_cancel,
                       .is_own_entry = true},
    [JOB_EV_EXITED] = {.name = "exited",
                       .next = {NO, DONE, DONE, DONE, DONE, NO},
                       .when = JOB_EVENT_AT_COMMIT,
                       .awaited = true,
                       .apply = apply_exited,
                       .pack = pack_exited,
                       .unpack = unpack_exited,
                       .flags = END_FLAGS,
                       .is_own_entry = true,
                       .passes = true},
    [JOB_EV_OUTPUT_LIMIT] = {.name = "output_limit",
                             .next = {NO, NO, STOPPING, STOPPING, NO, NO},
                             .when = JOB_EVENT_NOW,
                             .apply = apply_output_limit,
                             .is_own_entry = true,
                             .passes = true},
    [JOB_EV_DEFERRED] = {.name = "deferred",
                         .next = {NO, QUEUED, NO, NO, NO, NO},
                         .when = JOB_EVENT_NOW,
                         .apply = apply_deferred,
                         .is_own_entry = true,
                         .passes = true},
    [JOB_EV_HOLD] = {.name = "hold",
                     .next = {QUEUED, NO, NO, NO, NO, NO},
                     .when = JOB_EVENT_NOW,
                     .of_array = true,
                     .apply = apply_held,
                     .pack = pack_hold,
                     .unpack = unpack_hold,
                     .is_own_entry = true,
                     .passes = true},
    [JOB_EV_RELEASE] = {.name = "release",
                        .next = {QUEUED, NO, NO, NO, NO, NO},
                        .when = JOB_EVENT_NOW,
                        .of_array = true,
                        .apply = apply_held,
                        .pack = pack_by,
                        .unpack = unpack_by,
                        .is_own_entry = true,
                        .passes = true},
    [JOB_EV_EXPIRED] = {.name = "expired",
                        .next = {DONE, NO, NO, NO, NO, NO},
                        .when = JOB_EVENT_NOW,
                        .of_array = true,
                        .apply = apply_expired,
                        .is_own_entry = true},
    [JOB_EV_DEPENDENCY] = {.name = "dependency",
                           .next = {DONE, NO, NO, NO, NO, NO},
                           .when = JOB_EVENT_NOW,
                           .of_array = true,
                           .apply = apply_dependency,
                           .pack = pack_dependency,
                           .unpack = unpack_dependency,
                           .is_own_entry = true},
    [JOB_EV_MET] = {.name = "met",
                    .next = {QUEUED, NO, NO, NO, NO, NO},
                    .when = JOB_EVENT_NOW,
                    .of_array = true,
                    .apply = apply_met,
                    .pack = pack_met,
                    .unpack = unpack_met,
                    .is_own_entry = true},
    [JOB_EV_PAUSE] = {.name = "pause",
                      .next = {NO, NO, PAUSED, NO, NO, NO},
                      .when = JOB_EVENT_NOW,
                      .apply = apply_pause,
                      .pack = pack_by,
                      .unpack = unpack_by,
                      .is_own_entry = true,
                      .passes = true},
    [JOB_EV_RESUME] = {.name = "resume",
                       .next = {NO, NO, NO, RUNNING, NO, NO},
                       .when = JOB_EVENT_NOW,
                       .apply = apply_resume,
                       .pack = pack_by,
                       .unpack = unpack_by,
                       .is_own_entry = true,
                       .passes = true},
    [JOB_EV_EDIT] = {.name = "edit",
                     .next = {QUEUED, NO, NO, NO, NO, NO},
                     .when = JOB_EVENT_NOW,
                     .of_array = true,
                     .apply = apply_edit,
                     .pack = pack_edit,
                     .unpack = unpack_edit,
                     .is_own_entry = true},
};
