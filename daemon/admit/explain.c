/* See explain.h. */
#include "daemon/admit/explain.h"

#include "daemon/admit/state.h"

/* --- counts ------------------------------------------------------------------------- */

static uint64_t own_holdings(const struct admission *a, const struct resource *r,
                             uid_t uid)
{
    uint64_t sum = 0;

    for (const struct list_node *n = a->queues.first; n; n = n->next) {
        const struct account *account =
            account_find(&a->accounts, list_thing(n, struct job_queue, node), uid);

        if (account)
            sum += line_held(&r->line, account);
    }
    return sum;
}

/* Returns how many waiters of class x, whose first waiter is before w, are before w. If x
 * has w's account and priority, waiters count by rank, up to `most`; otherwise all
 * count. */
static uint64_t in_front_of_class(const struct class *x, const struct class *c,
                                  const struct waiter *w, size_t most)
{
    return x->account == c->account && x->priority == c->priority
               ? class_count_before(x, w, most)
               : x->count;
}

/* Returns how many waiters in a line are before w, exact for the first EXPLAIN_LOOKS. */
static uint64_t in_front_of(const struct line *line, struct class *c,
                            const struct waiter *w, uint32_t *ret_looks)
{
    uint64_t sum = 0;
    uint32_t n = 0;

    for (struct lane *l = line_part(line, 0); l; l = line_part(line, lane_part(l) + 1))
        for (struct lane *at = l; at && n < EXPLAIN_LOOKS; at = lane_after(at), n++)
            for (struct class *x = lane_first(at);
                 x && n < EXPLAIN_LOOKS && place_is_before(x, x->rank, c, w->rank);
                 x = class_behind(at, x), n++) {
                const uint64_t some = in_front_of_class(x, c, w, EXPLAIN_LOOKS - n - 1);

                sum += some;
                n += x->account == c->account ? (uint32_t)some : 0;
            }
    *ret_looks = n;
    return sum;
}

/* --- the kind of it ----------------------------------------------------------------- */

static enum reason_kind kind_of_claim(const struct claim *of)
{
    if (!of->resource->kind->possible(of->resource, of))
        return REASON_IMPOSSIBLE;
    return of->resource->kind->order == RESOURCE_RATE ? REASON_RATE : REASON_LOCK;
}

/* Returns whether the class needs a slot of a paused queue. */
static bool is_paused(const struct class *c)
{
    return c->slotted && c->account->queue->policy.paused;
}

static enum reason_kind kind_of_slots(const struct admission *a, const struct class *c)
{
    const struct job_queue *q = c->account->queue;
    const struct queue_policy *p = &q->policy;

    if (p->paused)
        return REASON_PAUSED;
    if (p->most && q->slots >= p->most)
        return REASON_QUEUE;
    if (p->user_most && c->account->slots >= p->user_most)
        return REASON_USER;
    if (a->accounts.user_most && c->account->user->slots >= a->accounts.user_most)
        return REASON_USER_ALL;
    return a->slots.used < a->slots.capacity ? REASON_KEPT : REASON_SLOTS;
}

/* Returns why a class in the line does not start; *ret_of: the claim that it lacks. A
 * pause, or that its user is away, comes first, as locks do not matter then. */
static enum reason_kind kind_in_line(struct admission *a, struct class *c, uint64_t now,
                                     struct claim **ret_of)
{
    struct claim *of = NULL;

    *ret_of = NULL;
    if (is_paused(c))
        return REASON_PAUSED;
    if (c->slotted && c->account->user->away)
        return REASON_AWAY;
    of = c->short_of ? c->short_of : standing_short(a, c, now);
    if (of && c->elements && of == c->claims)
        return REASON_ARRAY;
    *ret_of = of;
    if (of)
        return kind_of_claim(of);
    return lane_is_able(c->ready.lane) ? REASON_TURN : kind_of_slots(a, c);
}

struct explain_brief explain_brief(struct admission *a, const struct waiter *w,
                                   uint64_t now)
{
    struct claim *of;
    const enum reason_kind kind = kind_in_line(a, w->class, now, &of);
    const bool of_queue = kind == REASON_PAUSED || kind == REASON_QUEUE ||
                          kind == REASON_USER || kind == REASON_KEPT;

    return (struct explain_brief){
        .kind = kind,
        .resource = of ? of->resource : NULL,
        .queue = of_queue ? w->class->account->queue->number : 0};
}

uint32_t explain_group(const struct explain_brief *brief)
{
    return (uint32_t)brief->kind + (REASON_TURN + 1) * brief->queue;
}

enum job_wait explain_wait(enum reason_kind kind, bool in_front)
{
    switch (kind) {
    case REASON_ARRAY:
        return JOB_WAIT_ARRAY;
    case REASON_RATE:
        return JOB_WAIT_RATE;
    case REASON_IMPOSSIBLE:
    case REASON_LOCK:
        return JOB_WAIT_LOCK;
    case REASON_PAUSED:
        return JOB_WAIT_PAUSED;
    case REASON_AWAY:
        return JOB_WAIT_KEEPER;
    case REASON_CONDITION:
    case REASON_QUEUE:
    case REASON_USER:
    case REASON_USER_ALL:
    case REASON_SLOTS:
    case REASON_KEPT:
    case REASON_TURN:
        break;
    }
    return in_front ? JOB_WAIT_TURN : JOB_WAIT_SLOT;
}

/* Returns whether only the array's limit, or a rate, keeps the waiter back: it has no
 * other claim, and gets a slot when it is its turn. */
static bool is_alone(const struct admission *a, const struct waiter *w, uint32_t named)
{
    const struct class *c = w->class;
    const struct queue_policy *p = &c->account->queue->policy;

    return c->slotted && c->named == named && !p->most && !p->user_most &&
           !a->accounts.user_most && !a->kept &&
           (a->slots.used < a->slots.capacity ||
            (c->elements && admission_position(w) == 0));
}

/* --- the reason of one in the line -------------------------------------------------- */

/* Adds when there will be tokens, if waiters in front want as many each. */
static void add_rate(const struct admission *a, const struct waiter *w,
                     const struct claim *of, uint64_t now, struct reason *reason)
{
    const struct resource *r = of->resource;
    const uint64_t at = rate_when(r, of->amount);

    reason->used = r->capacity - rate_tokens(r, now);
    reason->usec = at > now ? at - now : 0;
    reason->alone = !w->class->elements && is_alone(a, w, 1);
    reason->step_usec = of->amount * r->per_usec;
    reason->first_usec = (int64_t)(r->full_at + reason->step_usec) -
                         (int64_t)(r->capacity * r->per_usec + now);
    reason->slots.capacity = a->slots.capacity;
    reason->slots.used = a->slots.used;
    reason->slots.own = w->class->account->user->slots;
}


static struct reason of_resource(struct admission *a, struct class *c,
                                 const struct claim *of, const struct waiter *w,
                                 uint64_t now)
{
    const struct resource *r = of->resource;
    struct reason reason = {.resource = r,
                            .wanted = of->amount,
                            .exclusive = of->exclusive,
                            .used = r->used,
                            .capacity = r->capacity};

    reason.kind = kind_of_claim(of);
    if (reason.kind == REASON_IMPOSSIBLE)
        return reason;
    reason.in_front = in_front_of(&r->line, c, w, &reason.looks);
    reason.is_left = r->kind->fits(r, of, now);
    if (reason.kind == REASON_RATE) {
        add_rate(a, w, of, now, &reason);
        return reason;
    }
    reason.others = r->used - own_holdings(a, r, c->account->uid);
    return reason;
}

static struct reason of_slots(struct admission *a, struct class *c,
                              const struct waiter *w, enum reason_kind kind)
{
    const struct job_queue *q = c->account->queue;
    const struct queue_policy *p = &q->policy;
    const uint64_t own = c->account->user->slots;
    struct reason reason = {.kind = kind,
                            .queue = p->name,
                            .wanted = 1,
                            .used = a->slots.used,
                            .capacity = a->slots.capacity,
                            .others = a->slots.used - own,
                            .in_front = admission_position(w)};

    if (kind == REASON_QUEUE) {
        reason.used = q->slots;
        reason.capacity = p->most;
        reason.others = q->slots - c->account->slots;
    } else if (kind == REASON_USER) {
        reason.used = c->account->slots;
        reason.capacity = p->user_most;
        reason.others = 0;
    } else if (kind == REASON_USER_ALL) {
        reason.used = own;
        reason.capacity = a->accounts.user_most;
        reason.others = 0;
    }
    return reason;
}

static struct reason of_line(struct admission *a, const struct waiter *w, uint64_t now)
{
    struct class *c = w->class;
    struct claim *of;
    const enum reason_kind kind = kind_in_line(a, c, now, &of);

    if (kind == REASON_ARRAY)
        return (struct reason){.kind = REASON_ARRAY,
                               .wanted = 1,
                               .used = c->elements->used,
                               .capacity = c->elements->capacity,
                               .alone = is_alone(a, w, 0)};
    if (of)
        return of_resource(a, c, of, w, now);
    if (kind != REASON_TURN)
        return of_slots(a, c, w, kind);
    const uint64_t in_front = admission_position(w);
    return (struct reason){
        .kind = REASON_TURN, .in_front = in_front, .is_next = in_front == 0};
}

size_t explain(struct admission *a, const struct waiter *w, uint64_t now,
               struct reason *ret, size_t n)
{
    size_t all = 0;

    if (w->state == WAITER_LINE) {
        if (n > 0) {
            ret[0] = of_line(a, w, now);
            ret[0].reserved = standing_is_reserved(a, w, now);
        }
        return 1;
    }
    if (w->state == WAITER_UNMET && is_paused(w->class) && all++ < n)
        ret[0] = (struct reason){.kind = REASON_PAUSED,
                                 .queue = w->class->account->queue->policy.name};
    for (const struct condition *c = condition_first(w); c; c = c->next)
        if (all++ < n)
            ret[all - 1] = (struct reason){.kind = REASON_CONDITION, .condition = c};
    return all;
}
