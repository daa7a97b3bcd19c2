/* A list of nodes that live in the things themselves: nothing is allocated, and each
 * thing is taken out in a few steps from wherever it is.
 *
 * Both ends are NULL, so that a list and a node of zeroes are empty and in no list: what
 * has them needs no initialiser. Rejected: a ring through its head, which saves four
 * branches and must be made before its first use, in each of a table's buckets.
 *
 * No locks; inline, since most of these are a few loads and stores. */
#ifndef VOLT_BASE_LIST_H
#define VOLT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the thing. Zeroes: in no list, or alone in one. */
struct list_node {
    struct list_node *prev, *next;
};

struct list {
    struct list_node *first, *last;
};

/* The thing of a node that is not NULL. */
#define list_thing(node, type, member)                                                   \
    ((type *)((uintptr_t)(node)-offsetof(type, member)))

static inline bool list_is_empty(const struct list *l)
{
    return !l->first;
}

/* Adds what is in no list before `at`, which is in this one; NULL: as the last. */
static inline void list_add_before(struct list *l, struct list_node *n,
                                   struct list_node *at)
{
    n->next = at;
    n->prev = at ? at->prev : l->last;
    *(n->prev ? &n->prev->next : &l->first) = n;
    *(at ? &at->prev : &l->last) = n;
}

static inline void list_add_first(struct list *l, struct list_node *n)
{
    list_add_before(l, n, l->first);
}

static inline void list_add_last(struct list *l, struct list_node *n)
{
    list_add_before(l, n, NULL);
}

/* Takes out what is in this list. */
static inline void list_remove(struct list *l, struct list_node *n)
{
    *(n->prev ? &n->prev->next : &l->first) = n->next;
    *(n->next ? &n->next->prev : &l->last) = n->prev;
    n->prev = n->next = NULL;
}

/* Takes out the first one; NULL: there is none. */
static inline struct list_node *list_take_first(struct list *l)
{
    struct list_node *n = l->first;

    if (n)
        list_remove(l, n);
    return n;
}

#endif
