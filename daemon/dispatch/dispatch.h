/* The room that decides which job is next, as others see it. */
#ifndef VOLTD_DISPATCH_DISPATCH_H
#define VOLTD_DISPATCH_DISPATCH_H

struct dispatch;
struct tx;

/* Returns new; NULL: no memory. Freed with free(). */
struct dispatch *dispatch_new(void);

/* The end of a section that core_begin() has begun: what the change means to other jobs
 * (dispatcher.h), then core_end(). */
void dispatch_finish(struct tx *tx);

#endif
