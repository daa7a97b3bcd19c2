/* Returns the first waiters of the line, and the place of a waiter, without changing the
 * line.
 *
 * The next waiter depends on those before it: each start charges its account and its
 * queue, and takes a slot. So the peek has a virtual time of its own for each queue, and
 * for each lane that it has opened. For each open lane it has the classes that have given
 * a waiter, with the next waiter of each. The next lane or class is opened only when that
 * would come first. Classes and lanes that give no waiter are many at times: after
 * PEEK_LOOKS of them the peek ends. */
#include "daemon/admit/state.h"

#define PEEK_QUEUES  8
#define PEEK_LANES   16
#define PEEK_CLASSES 32
#define PEEK_LOOKS   256

struct peek_queue {
    const struct job_queue *queue;
    uint64_t time, slots; /* as if the waiters returned had started */
    struct lane *behind;  /* the first lane not open; NULL: none */
};

struct peek_lane {
    struct lane *lane;
    uint64_t from, time; /* virtual time before and after the waiters returned */
    struct waiter *heads[PEEK_CLASSES]; /* next waiter of each class; NULL: none */
    unsigned n;
    struct class *behind; /* the first class not used yet; NULL: none */
};

struct peek {
    struct peek_lane lanes[PEEK_LANES];
    struct peek_queue queues[PEEK_QUEUES];
    unsigned n, nqueues;
    unsigned looks; /* left at what gives no waiter; 0: the order is unknown behind it */
};

/* --- one lane: its waiters by rank, over its classes -------------------------------- */

/* Returns whether the class claims more than slots, or is at the limit of its array. */
static bool is_passed_over(const struct class *c)
{
    return c->named || class_is_at_limit(c);
}

/* Returns this class, or the first one after it that is not passed over. NULL: there is
 * none, or no look is left. */
static struct class *skip_short(struct peek *p, const struct lane *t, struct class *c)
{
    for (; c && is_passed_over(c); c = lane_class_after(t, &c->ready))
        if (--p->looks == 0)
            return NULL;
    return c;
}

/* Returns the index of the first head; n: the class after them is first; n + 1: none is
 * left. */
static unsigned first_head(const struct peek_lane *p)
{
    const bool more = p->behind && p->n < PEEK_CLASSES;
    unsigned first = more ? p->n : p->n + 1;
    uint64_t rank = more ? p->behind->rank : UINT64_MAX;

    for (unsigned i = 0; i < p->n; i++)
        if (p->heads[i] && p->heads[i]->rank < rank) {
            first = i;
            rank = p->heads[i]->rank;
        }
    return first;
}

/* Takes head i of an open lane, which is its first. */
static struct waiter *take_head(struct peek *p, struct peek_lane *t, unsigned i)
{
    if (i == t->n) {
        t->heads[t->n++] = class_first(t->behind);
        t->behind = skip_short(p, t->lane, lane_class_after(t->lane, &t->behind->ready));
    }
    struct waiter *w = t->heads[i];
    const struct class_share share = class_share(w->class);

    t->heads[i] = class_after(w->class, w);
    t->time += account_cost(t->lane->account, share.amount, share.capacity);
    return w;
}

/* Returns this lane, or the first one after it whose user is not away. NULL: there is
 * none, or no look is left. */
static struct lane *skip_away(struct peek *p, struct lane *t)
{
    for (; t && t->account->user->away; t = lane_after(t))
        if (--p->looks == 0)
            return NULL;
    return t;
}

/* --- lanes -------------------------------------------------------------------------- */

static bool is_before(const struct lane *a, uint64_t time, const struct peek_lane *b)
{
    if (a->priority != b->lane->priority)
        return a->priority > b->lane->priority;
    return time < b->time || (time == b->time && a->account->uid < b->lane->account->uid);
}

/* Returns the best open lane of the queue; *ret_head: its first head. */
static struct peek_lane *best_of(struct peek *p, const struct peek_queue *q,
                                 unsigned *ret_head)
{
    struct peek_lane *best = NULL;

    for (unsigned i = 0; i < p->n; i++) {
        struct peek_lane *t = &p->lanes[i];
        const unsigned head = first_head(t);

        if (t->lane->account->queue != q->queue || head > t->n ||
            (best && !is_before(t->lane, t->time, best)))
            continue;
        best = t;
        *ret_head = head;
    }
    return best;
}

/* Returns what the account would be charged for waiters of its lanes of higher
 * priority. */
static uint64_t charged_before(const struct peek *p, const struct account *a)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < p->n; i++)
        if (p->lanes[i].lane->account == a)
            sum += p->lanes[i].time - p->lanes[i].from;
    return sum;
}

static void open_lane(struct peek *p, struct peek_queue *q)
{
    struct peek_lane *t = &p->lanes[p->n];

    t->lane = q->behind;
    t->from = t->lane->time + charged_before(p, t->lane->account);
    t->time = t->from;
    p->n++;
    t->n = 0;
    t->behind = skip_short(p, t->lane, lane_first(t->lane));
    if (p->looks)
        q->behind = skip_away(p, lane_after(t->lane));
}

/* Returns the class of a lane that is the last one and has only that class, so no other
 * waiter comes between. NULL: otherwise. */
static struct class *only_class(const struct lane *t)
{
    struct class *c = lane_after(t) ? NULL : lane_first(t);

    return c && !is_passed_over(c) && !lane_class_after(t, &c->ready) ? c : NULL;
}

/* --- queues ------------------------------------------------------------------------- */

/* Begins with the queues whose jobs may get slots. Returns false if the order cannot be
 * found here: users have limits, there are too many queues, or too many users are
 * away. */
static bool begin(struct peek *p, const struct admission *a)
{
    p->n = p->nqueues = 0;
    p->looks = PEEK_LOOKS;
    for (struct lane *l = line_part(&a->ready, 0); l;
         l = line_part(&a->ready, lane_part(l) + 1)) {
        const struct job_queue *q = l->account->queue;

        if (!l->slotted || queue_state(q) == QUEUE_IS_LIMITED)
            continue;
        if (p->nqueues == PEEK_QUEUES || q->policy.user_most || a->accounts.user_most)
            return false;
        p->queues[p->nqueues++] = (struct peek_queue){.queue = q,
                                                      .time = virtual_time(&q->time),
                                                      .slots = q->slots,
                                                      .behind = skip_away(p, l)};
        if (!p->looks)
            return false;
    }
    return true;
}

static bool is_below(const struct peek_queue *q)
{
    return q->slots < q->queue->policy.nominal;
}

/* Returns as queue_is_before(). */
static bool is_asked_before(const struct peek_queue *a, const struct peek_queue *b)
{
    if (is_below(a) != is_below(b))
        return is_below(a);
    return a->time < b->time ||
           (a->time == b->time && a->queue->number < b->queue->number);
}

static struct peek_queue *best_queue(struct peek *p)
{
    struct peek_queue *best = NULL;

    for (unsigned i = 0; i < p->nqueues; i++) {
        struct peek_queue *q = &p->queues[i];
        const uint32_t most = q->queue->policy.most;

        if ((!most || q->slots < most) && (!best || is_asked_before(q, best)))
            best = q;
    }
    return best;
}

/* Removes a queue that has no more waiters. */
static void close_queue(struct peek *p, struct peek_queue *q)
{
    *q = p->queues[--p->nqueues];
}

/* Returns the queue's next waiter; NULL: none, too many lanes are open, or no look is
 * left. */
static struct waiter *next_of(struct peek *p, struct peek_queue *q)
{
    for (;;) {
        unsigned head = 0;
        struct peek_lane *best = best_of(p, q, &head);

        if (q->behind && p->n < PEEK_LANES &&
            (!best || is_before(q->behind, q->behind->time, best))) {
            open_lane(p, q);
            if (!p->looks)
                return NULL;
            continue;
        }
        if (!best)
            return NULL;
        struct waiter *w = take_head(p, best, head);
        const struct class_share share = class_share(w->class);

        q->slots++;
        q->time += account_cost(w->class->account, share.amount, share.capacity) /
                   q->queue->policy.weight;
        return w;
    }
}

size_t admission_peek(struct admission *a, struct waiter **ret_waiters, size_t n)
{
    struct peek p;
    struct peek_queue *q;
    size_t got = 0;

    if (!begin(&p, a))
        return 0;
    const struct lane *first = p.nqueues == 1 ? p.queues[0].behind : NULL;
    struct class *only = first ? only_class(first) : NULL;
    if (only && !only->elements)
        return class_list(only, ret_waiters, n);
    while (got < n && p.looks && (q = best_queue(&p))) {
        struct waiter *w = next_of(&p, q);

        if (w)
            ret_waiters[got++] = w;
        else
            close_queue(&p, q);
    }
    return got;
}

bool admission_may_have_slot(const struct waiter *w)
{
    return lane_is_able(w->class->ready.lane);
}

/* --- the place of one --------------------------------------------------------------- */

bool admission_before(const struct waiter *a, const struct waiter *b)
{
    return place_is_before(a->class, a->rank, b->class, b->rank);
}

size_t admission_alike_before(const struct waiter *w, struct waiter **ret_waiters,
                              size_t n)
{
    size_t got = class_list(w->class, ret_waiters, n);

    while (got > 0 && ret_waiters[got - 1]->rank >= w->rank)
        got--;
    return got;
}

uint64_t admission_classes_of(const struct admission *a, uid_t uid)
{
    uint64_t sum = 0;

    for (const struct list_node *n = a->queues.first; n; n = n->next) {
        const struct account *account =
            account_find(&a->accounts, list_thing(n, struct job_queue, node), uid);

        sum += account ? account->waiting : 0;
    }
    return sum;
}

uint64_t admission_position(const struct waiter *w)
{
    const struct lane *own = w->class->ready.lane;
    uint64_t near = 0;

    for (const struct class *c = own->seats.root ? lane_first(own) : NULL;
         c && c->rank < w->rank && near < ADMISSION_EXACT;
         c = lane_class_after(own, &c->ready))
        near += class_count_before(c, w, ADMISSION_EXACT - near);
    return lane_waiters_before(own) + near;
}
