/* Calls that wait for jobs from inside a job or a volt-lock command
 * (daemon/lease/lending.h): Wait and Watch, and Read of output. */
#ifndef VOLTD_METHOD_INSIDE_H
#define VOLTD_METHOD_INSIDE_H

#include "daemon/lease/lending.h"

struct call;

/* The state of one call; zero-initialised. */
struct inside {
    struct inner_wait wait; /* what the call waits inside of ... */
    struct lending lending; /* ... which lends its slot */
};

/* Registers that the call waits; the caller sets all of `as` but its user. 0, also if
 * done already; -EDEADLK: it would wait for ever, and `error` was answered. */
int inside_begin(struct call *call, struct inside *in, const struct inner_wait *as,
                 const char *error);
/* Ends the registration. */
void inside_end(struct call *call, struct inside *in);

#endif
