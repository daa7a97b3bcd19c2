/* The shims that the keeper can hand another job.
 *
 * A shim costs a fork, an exit and a session of its own, as much as a short job itself.
 * So one that has ended its job with nothing left of it says so with a byte, and gets the
 * next one, as long as they come: after a pause, and when voltd goes, all are dismissed.
 * To be dismissed is to see the end of the channel, so a keeper's death does it as well;
 * who has a job ends it first.
 *
 * A shim that is handed a job holds nothing of the job before: its record is closed, so
 * final, and it has no child. Whoever is to signal a job by its shim (the killers) must
 * not find the next one there: while one of them lives no shim is reused, and who comes
 * later finds a record that is over. */
#ifndef DAEMON_KEEPER_CREW_H
#define DAEMON_KEEPER_CREW_H

#include "daemon/keeper/child.h"

/* Hands the job to a shim that waits, if may_reuse, or to a new one: *ret_new, set in
 * this case only. args borrowed. Returns its pid, or -errno: nobody has the job. */
pid_t crew_start(const struct shim_args *args, bool may_reuse, bool *ret_new);
/* How many shims may be handed another job, now or later. */
unsigned crew_size(void);
/* Nobody gets another job. */
void crew_dismiss(void);
/* A child of the keeper has been reaped. */
void crew_forget(pid_t pid);

#endif
