/* Elements of an array, read a portion at a time by their ids, in order. */
#ifndef VOLT_CLIENT_ELEMENTS_H
#define VOLT_CLIENT_ELEMENTS_H

#include "client/client.h"

/* Every result but success and cancelled, as the list that a filter takes; new reference.
 * The counts of an array call the same ones failed. */
json_t *elements_failed_results(void);

/* Which elements of which array. */
struct elements {
    const char *id;
    const json_t *array;   /* its bounds, or ranges: of the spec, borrowed */
    const json_t *states;  /* lists of a filter; NULL: any */
    const json_t *results; /* */
    json_t *also;          /* more parameters of the List calls, an object; NULL: none */
    uint64_t most;         /* so many, then it ends; UINT64_MAX: all */
};

/* An index of an array, which is its object in the spec. */
struct elements_place {
    const json_t *range; /* NULL: behind the last */
    size_t number;       /* of it, in the ranges */
    int64_t index;
};

void elements_first(struct elements_place *p, const json_t *array);
void elements_next(struct elements_place *p, const json_t *array);

/* Zeroes *e, and fills id and array from the answer, which has the field "array" of the
 * spec at least. False: that job is no array. */
bool elements_of(const json_t *job, struct elements *e);
/* Calls fn with each element; a negative number from it ends the walk and is returned.
 * Otherwise as client_call(); 1: an error reply, moved to *error. */
int elements_walk(struct client *c, const struct elements *e,
                  int (*fn)(void *arg, json_t *job), void *arg,
                  struct client_reply *error);

#endif
