/* The sketch of running times, and estimates: whether the truth lies in their range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "daemon/admit/estimate.h"
#include "daemon/admit/sketch.h"

#define SECOND UINT64_C(1000000)

static struct rng rng;

/* --- the sketch --------------------------------------------------------------------- */

/* Of what where_buckets_begin() reads. */
#define SUM_OF_POINTS UINT64_C(0x6e0ac9d4557a6531)

/* Whatever was added comes back, a fifth wrong at most. */
static void one_time(void **state)
{
    static const uint64_t longest = UINT64_C(4096) << 30;
    uint64_t points[SKETCH_POINTS];

    (void)state;
    for (uint64_t usec = 4096; usec < longest; usec += usec / 7) {
        struct sketch s = {.n = 0};

        sketch_add(&s, usec);
        sketch_points(&s, points);
        for (unsigned i = 0; i < SKETCH_POINTS; i++) {
            assert_in_range(points[i], usec - usec / 5, usec + usec / 5);
            assert_true(i == 0 || points[i] >= points[i - 1]);
        }
        assert_in_range(points[SKETCH_POINTS / 2], usec - usec / 9, usec + usec / 9);
    }
}

static void times_beyond_all_bounds(void **state)
{
    static const uint64_t times[] = {0, 1, 4095, UINT64_C(4096) << 31, UINT64_MAX};
    uint64_t points[SKETCH_POINTS];

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct sketch s = {.n = 0};

        sketch_add(&s, times[i]);
        sketch_points(&s, points);
        if (times[i] < 4096)
            assert_in_range(points[SKETCH_POINTS - 1], 0, 4095);
        else
            assert_in_range(points[0], UINT64_C(4096) << 30, UINT64_C(4096) << 31);
    }
}

/* Each bucket begins where the one before it ends. */
static void where_buckets_begin(void **state)
{
    uint64_t points[SKETCH_POINTS], sum = 0;

    (void)state;
    for (unsigned i = 0; i < 124; i++) {
        static const uint64_t quarters[] = {65536, 77936, 92682, 110218};
        const uint64_t usec = (UINT64_C(1) << i / 4) * quarters[i % 4] / 16;

        for (uint64_t k = 0; k < 3; k++) { /* about 0.2 % before, at, and behind it */
            struct sketch s = {.n = 0};
            sketch_add(&s, usec - usec / 512 + k * (usec / 512));
            sketch_points(&s, points);
            sum = sum * 31 + points[0] * 3 + points[SKETCH_POINTS - 1];
        }
    }
    assert_int_equal(sum, SUM_OF_POINTS);
}

/* Half were short and half long: so are the points. Those of long ago count less. */
static void the_latest_count_most(void **state)
{
    struct sketch s = {.n = 0};
    uint64_t points[SKETCH_POINTS];

    (void)state;
    for (int i = 0; i < 100; i++) {
        sketch_add(&s, SECOND);
        sketch_add(&s, 100 * SECOND);
    }
    sketch_points(&s, points);
    assert_in_range(points[SKETCH_POINTS / 2 - 1], SECOND * 3 / 4, SECOND * 5 / 4);
    assert_in_range(points[SKETCH_POINTS / 2], 75 * SECOND, 125 * SECOND);
    assert_int_equal(s.n, 200);
    assert_int_equal(s.sum, 200);
    for (int i = 0; i < 2000; i++)
        sketch_add(&s, 10 * SECOND);
    assert_int_equal(s.n, 2200);
    assert_in_range(s.sum, SKETCH_MOST / 2, SKETCH_MOST);
    sketch_points(&s, points);
    assert_in_range(points[1], 7 * SECOND, 13 * SECOND);
    assert_in_range(points[SKETCH_POINTS - 2], 7 * SECOND, 13 * SECOND);
}

/* --- estimates ---------------------------------------------------------------------- */

static void add_table(struct estimate_in *in, uint64_t usec, uint32_t runs)
{
    struct sketch s = {.n = 0};

    for (uint32_t i = 0; i < runs; i++)
        sketch_add(&s, usec);
    in->table[in->tables].runs = runs;
    sketch_points(&s, in->table[in->tables++].points);
}

static void expect(const struct estimate_in *in, uint64_t least, uint64_t most)
{
    struct estimate e;

    assert_true(estimate(in, 7, &e));
    assert_in_range(e.least_usec, least, most);
    assert_in_range(e.usec, e.least_usec, e.most_usec);
    assert_in_range(e.most_usec, least, most);
}

static void what_is_known_exactly(void **state)
{
    struct estimate_in in = {.places = 1};
    struct estimate e;

    (void)state;
    add_table(&in, 10 * SECOND, 9);
    add_table(&in, 100 * SECOND, 4);
    in.held[in.nheld++] = (struct estimate_held){1, 60 * SECOND};
    expect(&in, 20 * SECOND, 65 * SECOND); /* 40 s are left of 100 */
    in.front[in.nfront++] = 1;
    expect(&in, 100 * SECOND, 190 * SECOND);
    assert_true(estimate(&in, 7, &e));
    assert_int_equal(e.runs, 4);
    in.places = 2; /* one is free */
    expect(&in, 20 * SECOND, 65 * SECOND);
    in.front_more = 40; /* of 10 s; one place has the long one for a while */
    expect(&in, 150 * SECOND, 340 * SECOND);
    assert_true(estimate(&in, 7, &e));
    assert_int_equal(e.runs, 9); /* which have those of all names in them */
    in.nfront = 0;
    in.front_more = 100000; /* more than are played */
    expect(&in, 400000 * SECOND, 600000 * SECOND);
    while (in.nfront < ESTIMATE_FRONT)
        in.front[in.nfront++] = 1;
    expect(&in, 4000000 * SECOND, 6000000 * SECOND); /* as those before them */
    assert_true(estimate(&in, 7, &e));
    assert_int_equal(e.runs, 4);
}

static void many_places(void **state)
{
    struct estimate_in in = {.places = 1000, .others = 1000};

    (void)state;
    add_table(&in, 10 * SECOND, 30);
    expect(&in, 0, SECOND); /* of so many one ends soon */
    in.front_more = 10000;
    expect(&in, 80 * SECOND, 125 * SECOND);
}

static void too_little_is_known(void **state)
{
    struct estimate_in in = {.places = 1};
    struct estimate e;

    (void)state;
    assert_false(estimate(&in, 1, &e));
    add_table(&in, SECOND, ESTIMATE_LEAST - 1);
    in.others = 1;
    assert_false(estimate(&in, 1, &e));
    in.tables = 0;
    add_table(&in, SECOND, ESTIMATE_LEAST);
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.runs, ESTIMATE_LEAST);
    add_table(&in, SECOND, ESTIMATE_LEAST - 1); /* each that is used, not all together */
    assert_true(estimate(&in, 1, &e));
    in.front[in.nfront++] = 1;
    assert_false(estimate(&in, 1, &e));
    in.table[1].runs = ESTIMATE_LEAST;
    assert_true(estimate(&in, 1, &e));
    in.held[in.nheld++] = (struct estimate_held){1, 0}; /* it has the only place */
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.runs, ESTIMATE_LEAST);
    in.table[0].runs = ESTIMATE_LEAST - 1; /* nothing is drawn from it now */
    assert_true(estimate(&in, 1, &e));
    in.front_more = 1;
    assert_false(estimate(&in, 1, &e));
}

/* It has run longer than any before it. */
static void longer_than_ever(void **state)
{
    struct estimate_in in = {.places = 1};
    struct estimate e;

    (void)state;
    add_table(&in, SECOND, 9);
    in.held[in.nheld++] = (struct estimate_held){0, 100 * SECOND};
    expect(&in, 0, 3100 * SECOND);
    assert_true(estimate(&in, 7, &e));
    assert_in_range(e.least_usec, 0, 10 * SECOND);
    assert_in_range(e.usec, 50 * SECOND, 200 * SECOND);
    assert_in_range(e.most_usec, 500 * SECOND, 3100 * SECOND);
    for (size_t i = 0; i < SKETCH_POINTS; i++)
        in.table[0].points[i] = 100 * SECOND; /* as long as all of them is no shorter */
    assert_true(estimate(&in, 7, &e));
    assert_in_range(e.usec, 50 * SECOND, 200 * SECOND);
}

/* --- the truth ---------------------------------------------------------------------- */

/* How long a job of one name runs. */
struct law {
    unsigned kind;
    uint64_t base;
};

static uint64_t below(uint64_t n)
{
    return ((uint64_t)rng_next(&rng) << 16 | (rng_next(&rng) & 0xffff)) % n;
}

static uint64_t run_of(const struct law *l)
{
    uint64_t usec = l->base;

    switch (l->kind) {
    case 0: /* nearly the same */
        return usec - usec / 20 + below(usec / 10);
    case 1: /* evenly between nothing and twice as long */
        return below(2 * usec);
    case 2: /* one in eight takes ten times as long */
        return below(8) ? usec : 10 * usec;
    case 3: /* as the number of tries until one succeeds */
        for (usec = usec / 16; below(16); usec += l->base / 16)
            ;
        return usec;
    default: /* a product of many small effects */
        for (int i = 0; i < 4; i++)
            usec = usec * (512 + below(1536)) / 1024;
        return usec;
    }
}

/* Of one that is met while it runs: how long it has run, and will. */
static void meet(const struct law *l, uint64_t *ret_ran, uint64_t *ret_left)
{
    uint64_t usec = run_of(l), at = below(40 * l->base + 1);

    while (at >= usec) { /* runs follow each other */
        at -= usec;
        usec = run_of(l) + 1;
    }
    *ret_ran = at;
    *ret_left = usec - at;
}

#define TRUE_PLACES 8

static uint64_t *first_free(uint64_t *free_at, uint64_t places)
{
    uint64_t *first = free_at;

    for (uint64_t i = 1; i < places; i++)
        if (free_at[i] < *first)
            first = &free_at[i];
    return first;
}

/* A queue with own and other jobs in front; what is known of it, and when the last one
 * starts in truth. */
static uint64_t make_queue(struct estimate_in *in)
{
    struct law law[3];
    struct sketch all = {.n = 0}, one[3] = {{.n = 0}};
    uint64_t free_at[TRUE_PLACES] = {0}, ran;
    const uint64_t names = 1 + below(3);

    *in = (struct estimate_in){.places = 1 + below(TRUE_PLACES)};
    for (uint64_t k = 0; k < names; k++) {
        law[k] = (struct law){(unsigned)below(5), SECOND + below(30 * SECOND)};
        for (uint64_t runs = 5 + below(60); runs > 0; runs--) {
            const uint64_t usec = run_of(&law[k]);
            sketch_add(&one[k], usec);
            sketch_add(&all, usec);
        }
    }
    in->table[0].runs = all.n;
    sketch_points(&all, in->table[0].points);
    for (uint64_t k = 0; k < names; k++) {
        in->table[1 + k].runs = one[k].n;
        sketch_points(&one[k], in->table[1 + k].points);
    }
    in->tables = 1 + names;
    for (uint64_t i = 0; i < in->places; i++) {
        const uint64_t k = below(names);

        meet(&law[k], &ran, &free_at[i]);
        if (below(2))
            in->held[in->nheld++] = (struct estimate_held){
                (uint8_t)(1 + k), below(4) ? ran : ESTIMATE_UNKNOWN};
        else
            in->others++;
    }
    for (uint64_t n = below(2) ? below(8) : below(300); n > 0; n--) {
        const uint64_t k = below(names);

        if (in->nfront < ESTIMATE_FRONT && below(4))
            in->front[in->nfront++] = (uint8_t)(1 + k);
        else
            in->front_more++;
        *first_free(free_at, in->places) += run_of(&law[k]);
    }
    return *first_free(free_at, in->places);
}

/* Of all estimates: one that is made in another way is to be meant. */
#define SUM_OF_ALL UINT64_C(0x55666e71acdceaf2)

/* In eight of ten, where nine are meant; and the ranges are of use. */
static void the_truth_lies_in_the_range(void **state)
{
    unsigned within = 0, narrow = 0, late = 0;
    uint64_t sum = 0;

    (void)state;
    rng_init(&rng, UINT64_C(0x1234567890abcdef), 1);
    for (unsigned i = 0; i < 1000; i++) {
        struct estimate_in in;
        struct estimate e;
        const uint64_t truth = make_queue(&in);

        assert_true(estimate(&in, i, &e));
        within += truth >= e.least_usec && truth <= e.most_usec;
        late += truth > e.usec;
        narrow += e.most_usec < 4 * e.least_usec;
        sum = sum * 31 + e.usec * 7 + e.least_usec * 5 + e.most_usec * 3 + e.runs;
    }
    print_message("within=%u narrow=%u later than said=%u of 1000\n", within, narrow,
                  late);
    assert_in_range(within, 800, 1000);
    assert_in_range(narrow, 500, 1000);
    assert_in_range(late, 350, 650);
    assert_int_equal(sum, SUM_OF_ALL);
}

/* --- rates -------------------------------------------------------------------------- */

/* What is known without any earlier run, as slots are free. */
static void tokens_are_known_exactly(void **state)
{
    struct estimate_in in = {.places = 4,
                             .others = 1,
                             .front_more = 2,
                             .first_usec = 3,
                             .step_usec = 10};
    struct estimate e;

    (void)state;
    assert_true(estimate_is_exact(&in));
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.usec, 23);
    assert_int_equal(e.least_usec, 23);
    assert_int_equal(e.most_usec, 23);
    assert_int_equal(e.runs, 0);
    in.first_usec = -20; /* tokens are there for three */
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.usec, 0);
    in.first_usec = -19;
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.usec, 1);
    in.step_usec = UINT64_MAX / 4; /* beyond all times */
    assert_true(estimate(&in, 1, &e));
    assert_int_equal(e.usec, INT64_MAX / 4);
    in.step_usec = 10;
    in.nheld = 1; /* the last free slot is that of another one */
    assert_false(estimate_is_exact(&in));
    assert_false(estimate(&in, 1, &e));
    in.front_more = 1;
    in.front[in.nfront++] = 1;
    assert_false(estimate_is_exact(&in));
    in.nfront = 0;
    assert_true(estimate_is_exact(&in));
    in.step_usec = 0;
    assert_false(estimate_is_exact(&in));
}

/* Tokens come more slowly than slots, or the other way round. */
static void tokens_and_slots(void **state)
{
    struct estimate_in in = {.places = 2, .step_usec = 60 * SECOND};

    (void)state;
    add_table(&in, 10 * SECOND, 9);
    while (in.nfront < 5)
        in.front[in.nfront++] = 0;
    expect(&in, 300 * SECOND, 300 * SECOND);
    in.first_usec = -1000 * (int64_t)SECOND;
    expect(&in, 15 * SECOND, 25 * SECOND);
    in.first_usec = 7 * (int64_t)SECOND;
    in.step_usec = 1;
    expect(&in, 22 * SECOND, 32 * SECOND);
    in.front_more = 200; /* of which some are not played */
    expect(&in, 900 * SECOND, 1200 * SECOND);
    in.step_usec = 10 * SECOND;
    expect(&in, 2057 * SECOND, 2057 * SECOND);
}

/* As make_queue(), of jobs that each spend a token as well. */
static uint64_t make_rate(struct estimate_in *in)
{
    const struct law law = {(unsigned)below(5), SECOND + below(30 * SECOND)};
    struct sketch all = {.n = 0};
    uint64_t free_at[TRUE_PLACES] = {0}, ran;

    *in = (struct estimate_in){.places = 2 + below(TRUE_PLACES - 1), .tables = 2};
    for (uint64_t runs = 5 + below(60); runs > 0; runs--)
        sketch_add(&all, run_of(&law));
    for (size_t i = 0; i < 2; i++) {
        in->table[i].runs = all.n;
        sketch_points(&all, in->table[i].points);
    }
    in->step_usec = 1 + below(2 * law.base / in->places);
    in->first_usec = (int64_t)below(4 * in->step_usec) - (int64_t)(2 * in->step_usec);
    for (uint64_t i = 1; i < in->places; i++) { /* one is free */
        meet(&law, &ran, &free_at[i]);
        in->held[in->nheld++] = (struct estimate_held){1, ran};
    }
    for (uint64_t front = 2 + below(60);; in->front[in->nfront++] = 1) {
        const int64_t token = in->first_usec + (int64_t)(in->nfront * in->step_usec);
        uint64_t *slot = first_free(free_at, in->places);

        if (token > 0 && *slot < (uint64_t)token)
            *slot = (uint64_t)token;
        if (in->nfront == front)
            return *slot;
        *slot += run_of(&law);
    }
}

static void the_truth_of_rates_lies_in_the_range(void **state)
{
    unsigned within = 0, narrow = 0;

    (void)state;
    rng_init(&rng, UINT64_C(0x1234567890abcdef), 2);
    for (unsigned i = 0; i < 1000; i++) {
        struct estimate_in in;
        struct estimate e;
        const uint64_t truth = make_rate(&in);

        assert_true(estimate(&in, i, &e));
        within += truth >= e.least_usec && truth <= e.most_usec;
        narrow += e.most_usec < 4 * e.least_usec;
    }
    print_message("rates: within=%u narrow=%u of 1000\n", within, narrow);
    assert_in_range(within, 800, 1000);
    assert_in_range(narrow, 500, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_time),
        cmocka_unit_test(times_beyond_all_bounds),
        cmocka_unit_test(where_buckets_begin),
        cmocka_unit_test(the_latest_count_most),
        cmocka_unit_test(what_is_known_exactly),
        cmocka_unit_test(many_places),
        cmocka_unit_test(too_little_is_known),
        cmocka_unit_test(longer_than_ever),
        cmocka_unit_test(the_truth_lies_in_the_range),
        cmocka_unit_test(tokens_are_known_exactly),
        cmocka_unit_test(tokens_and_slots),
        cmocka_unit_test(the_truth_of_rates_lies_in_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
