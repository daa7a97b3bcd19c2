/* The oracle of edits: what each job asks for by the facts that are durable. An EDIT is of
 * a job of which nothing has begun, says what somebody has asked for, and puts a job first
 * before all others of its user. What ended jobs show, and what a voltd that begins has in
 * memory, is what these facts say. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <string.h>

#include "daemon/core/state.h"
#include "daemon/job/event.h"
#include "daemon/job/spec_edit.h"
#include "daemon/job/spec_pack.h"
#include "daemon/query/job_view.h"
#include "daemon/steer/steer.h"

/* What a job asks for, or somebody wants it to. */
struct wish {
    uint64_t id;
    uint64_t tags;
    int priority;
    bool night, first;
    uint64_t delay_usec, at_usec, start_by_usec;
    struct edits_lock lock;
    uint32_t nafter;
    struct job_edge after[ORACLE_EDGES];
};

struct edited {
    struct wish is; /* with all tags */
    uint64_t front;
    uid_t uid;
    int begun;  /* STARTING, without what was deferred, or cancelled before it started */
    bool ended; /* or an element of it */
    bool is_over; /* as a whole, or an end that needs no start */
    bool edited;
};

struct element {
    uint64_t id;
    int64_t index;
    bool started, cancelled;
};

static struct {
    struct element *elements; /* of which this is so */
    size_t nelements;
    struct edited *all;
    size_t n;
    struct wish *asked;
    size_t nasked;
} edits;

void edits_reset(void)
{
    sim_free(edits.elements);
    sim_free(edits.all);
    sim_free(edits.asked);
    memset(&edits, 0, sizeof(edits));
}

uint64_t edits_choose_times(struct job_spec *s)
{
    static const uint64_t some[] = {SPEC_TAG(TAG_DELAY), SPEC_TAG(TAG_AT),
                                    SPEC_TAG(TAG_START_BY), TAGS_OF_TIME};

    s->delay_usec = sim_one_in(2) ? 0 : sim_between(1, 300000);
    s->at_usec = sim_one_in(2) ? 0 : sim_date() + sim_below(300000) - 50000;
    s->start_by_usec = sim_one_in(3) ? 0 : sim_date() + sim_below(300000);
    return some[sim_below(4)];
}

static struct edited *find(uint64_t id)
{
    for (size_t i = edits.n; i-- > 0;)
        if (edits.all[i].is.id == id)
            return &edits.all[i];
    return NULL;
}

static struct wish wish_of(uint64_t id, const struct job_spec *spec, uint64_t tags)
{
    const struct job_claim *c = spec->claims;
    struct wish w = {.id = id,
                     .tags = tags,
                     .priority = spec->priority,
                     .night = spec->queue && strcmp(spec->queue, "night") == 0,
                     .delay_usec = spec->delay_usec,
                     .at_usec = spec->at_usec,
                     .start_by_usec = spec->start_by_usec,
                     .nafter = (uint32_t)spec->nafter};

    for (uint32_t i = 0; i < w.nafter; i++)
        w.after[i] = spec->after[i];
    if (spec->nclaims)
        w.lock = (struct edits_lock){(uint32_t)(c->name[strlen(c->name) - 1] - '0'),
                                     c->mode == JOB_CLAIM_PERMITS
                                         ? (uint32_t)c->permits
                                         : c->mode == JOB_CLAIM_EXCLUSIVE};
    return w;
}

void edits_submit(uint64_t id, const struct job_spec *spec, uid_t uid)
{
    SIM_PUSH(edits.all, edits.n,
             ((struct edited){.is = wish_of(id, spec, UINT64_MAX), .uid = uid}));
}

static bool knows_after(struct volt_cx *cx, const struct job_edit *e,
                        struct job_spec *changes)
{
    const struct job_owner of = {.uid = e->uid, .gid = e->uid};
    struct volt_error err;

    return !(e->tags & SPEC_TAG(TAG_AFTER)) ||
           steer_look_at_after(cx, sim.core, &of, changes, NULL, &err) == 0;
}

void edits_ask(struct volt_cx *cx, const struct asker *asker, const struct job_key *key,
               struct job_edit *e, struct job_spec *changes)
{
    struct steer_at at = {.verb = STEER_EDIT, .edit = e};
    int r = -ESTALE;

    e->changes = changes;
    e->uid = oracle_order_of_id(key->id)->uid;
    struct wish w = wish_of(key->id, changes, e->tags);
    w.first = e->first;
    SIM_PUSH(edits.asked, edits.nasked, w);
    while (r == -ESTALE && knows_after(cx, e, changes))
        r = steer_step(sim.core, asker, key->id, key->index, &at);
}

static bool says(const struct wish *w, uint64_t tag)
{
    return w->tags & SPEC_TAG(tag);
}

static void change(struct wish *is, const struct wish *by)
{
    if (says(by, TAG_PRIORITY))
        is->priority = by->priority;
    if (says(by, TAG_QUEUE))
        is->night = by->night;
    if (says(by, TAG_DELAY))
        is->delay_usec = by->delay_usec;
    if (says(by, TAG_AT))
        is->at_usec = by->at_usec;
    if (says(by, TAG_START_BY))
        is->start_by_usec = by->start_by_usec;
    if (says(by, TAG_CLAIMS))
        is->lock = by->lock;
    if (says(by, TAG_AFTER)) {
        is->nafter = by->nafter;
        memcpy(is->after, by->after, sizeof(is->after));
    }
}

static bool has_same_edges(const struct wish *a, const struct wish *b)
{
    bool same = a->nafter == b->nafter;

    for (uint32_t i = 0; i < a->nafter && same; i++)
        same = a->after[i].job == b->after[i].job &&
               a->after[i].when == b->after[i].when &&
               a->after[i].each == b->after[i].each;
    return same;
}

/* But for delays: what an EDIT says of one counts from the submission on. */
static bool is_alike(const struct wish *a, const struct wish *b)
{
    return a->priority == b->priority && a->night == b->night &&
           a->at_usec == b->at_usec && a->start_by_usec == b->start_by_usec &&
           a->lock.number == b->lock.number && a->lock.claims == b->lock.claims &&
           has_same_edges(a, b);
}

/* Whether somebody has asked for just this, and perhaps for more that was so already. */
static bool is_asked(const struct edited *e, const struct wish *by)
{
    struct wish next = e->is;

    change(&next, by);
    for (size_t i = 0; i < edits.nasked; i++) {
        struct wish could = e->is;

        change(&could, &edits.asked[i]);
        if (edits.asked[i].id == e->is.id && edits.asked[i].first >= by->first &&
            !(by->tags & ~edits.asked[i].tags) && is_alike(&could, &next))
            return true;
    }
    return false;
}

/* Not an array all of whose elements were cancelled: a restart forgets its front. */
static bool lives(uint64_t id)
{
    const struct order *o = oracle_order_of_id(id);

    return o && oracle_lives(o);
}

static void check_front(const struct edited *e, uint64_t front)
{
    for (size_t i = 0; i < edits.n; i++)
        if (!edits.all[i].ended && edits.all[i].uid == e->uid &&
            edits.all[i].front >= front && lives(edits.all[i].is.id))
            sim_violation("job %llu is put first, behind job %llu",
                          (unsigned long long)e->is.id,
                          (unsigned long long)edits.all[i].is.id);
}

static void edit(struct edited *e, const struct job_event *ev)
{
    struct job_spec *spec = job_spec_new();
    struct unpack u = unpack_of(ev->changes.bytes, ev->changes.n);
    const uint64_t tags = unpack_number(&u);

    if (e->begun || e->is_over)
        sim_violation("job %llu is edited, and has begun", (unsigned long long)e->is.id);
    if (!job_spec_unpack_some(&u, tags, spec))
        sim_violation("an edit of job %llu is none", (unsigned long long)e->is.id);
    struct wish by = wish_of(e->is.id, spec, tags);
    sim_trace("durable: job %llu edit of %llx: lock %u, %u, %u antecedents",
              (unsigned long long)e->is.id, (unsigned long long)tags, by.lock.number,
              by.lock.claims, by.nafter);
    by.first = ev->changes.front;
    if (!is_asked(e, &by))
        sim_violation("job %llu is edited, and nobody has asked for that",
                      (unsigned long long)e->is.id);
    if (by.first)
        check_front(e, ev->changes.front);
    change(&e->is, &by);
    e->front = by.first ? ev->changes.front : e->front;
    e->edited = true;
    job_spec_unref(spec);
}

static struct element *element_of(const struct job_key *key)
{
    for (size_t i = 0; i < edits.nelements; i++)
        if (edits.elements[i].id == key->id && edits.elements[i].index == key->index)
            return &edits.elements[i];
    const struct element fresh = {.id = key->id, .index = key->index};
    SIM_PUSH(edits.elements, edits.nelements, fresh);
    return &edits.elements[edits.nelements - 1];
}

/* How many more have begun with this event: not one that was cancelled before it started. */
static int begins(const struct job_key *key, const struct job_event *ev)
{
    switch (ev->type) {
    case JOB_EV_STARTING:
        return 1;
    case JOB_EV_DEFERRED:
        return -1;
    case JOB_EV_STARTED:
        element_of(key)->started = true;
        return 0;
    case JOB_EV_CANCEL:
        element_of(key)->cancelled = true;
        return 0;
    case JOB_EV_EXITED:
        return element_of(key)->cancelled && !element_of(key)->started ? -1 : 0;
    default:
        return 0;
    }
}

/* Of an array EDIT is of the whole, the starts are of its elements. */
bool edits_fact(const struct job_key *key, const struct job_event *ev)
{
    struct edited *e = find(key->id);

    if (ev->type == JOB_EV_EDIT)
        edit(e, ev);
    e->begun += begins(key, ev);
    if (key->index == JOB_NO_INDEX)
        e->is_over |= ev->type == JOB_EV_EXITED || ev->type == JOB_EV_CANCEL ||
                      ev->type == JOB_EV_EXPIRED || ev->type == JOB_EV_DEPENDENCY;
    e->ended |= e->is_over || ev->type == JOB_EV_EXITED;
    return ev->type == JOB_EV_EDIT;
}

/* What is durable, or what was asked for and may have been taken. */
void edits_look(const struct job_view *v)
{
    const struct edited *e = find(v->key.id);
    bool good;

    if (!v->spec || !e)
        return;
    const struct wish shown = wish_of(v->key.id, v->spec, 0);
    good = is_alike(&e->is, &shown);
    for (size_t i = 0; i < edits.nasked && !good && !e->is_over; i++)
        good = edits.asked[i].id == e->is.id;
    if (!good)
        sim_violation("job %llu is shown with priority %d, night %d, and has %d, %d",
                      (unsigned long long)e->is.id, shown.priority, shown.night,
                      e->is.priority, e->is.night);
}

static void check_job(const struct edited *e, struct core *core, const struct job *job)
{
    const struct queue *q = queues_of(core, job);
    const bool edited = job->array ? job->array->edited : job->status.edited;

    struct job_spec *spec = job_spec_of(job);
    const struct wish is = wish_of(e->is.id, spec, 0);

    job_spec_unref(spec);
    if (!is_alike(&is, &e->is) || is.delay_usec != e->is.delay_usec ||
        job->claims != (e->is.lock.number > 0))
        sim_violation("job %llu asks for something else after a restart",
                      (unsigned long long)e->is.id);
    if (job->priority != e->is.priority || job->elsewhere != e->is.night || !q ||
        (strcmp(q->as_read.name, "night") == 0) != e->is.night || edited != e->edited)
        sim_violation("job %llu has another priority or queue after a restart",
                      (unsigned long long)e->is.id);
    if (job->waiter.rank != (e->front ? WAITING_FRONT(e->front) : WAITING_RANK(job->id)))
        sim_violation("job %llu has another rank after a restart",
                      (unsigned long long)e->is.id);
}

bool edits_too_early(uint64_t id, uint64_t date)
{
    const struct edited *e = find(id);

    return date < e->is.at_usec ||
           date < oracle_order_of_id(id)->sent_date + e->is.delay_usec;
}

uint64_t edits_start_by(uint64_t id)
{
    return find(id)->is.start_by_usec;
}

bool edits_may_expire(uint64_t id)
{
    bool may = edits_start_by(id);

    for (size_t i = 0; i < edits.nasked; i++)
        may |= edits.asked[i].id == id && edits.asked[i].start_by_usec;
    return may;
}

const struct job_edge *edits_after(uint64_t id, uint32_t *ret_n)
{
    const struct edited *e = find(id);

    *ret_n = e->is.nafter;
    return e->is.after;
}

bool edits_may_depend(uint64_t id)
{
    bool may = find(id)->is.nafter;

    for (size_t i = 0; i < edits.nasked; i++)
        may |= edits.asked[i].id == id && edits.asked[i].nafter;
    return may;
}

struct edits_lock edits_lock_of(uint64_t id)
{
    return find(id)->is.lock;
}

void edits_check_core(struct core *core)
{
    for (size_t i = 0; i < edits.n; i++) {
        const struct job *job = table_get(&core->table, edits.all[i].is.id);

        if (job && !jobs_done(job) && job->waiter.state != WAITER_NONE)
            check_job(&edits.all[i], core, job);
    }
}
