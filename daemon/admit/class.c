/* See class.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admit/state.h"

#define class_of(n) list_thing(n, struct class, hash)

/* --- the claims of an ask ----------------------------------------------------------- */

/* The claims of a class without the limit of its array: in order of kinds, one for each
 * resource. */
struct claim_set {
    struct claim claims[ADMISSION_CLAIMS + 1];
    uint32_t n;
};

static bool stands_before(const struct claim *a, const struct claim *b)
{
    const enum resource_order x = a->resource->kind->order, y = b->resource->kind->order;

    return x < y || (x == y && a->resource->number < b->resource->number);
}

/* Adds a claim. Amounts on one resource add up; shared and exclusive become exclusive. */
static int set_add(struct claim_set *set, const struct claim *claim)
{
    uint32_t at = set->n;

    while (at > 0 && stands_before(claim, &set->claims[at - 1]))
        at--;
    struct claim *same = at > 0 ? &set->claims[at - 1] : NULL;
    if (same && same->resource == claim->resource) {
        if (same->amount > UINT32_MAX - claim->amount)
            return -ERANGE;
        same->amount += claim->amount;
        same->exclusive |= claim->exclusive;
        return 0;
    }
    memmove(&set->claims[at + 1], &set->claims[at], (set->n - at) * sizeof(*claim));
    set->claims[at] = *claim;
    set->n++;
    return 0;
}

static int set_make(struct admission *a, const struct admission_ask *ask,
                    struct claim_set *ret)
{
    ret->n = 0;
    if (ask->n > ADMISSION_CLAIMS)
        return -E2BIG;
    for (size_t i = 0; i < ask->n; i++) {
        int r = set_add(ret, &ask->claims[i]);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < ret->n && !ask->again; i++)
        if (!ret->claims[i].resource->kind->possible(ret->claims[i].resource,
                                                     &ret->claims[i]))
            return -ERANGE;
    if (ask->slot)
        ret->claims[ret->n++] = (struct claim){.resource = &a->slots, .amount = 1};
    return 0;
}

/* --- one for each ask --------------------------------------------------------------- */

static bool is_same_claim(const struct claim *a, const struct claim *b)
{
    return a->resource == b->resource && a->amount == b->amount &&
           a->exclusive == b->exclusive;
}

static bool is_asked(const struct class *c, const struct account *account,
                     int32_t priority, const struct claim_set *set)
{
    if (c->account != account || c->priority != priority || c->elements || c->n != set->n)
        return false;
    for (uint32_t i = 0; i < set->n; i++)
        if (!is_same_claim(&c->claims[i], &set->claims[i]))
            return false;
    return true;
}

static uint64_t hash_of(const struct admission *a, const struct account *account,
                        int32_t priority, const struct claim_set *set)
{
    struct siphash h;

    siphash_init64(&h, &a->secret);
    siphash_add_number(&h, (uintptr_t)account);
    siphash_add_number(&h, (uint32_t)priority);
    for (uint32_t i = 0; i < set->n; i++) {
        siphash_add_number(&h, (uintptr_t)set->claims[i].resource);
        siphash_add_number(&h, (uint64_t)set->claims[i].amount << 1 |
                                   set->claims[i].exclusive);
    }
    return siphash_end64(&h);
}

static struct class *find(struct admission *a, const struct account *account,
                          int32_t priority, const struct claim_set *set, uint64_t hash)
{
    struct hash_node *n = hash_table_first(&a->classes, hash);

    while (n && !is_asked(class_of(n), account, priority, set))
        n = hash_node_next(n);
    return n ? class_of(n) : NULL;
}

static void class_free(struct admission *a, struct class *c)
{
    seat_fini(&c->ready);
    seat_fini(&c->blocked);
    for (uint32_t i = 0; i < c->named; i++) {
        seat_fini(&c->seats[i]);
        named_put(a, class_named(c)[i].resource);
    }
    free(c->elements);
    free(c);
}

static int set_elements(struct class *c, uint32_t most)
{
    if (!most)
        return 0;
    c->elements = malloc(sizeof(*c->elements));
    if (!c->elements)
        return -ENOMEM;
    resource_init(c->elements, &resource_elements, most, false);
    c->claims[c->n++] = (struct claim){.resource = c->elements, .amount = 1};
    return 0;
}

static void set_claims(struct class *c, const struct claim_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        c->claims[c->n++] = set->claims[i];
        if (!resource_is_named(set->claims[i].resource))
            continue;
        c->named++;
        named_ref(set->claims[i].resource);
    }
}

static int set_seats(struct admission *a, struct class *c)
{
    int r = seat_init(&c->ready, c, &a->ready);

    if (r == 0 && c->named)
        r = seat_init(&c->blocked, c, &a->blocked);
    for (uint32_t i = 0; i < c->named && r == 0; i++)
        r = seat_init(&c->seats[i], c, &class_named(c)[i].resource->line);
    return r;
}

static struct class *class_new(struct admission *a, struct account *account,
                               const struct admission_ask *ask,
                               const struct claim_set *set)
{
    const size_t claims = (set->n + 1) * sizeof(struct claim);
    struct class *c = calloc(1, sizeof(*c) + claims + set->n * sizeof(struct seat));

    if (!c)
        return NULL;
    c->account = account;
    c->priority = ask->priority;
    c->slotted = ask->slot;
    c->seats = (struct seat *)(void *)((char *)(c + 1) + claims);
    if (set_elements(c, ask->most) == 0) {
        set_claims(c, set);
        if (set_seats(a, c) == 0)
            return c;
    }
    class_free(a, c);
    return NULL;
}

static int make(struct admission *a, struct account *account,
                const struct admission_ask *ask, const struct claim_set *set,
                struct class **ret)
{
    const uint64_t hash = hash_of(a, account, ask->priority, set);

    if (hash_table_reserve(&a->classes) < 0)
        return -ENOMEM;
    *ret = ask->most ? NULL : find(a, account, ask->priority, set, hash);
    if (*ret)
        return 0;
    *ret = class_new(a, account, ask, set);
    if (!*ret)
        return -ENOMEM;
    hash_table_add(&a->classes, &(*ret)->hash, hash);
    return 0;
}

int class_get(struct admission *a, const struct admission_ask *ask, struct class **ret)
{
    struct job_queue *q = ask->queue ? ask->queue : a->first_queue;
    struct class *c = a->latest;
    struct claim_set set;
    int r = set_make(a, ask, &set);

    if (r < 0)
        return r;
    if (!c || c->account->uid != ask->uid || c->account->queue != q || ask->most ||
        !is_asked(c, c->account, ask->priority, &set)) {
        struct account *account = account_get(&a->accounts, q, ask->uid);

        r = account ? make(a, account, ask, &set, &c) : -ENOMEM;
        if (r < 0)
            return r;
    }
    c->refs++;
    q->refs++;
    a->latest = c;
    *ret = c;
    return 0;
}

void class_put(struct admission *a, struct class *c)
{
    c->account->queue->refs--;
    if (--c->refs > 0)
        return;
    assert(c->place == CLASS_EMPTY);
    if (a->latest == c)
        a->latest = NULL;
    hash_table_remove(&a->classes, &c->hash);
    class_free(a, c);
}

void classes_fini(struct admission *a)
{
    struct hash_cursor at = {0};

    for (struct hash_node *n; (n = hash_table_each(&a->classes, &at));)
        class_free(a, class_of(n));
    hash_table_fini(&a->classes);
}

/* --- its waiters -------------------------------------------------------------------- */

static bool is_before(const struct treap_node *x, const struct treap_node *y)
{
    return list_thing(x, struct waiter, node)->rank <
           list_thing(y, struct waiter, node)->rank;
}

static struct waiter *waiter_of(struct treap_node *n)
{
    return n ? list_thing(n, struct waiter, node) : NULL;
}

bool class_is_at_limit(const struct class *c)
{
    return c->elements && c->elements->used >= c->elements->capacity;
}

struct waiter *class_first(const struct class *c)
{
    return waiter_of(treap_first(&c->waiters));
}

struct waiter *class_after(const struct class *c, const struct waiter *w)
{
    return waiter_of(treap_next(&c->waiters, &w->node, is_before));
}

static size_t list_below(struct treap_node *at, struct waiter **ret, size_t n)
{
    size_t got = 0;

    for (; at && got < n; at = at->right) {
        got += list_below(at->left, ret + got, n - got);
        if (got < n)
            ret[got++] = waiter_of(at);
    }
    return got;
}

size_t class_list(const struct class *c, struct waiter **ret_waiters, size_t n)
{
    return list_below(c->waiters.root, ret_waiters, n);
}

size_t class_count_before(const struct class *c, const struct waiter *w, size_t most)
{
    return treap_count_before(&c->waiters, &w->node, is_before, most);
}

void class_add(struct class *c, struct waiter *w)
{
    treap_add(&c->waiters, &w->node, is_before);
    if (c->count++ == 0 || w->rank < c->rank)
        c->rank = w->rank;
    lane_set_waiters(c->ready.lane, c->ready.lane->place.own + 1);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        of->resource->waiting++;
}

void class_remove(struct class *c, struct waiter *w)
{
    treap_remove(&c->waiters, &w->node, is_before);
    if (--c->count > 0 && w->rank == c->rank)
        c->rank = class_first(c)->rank;
    lane_set_waiters(c->ready.lane, c->ready.lane->place.own - 1);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        of->resource->waiting--;
}

#define STEP_USEC  UINT64_C(8000000)
#define STEPS_MASK ((UINT32_C(1) << 27) - 1) /* 34 years */

uint32_t class_passed(const struct class *c)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < c->n; i++)
        sum += c->claims[i].resource->out_of_order;
    return (uint32_t)sum;
}

void class_stamp(struct waiter *w, uint64_t now)
{
    w->passed = class_passed(w->class);
    w->since = (uint32_t)(now / STEP_USEC) & STEPS_MASK;
}

uint32_t class_times_passed(const struct waiter *w)
{
    return class_passed(w->class) - w->passed;
}

uint64_t class_waited_usec(const struct waiter *w, uint64_t now)
{
    return (((uint32_t)(now / STEP_USEC) - w->since) & STEPS_MASK) * STEP_USEC;
}

struct class *class_behind(const struct lane *l, struct class *c)
{
    struct seat *s = &c->ready;

    if (c->blocked.lane == l)
        s = &c->blocked;
    for (uint32_t i = 0; i < c->named; i++)
        if (c->seats[i].lane == l)
            s = &c->seats[i];
    return lane_class_after(l, s);
}

/* --- its claims --------------------------------------------------------------------- */

struct claim *class_named(struct class *c)
{
    return &c->claims[c->elements ? 1 : 0];
}

struct claim *class_named_end(struct class *c)
{
    return class_named(c) + c->named;
}

struct seat *class_seat(struct class *c, const struct claim *of)
{
    return &c->seats[of - class_named(c)];
}

#define ORDER(order) (1U << (order))

/* Returns whether the claim is held until it is released, as tokens of rates are not. */
static bool is_held(const struct claim *of)
{
    return of->resource->kind->order == RESOURCE_LOCK;
}

static void take(struct class *c, unsigned orders, uint64_t now)
{
    for (struct claim *of = c->claims; of < &c->claims[c->n]; of++) {
        if (!(orders & ORDER(of->resource->kind->order)))
            continue;
        of->resource->kind->take(of->resource, of, 1, now);
        if (is_held(of))
            class_seat(c, of)->lane->held += of->amount;
    }
}

void class_take(struct class *c, uint64_t now)
{
    take(c, ~0U, now);
}

void class_take_again(struct class *c, uint64_t now)
{
    take(c, ~ORDER(RESOURCE_RATE), now);
}

void class_take_locks(struct class *c, uint64_t now)
{
    take(c, ORDER(RESOURCE_LOCK), now);
}

static void give(struct class *c, unsigned orders, uint64_t n)
{
    for (struct claim *of = c->claims; of < &c->claims[c->n]; of++) {
        if (!(orders & ORDER(of->resource->kind->order)))
            continue;
        of->resource->kind->give(of->resource, of, n);
        if (is_held(of))
            class_seat(c, of)->lane->held -= of->amount * n;
    }
}

void class_give(struct class *c, uint64_t n)
{
    give(c, ORDER(RESOURCE_LIMIT) | ORDER(RESOURCE_MACHINE), n);
}

void class_give_locks(struct class *c, uint64_t n)
{
    give(c, ORDER(RESOURCE_LOCK), n);
}

void class_refund(struct class *c, uint64_t n)
{
    give(c, ORDER(RESOURCE_RATE), n);
}

void class_lend(struct class *c)
{
    give(c, ORDER(RESOURCE_MACHINE), 1);
}

void class_take_back(struct class *c, uint64_t now)
{
    take(c, ORDER(RESOURCE_MACHINE), now);
}

struct class_share class_share(const struct class *c)
{
    if (!c->slotted)
        return (struct class_share){0, 1};
    const struct claim *slot = &c->claims[c->n - 1];

    return (struct class_share){slot->amount, slot->resource->capacity};
}
