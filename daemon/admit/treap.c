/* See treap.h. */
#include <assert.h>
#include <stdint.h>

#include "daemon/admit/treap.h"

/* Returns the height: the greatest is the root. The mixing of splitmix64 makes heights of
 * neighbouring addresses unrelated. */
static uint64_t height_of(const struct treap_node *n)
{
    uint64_t x = (uintptr_t)n * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
}

void treap_add(struct treap *t, struct treap_node *n, treap_before *before)
{
    const uint64_t height = height_of(n);
    struct treap_node **at = &t->root, **left = &n->left, **right = &n->right;

    while (*at && height_of(*at) >= height)
        at = before(n, *at) ? &(*at)->left : &(*at)->right;
    struct treap_node *rest = *at; /* divided into nodes before n and after n */
    *at = n;
    while (rest)
        if (before(n, rest)) {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        } else {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        }
    *left = *right = NULL;
}

void treap_remove(struct treap *t, struct treap_node *n, treap_before *before)
{
    struct treap_node **at = &t->root, *left = n->left, *right = n->right;

    while (*at != n) {
        assert(*at);
        at = before(n, *at) ? &(*at)->left : &(*at)->right;
    }
    while (left && right)
        if (height_of(left) >= height_of(right)) {
            *at = left;
            at = &left->right;
            left = left->right;
        } else {
            *at = right;
            at = &right->left;
            right = right->left;
        }
    *at = left ? left : right;
    n->left = n->right = NULL;
}

static struct treap_node *leftmost(struct treap_node *n)
{
    while (n && n->left)
        n = n->left;
    return n;
}

struct treap_node *treap_first(const struct treap *t)
{
    return leftmost(t->root);
}

struct treap_node *treap_after(const struct treap *t, const struct treap_node *n,
                               treap_before *before)
{
    struct treap_node *found = NULL;

    for (struct treap_node *at = t->root; at;)
        if (before(n, at)) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    return found;
}

struct treap_node *treap_next(const struct treap *t, const struct treap_node *n,
                              treap_before *before)
{
    return n->right ? leftmost(n->right) : treap_after(t, n, before);
}

/* Adds the nodes before n in the tree at `at`. Recursion is as deep as the tree. */
static void count_before(const struct treap_node *at, const struct treap_node *n,
                         treap_before *before, size_t most, size_t *sum)
{
    for (; at && *sum < most; at = at->right) {
        count_before(at->left, n, before, most, sum);
        if (*sum == most || !before(at, n))
            return;
        ++*sum;
    }
}

size_t treap_count_before(const struct treap *t, const struct treap_node *n,
                          treap_before *before, size_t most)
{
    size_t sum = 0;

    count_before(t->root, n, before, most, &sum);
    return sum;
}

/* --- weights ------------------------------------------------------------------------ */

static struct treap_weight *weight_of(struct treap_node *n)
{
    return (struct treap_weight *)(void *)n; /* `node` is the first member */
}

static uint64_t sum_of(struct treap_node *n)
{
    return n ? weight_of(n)->sum : 0;
}

/* Updates the sums that adding or removing n has changed: on the way to its place, and
 * below it. Recursion is as deep as the tree. */
static void renew_sums(struct treap_node *at, struct treap_node *n, treap_before *before)
{
    if (!at)
        return;
    if (at == n || before(n, at))
        renew_sums(at->left, n, before);
    if (at == n || !before(n, at))
        renew_sums(at->right, n, before);
    weight_of(at)->sum = weight_of(at)->own + sum_of(at->left) + sum_of(at->right);
}

void treap_add_weight(struct treap *t, struct treap_weight *n, treap_before *before)
{
    treap_add(t, &n->node, before);
    renew_sums(t->root, &n->node, before);
}

void treap_remove_weight(struct treap *t, struct treap_weight *n, treap_before *before)
{
    treap_remove(t, &n->node, before);
    renew_sums(t->root, &n->node, before);
}

void treap_weigh(struct treap *t, struct treap_weight *n, treap_before *before,
                 uint64_t own)
{
    struct treap_node *at = t->root;

    for (; at != &n->node; at = before(&n->node, at) ? at->left : at->right)
        weight_of(at)->sum += own - n->own;
    n->sum += own - n->own;
    n->own = own;
}

uint64_t treap_weight_before(const struct treap *t, const struct treap_node *n,
                             treap_before *before)
{
    uint64_t sum = 0;

    for (struct treap_node *at = t->root; at;)
        if (before(at, n)) {
            sum += weight_of(at)->own + sum_of(at->left);
            at = at->right;
        } else {
            at = at->left;
        }
    return sum;
}
