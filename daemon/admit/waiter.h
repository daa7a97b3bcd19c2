/* A waiter joins the line, and leaves it. */
#ifndef VOLTD_ADMIT_WAITER_H
#define VOLTD_ADMIT_WAITER_H

#include <stdint.h>

struct admission;
struct waiter;

/* APART, without a condition: LINE. It is eligible from now on, or has been before and
 * goes back to its place. */
void waiter_join(struct admission *a, struct waiter *w, uint64_t now);
void waiter_rejoin(struct admission *a, struct waiter *w);
/* So many more that wait on conditions. */
void waiter_count_unmet(struct admission *a, const struct waiter *w, int n);
/* LINE: APART. */
void waiter_quit(struct admission *a, struct waiter *w);

#endif
