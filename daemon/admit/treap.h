/* An ordered tree of nodes that live in the things themselves: nothing is allocated, and
 * adding, removing and finding take O(log n) steps.
 *
 * A treap: ordered by the caller's comparison from left to right, and by a number that
 * follows from the address of each node from the root down. So it has the shape of a tree
 * that was filled in random order, whatever the order was, and a node needs two pointers
 * only. Rejected: a red-black tree, which needs a third pointer and a colour; a heap of
 * siblings (pairing heap), whose first removal after a million additions looks at all of
 * them.
 *
 * While a node is in a tree its key must not change, and no two keys are equal.
 * Zero-initialised is empty. */
#ifndef VOLTD_ADMIT_TREAP_H
#define VOLTD_ADMIT_TREAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct treap_node {
    struct treap_node *left, *right;
};

struct treap {
    struct treap_node *root;
};

/* Whether a stands before b. */
typedef bool treap_before(const struct treap_node *a, const struct treap_node *b);

void treap_add(struct treap *t, struct treap_node *n, treap_before *before);
void treap_remove(struct treap *t, struct treap_node *n, treap_before *before);
/* NULL: it is empty. */
struct treap_node *treap_first(const struct treap *t);
/* The first one that stands behind n, which need not be in the tree; NULL: none does. */
struct treap_node *treap_after(const struct treap *t, const struct treap_node *n,
                               treap_before *before);
/* The same of one that is in the tree. */
struct treap_node *treap_next(const struct treap *t, const struct treap_node *n,
                              treap_before *before);
/* How many stand before n, which need not be in the tree; at most this many. */
size_t treap_count_before(const struct treap *t, const struct treap_node *n,
                          treap_before *before, size_t most);

/* A tree whose nodes have weights, and sums of these, all of whose nodes are such. */
struct treap_weight {
    struct treap_node node;
    uint64_t own, sum; /* that of the node; of all below it, too */
};

/* With its weight, which changes by treap_weigh() while the node is in the tree. */
void treap_add_weight(struct treap *t, struct treap_weight *n, treap_before *before);
void treap_remove_weight(struct treap *t, struct treap_weight *n, treap_before *before);
void treap_weigh(struct treap *t, struct treap_weight *n, treap_before *before,
                 uint64_t own);
/* The weights of those that stand before n, which need not be in the tree. */
uint64_t treap_weight_before(const struct treap *t, const struct treap_node *n,
                             treap_before *before);

#endif
