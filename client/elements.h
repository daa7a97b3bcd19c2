/* Reads the elements of an array in portions, in order of ids. */
#ifndef VOLT_CLIENT_ELEMENTS_H
#define VOLT_CLIENT_ELEMENTS_H

#include "client/client.h"

/* Returns every result except success and cancelled, as a list for a filter; new
 * reference. The counts of an array call the same results failed. */
json_t *elements_failed_results(void);

/* Selects elements of an array. */
struct elements {
    const char *id;
    const json_t *array;   /* its bounds or ranges; borrowed from the spec */
    const json_t *states;  /* lists for a filter; NULL: any */
    const json_t *results; /* */
    json_t *also;          /* more parameters for List, an object; NULL: none */
    uint64_t most;         /* at most so many; UINT64_MAX: all */
};

/* A position in the indexes of an array, which is an object of a spec. */
struct elements_place {
    const json_t *range; /* NULL: after the last index */
    size_t number;       /* number of the range */
    int64_t index;
};

void elements_first(struct elements_place *p, const json_t *array);
void elements_next(struct elements_place *p, const json_t *array);

/* Initialises *e with id and array from an answer that has at least the spec's field
 * "array". Returns false if the job is no array. */
bool elements_of(const json_t *job, struct elements *e);
/* Calls fn with each element. A negative result of fn ends the walk and is returned.
 * Returns 1 for an error reply, moved to *error; otherwise as client_call(). */
int elements_walk(struct client *c, const struct elements *e,
                  int (*fn)(void *arg, json_t *job), void *arg,
                  struct client_reply *error);

#endif
