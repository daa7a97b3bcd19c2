/* See line.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/admit/account.h"
#include "daemon/admit/class.h"
#include "daemon/admit/job_queue.h"

#define lane_of(n) list_thing(n, struct lane, place.node)
#define seat_of(n) list_thing(n, struct seat, node)

/* --- order -------------------------------------------------------------------------- */

uint64_t lane_part(const struct lane *t)
{
    return PART_OF(t->account->queue->number, t->slotted);
}

static bool lane_is_before(const struct treap_node *x, const struct treap_node *y)
{
    const struct lane *a = lane_of(x), *b = lane_of(y);
    const uint64_t part = lane_part(a), other = lane_part(b);

    if (part != other)
        return part < other;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->time != b->time)
        return a->time < b->time;
    return a->account->uid < b->account->uid;
}

static bool seat_is_before(const struct treap_node *x, const struct treap_node *y)
{
    return seat_of(x)->class->rank < seat_of(y)->class->rank;
}

/* Returns whether a is asked before b, a lane of the same part. */
static bool lane_is_asked_before(const struct lane *a, const struct lane *b)
{
    return lane_is_before(&a->place.node, &b->place.node);
}

bool place_is_before(const struct class *a, uint64_t rank, const struct class *b,
                     uint64_t other)
{
    const struct account *x = a->account, *y = b->account;

    if ((a->priority == ADMISSION_FIRST) != (b->priority == ADMISSION_FIRST))
        return a->priority == ADMISSION_FIRST;
    if (x->queue != y->queue)
        return queue_is_before(x->queue, y->queue);
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (x != y) {
        const uint64_t s = virtual_time(&x->time), t = virtual_time(&y->time);

        return s < t || (s == t && x->uid < y->uid);
    }
    return rank < other;
}

bool class_is_before(const struct class *a, const struct class *b)
{
    return place_is_before(a, a->rank, b, b->rank);
}

/* --- lanes -------------------------------------------------------------------------- */

static bool is_before_by_line(const struct treap_node *x, const struct treap_node *y)
{
    const struct lane *a = list_thing(x, struct lane, by_line);
    const struct lane *b = list_thing(y, struct lane, by_line);

    if (a->line != b->line)
        return (uintptr_t)a->line < (uintptr_t)b->line;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->slotted < b->slotted;
}

static struct lane *lane_find(const struct lane *like)
{
    struct treap_node *n = like->account->lanes.root;

    while (n) {
        bool before = is_before_by_line(&like->by_line, n);

        if (!before && !is_before_by_line(n, &like->by_line))
            return list_thing(n, struct lane, by_line);
        n = before ? n->left : n->right;
    }
    return NULL;
}

static struct lane *lane_get(struct class *c, struct line *l)
{
    const struct lane like = {
        .line = l, .account = c->account, .priority = c->priority, .slotted = c->slotted};
    struct lane *t = lane_find(&like);

    if (!t && (t = malloc(sizeof(*t)))) {
        *t = like;
        treap_add(&c->account->lanes, &t->by_line, is_before_by_line);
    }
    if (t)
        t->refs++;
    return t;
}

static void lane_put(struct lane *t)
{
    if (--t->refs > 0)
        return;
    treap_remove(&t->account->lanes, &t->by_line, is_before_by_line);
    free(t);
}

/* --- which lanes time orders -------------------------------------------------------- */

/* Compares a lane with a level: the lanes of a part at a priority, which virtual time
 * orders. Returns 0 for a lane of the level, below 0 for a lane before it. */
static int compare_level(const struct lane *t, uint64_t part, int32_t priority)
{
    if (lane_part(t) != part)
        return lane_part(t) < part ? -1 : 1;
    return (t->priority < priority) - (t->priority > priority);
}

/* Returns the first lane of a level; NULL: none. */
static struct lane *first_of_level(const struct line *l, uint64_t part, int32_t priority)
{
    struct lane *found = NULL;

    for (struct treap_node *n = l->lanes.root; n;) {
        const int order = compare_level(lane_of(n), part, priority);

        found = order == 0 ? lane_of(n) : found;
        n = order < 0 ? n->right : n->left;
    }
    return found;
}

/* Returns the lane after this one in the same level, or NULL. NULL is allowed. */
static struct lane *next_of_level(struct lane *t)
{
    struct lane *next = t ? lane_after(t) : NULL;

    return next && next->priority == t->priority ? next : NULL;
}

/* Updates the time of a lane that is not contested, which may be old: alone in its level,
 * its place does not depend on it. */
static void renew_time(struct lane *t)
{
    if (t && !t->contested)
        t->time = virtual_time(&t->account->time);
}

static void set_contested(struct lane *t, bool contested)
{
    if (!t || t->contested == contested)
        return;
    renew_time(t);
    t->contested = contested;
    if (contested)
        list_add_last(&t->account->contested, &t->contender);
    else
        list_remove(&t->account->contested, &t->contender);
}

/* Updates which lanes of a level are contested, after lane t joined or left it. Slotted
 * and slotless lanes of a queue are two parts, and virtual time orders both together.
 * After the first two lanes of a part all others are contested already, except for t.
 * Returns whether the level is contested. */
static bool settle_level(const struct lane *t)
{
    const uint64_t part = lane_part(t);
    struct lane *a = first_of_level(t->line, part, t->priority);
    struct lane *b = first_of_level(t->line, part ^ 1, t->priority);
    struct lane *behind_a = next_of_level(a), *behind_b = next_of_level(b);
    const bool contested =
        behind_a || behind_b || (a && b && a->account != b->account);

    set_contested(a, contested);
    set_contested(b, contested);
    set_contested(behind_a, contested);
    set_contested(behind_b, contested);
    return contested;
}

/* --- lanes in the line -------------------------------------------------------------- */

static void lane_join(struct lane *t)
{
    if (t->line->shared) {
        renew_time(t);
        renew_time(first_of_level(t->line, lane_part(t), t->priority));
    }
    treap_add_weight(&t->line->lanes, &t->place, lane_is_before);
    if (t->line->shared)
        set_contested(t, settle_level(t));
}

static void lane_leave(struct lane *t)
{
    treap_remove_weight(&t->line->lanes, &t->place, lane_is_before);
    if (!t->contested)
        return;
    set_contested(t, false);
    (void)settle_level(t);
}

void line_reorder(struct account *a)
{
    for (struct list_node *n = a->contested.first; n; n = n->next) {
        struct lane *t = list_thing(n, struct lane, contender);

        treap_remove_weight(&t->line->lanes, &t->place, lane_is_before);
        t->time = virtual_time(&a->time);
        treap_add_weight(&t->line->lanes, &t->place, lane_is_before);
    }
}

struct lane *line_part(const struct line *l, uint64_t part)
{
    struct lane *found = NULL;

    for (struct treap_node *n = l->lanes.root; n;)
        if (lane_part(lane_of(n)) >= part) {
            found = lane_of(n);
            n = n->left;
        } else {
            n = n->right;
        }
    return found;
}

bool line_has_queues(const struct line *l)
{
    const struct lane *first = line_part(l, 0);

    return first && line_part(l, PART_OF(first->account->queue->number + 1, false));
}

bool line_is_mixed(const struct line *l)
{
    bool slotted = false, slotless = false;

    for (const struct lane *at = line_part(l, 0); at;
         at = line_part(l, lane_part(at) + 1)) {
        slotted |= at->slotted;
        slotless |= !at->slotted;
    }
    return slotted && slotless;
}

struct lane *lane_after(const struct lane *t)
{
    struct treap_node *n = treap_next(&t->line->lanes, &t->place.node, lane_is_before);

    return n && lane_part(lane_of(n)) == lane_part(t) ? lane_of(n) : NULL;
}

void lane_set_waiters(struct lane *t, uint64_t waiters)
{
    if (t->seats.root)
        treap_weigh(&t->line->lanes, &t->place, lane_is_before, waiters);
    else
        t->place.own = waiters;
}

uint64_t lane_waiters_before(const struct lane *t)
{
    const struct treap *lanes = &t->line->lanes;
    const struct lane *first = line_part(t->line, lane_part(t));

    if (!first || !lane_is_asked_before(first, t))
        return 0;
    return treap_weight_before(lanes, &t->place.node, lane_is_before) -
           treap_weight_before(lanes, &first->place.node, lane_is_before);
}

struct class *lane_first(const struct lane *t)
{
    return seat_of(treap_first(&t->seats))->class;
}

struct class *lane_class_after(const struct lane *t, const struct seat *s)
{
    struct treap_node *n = treap_next(&t->seats, &s->node, seat_is_before);

    return n ? seat_of(n)->class : NULL;
}

void line_each_resource(const struct account *a,
                        void (*fn)(struct resource *r, void *arg), void *arg)
{
    for (struct treap_node *n = treap_first(&a->lanes); n;
         n = treap_next(&a->lanes, n, is_before_by_line)) {
        struct resource *r = list_thing(n, struct lane, by_line)->line->of;

        if (r)
            fn(r, arg);
    }
}

uint64_t line_held(const struct line *l, const struct account *a)
{
    uint64_t sum = 0;

    for (struct treap_node *n = treap_first(&a->lanes); n;
         n = treap_next(&a->lanes, n, is_before_by_line)) {
        const struct lane *at = list_thing(n, struct lane, by_line);

        sum += at->line == l ? at->held : 0;
    }
    return sum;
}

/* --- seats -------------------------------------------------------------------------- */

int seat_init(struct seat *s, struct class *c, struct line *l)
{
    *s = (struct seat){.class = c, .lane = lane_get(c, l)};
    return s->lane ? 0 : -ENOMEM;
}

void seat_fini(struct seat *s)
{
    if (s->lane)
        lane_put(s->lane);
}

void seat_take(struct seat *s)
{
    struct lane *t = s->lane;

    assert(!s->taken);
    if (!t->seats.root)
        lane_join(t);
    treap_add(&t->seats, &s->node, seat_is_before);
    s->taken = true;
}

void seat_leave(struct seat *s)
{
    struct lane *t = s->lane;

    assert(s->taken);
    treap_remove(&t->seats, &s->node, seat_is_before);
    s->taken = false;
    if (!t->seats.root)
        lane_leave(t);
}
