/* Local names of a batch: each spec behind those that it waits for, whatever order they
 * came in; and what is wrong with them. */
#include "daemon/method/batch_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/job/spec.h"

enum { MOST = 400 };

static struct batch_names names;
static struct jobs_submit_item items[MOST];
static size_t nitems;
static struct field_error error;

static int set_up(void **state)
{
    (void)state;
    names = (struct batch_names){.used = false};
    nitems = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (nitems > 0)
        job_spec_unref(items[--nitems].spec);
    batch_names_fini(&names);
    return 0;
}

/* An item that has a name, unless it is "", and waits for those of the other names, and
 * for jobs that were there before. */
static int add(const char *name, const char *after)
{
    struct job_spec *s = job_spec_new();
    char *words = strdup(after), *rest = words, *word;

    assert_non_null(s);
    s->local = *name ? strdup(name) : NULL;
    s->after = calloc(MOST, sizeof(*s->after));
    while ((word = strtok_r(rest, " ", &rest)))
        if (*word == '#')
            s->after[s->nafter++].job = 17;
        else
            s->after[s->nafter++].local = strdup(word);
    free(words);
    items[nitems].spec = s;
    return batch_names_take(&names, s, nitems++);
}

static int sort(size_t *ret_steps, size_t *ret_looks)
{
    int r;

    *ret_steps = *ret_looks = 0;
    do {
        struct quota quota = {0};

        r = batch_names_sort(&names, items, nitems, &quota, &error);
        assert_true(quota.entries > 0);
        ++*ret_steps;
        *ret_looks += quota.entries;
    } while (r == 0);
    return r;
}

/* All are there once, each behind those that it waits for. */
static void is_sorted(void)
{
    size_t steps, looks;

    assert_int_equal(sort(&steps, &looks), 1);
    struct jobs_submit_item *sorted = batch_names_sorted(&names);
    for (size_t i = 0; i < nitems; i++) {
        const size_t place = batch_names_place(&names, i);
        const struct job_spec *s = items[i].spec;

        assert_true(place < nitems);
        assert_ptr_equal(sorted[place].spec, s);
        for (size_t k = 0; k < s->nafter; k++) {
            assert_null(s->after[k].local);
            if (s->after[k].job)
                assert_int_equal(s->after[k].item, 0);
            else
                assert_in_range(s->after[k].item, 1, place);
        }
    }
    free(sorted);
}

static void what_is_in_order_stays_so(void **state)
{
    (void)state;
    assert_int_equal(add("", ""), 0);
    assert_false(names.used);
    assert_int_equal(add("a", ""), 0);
    assert_true(names.used);
    assert_null(items[1].spec->local);
    assert_int_equal(add("b", "a"), 0);
    assert_int_equal(add("", "a b a"), 0);
    assert_int_equal(add("", ""), 0);
    for (size_t i = 0; i < nitems; i++) /* before it is sorted */
        assert_int_equal(batch_names_place(&names, i), i);
    is_sorted();
    for (size_t i = 0; i < nitems; i++)
        assert_int_equal(batch_names_place(&names, i), i);
    assert_int_equal(items[3].spec->after[0].item, 2);
    assert_int_equal(items[3].spec->after[1].item, 3);
    assert_int_equal(items[3].spec->after[2].item, 2);
}

/* A name that is waited for is enough. */
static void to_wait_for_a_name_is_to_use_them(void **state)
{
    (void)state;
    assert_int_equal(add("", "a"), 0);
    assert_true(names.used);
}

static void later_ones_come_first(void **state)
{
    (void)state;
    (void)add("d", "# b c");
    (void)add("b", "a #");
    (void)add("", "");
    (void)add("c", "a # b");
    (void)add("a", "");
    is_sorted();
    assert_int_equal(batch_names_place(&names, 4), 0);
    assert_int_equal(batch_names_place(&names, 0), 3);
    assert_int_equal(batch_names_place(&names, 2), 4);
}

/* The price: a step for each item that is begun with, opened or closed, one for each edge,
 * of which closing looks at each once more. */
static void a_chain_the_wrong_way_round(void **state)
{
    size_t steps, looks;
    char name[16], next[16];

    (void)state;
    for (unsigned i = 0; i < MOST; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        (void)snprintf(next, sizeof(next), "n%u", i + 1);
        assert_int_equal(add(name, i + 1 < MOST ? next : ""), 0);
    }
    assert_int_equal(sort(&steps, &looks), 1);
    assert_int_equal(steps, MOST + (MOST - 1) + MOST + 1);
    assert_int_equal(looks, steps + MOST - 1);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(batch_names_place(&names, i), MOST - 1 - i);
    free(batch_names_sorted(&names));
}

static void is_refused(size_t item, const char *reason)
{
    size_t steps, looks;

    assert_int_equal(sort(&steps, &looks), -EINVAL);
    assert_int_equal(names.at, item);
    assert_string_equal(error.path, "after");
    assert_string_equal(error.reason, reason);
}

static void a_circle_is_told(void **state)
{
    (void)state;
    (void)add("z", "");
    (void)add("", "z a");
    (void)add("a", "z c");
    (void)add("b", "z a");
    (void)add("c", "b");
    is_refused(3, "jobs that wait for each other: a -> b -> c -> a");
}

static void so_is_one_that_waits_for_itself(void **state)
{
    (void)state;
    (void)add("a", "a");
    is_refused(0, "jobs that wait for each other: a -> a");
}

/* As many names as are told, and one more. */
static void of_a_large_circle_the_first_names(void **state)
{
    (void)state;
    for (unsigned n = 8; n <= 9; n++) {
        for (unsigned i = 0; i < n; i++) {
            const char name[] = {(char)('a' + i), '\0'};
            const char after[] = {(char)('a' + (i + n - 1) % n), '\0'};

            (void)add(name, after);
        }
        is_refused(1, n == 8
                          ? "jobs that wait for each other: a -> b -> c -> d -> e -> f "
                            "-> g -> h -> a"
                          : "jobs that wait for each other: a -> b -> c -> d -> e -> f "
                            "-> g -> h -> ... -> a");
        (void)tear_down(state);
        (void)set_up(state);
    }
}

static void a_name_that_nothing_has(void **state)
{
    (void)state;
    (void)add("a", "");
    (void)add("", "a b");
    is_refused(1, "\"b\" is the local name of no job here");
}

static void a_name_that_two_have(void **state)
{
    (void)state;
    assert_int_equal(add("a", ""), 0);
    assert_int_equal(add("b", ""), 0);
    assert_int_equal(add("a", ""), -EEXIST);
    assert_string_equal(items[2].spec->local, "a");
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_in_order_stays_so),
        T(to_wait_for_a_name_is_to_use_them),
        T(later_ones_come_first),
        T(a_chain_the_wrong_way_round),
        T(a_circle_is_told),
        T(so_is_one_that_waits_for_itself),
        T(of_a_large_circle_the_first_names),
        T(a_name_that_nothing_has),
        T(a_name_that_two_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
