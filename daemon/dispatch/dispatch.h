/* The interface of dispatch for other rooms. */
#ifndef VOLTD_DISPATCH_DISPATCH_H
#define VOLTD_DISPATCH_DISPATCH_H

struct dispatch;
struct tx;

/* Returns a new object, to be freed with free(). NULL: no memory. */
struct dispatch *dispatch_new(void);

/* Ends a section that core_begin() began: does what the change means to other jobs
 * (dispatcher.h), then core_end(). */
void dispatch_finish(struct tx *tx);

#endif
