/* The array machine: job_update() handles events of elements, whose effects are counted
 * here, and events of the whole array are here. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "daemon/job/array.h"
#include "daemon/job/event.h"
#include "daemon/job/spec_edit.h"

struct array *array_new_counts(uint64_t total)
{
    struct array *a = calloc(1, sizeof(*a));

    if (a)
        a->total = total;
    return a;
}

struct array *array_new(uint64_t total)
{
    struct array *a = array_new_counts(total);

    if (!a)
        return NULL;
    a->chunks = calloc((total + ARRAY_CHUNK - 1) / ARRAY_CHUNK, sizeof(*a->chunks));
    if (!a->chunks) {
        free(a);
        return NULL;
    }
    return a;
}

void array_free(struct array *a)
{
    if (!a)
        return;
    for (uint64_t i = 0; a->chunks && i < (a->total + ARRAY_CHUNK - 1) / ARRAY_CHUNK; i++)
        free(a->chunks[i]);
    free(a->chunks);
    free(a);
}

int array_reserve(struct array *a, int64_t offset)
{
    struct job_status **chunk = &a->chunks[(uint64_t)offset / ARRAY_CHUNK];

    if (!*chunk)
        *chunk = calloc(ARRAY_CHUNK, sizeof(**chunk));
    return *chunk ? 0 : -ENOMEM;
}

/* --- events ------------------------------------------------------------------------ */

#define OF_REST UINT64_MAX /* instead of an offset */

/* Returns whether the array's end so far is the end of the element at `offset`. */
static bool is_worse(const struct array *a, const struct job_status *st, uint64_t offset)
{
    int code = job_exit_code(st);

    if (a->by_state[JOB_DONE] == 0 || code != a->exit_code)
        return a->by_state[JOB_DONE] == 0 || code > a->exit_code;
    if (st->ended_usec != a->worst.ended_usec)
        return st->ended_usec < a->worst.ended_usec;
    return offset < a->worst_offset;
}

/* Counts n ended elements: the one at `offset`, or some of the rest. */
static void add_ended(struct array *a, const struct job_status *st, uint64_t offset,
                      uint64_t n)
{
    if (is_worse(a, st, offset)) {
        a->worst = *st;
        a->worst_offset = offset;
        a->exit_code = job_exit_code(st);
    }
    if (st->ended_usec > a->ended_usec)
        a->ended_usec = st->ended_usec;
    a->by_state[JOB_DONE] += n;
    a->by_result[st->result] += n;
}

/* Notes the start, if any. st: of an element, after an event. */
static void note_start(struct array *a, const struct job_status *st)
{
    a->has_begun |= job_has_begun(st);
    if (st->started_usec && (!a->started_usec || st->started_usec < a->started_usec))
        a->started_usec = st->started_usec;
}

/* Moves n elements from state `from` to that of st: the one at `offset`, or some of the
 * rest. */
static void move(struct array *a, uint64_t offset, uint64_t n, uint8_t from,
                 const struct job_status *st, struct array_effects *fx)
{
    *fx = (struct array_effects){
        .moved = n, .from = from, .to = st->state, .result = st->result};
    a->by_state[from] -= n;
    if (st->state != JOB_DONE) {
        a->by_state[st->state] += n;
        return;
    }
    if (n)
        add_ended(a, st, offset, n);
    fx->over = array_done(a);
}

static void end_rest(struct array *a, struct array_effects *fx)
{
    const struct job_status cancelled = array_ended_without(a);
    uint64_t n = a->rest;

    a->rest = 0;
    move(a, OF_REST, n, JOB_QUEUED, &cancelled, fx);
}

/* Returns whether the whole array accepts the event, after its SUBMIT. */
static bool is_of_whole(const struct job_event *ev)
{
    return job_event_rows[ev->type].of_array && ev->type != JOB_EV_SUBMIT;
}

/* Returns whether elements do not accept it. */
static bool is_of_whole_alone(const struct job_event *ev)
{
    return ev->type == JOB_EV_HOLD || ev->type == JOB_EV_RELEASE ||
           ev->type == JOB_EV_MET || ev->type == JOB_EV_EDIT;
}

/* Applies an event after which queued elements stay queued. */
static int update_waiting(struct array *a, const struct job_event *ev)
{
    if (ev->type == JOB_EV_EDIT)
        job_edited_update(&a->edited, &a->edits, ev);
    return ev->type == JOB_EV_MET || ev->type == JOB_EV_EDIT
               ? 0
               : job_held_update(&a->held, &a->holds, ev);
}

/* Returns the result with which the rest ends. */
static enum job_result result_of(const struct job_event *ev)
{
    switch (ev->type) {
    case JOB_EV_EXPIRED:
        return JOB_RESULT_EXPIRED;
    case JOB_EV_DEPENDENCY:
        return JOB_RESULT_DEPENDENCY;
    default:
        return JOB_RESULT_CANCELLED;
    }
}

static void note_end_of_rest(struct array *a, const struct job_event *ev)
{
    a->cancelled_usec = ev->at_usec;
    a->rest_result = (uint8_t)result_of(ev);
    a->cause = (struct job_cause){ev->antecedent, ev->result};
    a->held = JOB_HELD_NO;
}

static int update_whole(struct array *a, const struct job_event *ev,
                        struct array_effects *fx)
{
    *fx = (struct array_effects){0};
    if (ev->type == JOB_EV_SUBMIT && !a->submitted_usec) {
        a->submitted_usec = ev->at_usec;
        a->retry_lost = ev->retry_lost;
        a->held = (uint8_t)ev->held;
        a->rest = a->by_state[JOB_QUEUED] = a->total;
        return 0;
    }
    if (!is_of_whole(ev) || !a->submitted_usec || a->cancelled_usec || array_done(a))
        return -EPROTO;
    if (is_of_whole_alone(ev))
        return update_waiting(a, ev);
    note_end_of_rest(a, ev);
    if (!a->replays)
        end_rest(a, fx);
    return 0;
}

static void leave_rest(struct array *a, uint64_t offset)
{
    a->rest--;
    if (offset != a->next)
        return;
    while (++a->next < a->total && array_own(a, (int64_t)a->next))
        ;
}

void array_element_begin(const struct array *a, struct job_status *ret)
{
    const struct job_event submit = {
        .type = JOB_EV_SUBMIT, .at_usec = a->submitted_usec, .retry_lost = a->retry_lost};

    *ret = (struct job_status){0};
    (void)job_update(ret, &submit); /* a fresh state accepts a submission */
}

/* Applies the first event of an element; st is its place. */
static int begin_element(struct array *a, uint64_t offset, struct job_status *st,
                         const struct job_event *ev)
{
    struct job_status first;

    if (!a->rest)
        return -EPROTO;
    array_element_begin(a, &first);
    if (ev->type != JOB_EV_SUBMIT && job_update(&first, ev) < 0)
        return -EPROTO;
    *st = first;
    leave_rest(a, offset);
    return 0;
}

static int update_element(struct array *a, uint64_t offset, const struct job_event *ev,
                          struct array_effects *fx)
{
    struct job_status *st = &a->chunks[offset / ARRAY_CHUNK][offset % ARRAY_CHUNK];
    uint8_t from = st->state;

    if (is_of_whole_alone(ev))
        return -EPROTO;
    int r = st->submitted_usec ? job_update(st, ev) : begin_element(a, offset, st, ev);

    if (r < 0)
        return r;
    note_start(a, st);
    move(a, offset, 1, from, st, fx);
    return 0;
}

int array_update(struct array *a, int64_t item, const struct job_event *ev,
                 struct array_effects *ret_effects)
{
    return item == ARRAY_WHOLE ? update_whole(a, ev, ret_effects)
                               : update_element(a, (uint64_t)item, ev, ret_effects);
}

void array_replay_begin(struct array *a)
{
    a->replays = true;
}

void array_replay_end(struct array *a)
{
    struct array_effects none;

    a->replays = false;
    if (a->cancelled_usec)
        end_rest(a, &none);
}

/* --- folding ----------------------------------------------------------------------- */

struct job_status array_ended_as(const struct job_status *st)
{
    struct job_status ended = *st;

    if (st->state == JOB_DONE)
        return ended;
    ended.state = JOB_DONE;
    ended.result = JOB_RESULT_LOST;
    return ended;
}

struct job_status array_ended_without(const struct array *a)
{
    struct job_status st = {.state = JOB_DONE,
                            .result = a->cancelled_usec ? a->rest_result
                                                        : (uint8_t)JOB_RESULT_LOST,
                            .cancel_asked = a->rest_result == JOB_RESULT_CANCELLED,
                            .submitted_usec = a->submitted_usec,
                            .ended_usec = a->cancelled_usec};

    if (a->rest_result == JOB_RESULT_DEPENDENCY)
        st.cause = a->cause;
    return st;
}

bool array_is_doomed(const struct array *a)
{
    return a->rest_result == JOB_RESULT_EXPIRED ||
           a->rest_result == JOB_RESULT_DEPENDENCY;
}

bool array_is_cancelled(const struct array *a)
{
    return a->rest_result == JOB_RESULT_CANCELLED;
}

static enum job_event_type end_of_rest(const struct array *a)
{
    if (array_is_cancelled(a))
        return JOB_EV_CANCEL;
    return a->rest_result == JOB_RESULT_EXPIRED ? JOB_EV_EXPIRED : JOB_EV_DEPENDENCY;
}

struct job_event array_end_event(const struct array *a, uint64_t at_usec)
{
    return (struct job_event){.type = end_of_rest(a),
                              .at_usec = at_usec,
                              .antecedent = a->cause.job,
                              .result = (enum job_result)a->cause.result};
}

/* Counts n ended elements of the rest. */
static void fold_ended(struct array *a, const struct job_status *st, uint64_t offset,
                       uint64_t n)
{
    if (!n)
        return;
    a->rest -= n;
    a->by_state[JOB_QUEUED] -= n;
    add_ended(a, st, offset, n);
}

static void fold_element(struct array_fold *f)
{
    const struct job_status st = array_ended_as(&f->element);

    if (f->item != ARRAY_WHOLE)
        fold_ended(f->array, &st, (uint64_t)f->item, 1);
    f->item = ARRAY_WHOLE;
}

void array_fold_begin(struct array_fold *f, struct array *a)
{
    *f = (struct array_fold){.array = a, .item = ARRAY_WHOLE};
}

int array_fold_event(struct array_fold *f, int64_t item, const struct job_event *ev)
{
    struct array *a = f->array;

    if (item == ARRAY_WHOLE) {
        if (!is_of_whole(ev) || a->cancelled_usec)
            return -EPROTO;
        if (is_of_whole_alone(ev))
            return update_waiting(a, ev);
        note_end_of_rest(a, ev);
        return 0;
    }
    if (is_of_whole_alone(ev))
        return -EPROTO;
    if (item != f->item) {
        fold_element(f);
        if (!a->rest)
            return -EPROTO;
        array_element_begin(a, &f->element);
        f->item = item;
    }
    int r = job_update(&f->element, ev);
    if (r == 0)
        note_start(a, &f->element);
    return r;
}

void array_fold_end(struct array_fold *f)
{
    const struct job_status rest = array_ended_without(f->array);

    fold_element(f);
    fold_ended(f->array, &rest, OF_REST, f->array->rest);
}

/* --- questions --------------------------------------------------------------------- */

enum job_state array_state(const struct array *a)
{
    if (array_done(a))
        return JOB_DONE;
    if (a->cancelled_usec)
        return JOB_STOPPING;
    if (a->by_state[JOB_PAUSED] && a->by_state[JOB_PAUSED] == array_busy(a))
        return JOB_PAUSED;
    return a->by_state[JOB_QUEUED] < a->total ? JOB_RUNNING : JOB_QUEUED;
}

struct job_status array_status(const struct array *a)
{
    struct job_status st = a->worst;

    st.state = (uint8_t)array_state(a);
    if (st.state != JOB_DONE)
        st.result = JOB_RESULT_NONE;
    st.submitted_usec = a->submitted_usec;
    st.started_usec = a->started_usec;
    st.has_started = a->started_usec != 0;
    st.ended_usec = st.state == JOB_DONE ? a->ended_usec : 0;
    st.cancel_asked = a->rest_result == JOB_RESULT_CANCELLED;
    st.held = a->held;
    st.edited = a->edited;
    st.edits = a->edits;
    st.holds = a->holds;
    return st;
}

struct job_status array_element(const struct array *a, int64_t offset)
{
    const struct job_status *own = array_own(a, offset);

    if (own)
        return *own;
    if (!a->cancelled_usec)
        return (struct job_status){.submitted_usec = a->submitted_usec};
    return array_ended_without(a);
}

const struct job_status *array_find_own_within(const struct array *a, int64_t *offset,
                                               unsigned *looks)
{
    for (uint64_t at = (uint64_t)*offset; a->chunks && at < a->total && *looks; at++) {
        const struct job_status *st = array_own(a, (int64_t)at);

        --*looks;
        if (st) {
            *offset = (int64_t)at;
            return st;
        }
        if (!a->chunks[at / ARRAY_CHUNK])
            at += ARRAY_CHUNK - 1 - at % ARRAY_CHUNK;
    }
    return NULL;
}

const struct job_status *array_find_own(const struct array *a, int64_t *offset)
{
    unsigned all = UINT_MAX;

    return array_find_own_within(a, offset, &all);
}

int64_t array_next(const struct array *a)
{
    return a->rest ? (int64_t)a->next : ARRAY_WHOLE;
}
