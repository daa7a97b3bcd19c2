/* A hash table of nodes that live in the things themselves: adding one allocates nothing,
 * and a thing stays where it is, so pointers to it hold.
 *
 * Chains hang in a vector of buckets, a power of two of them. The table knows hashes
 * only: its user takes them from siphash.h and compares the keys of what it is given,
 *
 *     for (n = hash_table_first(t, hash); n; n = hash_node_next(n))
 *         if (the key of n's thing is the one)
 *
 * Growing and shrinking is spread: a new vector stands beside the old one, and each add
 * and remove moves HASH_TABLE_MOVES buckets of the old. So no operation looks at more
 * than these and one chain, whatever the table holds (a vector of a million buckets moved
 * at once would be 20 ms under its user's lock). A lookup looks into the vector that has
 * the bucket now. There are at most as many nodes as buckets, but for the moment in which
 * vectors change, and as long as memory for a larger one is missing: then the table goes
 * on with what it has and tries again at the next add.
 *
 * Rejected: open addressing, which moves its entries, and whose vector is the entries:
 * for those of 48 bytes it needs 64 to 128 bytes each, a node and its bucket 24 more than
 * the thing.
 *
 * No locks, no clock; zero-initialised is empty. */
#ifndef VOLT_BASE_HASH_TABLE_H
#define VOLT_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_TABLE_MOVES 8

/* In the thing. While it is in a table its hash must not change. */
struct hash_node {
    struct hash_node *next; /* in its bucket */
    uint64_t hash;
};

struct hash_table {
    size_t count; /* nodes */
    struct hash_node **buckets, **old;
    size_t size, old_size; /* buckets: powers of two, or 0 */
    size_t moved;          /* those of old below this one are empty */
};

/* Makes sure of a vector of buckets: from then on hash_table_add() cannot fail. 0;
 * -ENOMEM: there is none, and no memory for one. */
int hash_table_reserve(struct hash_table *t);
/* Adds what is not in it, under this hash; others may have the same. After a reserve that
 * succeeded. */
void hash_table_add(struct hash_table *t, struct hash_node *node, uint64_t hash);
/* Takes out what is in it. */
void hash_table_remove(struct hash_table *t, struct hash_node *node);
/* Frees the buckets; the nodes are the caller's, and are in no table any more. */
void hash_table_fini(struct hash_table *t);

/* A node with this hash, the next one with the hash of that; NULL: there is none. */
struct hash_node *hash_table_first(const struct hash_table *t, uint64_t hash);
struct hash_node *hash_node_next(const struct hash_node *node);

/* All of them, in no order, while nothing is added or removed. Begins with a
 * zero-initialised cursor; NULL: that was all. A node that was given may be freed, if
 * hash_table_fini() is what follows. */
struct hash_cursor {
    struct hash_node *next;
    size_t at;
};
struct hash_node *hash_table_each(const struct hash_table *t, struct hash_cursor *c);
/* The nodes in the longest chain: what a lookup may cost. Visits all. */
size_t hash_table_longest(const struct hash_table *t);

#endif
