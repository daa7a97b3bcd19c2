/* See estimate.h. */
#include "daemon/admit/estimate.h"

#include <stdlib.h>

#include "base/rng.h"

/* The state of a game. */
struct game {
    const struct estimate_in *in;
    struct rng rng;
    uint64_t sample[ESTIMATE_TABLES][SKETCH_POINTS]; /* of each table; its size: */
    uint32_t n[ESTIMATE_TABLES];
    uint64_t free_at[ESTIMATE_HELD]; /* a heap: the first is the least */
    size_t places;
};

/* --- draws -------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void draw_samples(struct game *g)
{
    for (size_t t = 0; t < g->in->tables; t++) {
        const struct estimate_table *table = &g->in->table[t];

        g->n[t] = table->runs < SKETCH_POINTS ? table->runs : SKETCH_POINTS;
        for (uint32_t i = 0; i < g->n[t]; i++)
            g->sample[t][i] = table->points[rng_below(&g->rng, SKETCH_POINTS)];
    }
}

static uint64_t draw(struct game *g, unsigned table)
{
    return g->sample[table][rng_below(&g->rng, g->n[table])];
}

static uint64_t part_of(struct game *g, uint64_t usec)
{
    return usec / 1024 * rng_below(&g->rng, 1025) + usec % 1024;
}

/* Draws the time left of a job of which nothing is known. A longer run is more likely to
 * be met, so runs are weighted by their lengths. */
static uint64_t draw_any_left(struct game *g, unsigned table)
{
    uint64_t usec = draw(g, table);

    for (int i = 0; i < 4; i++) {
        const uint64_t other = draw(g, table);

        if (usec + other > 0 &&
            part_of(g, usec + other) > usec) /* weights by length */
            usec = other;
    }
    return part_of(g, usec);
}

/* Draws the time left of a job that has run longer than any before it. With probability
 * 1/2 it takes at least as long again; the factor is at most about 30. */
static uint64_t draw_beyond(struct game *g, uint64_t ran_usec)
{
    const uint64_t part = rng_below(&g->rng, 993);

    return ran_usec / (1024 - part) * part;
}

/* Draws the time left of a job that has run so long, from the runs that took longer. */
static uint64_t draw_left(struct game *g, const struct estimate_held *h)
{
    uint64_t longer[SKETCH_POINTS];
    uint32_t n = 0;

    if (h->ran_usec == ESTIMATE_UNKNOWN)
        return draw_any_left(g, h->table);
    for (uint32_t i = 0; i < g->n[h->table]; i++)
        if (g->sample[h->table][i] > h->ran_usec)
            longer[n++] = g->sample[h->table][i];
    if (n > 0)
        return longer[rng_below(&g->rng, n)] - h->ran_usec;
    return draw_beyond(g, h->ran_usec);
}

/* --- places ------------------------------------------------------------------------- */

static void sift(struct game *g)
{
    const uint64_t usec = g->free_at[0];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < g->places; at = child) {
        if (child + 1 < g->places && g->free_at[child + 1] < g->free_at[child])
            child++;
        if (g->free_at[child] >= usec)
            break;
        g->free_at[at] = g->free_at[child];
    }
    g->free_at[at] = usec;
}

/* Runs the next job for usec, in the place that is free first. */
static void run_for(struct game *g, uint64_t usec)
{
    g->free_at[0] += usec;
    sift(g);
}

/* Scales a number down if there are more places than are played: each stands for
 * several. */
static uint64_t share(const struct game *g, uint64_t n)
{
    return g->in->places > g->places ? n * g->places / g->in->places : n;
}

static void begin(struct game *g)
{
    const struct estimate_in *in = g->in;
    uint64_t others = share(g, in->others);

    draw_samples(g);
    for (size_t i = 0; i < g->places; i++) {
        g->free_at[i] = 0;
        if (i < in->nheld)
            g->free_at[i] = draw_left(g, &in->held[i]);
        else if (others > 0 && others--)
            g->free_at[i] = draw_any_left(g, 0);
    }
    qsort(g->free_at, g->places, sizeof(g->free_at[0]), compare); /* sorted, hence a
                                                                   * heap */
}

static bool is_front_full(const struct estimate_in *in)
{
    return in->nfront == ESTIMATE_FRONT;
}

static uint64_t mean_of_table(const struct game *g, unsigned table)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < g->n[table]; i++)
        sum += g->sample[table][i] / g->n[table];
    return sum;
}

/* Returns how long n more waiters would take, one after the other. */
static uint64_t mean_of(const struct game *g, uint64_t n)
{
    uint64_t mean = 0;

    if (n == 0)
        return 0;
    for (size_t i = 0; is_front_full(g->in) && i < ESTIMATE_FRONT; i++)
        mean += mean_of_table(g, g->in->front[i]) / ESTIMATE_FRONT;
    if (!is_front_full(g->in))
        mean = mean_of_table(g, 0);
    return mean > INT64_MAX / n ? INT64_MAX : mean * n;
}

/* Returns when there are tokens for the waiter with so many before it. */
static uint64_t tokens_at(const struct estimate_in *in, uint64_t before)
{
    const uint64_t most = INT64_MAX / 4;

    if (before > 0 && in->step_usec > most / before)
        return most;
    const int64_t at = in->first_usec + (int64_t)(before * in->step_usec);
    return at > 0 ? (uint64_t)at : 0;
}

static void await_tokens(struct game *g, uint64_t before)
{
    const uint64_t at = tokens_at(g->in, before);

    if (g->free_at[0] < at)
        g->free_at[0] = at; /* run_for() restores the heap */
}

static uint64_t play(struct game *g)
{
    const struct estimate_in *in = g->in;
    const uint64_t more = share(g, in->front_more);
    uint64_t alone = ESTIMATE_FRONT - in->nfront;

    begin(g);
    for (size_t i = 0; i < in->nfront; i++) {
        await_tokens(g, i);
        run_for(g, draw(g, in->front[i]));
    }
    if (more < alone)
        alone = more;
    for (uint64_t i = 0; i < alone; i++) {
        await_tokens(g, in->nfront + i);
        run_for(g, draw(g, 0));
    }
    const uint64_t at = g->free_at[0] + mean_of(g, more - alone) / g->places;
    const uint64_t least = tokens_at(in, in->nfront + in->front_more);
    return at > least ? at : least;
}

/* --- all games ---------------------------------------------------------------------- */

/* Returns the number of runs in the tables used; the first table includes the runs of all
 * others. 0: a table has too few. */
static uint32_t runs_of(const struct estimate_in *in)
{
    bool used[ESTIMATE_TABLES] = {(in->others > 0 && in->nheld < in->places) ||
                                  (in->front_more > 0 && !is_front_full(in))};
    uint32_t sum = 0;

    for (size_t i = 0; i < in->nheld; i++)
        used[in->held[i].table] = true;
    for (size_t i = 0; i < in->nfront; i++)
        used[in->front[i]] = true;
    for (size_t i = 0; i < in->tables; i++) {
        if (used[i] && in->table[i].runs < ESTIMATE_LEAST)
            return 0;
        sum += used[i] ? in->table[i].runs : 0;
    }
    return used[0] ? in->table[0].runs : sum;
}

bool estimate_is_exact(const struct estimate_in *in)
{
    return in->step_usec &&
           in->nheld + in->others + in->nfront + in->front_more < in->places;
}

bool estimate(const struct estimate_in *in, uint64_t seed, struct estimate *ret)
{
    uint64_t starts[ESTIMATE_GAMES];
    struct game g = {.in = in,
                     .places = in->places < ESTIMATE_HELD ? (size_t)in->places
                                                          : ESTIMATE_HELD};
    const uint32_t runs = runs_of(in);

    if (estimate_is_exact(in)) {
        const uint64_t at = tokens_at(in, in->nfront + in->front_more);

        *ret = (struct estimate){.usec = at, .least_usec = at, .most_usec = at};
        return true;
    }
    if (runs == 0)
        return false;
    for (uint32_t i = 0; i < ESTIMATE_GAMES; i++) {
        rng_init(&g.rng, seed, i);
        starts[i] = play(&g);
    }
    qsort(starts, ESTIMATE_GAMES, sizeof(starts[0]), compare);
    *ret = (struct estimate){.usec = starts[ESTIMATE_GAMES / 2],
                             .least_usec = starts[1],
                             .most_usec = starts[ESTIMATE_GAMES - 2],
                             .runs = runs};
    return true;
}
