/* See hash_table.h. */
#include "base/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#define SIZE_MIN 64 /* buckets */

/* The bucket that has the nodes of this hash now. */
static struct hash_node **bucket_of(const struct hash_table *t, uint64_t hash)
{
    if (t->old) {
        size_t i = (size_t)hash & (t->old_size - 1);

        if (i >= t->moved)
            return &t->old[i];
    }
    return &t->buckets[(size_t)hash & (t->size - 1)];
}

static void move_bucket(struct hash_table *t, struct hash_node *chain)
{
    for (struct hash_node *n = chain, *next; n; n = next) {
        struct hash_node **to = &t->buckets[(size_t)n->hash & (t->size - 1)];

        next = n->next;
        n->next = *to;
        *to = n;
    }
}

/* Some of the old buckets go into the new ones. */
static void move_some(struct hash_table *t)
{
    for (size_t i = 0; i < HASH_TABLE_MOVES && t->old; i++) {
        move_bucket(t, t->old[t->moved]);
        t->old[t->moved++] = NULL;
        if (t->moved == t->old_size) {
            free(t->old);
            t->old = NULL;
            t->old_size = t->moved = 0;
        }
    }
}

/* A vector of this size takes over, bucket by bucket. Without memory all stays. */
static void resize(struct hash_table *t, size_t size)
{
    struct hash_node **made = calloc(size, sizeof(struct hash_node *));

    if (!made)
        return;
    t->old = t->buckets;
    t->old_size = t->size;
    t->moved = 0;
    t->buckets = made;
    t->size = size;
}

int hash_table_reserve(struct hash_table *t)
{
    if (!t->size) {
        t->buckets = calloc(SIZE_MIN, sizeof(struct hash_node *));
        if (!t->buckets)
            return -ENOMEM;
        t->size = SIZE_MIN;
    }
    return 0;
}

void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash)
{
    if (t->old)
        move_some(t);
    else if (t->count >= t->size)
        resize(t, t->size * 2);

    struct hash_node **bucket = bucket_of(t, hash);

    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    t->count++;
}

void hash_table_remove(struct hash_table *t, struct hash_node *node)
{
    struct hash_node **at = bucket_of(t, node->hash);

    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    node->next = NULL;
    t->count--;
    if (t->old)
        move_some(t);
    else if (t->size > SIZE_MIN && t->count < t->size / 8)
        resize(t, t->size / 4 > SIZE_MIN ? t->size / 4 : SIZE_MIN);
}

void hash_table_fini(struct hash_table *t)
{
    free(t->buckets);
    free(t->old);
    *t = (struct hash_table){0};
}

static struct hash_node *with_hash(struct hash_node *n, uint64_t hash)
{
    while (n && n->hash != hash)
        n = n->next;
    return n;
}

struct hash_node *hash_table_first(const struct hash_table *t, uint64_t hash)
{
    return t->count ? with_hash(*bucket_of(t, hash), hash) : NULL;
}

struct hash_node *hash_node_next(const struct hash_node *node)
{
    return with_hash(node->next, node->hash);
}

struct hash_node *hash_table_each(const struct hash_table *t, struct hash_cursor *c)
{
    struct hash_node *n = c->next;

    while (!n && c->at < t->size + t->old_size) {
        n = c->at < t->size ? t->buckets[c->at] : t->old[c->at - t->size];
        c->at++;
    }
    c->next = n ? n->next : NULL;
    return n;
}

size_t hash_table_longest(const struct hash_table *t)
{
    size_t longest = 0;

    for (size_t i = 0; i < t->size + t->old_size; i++) {
        size_t n = 0;

        for (const struct hash_node *x = i < t->size ? t->buckets[i]
                                                     : t->old[i - t->size];
             x; x = x->next)
            n++;
        longest = n > longest ? n : longest;
    }
    return longest;
}
