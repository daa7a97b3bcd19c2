/* What deadlock.c says, compared with a slow model: circles.c. */
#ifndef TESTS_SIM_CIRCLES_H
#define TESTS_SIM_CIRCLES_H

#include <stdbool.h>
#include <volt/error.h>

struct core;
struct job;
struct lease;
struct inner_wait;

/* In place of deadlock.c's, by the linker. */
bool __wrap_deadlock_of_lease(struct core *core, const struct lease *l,
                              struct volt_error *ret);
bool __wrap_deadlock_of_wait(struct core *core, const struct inner_wait *n,
                             struct volt_error *ret);
bool __wrap_deadlock_of_edit(struct core *core, const struct job *job,
                             struct volt_error *ret);

#endif
