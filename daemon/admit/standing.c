/* See standing.h. */
#include "daemon/admit/standing.h"

#include "daemon/admit/state.h"

#define OFFER_RECHECKS 64 /* IMPOSSIBLE classes tried again in one offer */

/* --- what a lane may have of the machine -------------------------------------------- */

/* Returns whether the queue may start a job in the part of the lane. */
static bool queue_is_able(const struct lane *l)
{
    const struct job_queue *q = l->account->queue;

    if (l->slotted)
        return queue_state(q) == QUEUE_IS_ABLE;
    return !q->policy.paused || l->priority == ADMISSION_FIRST;
}

/* Returns whether the user may have no slot more in the queue. */
static bool account_is_limited(const struct account *a)
{
    const struct job_queue *q = a->queue;
    const uint32_t most = q->policy.user_most;

    return account_user_is_limited(&q->all->accounts, a->user) ||
           (most && a->slots >= most);
}

static bool user_is_limited(const struct lane *l)
{
    return l->slotted && account_is_limited(l->account);
}

/* Returns whether the lane could not start a job even if the machine were empty. */
static bool lane_is_limited(const struct lane *l)
{
    const struct job_queue *q = l->account->queue;

    return q->policy.paused || user_is_limited(l) ||
           (l->slotted && queue_state(q) == QUEUE_IS_LIMITED);
}

bool lane_is_able(const struct lane *l)
{
    return queue_is_able(l) && !user_is_limited(l);
}

/* --- seats -------------------------------------------------------------------------- */

static bool is_lock(const struct claim *of)
{
    return of->resource->kind->order == RESOURCE_LOCK;
}

/* Returns whether a class at that place has its seat in the line of that claim. */
static bool has_seat(enum class_place place, const struct claim *of,
                     const struct claim *short_of)
{
    return place == CLASS_READY || (place == CLASS_BLOCKED && is_lock(of)) ||
           (place == CLASS_SHORT && of == short_of);
}

static void sit_ready(struct admission *a, struct class *c)
{
    seat_take(&c->ready);
    a->slotless += !c->slotted;
}

static void leave_ready(struct admission *a, struct class *c)
{
    seat_leave(&c->ready);
    a->slotless -= !c->slotted;
}

static void sit_down(struct admission *a, struct class *c)
{
    if (c->place == CLASS_READY)
        sit_ready(a, c);
    if (c->place == CLASS_BLOCKED)
        seat_take(&c->blocked);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        if (has_seat(c->place, of, c->short_of))
            seat_take(class_seat(c, of));
}

static void get_up(struct admission *a, struct class *c)
{
    if (c->place == CLASS_READY)
        leave_ready(a, c);
    if (c->place == CLASS_BLOCKED)
        seat_leave(&c->blocked);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        if (has_seat(c->place, of, c->short_of))
            seat_leave(class_seat(c, of));
}

/* Marks the resources in whose lines the class stands as due: the class behind it may now
 * be first. */
static void lines_due(struct admission *a, struct class *c)
{
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        if (has_seat(c->place, of, c->short_of))
            resource_due(a, of->resource);
}

static void move_seats(struct admission *a, struct class *c, enum class_place place,
                       const struct claim *short_of)
{
    for (struct claim *of = class_named(c); of < class_named_end(c); of++) {
        const bool had = has_seat(c->place, of, c->short_of);

        if (had == has_seat(place, of, short_of))
            continue;
        if (!had) {
            seat_take(class_seat(c, of));
        } else {
            seat_leave(class_seat(c, of));
            resource_due(a, of->resource);
        }
    }
}

static void put_aside(struct class *c)
{
    struct resource *r = c->short_of->resource;

    list_add_last(&r->impossible, &c->node);
    r->nimpossible++;
}

static void take_back(struct class *c)
{
    struct resource *r = c->short_of->resource;

    list_remove(&r->impossible, &c->node);
    r->nimpossible--;
}

static void move(struct admission *a, struct class *c, enum class_place place,
                 struct claim *short_of)
{
    if (c->place == CLASS_READY)
        leave_ready(a, c);
    if (c->place == CLASS_BLOCKED)
        seat_leave(&c->blocked);
    if (c->place == CLASS_IMPOSSIBLE)
        take_back(c);
    move_seats(a, c, place, short_of);
    c->place = (uint8_t)place;
    c->short_of = short_of;
    if (place == CLASS_READY)
        sit_ready(a, c);
    if (place == CLASS_BLOCKED)
        seat_take(&c->blocked);
    if (place == CLASS_IMPOSSIBLE)
        put_aside(c);
}

void standing_retry(struct admission *a, struct class *c)
{
    move(a, c, CLASS_READY, NULL);
}

void standing_park(struct admission *a, struct class *c, struct claim *of)
{
    struct resource *r = of->resource;

    if (!r->kind->possible(r, of))
        move(a, c, CLASS_IMPOSSIBLE, of);
    else
        move(a, c, is_lock(of) ? CLASS_BLOCKED : CLASS_SHORT, of);
    if (r->kind->order == RESOURCE_RATE) /* the offer sets the time of the next offer */
        resource_due(a, r);
}

/* --- waiters ------------------------------------------------------------------------ */

void standing_add(struct admission *a, struct class *c, struct waiter *w)
{
    const bool first = !c->count || w->rank < c->rank;

    a->eligible++;
    c->account->queue->waiting++;
    if (!c->count)
        account_join(&a->accounts, c->account, c->slotted);
    if (first)
        get_up(a, c);
    class_add(c, w);
    if (!first)
        return;
    if (c->place == CLASS_EMPTY)
        c->place = CLASS_READY;
    sit_down(a, c);
    /* The new first waiter may have the right now. */
    if (c->short_of && resource_is_named(c->short_of->resource))
        resource_due(a, c->short_of->resource);
}

void standing_remove(struct admission *a, struct class *c, struct waiter *w)
{
    const bool first = w->rank == c->rank;

    a->eligible--;
    c->account->queue->waiting--;
    if (first) {
        lines_due(a, c);
        get_up(a, c);
    }
    class_remove(c, w);
    if (!c->count) {
        if (c->place == CLASS_IMPOSSIBLE)
            take_back(c);
        c->place = CLASS_EMPTY;
        c->short_of = NULL;
        account_leave(c->account, c->slotted);
    } else if (first) {
        sit_down(a, c);
    }
}

/* --- whose right it is -------------------------------------------------------------- */

static bool fits(const struct claim *of, uint64_t now)
{
    return of->resource->kind->fits(of->resource, of, now);
}

/* Returns whether the class has been passed often enough, and lacks only locks and
 * slots. */
static bool has_reservation(const struct admission *a, struct class *c, uint64_t now)
{
    const struct waiter *w = class_first(c);

    if (class_times_passed(w) < a->bypass.times &&
        class_waited_usec(w, now) < a->bypass.usec)
        return false;
    for (const struct claim *of = c->claims; of < class_named_end(c); of++)
        if (!is_lock(of) && !fits(of, now))
            return false;
    return true;
}

bool standing_is_reserved(const struct admission *a, const struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    return c->named && (c->place == CLASS_READY || c->place == CLASS_BLOCKED) &&
           class_first(c) == w && !lane_is_limited(c->ready.lane) &&
           has_reservation(a, c, now);
}

static bool is_full(const struct admission *a)
{
    return a->slots.used >= a->slots.capacity;
}

/* Returns whether a class in the line of r can start, or has r reserved. with_slots: also
 * if it lacks only a slot of the machine. */
static bool may_have_right(const struct admission *a, const struct resource *r,
                           const struct lane *at, struct class *c, bool with_slots,
                           uint64_t now)
{
    return lane_is_able(at) || (with_slots && !lane_is_limited(at)) ||
           (r->kind->order == RESOURCE_LOCK && !lane_is_limited(at) &&
            has_reservation(a, c, now));
}

/* Returns the first class with the right to r: later classes do not take r. NULL:
 * none. */
static struct class *holder_of_right(struct admission *a, const struct resource *r,
                                     bool with_slots, uint64_t now)
{
    struct class *best = NULL;

    for (struct lane *l = line_part(&r->line, 0); l;
         l = line_part(&r->line, lane_part(l) + 1))
        for (struct lane *at = l; at; at = lane_after(at)) {
            struct class *c = lane_first(at);

            a->lanes_looked++;
            if (best && !class_is_before(c, best))
                break;
            if (may_have_right(a, r, at, c, with_slots, now)) {
                best = c;
                break;
            }
        }
    return best;
}

/* Returns the class's claim on r, which exists. */
static struct claim *claim_on(struct class *c, const struct resource *r)
{
    struct claim *of = class_named(c);

    while (of->resource != r)
        of++;
    return of;
}

static struct class *first_of_part(const struct resource *r, uint64_t part)
{
    const struct lane *l = line_part(&r->line, part);

    return l ? lane_first(l) : NULL;
}

/* Returns the class after c in the line of r: of the same part, otherwise the first of
 * the next part. */
static struct class *behind(const struct resource *r, struct class *c)
{
    const struct lane *l = class_seat(c, claim_on(c, r))->lane;
    struct class *next = class_behind(l, c);
    const struct lane *other = next ? NULL : lane_after(l);

    if (next)
        return next;
    return other ? lane_first(other) : first_of_part(r, lane_part(l) + 1);
}

struct class *standing_ahead(struct admission *a, const struct waiter *w,
                             const struct resource *r, struct class *c, uint64_t now,
                             unsigned *looks)
{
    for (c = c ? behind(r, c) : first_of_part(r, 0); c && *looks;) {
        const struct lane *l = class_seat(c, claim_on(c, r))->lane;

        a->lanes_looked++;
        --*looks;
        if (!place_is_before(c, c->rank, w->class, w->rank)) {
            c = first_of_part(r, lane_part(l) + 1);
            continue;
        }
        if (c != w->class && may_have_right(a, r, l, c, false, now))
            return c;
        c = behind(r, c);
    }
    return NULL;
}

struct claim *standing_short(struct admission *a, struct class *c, uint64_t now)
{
    for (struct claim *of = c->claims; of < class_named_end(c); of++) {
        if (!fits(of, now))
            return of;
        if (!resource_is_named(of->resource))
            continue;
        struct class *holder = holder_of_right(a, of->resource, false, now);
        if (holder && class_is_before(holder, c)) {
            resource_leave_to(a, of->resource, holder->account);
            return of;
        }
    }
    return NULL;
}

struct class *standing_first(const struct admission *a)
{
    struct class *best = NULL;

    if (is_full(a) && !a->slotless) /* the common case, asked after each change */
        return NULL;
    for (struct lane *l = line_part(&a->ready, 0); l;
         l = line_part(&a->ready, lane_part(l) + 1)) {
        struct lane *at = queue_is_able(l) ? l : NULL;

        while (at && user_is_limited(at))
            at = lane_after(at);
        if (at && (!best || class_is_before(lane_first(at), best)))
            best = lane_first(at);
    }
    return best;
}

/* --- what is passed ----------------------------------------------------------------- */

/* Returns whether the first class of a part of the line is before c; only slotted parts
 * if `slotted`. */
static bool has_before(const struct line *line, const struct class *c, bool slotted)
{
    for (struct lane *l = line_part(line, 0); l; l = line_part(line, lane_part(l) + 1))
        if ((l->slotted || !slotted) && lane_first(l) != c &&
            class_is_before(lane_first(l), c))
            return true;
    return false;
}

void standing_passes(struct admission *a, struct class *c)
{
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        if (is_lock(of) && has_before(&of->resource->line, c, false))
            of->resource->out_of_order++;
    if (c->slotted &&
        (has_before(&a->ready, c, true) || has_before(&a->blocked, c, true)))
        a->slots.out_of_order++;
}

/* --- offers ------------------------------------------------------------------------- */

/* Marks all resources as due that are left to an account or queue, or are in such a list,
 * as the right may have moved. */
static void all_due(struct admission *a, struct list *holds_up, size_t node)
{
    while (holds_up->first) {
        struct resource *r = (struct resource *)((uintptr_t)holds_up->first - node);

        resource_leave_to(a, r, NULL);
        resource_due(a, r);
    }
}

/* Marks all resources as due that are left to accounts of the user. */
static void user_due(struct admission *a, uid_t uid)
{
    for (struct list_node *n = a->queues.first; n; n = n->next) {
        struct account *account =
            account_find(&a->accounts, list_thing(n, struct job_queue, node), uid);

        if (account)
            all_due(a, &account->holds_up, offsetof(struct resource, left_by));
    }
}

/* Marks what is left to the account as due if it may have no slot more, and what is left
 * to its user in all queues if the user is limited. */
static void account_due(struct admission *a, struct account *account)
{
    if (account_user_is_limited(&a->accounts, account->user))
        user_due(a, account->uid);
    else if (account_is_limited(account))
        all_due(a, &account->holds_up, offsetof(struct resource, left_by));
}

void standing_slots(struct admission *a, struct account *account)
{
    const bool full = is_full(a);

    if (account)
        account_due(a, account);
    for (struct list_node *n = a->queues.first; n; n = n->next) {
        struct job_queue *q = list_thing(n, struct job_queue, node);
        const enum queue_state state = queue_state(q);

        if (full && state == QUEUE_IS_FULL) {
            if (q->state == QUEUE_IS_LIMITED) /* it may become LIMITED again */
                q->state = state;
            continue; /* no other slotted class could start either */
        }
        if (state < q->state || (a->was_full && state == QUEUE_IS_FULL))
            all_due(a, &q->holds_up, offsetof(struct resource, left_by_queue));
        q->state = state;
    }
    if (full && !a->was_full)
        all_due(a, &a->mixed, offsetof(struct resource, mixed));
    a->was_full = full;
}

static void lane_due(struct resource *r, void *arg)
{
    struct admission *a = arg;

    a->lanes_looked++;
    resource_due(a, r);
}

void standing_user(struct admission *a, struct account *account)
{
    all_due(a, &account->holds_up, offsetof(struct resource, left_by));
    line_each_resource(account, lane_due, a);
}

void standing_queue(struct admission *a, struct job_queue *q)
{
    (void)queue_reorder(q);
    all_due(a, &a->disputed, offsetof(struct resource, disputed));
    all_due(a, &q->holds_up, offsetof(struct resource, left_by_queue));
}

void standing_reorder(struct admission *a, struct account *account)
{
    if (queue_reorder(account->queue))
        all_due(a, &a->disputed, offsetof(struct resource, disputed));
    line_reorder(account);
    for (struct list_node *n = account->contested.first; n; n = n->next) {
        struct resource *r = list_thing(n, struct lane, contender)->line->of;

        a->lanes_looked++;
        if (r)
            resource_due(a, r);
    }
}

/* Tries IMPOSSIBLE classes again, as the capacity has grown. */
static void recheck(struct admission *a, struct resource *r)
{
    for (int i = 0; i < OFFER_RECHECKS && r->recheck && r->impossible.first; i++) {
        r->recheck--;
        move(a, list_thing(r->impossible.first, struct class, node), CLASS_READY, NULL);
    }
    if (!r->impossible.first)
        r->recheck = 0;
    if (r->recheck)
        resource_due(a, r);
}

/* The result of an offer. */
struct offer {
    uint64_t until; /* rates: when the next class fits; TIMED_NEVER: none would */
    bool is_left;   /* it fits a class behind the one with the right */
};

static void offer_class(struct admission *a, struct class *c, struct claim *of,
                        uint64_t now, struct offer *ret)
{
    if (!of->resource->kind->possible(of->resource, of)) {
        standing_park(a, c, of);
    } else if (!fits(of, now)) {
        if (of->resource->kind == &resource_rate &&
            rate_when(of->resource, of->amount) < ret->until)
            ret->until = rate_when(of->resource, of->amount);
    } else if (c->short_of == of) {
        move(a, c, CLASS_READY, NULL);
    }
}

/* Offers to the classes of a part, up to the one with the right. */
static void offer_part(struct admission *a, struct lane *l, struct class *holder,
                       uint64_t now, struct offer *ret)
{
    for (struct lane *next; l; l = next) {
        struct class *c = lane_first(l);
        struct claim *of = claim_on(c, l->line->of);

        a->lanes_looked++;
        next = lane_after(l);
        if (!holder || !class_is_before(holder, c))
            offer_class(a, c, of, now, ret);
        else if (c->short_of == of && (!is_lock(of) || fits(of, now)))
            ret->is_left = true; /* a rate will fit it in time */
    }
}

bool standing_offer(struct admission *a, uint64_t now)
{
    struct list_node *n = list_take_first(&a->due);
    struct offer found = {.until = TIMED_NEVER};

    if (!n)
        return false;
    struct resource *r = list_thing(n, struct resource, due);
    r->is_due = false;
    recheck(a, r);
    struct class *holder = holder_of_right(a, r, false, now);
    /* Without a free slot only slotless classes can start. */
    struct class *slotted = is_full(a) ? holder_of_right(a, r, true, now) : holder;
    resource_leave_to(a, r, NULL);
    for (uint64_t part = 0; part != UINT64_MAX;) {
        struct lane *l = line_part(&r->line, part);

        part = l ? lane_part(l) + 1 : UINT64_MAX;
        if (l)
            offer_part(a, l, l->slotted ? slotted : holder, now, &found);
    }
    if (found.is_left)
        resource_leave_to(a, r, slotted->account);
    if (found.until != TIMED_NEVER)
        timed_set(&a->boottime, &r->timed, found.until);
    return true;
}
