/* Why of org.voltd.jobs: what a job waits for, or what most of the jobs wait for that the
 * asker sees. */
#include "daemon/query/why.h"
#include "daemon/method/methods.h"

#include "daemon/lease/leasing.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "daemon/method/why_json.h"
#include "wire/duration.h"
#include "wire/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS 64 /* different reasons of all jobs */

/* Jobs of a user that wait for the same thing. */
struct group {
    enum job_wait wait;
    uid_t uid;
    uint32_t group; /* job_view.wait_group */
    uint64_t after; /* job_view.wait_after, if it is that of each of them */
    char lock[sizeof(((struct job_view *)0)->wait_lock)];
    uint64_t count;
    uint64_t least_usec, most_usec; /* TIME: when the first and the last of them begin */
    struct job_key first;
};

struct why_state {
    struct why_params {
        struct job_key id;
        bool given;
    } in;
    bool begun, counted, asked;
    struct why why; /* of a single job */
    struct running_walk running;
    struct job_filter filter;
    struct query_walk walk;
    size_t n, told;  /* groups; told: groups among the reasons */
    uint64_t others; /* jobs in no group */
    json_t *reasons;
    struct group groups[GROUPS];
};

/* --- one job ------------------------------------------------------------------------ */

/* Estimates when it will start. *ret NULL: not known. */
static enum volt_poll estimate_poll(struct volt_cx *cx, struct call *call,
                                    struct why_state *s, json_t **ret)
{
    struct estimate_in in;

    *ret = NULL;
    if (s->why.n != 1 || !s->why.line.places)
        return VOLT_READY;
    if (running_poll(cx, call, s->why.owner, &s->running) == VOLT_PENDING)
        return VOLT_PENDING;
    if (quota_entries_left(call_quota(call)) < FORECAST_LOOKS)
        call_did(call, quota_entries_left(call_quota(call)), 0);
    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    call_did(call, FORECAST_LOOKS, 0);
    if (query_forecast(call_service(call)->core, call_asker(call), &s->in.id,
                       &s->why.line, &s->running.found, &in))
        *ret = estimate_json(&in, s->in.id.id);
    return VOLT_READY;
}

void why_add_left(struct why *why)
{
    for (size_t i = 0; i < why->n; i++) {
        char *text = why->reason[i].text;
        const size_t used = strlen(text);

        if (lease_is_left(why->reason[i].pid))
            (void)snprintf(text + used, REASON_TEXT - used,
                           "; %d has ended, what it has left has it",
                           (int)why->reason[i].pid);
    }
}

/* Asks in a turn with room for all looks of the question. */
static enum volt_poll ask_poll(struct volt_cx *cx, struct call *call,
                               const struct job_key *key, struct why *ret, int *ret_r)
{
    if (quota_entries_left(call_quota(call)) < WHY_LOOKS)
        call_did(call, quota_entries_left(call_quota(call)), 0);
    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    *ret_r = query_why(call_service(call)->core, call_asker(call), key->id, key->index,
                       call_quota(call), ret);
    why_add_left(ret);
    return VOLT_READY;
}

/* Finds the reasons. READY: s->why is set; or *ret_r is negative and the call is
 * answered. */
static enum volt_poll reasons_poll(struct volt_cx *cx, struct call *call,
                                   struct why_state *s, int *ret_r)
{
    const struct job_key *key = &s->in.id;
    struct job_view view;

    if (ask_poll(cx, call, key, &s->why, ret_r) == VOLT_PENDING)
        return VOLT_PENDING;
    s->asked = true;
    if (*ret_r != -ENOENT)
        return VOLT_READY;
    *ret_r = look_or_refuse(cx, call, key, &view); /* only the store has it: ended */
    if (*ret_r == 0) {
        s->why = (struct why){.state = (enum job_state)view.status.state};
        job_view_fini(&view);
    }
    return VOLT_READY;
}

static enum volt_poll why_of_one(struct volt_cx *cx, struct call *call,
                                 struct why_state *s)
{
    json_t *when, *reasons;
    int r = 0;

    if (!s->asked && reasons_poll(cx, call, s, &r) == VOLT_PENDING)
        return VOLT_PENDING;
    if (r < 0)
        return VOLT_READY;
    if (estimate_poll(cx, call, s, &when) == VOLT_PENDING)
        return VOLT_PENDING;
    reasons = reasons_json(&s->why);
    return call_reply(call,
                      json_pack("{s:s, s:o, s:o*}", "state", job_state_name(s->why.state),
                                "reasons", reasons, "estimate", when));
}

/* --- all of them -------------------------------------------------------------------- */

/* Merges two reasons: behind others, and first in the line. */
static enum job_wait group_of(enum job_wait wait)
{
    return wait == JOB_WAIT_SLOT ? JOB_WAIT_TURN : wait;
}

static int tally(void *arg, const struct job_view *v)
{
    struct why_state *s = arg;
    const enum job_wait wait = v->status.state == JOB_PAUSED ? JOB_WAIT_PAUSED
                               : v->lends                    ? JOB_WAIT_INSIDE
                                                             : group_of(v->wait);
    size_t i = 0;

    if (wait == JOB_WAIT_NONE)
        return 0;
    while (i < s->n && (s->groups[i].wait != wait || s->groups[i].uid != v->owner.uid ||
                        s->groups[i].group != v->wait_group ||
                        strcmp(s->groups[i].lock, v->wait_lock) != 0))
        i++;
    if (i == GROUPS) {
        s->others++;
        return 0;
    }
    struct group *g = &s->groups[i];
    if (i == s->n) {
        *g = (struct group){.wait = wait,
                            .uid = v->owner.uid,
                            .after = v->wait_after,
                            .group = v->wait_group,
                            .least_usec = v->wait_usec,
                            .first = v->key};
        memcpy(g->lock, v->wait_lock, sizeof(g->lock));
        s->n++;
    }
    if (v->wait_usec < g->least_usec) {
        g->least_usec = v->wait_usec;
        g->first = v->key;
    }
    if (v->wait_usec > g->most_usec)
        g->most_usec = v->wait_usec;
    if (g->after != v->wait_after)
        g->after = 0;
    g->count++;
    return 0;
}

static int by_count(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* Appends when the last one begins, if later than the first. */
static void add_last(const struct group *g, char *text, size_t size)
{
    const size_t len = strlen(text);
    char span[32];

    if (g->most_usec - g->least_usec < 1000000 || len + 64 > size)
        return;
    duration_format(g->most_usec, span, sizeof(span));
    (void)snprintf(text + len, size - len, ", the last in %s", span);
}

/* Returns the reason of the group's first job if it is that of each of them, and still
 * the same: the job may have gone on. */
static json_t *group_json(const struct why_state *s, const struct group *g,
                          struct why *why)
{
    char text[sizeof(g->lock) + 48];
    const bool differ = g->wait == JOB_WAIT_DEPENDENCY && g->count > 1 && !g->after;
    size_t i = differ ? why->n : 0;

    if (g->wait == JOB_WAIT_TURN)
        (void)snprintf(text, sizeof(text), "starts soon");
    else if (differ)
        (void)snprintf(text, sizeof(text), "until other jobs have ended or started");
    else
        (void)snprintf(text, sizeof(text), "%s%s%s", job_wait_name(g->wait),
                       g->lock[0] ? " " : "", g->lock);
    while (i < why->n &&
           (group_of(why->reason[i].wait) != g->wait || why->reason[i].group != g->group))
        i++;
    if (i < why->n)
        add_last(g, why->reason[i].text, REASON_TEXT);
    json_t *reason = reason_json(i < why->n ? why->reason[i].wait : g->wait,
                                 i < why->n ? why->reason[i].text : text);
    wire_set(&reason, "count", json_integer((json_int_t)g->count));
    wire_set(&reason, "id", job_id_to_json(g->first.id, JOB_NO_INDEX));
    if (!s->filter.of_user)
        wire_set(&reason, "uid", json_integer(g->uid));
    return reason;
}

static enum volt_poll answer_all(struct volt_cx *cx, struct call *call,
                                 struct why_state *s)
{
    struct why why;
    int r;

    for (; s->told < s->n; s->told++) {
        const struct group *g = &s->groups[s->told];

        if (ask_poll(cx, call, &g->first, &why, &r) == VOLT_PENDING)
            return VOLT_PENDING;
        wire_add(&s->reasons, group_json(s, g, &why));
        if (!s->reasons)
            return call_abort(call);
    }
    json_t *answer = json_pack("{s:O}", "reasons", s->reasons);
    if (s->others)
        wire_set(&answer, "others", json_integer((json_int_t)s->others));
    return call_reply(call, answer);
}

static enum volt_poll why_of_all(struct volt_cx *cx, struct call *call,
                                 struct why_state *s)
{
    while (!s->counted) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        int r = query_walk_step(cx, call_service(call)->core, call_asker(call),
                                &s->filter, &s->walk, tally, s);
        if (r < 0)
            return no_answer(call, r, NULL);
        s->counted = s->walk.cursor == 0;
    }
    if (!s->reasons) {
        qsort(s->groups, s->n, sizeof(s->groups[0]), by_count);
        s->reasons = json_array();
    }
    return answer_all(cx, call, s);
}

static int begin(struct call *call, struct why_state *s)
{
    static const struct field fields[] = {
        FIELD(struct why_params, id, FIELD_CUSTOM, .read = read_job_id,
              .present = FIELD_PRESENT(struct why_params, given)),
        {.name = NULL},
    };

    if (params_read(call, fields, &s->in) < 0)
        return -EINVAL;
    s->filter = (struct job_filter){.states = (1u << JOB_DONE) - 1,
                                    .of_user = !auth_sees_all(call_asker(call)),
                                    .uid = call_peer(call)->uid};
    s->walk = (struct query_walk){
        .quota = call_quota(call), .specs = QUERY_SPECS_NONE, .limit = SIZE_MAX};
    s->begun = true;
    return 0;
}

static enum volt_poll why_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct why_state *s = state;

    if (!s->begun && begin(call, s) < 0)
        return VOLT_READY;
    return s->in.given ? why_of_one(cx, call, s) : why_of_all(cx, call, s);
}

static void why_drop(struct call *call, void *state)
{
    struct why_state *s = state;

    (void)call;
    json_decref(s->reasons);
}

const struct method method_why = {
    METHOD_IS(jobs, Why), .flags = METHOD_READS, .state_size = sizeof(struct why_state),
    .poll = why_poll,     .drop = why_drop,
};
