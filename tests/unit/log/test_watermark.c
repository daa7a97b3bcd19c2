/* The low watermark against the definition: no fact with a number up to it is still under
 * way; and it comes near to the log's end while facts never stop to be under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "daemon/log/watermark.h"

#define FACTS 64 /* under way at once */

static struct fact {
    uint8_t ticket;  /* 0: free */
    uint64_t number; /* in the log; 0: not durable yet */
} facts[FACTS];

static struct watermark w;
static uint64_t newest;

static void append(struct fact *f)
{
    *f = (struct fact){.ticket = watermark_begin(&w, newest)};
}

static void commit(struct fact *f)
{
    f->number = ++newest;
}

static void count(struct fact *f)
{
    uint8_t ticket = f->ticket;

    *f = (struct fact){.ticket = 0};
    watermark_end(&w, ticket, newest);
}

static void check(void)
{
    uint64_t low = watermark_low(&w, newest);

    assert_true(low <= newest);
    for (int i = 0; i < FACTS; i++)
        if (facts[i].ticket && facts[i].number)
            assert_true(low < facts[i].number);
}

static void begin(uint64_t from)
{
    w = (struct watermark){.low = 0};
    for (int i = 0; i < FACTS; i++)
        facts[i] = (struct fact){.ticket = 0};
    newest = from;
}

static void any_order(void **state)
{
    (void)state;
    const char *seed = getenv("SEED");
    struct rng rng;

    rng_init(&rng, seed ? strtoull(seed, NULL, 10) : 1, 0);
    begin(1000);
    for (int step = 0; step < 200000; step++) {
        struct fact *f = &facts[rng_below(&rng, FACTS)];
        uint64_t before = watermark_low(&w, newest);

        if (!f->ticket)
            append(f);
        else if (!f->number && rng_below(&rng, 4))
            commit(f); /* else it is refused */
        else
            count(f);
        check();
        assert_true(watermark_low(&w, newest) >= before);
    }
}

/* One fact is always under way; each counts one commit after it was appended. */
static void it_follows(void **state)
{
    (void)state;

    begin(7);
    append(&facts[0]);
    for (int i = 0; i < 1000; i++) {
        append(&facts[(i + 1) % 2]);
        commit(&facts[i % 2]);
        count(&facts[i % 2]);
        check();
        assert_true(newest - watermark_low(&w, newest) <= 3);
    }
}

static void when_idle_it_is_the_newest(void **state)
{
    (void)state;

    begin(7);
    assert_int_equal(watermark_low(&w, newest), 7);
    append(&facts[0]);
    assert_int_equal(watermark_low(&w, newest), 7);
    commit(&facts[0]);
    assert_int_equal(watermark_low(&w, newest), 7);
    count(&facts[0]);
    assert_int_equal(watermark_low(&w, newest), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),
        cmocka_unit_test(it_follows),
        cmocka_unit_test(when_idle_it_is_the_newest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
