/* Postings: a random history against a plain table of tag and id, of tags that all have,
 * that some have, and that one has; without memory every now and then; and what an id
 * occupies where every key is another, where each is twice there, and where all are one. */
#include "tests/support/alloc_hook.h"

#include "daemon/core/postings.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { IDS = 3000, TAGS = 1500, STEPS = 60000 };

static bool in[TAGS][IDS];
static uint64_t count[TAGS];

static uint32_t chance(uint32_t n)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x % n;
}

/* In all bits of a tag. */
static uint32_t tag_of(uint32_t i)
{
    return i * 1397 % (1u << POSTINGS_TAG_BITS);
}

/* The first have many ids, the last few. */
static uint32_t some_tag(void)
{
    return chance(1 + chance(1 + chance(TAGS)));
}

static void check(const struct postings *p, uint32_t i)
{
    const uint32_t tag = tag_of(i);
    uint64_t before = 0, next = postings_next(p, tag, 0);

    assert_int_equal(postings_count(p, tag), count[i]);
    for (uint32_t id = 1; id < IDS && count[i]; id++) {
        assert_int_equal(postings_prev(p, tag, id), before);
        if (in[i][id]) {
            assert_int_equal(next, id);
            next = postings_next(p, tag, id);
            before = id;
        } else {
            assert_int_equal(postings_next(p, tag, id), next);
        }
    }
    assert_int_equal(next, 0);
    assert_int_equal(postings_prev(p, tag, UINT64_MAX), before);
    assert_int_equal(postings_next(p, tag, UINT64_MAX), 0);
}

static void check_all(const struct postings *p)
{
    for (uint32_t i = 0; i < TAGS; i++)
        check(p, i);
}

static void step(struct postings *p, uint32_t i, uint32_t id, bool more, bool fails)
{
    int r = 0;

    if (fails)
        hook_arm(1, true);
    if (more)
        r = postings_add(p, tag_of(i), id);
    else
        postings_remove(p, tag_of(i), id);
    hook_arm(0, false);
    assert_true(r == 0 || (fails && r == -ENOMEM && !in[i][id]));
    if (r == 0 && in[i][id] != more) {
        count[i] += more ? 1 : UINT64_MAX;
        in[i][id] = more;
    }
}

static void a_random_history(bool fails)
{
    struct postings p = {0};

    memset(in, 0, sizeof(in));
    memset(count, 0, sizeof(count));
    check_all(&p);
    for (int n = 0; n < STEPS; n++) {
        const uint32_t id = 1 + chance(IDS - 1);
        const bool more = n / (STEPS / 6) % 2 == 0;

        step(&p, some_tag(), id, chance(8) == 0 ? !more : more, fails && chance(3) == 0);
        if (n % (STEPS / 12) == 0)
            check_all(&p);
    }
    const uint32_t most = p.npages;
    assert_true(most > 4);
    for (uint32_t i = 0; i < TAGS; i++)
        for (uint32_t id = 1; id < IDS; id++)
            if (in[i][id])
                step(&p, i, id, false, false);
    check_all(&p);
    assert_int_equal(p.count, 0);
    assert_true(p.npages < most);
    postings_fini(&p);
}

static void as_a_table(void **state)
{
    (void)state;
    a_random_history(false);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    const uint64_t live = vat_u64_load(&hook_live, VAT_RLX);
    a_random_history(true);
    assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), live);
}

static void ids_that_are_too_large(void **state)
{
    const uint64_t largest = (UINT64_C(1) << POSTINGS_ID_BITS) - 1;
    struct postings p = {0};

    (void)state;
    assert_int_equal(postings_add(&p, 5, largest + 1), -ERANGE);
    postings_remove(&p, 5, largest + 1);
    assert_int_equal(postings_add(&p, 5, largest), 0);
    assert_int_equal(postings_next(&p, 5, 0), largest);
    assert_int_equal(postings_next(&p, 5, largest), 0);
    assert_int_equal(postings_prev(&p, 5, UINT64_MAX), largest);
    assert_int_equal(postings_next(&p, 4, 0), 0);
    assert_int_equal(postings_prev(&p, 6, largest), 0);
    postings_fini(&p);
}

/* Bytes of each of n ids, `same` of which have one key. */
static double bytes_of_each(uint32_t n, uint32_t same)
{
    struct postings p = {0};
    const struct mallinfo2 before = mallinfo2();
    uint32_t x = 0;

    for (uint32_t id = 1; id <= n; id++) {
        if (id % same == 0 || id == 1)
            x = x * 1664525 + 1013904223; /* any tag */
        assert_int_equal(postings_add(&p, x >> (32 - POSTINGS_TAG_BITS), id), 0);
    }
    const struct mallinfo2 now = mallinfo2();
    postings_fini(&p);
    return (double)(now.uordblks + now.hblkhd - before.uordblks - before.hblkhd) / n;
}

static void an_id_needs_few_bytes(void **state)
{
    static const uint32_t same[] = {1, 2, 20, 33, 50, 1000, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        for (uint32_t n = 1000; n <= 1000000; n *= 10) {
            const double bytes = bytes_of_each(n, same[i]);

            (void)printf("%u ids, %u with one key: %.1f bytes each\n", n, same[i], bytes);
            assert_true(bytes <= 17);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_table),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(ids_that_are_too_large),
        cmocka_unit_test(an_id_needs_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
