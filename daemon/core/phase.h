/* Whether voltd takes and starts jobs, and how many submissions are about to enter the
 * table. Lock held in all functions. */
#ifndef VOLTD_CORE_PHASE_H
#define VOLTD_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

struct core;

/* No new submissions from now on, and no new starts. */
void phase_close(struct core *core);
bool phase_is_closed(const struct core *core);
/* What is entered from now on is cancelled. */
void phase_end(struct core *core);
bool phase_is_ending(const struct core *core);

/* A submission may be in the store from here on; then its jobs are in the table, or never
 * will be. */
void phase_enter(struct core *core);
void phase_entered(struct core *core);
uint32_t phase_entering(const struct core *core);
/* A drain in progress looks again. */
void phase_tell_drain(struct core *core);

#endif
