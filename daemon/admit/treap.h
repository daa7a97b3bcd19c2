/* An ordered tree of intrusive nodes: it allocates nothing. Adding, removing and finding
 * take O(log n) steps.
 *
 * A treap: ordered from left to right by the caller's comparison, and from the root down
 * by a number computed from each node's address. So it has the shape of a tree filled in
 * random order, for any order of additions, and a node needs only two pointers. Rejected:
 * a red-black tree, which needs a third pointer and a colour; a heap of siblings (pairing
 * heap), whose first removal after a million additions looks at all of them.
 *
 * The key of a node must not change while it is in a tree, and no two keys may be equal.
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

/* Returns whether a is before b. */
typedef bool treap_before(const struct treap_node *a, const struct treap_node *b);

void treap_add(struct treap *t, struct treap_node *n, treap_before *before);
void treap_remove(struct treap *t, struct treap_node *n, treap_before *before);
/* Returns the first node; NULL: empty. */
struct treap_node *treap_first(const struct treap *t);
/* Returns the first node after n, which need not be in the tree; NULL: none. */
struct treap_node *treap_after(const struct treap *t, const struct treap_node *n,
                               treap_before *before);
/* Likewise, for a node in the tree. */
struct treap_node *treap_next(const struct treap *t, const struct treap_node *n,
                              treap_before *before);
/* Returns how many nodes are before n, at most `most`; n need not be in the tree. */
size_t treap_count_before(const struct treap *t, const struct treap_node *n,
                          treap_before *before, size_t most);

/* A node with a weight. In a tree of such nodes, each also has the sum of its subtree. */
struct treap_weight {
    struct treap_node node;
    uint64_t own, sum; /* weight of the node; of its subtree */
};

/* Adds a node with its weight. While it is in the tree, treap_weigh() changes that. */
void treap_add_weight(struct treap *t, struct treap_weight *n, treap_before *before);
void treap_remove_weight(struct treap *t, struct treap_weight *n, treap_before *before);
void treap_weigh(struct treap *t, struct treap_weight *n, treap_before *before,
                 uint64_t own);
/* Returns the sum of weights before n, which need not be in the tree. */
uint64_t treap_weight_before(const struct treap *t, const struct treap_node *n,
                             treap_before *before);

#endif
