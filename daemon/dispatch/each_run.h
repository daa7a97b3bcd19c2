/* Elements that wait for those of others (core/each.h): what has changed of these is
 * looked at. What can be met no more is the end of the element: DEPENDENCY. */
#ifndef VOLTD_DISPATCH_EACH_RUN_H
#define VOLTD_DISPATCH_EACH_RUN_H

struct tx;

/* Lock held. As dependents_run(). */
int each_run(struct tx *tx);

#endif
