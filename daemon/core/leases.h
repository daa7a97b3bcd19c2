/* Leases: claims of processes outside of jobs on one lock or semaphore each (volt-lock).
 * Lock held in all functions.
 *
 * A lease is a waiter like a job, but needs no slot. Its id is from the same numbers as
 * ids of jobs, and gives its place in the line. The dispatcher grants it. daemon/lease
 * decides how long it is held. Leases are not in the store. */
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
#define LEASE_COMMAND 255   /* bytes of the command that are shown */

/* A request for a lease; names are borrowed. */
struct lease_ask {
    uint64_t id;
    uid_t uid;
    struct job_claim claim; /* not a rate; had: as an earlier voltd granted it */
    pid_t pid;              /* the process that asked; 0: unknown */
    const char *command;    /* shown to people; at most LEASE_COMMAND bytes */
    uint64_t since_usec;    /* CLOCK_REALTIME of the request, or of the grant */
    struct job_key in_job;  /* the job or element that it is asked for in; id 0: none */
    uint64_t in_lease;      /* the lease whose command it is asked for in; 0: none */
};

/* Makes a lease that waits, or is granted at once; leases_end() frees it. waits false:
 * only makes it if it is granted at once. A lease inside a holder goes before all others.
 * Returns 0, -EAGAIN (it would have to wait), or with the reason
 *   -EINVAL      it can never be granted
 *   -EDEADLK     it would wait for what it is inside of (deadlock.h)
 *   -ESHUTDOWN   voltd ends
 *   -ENOMEM */
int leases_ask(struct tx *tx, const struct lease_ask *ask, bool waits, struct lease **ret,
               struct volt_error *err);
/* Makes a lease that was held, or waited, under an earlier voltd. Returns 0 or
 * -ENOMEM. */
int leases_recover(struct core *core, const struct lease_ask *ask, bool waits);
/* Grants the lease. For the dispatcher. */
void leases_give(struct tx *tx, struct lease *l);
/* Marks a granted lease as held: the process will be notified. */
void leases_hold(struct core *core, struct lease *l);
/* Separates the lease from its call, which has ended. The lease keeps its place, or its
 * grant, as long as its file is open. The task of leases looks at the file from now
 * on. */
void leases_detach(struct tx *tx, struct lease *l);
/* Gives the lease to a call until leases_hold(), leases_detach() or leases_end(). Until
 * then neither another call nor a look at its file ends the lease. */
void leases_attach(struct core *core, struct lease *l);
/* Ends and frees the lease; releases what it has. */
void leases_end(struct tx *tx, struct lease *l);

/* --- leases to look at -------------------------------------------------------------- */
/* Makes this lease due now, and again later; does nothing while a call waits for it. tx
 * wakes the task of leases. */
void leases_note(struct tx *tx, uint64_t id);
/* Makes at most n quiet leases due, beginning with those whose last look is longest ago.
 * once: no further looks. */
void leases_note_some(struct tx *tx, size_t n, bool once);
/* Returns the first due lease and makes it quiet. NULL: none is due by now. *ret_next:
 * when the next one will be; UINT64_MAX: unknown. */
struct lease *leases_take_due(struct core *core, uint64_t now, uint64_t *ret_next);
/* Schedules the next look at an unchanged lease, 1, 2, 4, ... ms later, at most
 * LEASE_LOOKS looks in all. */
void leases_look_again(struct core *core, struct lease *l, uint64_t now);

void leases_fini(struct core *core);

#endif
