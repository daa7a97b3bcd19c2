/* The event loop below the driver: everything that asks the kernel. Over libevent in
 * loop.c; the models bring their own.
 *
 * Only the holder of the driver's turn calls it, except loop_kick() (any thread). It
 * needs no lock of libevent's: the turn orders all calls. */
#ifndef VOLT_DRIVER_LOOP_H
#define VOLT_DRIVER_LOOP_H

#include "driver/registration.h"

struct loop;

/* 0 or a negative errno; returns a new loop. */
int loop_new(struct loop **ret);
void loop_free(struct loop *l); /* NULL allowed; nothing may be added any more */

/* r->fd is open and its owner's. 0 or a negative errno; the loop borrows r until
 * loop_del(). */
int loop_add(struct loop *l, struct registration *r);
/* The descriptor may be closed already, or be another file by now: it is not touched. */
void loop_del(struct loop *l, struct registration *r);

/* Reports what is ready through registration_event(). */
void loop_poll(struct loop *l, struct task_chain *chain);
/* The same, after sleeping until something is ready, a kick, or until_usec (UINT64_MAX:
 * no limit). May return early. */
void loop_sleep(struct loop *l, uint64_t until_usec, struct task_chain *chain);
/* Ends the current or the next loop_sleep(). */
void loop_kick(struct loop *l);

#endif
