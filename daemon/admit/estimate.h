/* When something in a line will start: its holders and those before it are played
 * through, many times, with running times as the user's earlier jobs had.
 *
 * Few earlier runs say little about the next ones: each game draws from a sample of them,
 * made anew, so that the range is the wider the fewer there were. Pure; the same for the
 * same seed. It takes ESTIMATE_GAMES * (ESTIMATE_FRONT + (ESTIMATE_HELD +
 * ESTIMATE_TABLES) * SKETCH_POINTS) steps at most, a millisecond. */
#ifndef VOLTD_ADMIT_ESTIMATE_H
#define VOLTD_ADMIT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/admit/sketch.h"

#define ESTIMATE_GAMES  60
#define ESTIMATE_TABLES 16
#define ESTIMATE_HELD   64  /* that are played one by one, and places */
#define ESTIMATE_FRONT  128 /* likewise; for more there is the mean */
#define ESTIMATE_LEAST  3   /* runs of each table that is used, to say anything */
#define ESTIMATE_UNKNOWN UINT64_MAX

/* What is known. Of what belongs to others: how much it is. */
struct estimate_in {
    uint64_t places; /* that run at the same time, at least 1 */
    struct estimate_table {
        uint32_t runs; /* that the points are of, at least 1 */
        uint64_t points[SKETCH_POINTS];
    } table[ESTIMATE_TABLES]; /* the first: of all of the user's jobs */
    size_t tables;
    struct estimate_held {
        uint8_t table;
        uint64_t ran_usec; /* so far; ESTIMATE_UNKNOWN */
    } held[ESTIMATE_HELD];
    size_t nheld;
    uint64_t others; /* more that run, of which nothing else is known */
    uint8_t front[ESTIMATE_FRONT]; /* tables of those before it */
    size_t nfront;
    uint64_t front_more; /* more of them: where front is full they are taken for such as
                          * are in it, otherwise nothing else is known of them */
    /* Of a rate: when there are tokens for the first of those before it, or for it, from
     * now on, and how much later for each behind that; 0: it waits for none. */
    int64_t first_usec;
    uint64_t step_usec;
};

struct estimate {
    uint64_t usec;                  /* as likely sooner as later */
    uint64_t least_usec, most_usec; /* all games but two lie between these */
    uint32_t runs;                  /* earlier ones that it is made from; 0: it is known
                                     * without them */
};

/* What waits for tokens alone: slots are free for it and for all before it, whether what
 * runs ends or not. Then nothing need be known of how long jobs run. */
bool estimate_is_exact(const struct estimate_in *in);
/* False: too little is known. */
bool estimate(const struct estimate_in *in, uint64_t seed, struct estimate *ret);

#endif
