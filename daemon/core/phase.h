/* Whether voltd accepts and starts jobs, and how many submissions are about to enter the
 * table. Lock held in all functions. */
#ifndef VOLTD_CORE_PHASE_H
#define VOLTD_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

struct core;

/* Stops new submissions and new starts. */
void phase_close(struct core *core);
bool phase_is_closed(const struct core *core);
/* Makes voltd cancel whatever enters the table from now on. */
void phase_end(struct core *core);
bool phase_is_ending(const struct core *core);

/* Count a submission that may be durable before its jobs are in the table.
 * phase_entered() ends it: its jobs are in the table, or never will be. */
void phase_enter(struct core *core);
void phase_entered(struct core *core);
uint32_t phase_entering(const struct core *core);
/* Makes a drain in progress look again. */
void phase_wake_drain(struct core *core);

#endif
