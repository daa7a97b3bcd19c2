/* Starting a job again and again: what counts as a failure of it, and how long to rest.
 *
 * Two things count: what a keeper refuses, and the death of a shim that had nothing but
 * this job. After TRIES_MAX of them the job has failed. That there is no keeper, or none
 * that lives to answer, is nobody's failure, however long it lasts: the job waits. Nor is
 * it one of the job that its shim was slow to take it: then it is taken back together
 * with the one that is to follow it (crew.h), unseen. It goes alone from then on, is left
 * where it is, and begins when its shim gets to it.
 *
 * What SIGKILL does not end is tried again after 1, 2, 4, ... 60 s, however often.
 *
 * Pure. Zero-initialised it has not been tried. */
#ifndef VOLTD_EXEC_TRIES_H
#define VOLTD_EXEC_TRIES_H

#include <stdbool.h>
#include <stdint.h>

#define TRIES_MAX 10 /* within about 16 s */

struct tries {
    unsigned refused;    /* that count */
    unsigned rests;      /* for whatever reason */
    bool rest;           /* one is due */
    bool alone;          /* nobody is to follow it */
    int error;           /* the latest that counts, positive */
    const char *refuser; /* and whose; static */
};

/* A moment's lack of something, as -errno. */
bool tries_passing(int r);
/* The connection broke before the answer. */
void tries_lost(struct tries *t);
/* error > 0. One that does not pass is the last one. */
void tries_refused(struct tries *t, const char *refuser, int error);
/* It was taken, by a keeper that answered, and has never begun. */
void tries_in_vain(struct tries *t);
/* error and refuser say why. */
bool tries_are_over(const struct tries *t);
/* How long before the next one, in microseconds; 0: at once. Then none is due
 * any more. */
uint64_t tries_rest(struct tries *t);

/* How long before the next SIGKILL, in microseconds: `n` in a row were in vain. */
uint64_t tries_kill_rest(unsigned n);

#endif
