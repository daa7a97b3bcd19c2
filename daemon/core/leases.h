/* Leases: claims on one lock or semaphore each that a process has, or waits for, which no
 * job's spec names (volt-lock). Lock held in all functions.
 *
 * A lease is a waiter like a job, which needs no slot: it has its place in the line, by
 * an id of the same numbers, and gets what it claims by the dispatcher. How long it has
 * that is not for core to say: daemon/lease. Nothing of it is in the store. */
#ifndef VOLTD_CORE_LEASES_H
#define VOLTD_CORE_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/lease_table.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"

struct core;
struct tx;

#define LEASES_MOST   10000 /* of one user */
#define LEASE_COMMAND 255   /* bytes of what is told of one */

/* What is known of one; the names are borrowed. */
struct lease_ask {
    uint64_t id;
    uid_t uid;
    struct job_claim claim; /* not a rate. had: of a lease that an earlier voltd gave */
    pid_t pid;              /* of the process that has asked; 0: not known */
    const char *command;    /* for people, LEASE_COMMAND bytes at most */
    uint64_t since_usec;    /* CLOCK_REALTIME: it was asked for, or given */
    struct job_key in_job;  /* it is asked for inside this job or element; id 0: none */
    uint64_t in_lease;      /* inside the command of this lease; 0: none */
};

/* Makes one that waits, or is given at once: until leases_end(). waits false: only if it
 * can have its claim now. Inside of what holds something it goes before all others. 0;
 * -EAGAIN: it cannot; or with the reason: -EINVAL: it never can; -EDEADLK: it would wait
 * for what it is inside of (deadlock.h); -ESHUTDOWN; -ENOMEM. */
int leases_ask(struct tx *tx, const struct lease_ask *ask, bool waits, struct lease **ret,
               struct volt_error *err);
/* One that was held, or waited, when an earlier voltd ended, as it says itself. 0;
 * -ENOMEM. */
int leases_recover(struct core *core, const struct lease_ask *ask, bool waits);
/* It has what it claims from now on: the dispatcher's. */
void leases_give(struct tx *tx, struct lease *l);
/* GIVEN: the process will know. */
void leases_hold(struct core *core, struct lease *l);
/* The call that has it has gone. It keeps its place, or what it was given, while it has
 * its file; that is looked at. */
void leases_detach(struct tx *tx, struct lease *l);
/* A call has it from now on, until leases_hold(), _detach() or _end(): no other call and
 * nothing that looks at its file ends it. */
void leases_attach(struct core *core, struct lease *l);
/* It goes, with what it has or waits for; freed. */
void leases_end(struct tx *tx, struct lease *l);

/* --- which are to be looked at ------------------------------------------------------ */
/* This one, and again for some time; nothing happens while a call waits for it. The task
 * is woken by tx. */
void leases_note(struct tx *tx, uint64_t id);
/* As many of those that nothing has happened to, those first that were not looked at for
 * longest. once: not again. */
void leases_note_some(struct tx *tx, size_t n, bool once);
/* The first that is due by now, which is not any more. NULL: there is none; *ret_next:
 * when there is one, UINT64_MAX: nobody knows. */
struct lease *leases_take_due(struct core *core, uint64_t now, uint64_t *ret_next);
/* Nothing has changed about it: it is looked at again 1, 2, 4, ... ms later, LEASE_LOOKS
 * times in all. */
void leases_look_again(struct core *core, struct lease *l, uint64_t now);

void leases_fini(struct core *core);

#endif
