/* Looks at elements that wait for elements of other arrays (core/each.h), once these have
 * changed. An element whose edge can no longer be met ends: DEPENDENCY. */
#ifndef VOLTD_DISPATCH_EACH_RUN_H
#define VOLTD_DISPATCH_EACH_RUN_H

struct tx;

/* Lock held. Returns as dependents_run(). */
int each_run(struct tx *tx);

#endif
