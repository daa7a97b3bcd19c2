/* Starting a job again and again: what counts as a failure of it, and how long to rest.
 *
 * Two things count: what a keeper refuses, and the death of a shim that had nothing but
 * this job. After TRIES_MAX of them the job has failed. That there is no keeper, or none
 * that lives to answer, is no failure of the job, however long it lasts: the job waits. A
 * shim may be slow to take a job. The job and the one that is to follow it (shim_pool.h)
 * are taken back then, which is no failure. From then on the job is started alone, stays
 * where it is, and begins when its shim gets to it.
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
    uint8_t vain;    /* 1: it was taken once and has never begun */
};

/* A moment's lack of something, as -errno. */
bool tries_passing(int r);
/* The connection broke before the answer. */
void tries_lost(struct tries *t);
/* passing: it may go well the next time; otherwise that was the last try. */
void tries_refused(struct tries *t, bool passing);
/* It was taken, by a keeper that answered, and has never begun. */
void tries_in_vain(struct tries *t);
/* Whether no other job may follow it. */
bool tries_are_alone(const struct tries *t);
bool tries_are_over(const struct tries *t);
/* How long before the next one, in microseconds; 0: at once. Then none is due
 * any more. */
uint64_t tries_rest(struct tries *t);

/* How long before the next SIGKILL, in microseconds: `n` in a row were in vain. */
uint64_t tries_kill_rest(unsigned n);

#endif
