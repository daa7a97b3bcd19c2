/* Tries: which failures to start a job count, and how long to rest before the next try.
 *
 * Two failures count: a refusal of the keeper, and the death of a shim before the job has
 * begun. After TRIES_MAX the job has failed. A missing keeper, or one that dies before it
 * answers, is no failure of the job: the job waits.
 *
 * SIGKILL is repeated while processes survive it, after rests that double from 1 s to 60
 * s.
 *
 * Pure. Zero-initialised: no tries. */
#ifndef VOLTD_JOB_TRIES_H
#define VOLTD_JOB_TRIES_H

#include <stdbool.h>
#include <stdint.h>

#define TRIES_MAX 10 /* within about 16 s */

struct tries {
    uint8_t refused; /* tries that count */
    uint8_t rests;   /* so far, for any reason; saturates */
    uint8_t due;     /* 1: a rest is due before the next try */
};

/* Returns whether the -errno is a temporary lack of something. */
bool tries_passing(int r);
/* Notes that the connection broke before the answer. */
void tries_lost(struct tries *t);
/* Notes a refusal. passing: temporary; otherwise that was the last try. */
void tries_refused(struct tries *t, bool passing);
bool tries_are_over(const struct tries *t);
/* Returns the rest before the next try in microseconds, once; 0: at once. */
uint64_t tries_rest(struct tries *t);

/* Returns the rest before the next SIGKILL in microseconds, after `n` in vain. */
uint64_t tries_kill_rest(unsigned n);

#endif
