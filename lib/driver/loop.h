/* The event loop below the driver: every system call of the driver. loop.c is over
 * epoll; the models have their own.
 *
 * Only the holder of the driver's turn may call it, except loop_kick() (any thread). The
 * turn orders all calls, so the loop needs no lock. */
#ifndef VOLT_DRIVER_LOOP_H
#define VOLT_DRIVER_LOOP_H

#include "driver/registration.h"

struct loop;

/* Returns 0 with a new loop in *ret, or -errno. */
int loop_new(struct loop **ret);
void loop_free(struct loop *l); /* NULL allowed; call after the last addition */

/* Adds r, whose descriptor must be open and its owner's. Borrows r until loop_del().
 * Returns 0 or -errno. */
int loop_add(struct loop *l, struct registration *r);
/* Removes r without touching its descriptor, which may be closed or another file by
 * now. */
void loop_del(struct loop *l, struct registration *r);

/* Reports ready descriptors through registration_event(). */
void loop_poll(struct loop *l, struct task_chain *chain);
/* Does the same after sleeping until a descriptor is ready, a kick, or until_usec
 * (not 0; UINT64_MAX: no limit). May return early. */
void loop_sleep(struct loop *l, uint64_t until_usec, struct task_chain *chain);
/* Ends the current or the next loop_sleep(). */
void loop_kick(struct loop *l);

#endif
