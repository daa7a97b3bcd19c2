/* Starting a job again and again: what counts as a failure of it, and how long to rest.
 *
 * Two things count: what a keeper refuses, and the death of a shim before the job has
 * begun. After TRIES_MAX of them the job has failed. That there is no keeper, or none
 * that lives to answer, is no failure of the job, however long it lasts: the job waits.
 *
 * What SIGKILL does not end is tried again after 1, 2, 4, ... 60 s, however often.
 *
 * Pure. Zero-initialised it has not been tried. */
#ifndef VOLTD_JOB_TRIES_H
#define VOLTD_JOB_TRIES_H

#include <stdbool.h>
#include <stdint.h>

#define TRIES_MAX 10 /* within about 16 s */

struct tries {
    uint8_t refused; /* that count */
    uint8_t rests;   /* so far, for whatever reason; saturates */
    uint8_t due;     /* rests: 1 where one is to come before the next try */
};

/* A moment's lack of something, as -errno. */
bool tries_passing(int r);
/* The connection broke before the answer. */
void tries_lost(struct tries *t);
/* passing: it may go well the next time; otherwise that was the last try. */
void tries_refused(struct tries *t, bool passing);
bool tries_are_over(const struct tries *t);
/* How long before the next one, in microseconds; 0: at once. Then none is due
 * any more. */
uint64_t tries_rest(struct tries *t);

/* How long before the next SIGKILL, in microseconds: `n` in a row were in vain. */
uint64_t tries_kill_rest(unsigned n);

#endif
