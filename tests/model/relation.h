/* Relations between up to 32 events, as rows of bits: row[a] has bit b when a comes
 * before b. */
#ifndef VOLT_TESTS_MODEL_RELATION_H
#define VOLT_TESTS_MODEL_RELATION_H

#include <stdbool.h>
#include <stdint.h>

#define RELATION_EVENTS 32

typedef uint32_t event_set;
struct relation {
    int n; /* events */
    event_set row[RELATION_EVENTS];
};

static inline struct relation relation_none(int n)
{
    return (struct relation){.n = n};
}

static inline void relation_set(struct relation *r, int a, int b)
{
    r->row[a] |= 1u << b;
}

static inline bool relation_has(const struct relation *r, int a, int b)
{
    return r->row[a] >> b & 1;
}

static inline struct relation relation_or(struct relation a, struct relation b)
{
    for (int i = 0; i < a.n; i++)
        a.row[i] |= b.row[i];
    return a;
}

static inline struct relation relation_and(struct relation a, struct relation b)
{
    for (int i = 0; i < a.n; i++)
        a.row[i] &= b.row[i];
    return a;
}

static inline struct relation relation_without(struct relation a, struct relation b)
{
    for (int i = 0; i < a.n; i++)
        a.row[i] &= ~b.row[i];
    return a;
}

/* Or the same event: r? */
static inline struct relation relation_maybe(struct relation r)
{
    for (int i = 0; i < r.n; i++)
        r.row[i] |= 1u << i;
    return r;
}

/* From events in `from` to events in `to`: [from]; r; [to]. */
static inline struct relation relation_between(event_set from, struct relation r,
                                               event_set to)
{
    for (int i = 0; i < r.n; i++)
        r.row[i] = from >> i & 1 ? r.row[i] & to : 0;
    return r;
}

/* a; b */
static inline struct relation relation_then(struct relation a, struct relation b)
{
    struct relation r = relation_none(a.n);

    for (int i = 0; i < a.n; i++)
        for (event_set via = a.row[i]; via; via &= via - 1)
            r.row[i] |= b.row[__builtin_ctz(via)];
    return r;
}

static inline struct relation relation_inverse(struct relation a)
{
    struct relation r = relation_none(a.n);

    for (int i = 0; i < a.n; i++)
        for (event_set to = a.row[i]; to; to &= to - 1)
            relation_set(&r, __builtin_ctz(to), i);
    return r;
}

/* r+ */
static inline struct relation relation_closure(struct relation r)
{
    for (int k = 0; k < r.n; k++)
        for (int i = 0; i < r.n; i++)
            if (r.row[i] >> k & 1)
                r.row[i] |= r.row[k];
    return r;
}

static inline bool relation_irreflexive(struct relation r)
{
    for (int i = 0; i < r.n; i++)
        if (r.row[i] >> i & 1)
            return false;
    return true;
}

static inline bool relation_acyclic(struct relation r)
{
    return relation_irreflexive(relation_closure(r));
}

static inline bool relation_empty(struct relation r)
{
    for (int i = 0; i < r.n; i++)
        if (r.row[i])
            return false;
    return true;
}

#endif
