/* See named.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admit/state.h"

#define GLOBAL UINT64_MAX

struct named {
    struct resource resource;
    struct hash_node hash;
    union {
        struct treap_node own; /* among the names of its owner, if it has one */
        struct list_node gone; /* in admission.gone */
    };
    uint64_t owner; /* uid, or GLOBAL */
    uint64_t refs;
    bool declared;
    char name[];
};

#define named_of_hash(n) list_thing(n, struct named, hash)

#define named_of_own(n) list_thing(n, struct named, own)

static bool is_before(const struct treap_node *a, const struct treap_node *b)
{
    return strcmp(named_of_own(a)->name, named_of_own(b)->name) < 0;
}

static struct named *named_of(const struct resource *r)
{
    return (struct named *)(uintptr_t)r; /* `resource` is the first member */
}

static uint64_t owner_of(const struct named_ask *ask)
{
    return ask->global ? GLOBAL : ask->owner;
}

static uint64_t hash_of(const struct admission *a, const struct named_ask *ask)
{
    struct siphash h;

    siphash_init64(&h, &a->secret);
    siphash_add_number(&h, owner_of(ask));
    siphash_add(&h, ask->name, strlen(ask->name));
    return siphash_end64(&h);
}

static struct named *find(const struct admission *a, const struct named_ask *ask,
                          uint64_t hash)
{
    struct hash_node *n = hash_table_first(&a->named, hash);

    while (n && (named_of_hash(n)->owner != owner_of(ask) ||
                 strcmp(named_of_hash(n)->name, ask->name) != 0))
        n = hash_node_next(n);
    return n ? named_of_hash(n) : NULL;
}

static bool is_as_asked(const struct named *m, const struct named_ask *ask)
{
    const struct resource *r = &m->resource;

    return r->kind == ask->kind && (!ask->capacity || r->capacity == ask->capacity) &&
           (!ask->per_usec || r->per_usec == ask->per_usec);
}

static void rate_is_due(struct admission *a, struct timed *t, uint64_t now)
{
    struct resource *r = list_thing(t, struct resource, timed);

    (void)now;
    if (!named_drop_unused(a, r))
        resource_due(a, r);
}

static bool is_valid(const struct named_ask *ask)
{
    const size_t length = strlen(ask->name);

    return length > 0 && length <= NAMED_BYTES;
}

/* Returns the account that counts the user's names, in the first queue. NULL: no
 * memory. */
static struct account *owner_of_name(struct admission *a, uint64_t owner)
{
    return account_get(&a->accounts, a->first_queue, (uid_t)owner);
}

/* Counts the resource for its owner. */
static int enlist(struct admission *a, struct named *m, bool again)
{
    struct account *owner = owner_of_name(a, m->owner);

    if (!owner)
        return -ENOMEM;
    if (owner->names >= NAMED_MOST && !again)
        return -EDQUOT;
    owner->names++;
    treap_add(&owner->owned, &m->own, is_before);
    return 0;
}

static void unlist(struct admission *a, struct named *m)
{
    if (m->owner == GLOBAL)
        return;
    struct account *owner = owner_of_name(a, m->owner); /* it exists */
    owner->names--;
    treap_remove(&owner->owned, &m->own, is_before);
}

static int make(struct admission *a, const struct named_ask *ask, uint64_t hash,
                struct named **ret)
{
    const size_t length = strlen(ask->name) + 1;
    int r = 0;

    if (ask->kind == &resource_rate && !ask->per_usec)
        return -EINVAL;
    if (hash_table_reserve(&a->named) < 0)
        return -ENOMEM;
    struct named *m = calloc(1, sizeof(*m) + length);
    if (!m)
        return -ENOMEM;
    m->owner = owner_of(ask);
    memcpy(m->name, ask->name, length);
    if (!ask->global && (r = enlist(a, m, ask->again)) < 0) {
        free(m);
        return r;
    }
    resource_init(&m->resource, ask->kind, ask->capacity ? ask->capacity : 1,
                  ask->global);
    m->resource.number = ++a->named_numbers;
    m->resource.per_usec = ask->per_usec;
    m->resource.timed.due = rate_is_due;
    hash_table_add(&a->named, &m->hash, hash);
    *ret = m;
    return 0;
}

int named_get(struct admission *a, const struct named_ask *ask, struct resource **ret)
{
    if (!is_valid(ask))
        return -EINVAL;
    const uint64_t hash = hash_of(a, ask);
    struct named *m = find(a, ask, hash);
    int r = 0;

    if (m && !is_as_asked(m, ask))
        return -EEXIST;
    if (!m)
        r = make(a, ask, hash, &m);
    if (r < 0)
        return r;
    m->refs++;
    *ret = &m->resource;
    return 0;
}

struct resource *named_find(const struct admission *a, uid_t owner, const char *name)
{
    const struct named_ask ask = {.owner = owner, .name = name};
    struct named *m = find(a, &ask, hash_of(a, &ask));

    return m ? &m->resource : NULL;
}

struct resource *named_next(struct admission *a, uid_t owner, const char *name)
{
    const struct account *account = account_find(&a->accounts, a->first_queue, owner);
    _Alignas(struct named) char room[sizeof(struct named) + NAMED_BYTES + 1];
    struct named *behind = (struct named *)(void *)room;

    if (!account)
        return NULL;
    strncpy(behind->name, name, NAMED_BYTES)[NAMED_BYTES] = '\0';
    struct treap_node *n = treap_after(&account->owned, &behind->own, is_before);
    return n ? &named_of_own(n)->resource : NULL;
}

void named_ref(struct resource *r)
{
    named_of(r)->refs++;
}

/* Drops a resource that is not used. A rate stays until it is full, as otherwise its
 * tokens would be back at once. */
static void drop_unused(struct admission *a, struct named *m)
{
    if (m->refs || m->declared)
        return;
    if (m->resource.full_at > a->now) {
        timed_set(&a->boottime, &m->resource.timed, m->resource.full_at);
        return;
    }
    resource_unlink(a, &m->resource);
    hash_table_remove(&a->named, &m->hash);
    unlist(a, m);
    if (m->resource.kind == &resource_rate)
        list_add_last(&a->gone, &m->gone);
    else
        free(m);
}

void named_put(struct admission *a, struct resource *r)
{
    named_of(r)->refs--;
    drop_unused(a, named_of(r));
}

void named_declare(struct admission *a, struct resource *r, bool declared)
{
    named_of(r)->declared = declared;
    drop_unused(a, named_of(r));
}

void named_set_full(struct admission *a, struct resource *r, uint64_t full_at)
{
    r->full_at = full_at;
    resource_due(a, r);
}

struct resource *named_dropped(struct admission *a)
{
    struct list_node *n = a->gone.first;

    return n ? &list_thing(n, struct named, gone)->resource : NULL;
}

void named_gone_free(struct admission *a, struct resource *r)
{
    list_remove(&a->gone, &named_of(r)->gone);
    free(named_of(r));
}

bool named_is_declared(const struct resource *r)
{
    return named_of(r)->declared;
}

bool named_is_used(const struct resource *r)
{
    return named_of(r)->refs > 0;
}

bool named_drop_unused(struct admission *a, struct resource *r)
{
    const bool unused = !named_of(r)->refs;

    if (unused)
        drop_unused(a, named_of(r));
    return unused;
}

const char *named_name(const struct resource *r)
{
    return named_of(r)->name;
}

bool named_owner(const struct resource *r, uid_t *ret)
{
    if (named_of(r)->owner == GLOBAL)
        return false;
    *ret = (uid_t)named_of(r)->owner;
    return true;
}

void named_fini(struct admission *a)
{
    struct hash_cursor at = {0};

    while (named_dropped(a))
        named_gone_free(a, named_dropped(a));
    for (struct hash_node *n; (n = hash_table_each(&a->named, &at));)
        free(named_of_hash(n));
    hash_table_fini(&a->named);
}
