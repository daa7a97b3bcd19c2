/* A call that waits for jobs, from inside a job or the command of a volt-lock
 * (daemon/lease/lending.h): Wait and Watch, and Read of their output. */
#ifndef VOLTD_METHOD_INSIDE_H
#define VOLTD_METHOD_INSIDE_H

#include "daemon/lease/lending.h"

struct call;

/* Of one call; zeroed before. */
struct inside {
    struct inner_wait wait; /* what it waits inside of, ... */
    struct lending lending; /* ... which lends its slot */
};

/* It waits from now on; `as` is filled in but for its user. 0, also when it does already;
 * -EDEADLK: it would wait for ever, and the call is answered, with that error. */
int inside_begin(struct call *call, struct inside *in, const struct inner_wait *as,
                 const char *error);
/* It waits no longer. */
void inside_end(struct call *call, struct inside *in);

#endif
