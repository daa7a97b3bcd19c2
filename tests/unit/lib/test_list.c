/* The list: the order is that of a plain array to which the same is done, from both ends;
 * what is taken out is as before it was added. */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { THINGS = 12, STEPS = 20000 };

struct thing {
    int name;
    struct list_node node;
};

static uint32_t chance(uint32_t n)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x % n;
}

static void same(const struct list *l, struct thing *const *order, size_t n)
{
    const struct list_node *at = l->first;

    assert_int_equal(list_is_empty(l), n == 0);
    for (size_t i = 0; i < n; i++, at = at->next) {
        assert_ptr_equal(list_thing(at, struct thing, node), order[i]);
        assert_ptr_equal(at->prev, i ? &order[i - 1]->node : NULL);
    }
    assert_null(at);
    assert_ptr_equal(l->last, n ? &order[n - 1]->node : NULL);
}

static void as_an_array(void **state)
{
    static struct thing things[THINGS];
    struct thing *order[THINGS], *free_ones[THINGS];
    struct list l = {0};
    size_t n = 0, left = THINGS;

    (void)state;
    for (size_t i = 0; i < THINGS; i++)
        free_ones[i] = &things[i];
    for (int step = 0; step < STEPS; step++) {
        size_t at = 0;

        if (left && chance(2)) {
            struct thing *t = free_ones[--left];

            switch (chance(3)) {
            case 0:
                list_add_first(&l, &t->node);
                break;
            case 1:
                list_add_last(&l, &t->node);
                at = n;
                break;
            default:
                at = chance((uint32_t)n + 1);
                list_add_before(&l, &t->node, at < n ? &order[at]->node : NULL);
            }
            memmove(order + at + 1, order + at, (n++ - at) * sizeof(order[0]));
            order[at] = t;
        } else if (n) {
            struct list_node *node;

            if (chance(2)) {
                node = list_take_first(&l);
            } else {
                at = chance((uint32_t)n);
                list_remove(&l, node = &order[at]->node);
            }
            free_ones[left++] = list_thing(node, struct thing, node);
            assert_ptr_equal(free_ones[left - 1], order[at]);
            assert_null(node->prev);
            assert_null(node->next);
            memmove(order + at, order + at + 1, (--n - at) * sizeof(order[0]));
        } else {
            assert_null(list_take_first(&l));
        }
        same(&l, order, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
