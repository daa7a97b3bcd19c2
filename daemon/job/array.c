/* The array machine: events of elements go through job_update(), and what they change is
 * counted; events of the array as a whole are here. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/job/array.h"

struct array *array_new(uint64_t total)
{
    struct array *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->total = total;
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
    for (uint64_t i = 0; i < (a->total + ARRAY_CHUNK - 1) / ARRAY_CHUNK; i++)
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

/* The order of ends matters: of equal exit codes the first one counts. */
static void note_end(struct array *a, const struct job_status *st, bool first)
{
    int code = job_exit_code(st);

    if (!first && code <= a->exit_code)
        return;
    a->worst = *st;
    a->exit_code = code;
}

void array_add_ended(struct array *a, const struct job_status *st, uint64_t n)
{
    note_end(a, st, a->by_state[JOB_DONE] == 0);
    a->by_state[JOB_DONE] += n;
    a->by_result[st->result] += n;
}

/* n elements have come from `from` to the state of st. */
static void move(struct array *a, uint64_t n, uint8_t from, const struct job_status *st,
                 struct array_effects *fx)
{
    *fx = (struct array_effects){
        .moved = n, .from = from, .to = st->state, .result = st->result};
    a->by_state[from] -= n;
    if (st->state != JOB_DONE) {
        a->by_state[st->state] += n;
        return;
    }
    if (n)
        array_add_ended(a, st, n);
    fx->over = array_done(a);
}

static void end_rest(struct array *a, struct array_effects *fx)
{
    const struct job_status cancelled = {.state = JOB_DONE,
                                         .result = JOB_RESULT_CANCELLED};
    uint64_t n = a->rest;

    a->rest = 0;
    move(a, n, JOB_QUEUED, &cancelled, fx);
}

static int update_whole(struct array *a, const struct job_event *ev,
                        struct array_effects *fx)
{
    *fx = (struct array_effects){0};
    if (ev->type == JOB_EV_SUBMIT && !a->submitted_usec) {
        a->submitted_usec = ev->at_usec;
        a->retry_lost = ev->retry_lost;
        a->rest = a->by_state[JOB_QUEUED] = a->total;
        return 0;
    }
    if (ev->type != JOB_EV_CANCEL || !a->submitted_usec || a->cancelled_usec ||
        array_done(a))
        return -EPROTO;
    a->cancelled_usec = ev->at_usec;
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

/* The first event of an element; st is its place. */
static int begin_element(struct array *a, uint64_t offset, struct job_status *st,
                         const struct job_event *ev)
{
    const struct job_event submit = {
        .type = JOB_EV_SUBMIT, .at_usec = a->submitted_usec, .retry_lost = a->retry_lost};
    struct job_status first = {0};

    if (!a->rest || job_update(&first, &submit) < 0)
        return -EPROTO;
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
    int r = st->submitted_usec ? job_update(st, ev) : begin_element(a, offset, st, ev);

    if (r == 0)
        move(a, 1, from, st, fx);
    return r;
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

/* --- questions --------------------------------------------------------------------- */

static enum job_state state_of(const struct array *a)
{
    if (array_done(a))
        return JOB_DONE;
    if (a->cancelled_usec)
        return JOB_STOPPING;
    return a->by_state[JOB_QUEUED] < a->total ? JOB_RUNNING : JOB_QUEUED;
}

struct job_status array_status(const struct array *a)
{
    struct job_status st = a->worst;

    st.state = (uint8_t)state_of(a);
    if (st.state != JOB_DONE)
        st.result = JOB_RESULT_NONE;
    st.submitted_usec = a->submitted_usec;
    st.cancel_asked = a->cancelled_usec != 0;
    return st;
}

struct job_status array_element(const struct array *a, int64_t offset)
{
    const struct job_status *own = array_own(a, offset);

    if (own)
        return *own;
    if (!a->cancelled_usec)
        return (struct job_status){.submitted_usec = a->submitted_usec};
    return (struct job_status){.state = JOB_DONE,
                               .result = JOB_RESULT_CANCELLED,
                               .cancel_asked = true,
                               .submitted_usec = a->submitted_usec,
                               .ended_usec = a->cancelled_usec};
}

const struct job_status *array_find_own(const struct array *a, int64_t *offset)
{
    for (uint64_t at = (uint64_t)*offset; at < a->total; at++) {
        const struct job_status *st = array_own(a, (int64_t)at);

        if (st) {
            *offset = (int64_t)at;
            return st;
        }
        if (!a->chunks[at / ARRAY_CHUNK])
            at += ARRAY_CHUNK - 1 - at % ARRAY_CHUNK;
    }
    return NULL;
}

int64_t array_next(const struct array *a)
{
    return a->rest ? (int64_t)a->next : ARRAY_WHOLE;
}
