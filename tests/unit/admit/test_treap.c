/* Trees: order, and sums of weights, beside a list of what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/list.h"
#include "base/rng.h"
#include "daemon/admit/treap.h"

#define N 300

struct thing {
    struct treap_weight place;
    unsigned key;
    bool in;
};

static struct thing things[N];
static struct treap tree;

static struct thing *thing_of(const struct treap_node *n)
{
    return n ? list_thing(n, struct thing, place.node) : NULL;
}

static bool before(const struct treap_node *a, const struct treap_node *b)
{
    return thing_of(a)->key < thing_of(b)->key;
}

/* Of all that are in, those in front of the i-th. */
static uint64_t weight_before(size_t i)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < i; k++)
        sum += things[k].in ? things[k].place.own : 0;
    return sum;
}

static const struct thing *first_from(size_t i)
{
    while (i < N && !things[i].in)
        i++;
    return i < N ? &things[i] : NULL;
}

static void move(struct thing *t, uint64_t weight)
{
    if (t->in && weight % 3 == 0) {
        treap_weigh(&tree, &t->place, before, weight);
        return;
    }
    if (t->in)
        treap_remove_weight(&tree, &t->place, before);
    else
        t->place.own = weight;
    if (!t->in)
        treap_add_weight(&tree, &t->place, before);
    t->in = !t->in;
}

static void sums_and_order(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1, 0);
    for (unsigned i = 0; i < N; i++)
        things[i] = (struct thing){.key = i};
    for (int step = 0; step < 20000; step++) {
        const size_t at = rng_below(&rng, N);

        move(&things[rng_below(&rng, N)], rng_below(&rng, 1000));
        assert_int_equal(treap_weight_before(&tree, &things[at].place.node, before),
                         weight_before(at));
        assert_ptr_equal(thing_of(treap_first(&tree)), first_from(0));
        assert_ptr_equal(thing_of(treap_after(&tree, &things[at].place.node, before)),
                         first_from(at + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_and_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
