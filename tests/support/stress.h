/* What every stress program has in common: options, rounds, and what a failure prints.
 *
 *   PROGRAM [--secs N] [--seed N] [--workers N]
 *
 * Round k runs with the seed `seed + k`, so a failing round is repeated alone: every
 * failure ends with the line that does it. Nothing in a round waits with a timeout, and
 * in three of four no sentinel looks round, so a lost wake is a round that does not end:
 * the alarm reports it.
 *
 * Workers: 1 to 256. More than 100 are spread over several runtimes, whose tasks then
 * wake each other across them. */
#ifndef TESTS_SUPPORT_STRESS_H
#define TESTS_SUPPORT_STRESS_H

#include <volt/volt.h>

#define STRESS_MAX_WORKERS 256
#define STRESS_RUNTIMES    3
#define STRESS_PER_RUNTIME 100

struct stress {
    uint64_t seed; /* of the round */
    unsigned round, workers;
    /* of the round, by stress_start() */
    struct volt_runtime *rt[STRESS_RUNTIMES];
    unsigned runtimes;
};

/* Parses the options; prints help and ends the program when they are wrong. */
void stress_init(struct stress *s, int argc, char **argv);
/* False: the time is over, and the closing line is printed. Otherwise a new round. */
bool stress_next(struct stress *s);

/* Starts runtimes of this many workers in all; _stop shuts them down, _free frees
 * them. */
void stress_start(struct stress *s, unsigned workers, const struct volt_options *like);
void stress_stop(struct stress *s);
void stress_free(struct stress *s);
/* The sums over the round's runtimes. */
struct volt_stats stress_stats(const struct stress *s);

/* In [0, below). */
uint64_t stress_random(uint64_t *seed, uint64_t below);
/* A start for stress_random(): different ones for different a, b. */
uint64_t stress_mix(uint64_t a, uint64_t b);

/* Any thread. */
void stress_failed(const char *file, int line, const char *what)
    __attribute__((noreturn));
#define CHECK(x) ((x) ? (void)0 : stress_failed(__FILE__, __LINE__, #x))

#endif
