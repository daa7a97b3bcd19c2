/* See deadlock.h. */
#include "daemon/core/deadlock.h"

#include <stdio.h>

#include "base/error.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/named.h"
#include "daemon/core/each.h"
#include "daemon/core/inner_wait.h"
#include "daemon/core/state.h"
#include "daemon/core/unmet.h"

/* Where something waits. */
struct place {
    struct job_key job; /* id 0: in no job */
    uint64_t lease;     /* 0: in no lease */
};

/* A job or lease that has begun; exactly one of both is set. */
struct holder {
    struct job_key job;
    bool any; /* the job is an array, and any element counts */
    const struct lease *lease;
};

/* The event of a job that is waited for. */
enum until {
    UNTIL_STARTED,
    UNTIL_ENDED,
};

/* An object on the path of the search; counts as stuck while its blockers are looked
 * at. */
struct step {
    const struct step *before;
    struct job_key job;          /* id 0: a lease */
    enum until until;            /* of the job */
    const struct waiter *waiter; /* NULL: the job, whatever it waits for */
    const struct resource *of;   /* the resource that this waiter may lack */
};

struct search {
    struct core *core;
    uid_t uid;
    struct place asks;         /* in neither: an edit asks */
    const struct lease *asker; /* NULL: no lease asks */
    const struct job *edited;  /* as it is to be; NULL: no edit asks */
    int64_t element;           /* index of its element in question; JOB_NO_INDEX: any */
    unsigned looks, steps;     /* left */
    const struct step *at;     /* end of the path */
    char text[sizeof(((struct volt_error *)0)->text)]; /* what that waits for */
};

static bool looks(struct search *s)
{
    if (s->looks)
        s->looks--;
    return s->looks > 0;
}

/* Says "this" for whoever asks. Returns true. */
static bool is_this(struct search *s)
{
    (void)snprintf(s->text, sizeof(s->text), "this");
    return true;
}

static bool is_inside(struct search *s, const struct place *p, const struct holder *h)
{
    uint64_t lease = p->lease;

    if (!h->lease)
        return p->job.id == h->job.id && (h->any || p->job.index == h->job.index);
    while (lease && lease != h->lease->id && looks(s)) {
        const struct lease *outer = leases_find(s->core, lease);

        lease = outer ? outer->in_lease : 0;
    }
    return lease == h->lease->id;
}

static struct place place_of(const struct lease *l)
{
    return (struct place){l->in_job, l->in_lease};
}

/* --- in words ----------------------------------------------------------------------- */

#define HOLDER_NAME (JOB_KEY_TEXT_MAX + 24)

static void name_of(const struct holder *h, char *ret)
{
    char id[JOB_KEY_TEXT_MAX];

    if (h->lease) {
        (void)snprintf(ret, HOLDER_NAME, "volt-lock (pid %d)", (int)h->lease->pid);
        return;
    }
    (void)job_key_format_job(&h->job, id);
    (void)snprintf(ret, HOLDER_NAME, "job %s", id);
}

/* Puts "KIND NAME: BEFORE holder BEHIND waits for" before the text. r NULL: no KIND
 * NAME. */
static void say(struct search *s, const struct resource *r, const char *before,
                const struct holder *h, const char *behind)
{
    char name[HOLDER_NAME], rest[sizeof(s->text)];
    int n = 0;

    (void)snprintf(rest, sizeof(rest), "%s", s->text);
    name_of(h, name);
    if (r)
        n = snprintf(s->text, sizeof(s->text), "%s %.60s: ", r->kind->name,
                     named_name(r));
    n += snprintf(s->text + n, sizeof(s->text) - (size_t)n, "%s%s%s waits for ", before,
                  name, behind);
    (void)snprintf(s->text + n, sizeof(s->text) - (size_t)n, "%s", rest);
}

/* --- steps -------------------------------------------------------------------------- */

/* Extends the path. False: the path is too long. */
static bool step(struct search *s, struct step *to)
{
    if (!s->steps)
        return false;
    s->steps--;
    to->before = s->at;
    s->at = to;
    return true;
}

static void step_back(struct search *s)
{
    s->at = s->at->before;
    s->steps++;
}

/* Returns whether the waiter, or the job, is on the path: a circle. */
static bool comes_back_to_waiter(struct search *s, const struct waiter *w)
{
    const struct step *at = s->at;

    while (at && at->waiter != w)
        at = at->before;
    if (at)
        (void)snprintf(s->text, sizeof(s->text), "%s %.60s", at->of->kind->name,
                       named_name(at->of));
    return at;
}

/* Returns whether the event never comes if that of the step does not: whoever never
 * starts never ends, and an array ends as its last element. The other way round proves
 * nothing. */
static bool includes(const struct step *at, const struct job_key *key, enum until until)
{
    if (at->job.id != key->id)
        return false;
    return at->job.index == key->index
               ? until == UNTIL_ENDED || at->until == UNTIL_STARTED
               : until == UNTIL_ENDED && key->index == JOB_NO_INDEX;
}

static bool comes_back_to_job(struct search *s, const struct job_key *key,
                              enum until until)
{
    const struct step *at = s->at;

    while (at && !includes(at, key, until))
        at = at->before;
    if (at)
        name_of(&(struct holder){.job = *key}, s->text);
    return at;
}

/* --- holders that have begun -------------------------------------------------------- */

static bool waiter_is_stuck(struct search *s, const struct waiter *w);
static bool job_is_stuck(struct search *s, const struct job_key *key, enum until until);

/* Returns whether a lease that waits inside the holder is stuck. */
static bool lease_is_stuck(struct search *s, const struct holder *h)
{
    const struct lease *l = leases_next(s->core, s->uid, NULL);

    for (; l && looks(s); l = leases_next(s->core, s->uid, l)) {
        const struct place p = place_of(l);

        if (l->state == LEASE_WAITS && l != s->asker && is_inside(s, &p, h) &&
            waiter_is_stuck(s, &l->waiter))
            return true;
    }
    return false;
}

static bool any_is_stuck(struct search *s, const struct inner_wait *n)
{
    for (size_t i = 0; i < n->n && looks(s); i++) {
        const struct job_key key = n->job(n->arg, i);

        if (job_is_stuck(s, &key, UNTIL_ENDED))
            return true;
    }
    return false;
}

/* Returns whether a call of Wait inside the holder is stuck. */
static bool call_is_stuck(struct search *s, const struct holder *h)
{
    const struct user *u = users_find(&s->core->users, s->uid);

    for (struct list_node *at = u ? u->inner_waits.first : NULL; at && looks(s);
         at = at->next) {
        const struct inner_wait *n = list_thing(at, struct inner_wait, node);
        const struct place p = {n->in_job, n->in_lease};

        if (is_inside(s, &p, h) && any_is_stuck(s, n))
            return true;
    }
    return false;
}

static bool holder_is_stuck(struct search *s, const struct holder *h)
{
    if (is_inside(s, &s->asks, h))
        return is_this(s);
    return lease_is_stuck(s, h) || call_is_stuck(s, h);
}

/* --- waiters in the line ------------------------------------------------------------ */

/* The sum of what stuck holders have of a resource. */
struct kept {
    const struct claim *of; /* the claim that wants it */
    uint64_t amount;
};

/* Adds the holder if it is stuck. Returns whether the claim is then blocked. */
static bool keeps(struct search *s, struct kept *k, const struct claim *has,
                  const struct holder *h)
{
    const struct resource *r = k->of->resource;
    const bool counts = resource_counts(r);

    if (has->resource != r || (!counts && !has->exclusive && !k->of->exclusive) ||
        !holder_is_stuck(s, h))
        return false;
    k->amount += has->amount;
    if (counts && k->amount + k->of->amount <= r->capacity)
        return false;
    say(s, r, "", h, counts ? " has permits, and" : " has it, and");
    return true;
}

static bool job_keeps(struct search *s, struct kept *k)
{
    const struct user *u = users_find(&s->core->users, s->uid);

    for (const struct list_node *at = u ? u->holders.first : NULL; at && looks(s);
         at = at->next) {
        const struct work *w = list_thing(at, struct work, held);
        size_t n;
        const struct claim *has = admission_claims(&w->job->waiter, &n);

        for (size_t i = 0; i < n; i++)
            if (keeps(s, k, &has[i],
                      &(struct holder){.job = jobs_key(w->job, w->offset)}))
                return true;
    }
    return false;
}

static bool lease_keeps(struct search *s, struct kept *k)
{
    const struct lease *l = leases_next(s->core, s->uid, NULL);

    for (; l && looks(s); l = leases_next(s->core, s->uid, l)) {
        size_t n;

        if (l->state != LEASE_WAITS &&
            keeps(s, k, admission_claims(&l->waiter, &n), &(struct holder){.lease = l}))
            return true;
    }
    return false;
}

static bool wants(const struct waiter *w, const struct resource *r)
{
    size_t n;
    const struct claim *claims = admission_claims(w, &n);

    while (n > 0 && claims[n - 1].resource != r)
        n--;
    return n > 0;
}

/* Returns whether the resource is left to the edited job, at its new place in line. */
static bool is_left_to_edited(struct search *s, const struct waiter *w,
                              const struct resource *r)
{
    const struct job *is = s->edited ? table_get(&s->core->table, s->edited->id) : NULL;
    const struct waiter *to_be = is ? &s->edited->waiter : NULL;
    const struct holder h = {.job = {.id = is ? is->id : 0, .index = JOB_NO_INDEX}};

    if (!is || is->waiter.state != WAITER_LINE || condition_first(to_be) ||
        w->class == to_be->class || !wants(to_be, r) || !admission_before(to_be, w) ||
        !admission_may_have_slot(to_be))
        return false;
    (void)is_this(s);
    say(s, r, "left to ", &h, ", which");
    return true;
}

/* Returns whether the resource is left, free or not, to a stuck waiter ahead in line. */
static bool is_left_to_stuck(struct search *s, const struct waiter *w,
                             const struct resource *r)
{
    struct admission *a = s->core->parts.admit;
    const uint64_t now = waiting_now(s->core);
    const struct waiter *x = NULL;

    while ((x = admission_ahead(a, w, r, x, now, &s->looks))) {
        struct holder h = {.lease = NULL};

        if (x->is_lease)
            h.lease = lease_of_waiter(x);
        else
            h.job = jobs_key(job_of_waiter(x), NO_OFFSET);
        if ((s->edited && h.job.id == s->edited->id) || !waiter_is_stuck(s, x))
            continue;
        say(s, r, "left to ", &h, ", which");
        return true;
    }
    return false;
}

/* Returns whether stuck holders, or stuck waiters ahead in line, block a claim of the
 * waiter. Rates are skipped: waiters for a rate do not block each other. */
static bool waiter_is_stuck(struct search *s, const struct waiter *w)
{
    size_t n;
    const struct claim *claims = admission_claims(w, &n);
    struct step at = {.waiter = w};
    bool stuck = false;

    if (comes_back_to_waiter(s, w))
        return true;
    if (!w->is_lease)
        at.job = jobs_key(job_of_waiter(w), NO_OFFSET);
    if (!step(s, &at))
        return false;
    for (size_t i = 0; i < n && !stuck && looks(s); i++) {
        struct kept k = {.of = &claims[i]};

        at.of = k.of->resource;
        stuck = !resource_is_rate(k.of->resource) &&
                (job_keeps(s, &k) || lease_keeps(s, &k) ||
                 is_left_to_stuck(s, w, k.of->resource) ||
                 is_left_to_edited(s, w, k.of->resource));
    }
    step_back(s);
    return stuck;
}

/* --- jobs --------------------------------------------------------------------------- */

/* Returns the user's job, in its edited form if it is that one. NULL: none. */
static const struct job *find_job(const struct search *s, uint64_t id)
{
    const struct job *job =
        s->edited && s->edited->id == id ? s->edited : table_get(&s->core->table, id);

    return job && job->owner.uid == s->uid ? job : NULL;
}

/* Returns whether the element's antecedent is stuck. NO_OFFSET: any element's. */
static bool element_is_stuck(struct search *s, const struct unmet_edge *e, int64_t offset)
{
    const struct job *of = find_job(s, e->antecedent);
    const bool any = offset == NO_OFFSET;
    const int64_t end = any ? (int64_t)e->each->job->array->total : offset + 1;
    int64_t at = any ? 0 : offset;

    for (; (at = each_waiting(e->each, at, end, &s->looks)) != ARRAY_WHOLE; at++) {
        const struct job_key key = jobs_key(of, at);

        if (job_is_stuck(s, &key, (enum until)(e->when != JOB_AFTER_START)))
            return true;
    }
    return false;
}

/* Returns whether an antecedent of the job or element is stuck. For an edge from element
 * to element, an element of it must be stuck too. */
static bool antecedent_is_stuck(struct search *s, const struct job *job, int64_t offset,
                                enum until until)
{
    struct unmet_edges edges;
    struct unmet_edge e;

    unmet_begin(&edges, job);
    while (unmet_next(&edges, &e) && looks(s)) {
        const struct job_key of = {.id = e.antecedent, .index = JOB_NO_INDEX};
        const bool ends = e.each || e.when != JOB_AFTER_START;

        if (e.each && offset == NO_OFFSET && until == UNTIL_STARTED)
            continue; /* another element may start: elements_are_stuck() */
        if (job_is_stuck(s, &of, ends ? UNTIL_ENDED : UNTIL_STARTED) &&
            (!e.each || element_is_stuck(s, &e, offset)))
            return true;
    }
    return false;
}

/* Returns whether every element of the array waits for a stuck antecedent of its own. */
static bool elements_are_stuck(struct search *s, const struct job *job)
{
    const bool each = job->elements && job->elements->each && !job->elements->nwaiting;
    const int64_t total = each ? (int64_t)job->array->total : 0;
    int64_t at = 0;

    while (at < total && looks(s) &&
           (array_own(job->array, at) || antecedent_is_stuck(s, job, at, UNTIL_STARTED)))
        at++;
    return each && at == total;
}

/* Returns whether elements that have begun and are stuck use up the array's limit. */
static bool limit_is_stuck(struct search *s, const struct job *job)
{
    const uint64_t most = job->array ? (uint64_t)job->spec->at_once : 0;
    const struct job_status *st;
    struct holder h = {.lease = NULL};
    uint64_t n = 0;

    if (!most || array_busy(job->array) < most)
        return false;
    for (int64_t at = 0;
         n < most && (st = array_find_own_within(job->array, &at, &s->looks)); at++) {
        h.job = jobs_key(job, at);
        n += st->state != JOB_QUEUED && st->state != JOB_DONE && holder_is_stuck(s, &h);
    }
    if (n == most)
        say(s, NULL, "the limit of its array: ", &h, " is in it, and");
    return n == most;
}

/* Returns whether the part of the job that has not begun is stuck. */
static bool is_held_up(struct search *s, const struct job *job, int64_t offset,
                       enum until until)
{
    return (job == s->edited || admission_waits(&job->waiter)) &&
           (waiter_is_stuck(s, &job->waiter) || limit_is_stuck(s, job) ||
            antecedent_is_stuck(s, job, offset, until) ||
            (offset == NO_OFFSET && elements_are_stuck(s, job)));
}

/* Returns the state of a job, array or element. */
static enum job_state state_of(const struct job *job, int64_t offset)
{
    if (offset != NO_OFFSET)
        return (enum job_state)jobs_any_status(job, offset).state;
    return (enum job_state)(job->array ? array_status(job->array).state
                                       : job->status.state);
}

/* Returns whether the job or element waits to begin, or may not have begun under an
 * earlier voltd. An edited job has not begun, and its new form has no tasks. */
static bool is_to_begin(const struct search *s, const struct job *job, int64_t offset)
{
    if (job == s->edited)
        return true;
    if (offset == NO_OFFSET && !job->array)
        return admission_waits(&job->waiter);
    const struct work *w = offset == NO_OFFSET ? NULL : jobs_live(job, offset);

    return state_of(job, offset) == JOB_QUEUED ||
           (w && (w->place == PLACE_WAITS || w->place == PLACE_EARLY));
}

/* Finds the offset of an index. False: the job has no such element, or only the counts of
 * its elements are known. */
static bool find_offset(const struct job *job, int64_t index, int64_t *ret)
{
    *ret = NO_OFFSET;
    if (index == JOB_NO_INDEX)
        return true;
    if (!job->array || array_is_counts(job->array))
        return false;
    *ret = job_spec_offset(job->spec, index);
    return *ret >= 0;
}

/* Returns whether the key is the edited job, or its element in question. */
static bool is_edited(const struct search *s, const struct job_key *key)
{
    return s->edited && s->edited->id == key->id &&
           (key->index == JOB_NO_INDEX || s->element == JOB_NO_INDEX ||
            s->element == key->index);
}

static bool job_is_stuck(struct search *s, const struct job_key *key, enum until until)
{
    const struct job *job = find_job(s, key->id);
    const struct holder h = {.job = *key,
                             .any = key->index == JOB_NO_INDEX && job && job->array};
    struct step at = {.job = *key, .until = until};
    int64_t offset;

    if (!job || !find_offset(job, key->index, &offset))
        return false;
    if (is_edited(s, key))
        return is_this(s);
    const bool begins = is_to_begin(s, job, offset);
    if (state_of(job, offset) == JOB_DONE || (until == UNTIL_STARTED && !begins))
        return false;
    if (comes_back_to_job(s, key, until))
        return true;
    if (!step(s, &at))
        return false;
    bool stuck = until == UNTIL_ENDED && holder_is_stuck(s, &h);
    if (!job->array || offset != NO_OFFSET)
        at.until = UNTIL_STARTED; /* this is all that is left to be looked at */
    if (!stuck && (offset == NO_OFFSET || begins))
        stuck = is_held_up(s, job, offset, until);
    step_back(s);
    if (stuck)
        say(s, NULL, "", &h, ", which");
    return stuck;
}

/* --- the questions ------------------------------------------------------------------ */

static struct search begin(struct core *core, uid_t uid)
{
    return (struct search){.core = core,
                           .uid = uid,
                           .element = JOB_NO_INDEX,
                           .looks = DEADLOCK_LOOKS,
                           .steps = DEADLOCK_STEPS};
}

static bool end(const struct search *s, bool stuck, struct volt_error *ret)
{
    core_did(s->core, DEADLOCK_LOOKS - s->looks, 0, 0);
    return stuck && error_set(ret, true, "it would wait for ever: %s", s->text);
}

bool deadlock_of_lease(struct core *core, const struct lease *l, struct volt_error *ret)
{
    struct search s = begin(core, l->uid);

    if (!l->in_job.id && !l->in_lease)
        return false;
    s.asks = place_of(l);
    s.asker = l;
    return end(&s, waiter_is_stuck(&s, &l->waiter), ret);
}

bool deadlock_of_wait(struct core *core, const struct inner_wait *n,
                      struct volt_error *ret)
{
    struct search s = begin(core, n->uid);

    if (!n->in_job.id && !n->in_lease)
        return false;
    s.asks = (struct place){n->in_job, n->in_lease};
    return end(&s, any_is_stuck(&s, n), ret);
}

/* Returns whether one element of an edited array is stuck, if it waits element to
 * element; true for other jobs. */
static bool edited_element_is_stuck(struct search *s)
{
    const struct each *each = s->edited->elements ? s->edited->elements->each : NULL;
    const int64_t end = each ? (int64_t)s->edited->array->total : 0;

    if (!each)
        return true;
    for (int64_t at = 0;
         (at = each_waiting(&each->edges[0], at, end, &s->looks)) != ARRAY_WHOLE; at++) {
        s->element = job_spec_index(s->edited->spec, at);
        if (is_held_up(s, s->edited, at, UNTIL_ENDED))
            return true;
    }
    return false;
}

bool deadlock_of_edit(struct core *core, const struct job *job, struct volt_error *ret)
{
    const struct user *u = users_find(&core->users, job->owner.uid);
    struct search s = begin(core, job->owner.uid);

    if (!u->inner_waits.first && !u->leases.first)
        return false; /* nothing waits inside any holder */
    s.edited = job;
    return end(&s,
               is_held_up(&s, job, NO_OFFSET, UNTIL_ENDED) && edited_element_is_stuck(&s),
               ret);
}
