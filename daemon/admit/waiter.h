/* Waiters join the line and leave it. */
#ifndef VOLTD_ADMIT_WAITER_H
#define VOLTD_ADMIT_WAITER_H

#include <stdint.h>

struct admission;
struct waiter;

/* Move a waiter without conditions from APART to LINE: as eligible from now on, or back
 * to the place that it had. */
void waiter_join(struct admission *a, struct waiter *w, uint64_t now);
void waiter_rejoin(struct admission *a, struct waiter *w);
/* Adds n to the number of waiters on conditions. */
void waiter_count_unmet(struct admission *a, const struct waiter *w, int n);
/* Moves a waiter from LINE to APART. */
void waiter_quit(struct admission *a, struct waiter *w);

#endif
