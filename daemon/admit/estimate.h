/* Estimates when a waiter will start: plays the holders and the waiters before it many
 * times, with running times like those of the user's earlier jobs.
 *
 * Few earlier runs say little about the next. So each game draws from a new sample of
 * them, which makes the range wider the fewer there were. Pure; the same seed gives the
 * same result. Takes at most ESTIMATE_GAMES * (ESTIMATE_FRONT + (ESTIMATE_HELD +
 * ESTIMATE_TABLES) * SKETCH_POINTS) steps, a millisecond. */
#ifndef VOLTD_ADMIT_ESTIMATE_H
#define VOLTD_ADMIT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/admit/sketch.h"

#define ESTIMATE_GAMES  60
#define ESTIMATE_TABLES 16
#define ESTIMATE_HELD   64  /* holders, and places, played one by one */
#define ESTIMATE_FRONT  128 /* waiters played one by one; for more the mean is used */
#define ESTIMATE_LEAST  3   /* least runs of each table used, to say anything */
#define ESTIMATE_UNKNOWN UINT64_MAX

/* The known facts. About other users these are only amounts. */
struct estimate_in {
    uint64_t places; /* jobs that may run at the same time, at least 1 */
    struct estimate_table {
        uint32_t runs; /* number of runs in the points, at least 1 */
        uint64_t points[SKETCH_POINTS];
    } table[ESTIMATE_TABLES]; /* the first: all of the user's jobs */
    size_t tables;
    struct estimate_held {
        uint8_t table;
        uint64_t ran_usec; /* so far; or ESTIMATE_UNKNOWN */
    } held[ESTIMATE_HELD];
    size_t nheld;
    uint64_t others; /* more running jobs, otherwise unknown */
    uint8_t front[ESTIMATE_FRONT]; /* tables of the waiters before it */
    size_t nfront;
    uint64_t front_more; /* more waiters before it. If front is full, they are assumed to
                          * be like those in it; otherwise nothing is known of them */
    /* Rates: from now, when there are tokens for the first waiter before it, or for it if
     * it is first; and how much later for each further one. step_usec 0: it waits for no
     * rate. */
    int64_t first_usec;
    uint64_t step_usec;
};

struct estimate {
    uint64_t usec;                  /* median */
    uint64_t least_usec, most_usec; /* range of all games but two */
    uint32_t runs;                  /* earlier runs that it is based on; 0: exact without
                                     * them */
};

/* Returns whether the waiter waits for tokens only: slots are free for it and for all
 * before it, even if no running job ends. Then running times do not matter. */
bool estimate_is_exact(const struct estimate_in *in);
/* Estimates the start. Returns false if too little is known. */
bool estimate(const struct estimate_in *in, uint64_t seed, struct estimate *ret);

#endif
