/* One attempt: what the table of daemon/job/attempt.h is driven with. All of it is its
 * task's own, but `left`, which is [L]. */
#ifndef VOLTD_RUN_ATTEMPT_H
#define VOLTD_RUN_ATTEMPT_H

#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/grant.h"
#include "daemon/keeper/record.h"
#include "daemon/link/keeper_link.h"
#include "daemon/link/record_watch.h"
#include "daemon/output/output.h"
#include "daemon/run/state.h"
#include "daemon/run/work.h"
#include "daemon/job/attempt.h"
#include "daemon/output/output_meter.h"

struct attempt {
    struct attempt_state state;
    struct job_key key;
    uid_t owner;                   /* of the job: whose keeper runs it */
    uint32_t hears;                /* attempt_hears() of it */
    struct job_event end;          /* from ATTEMPT_ENDING on */
    struct keeper_start_args args; /* what was prepared */
    struct keeper_call call;       /* the latest */
    const char *step;              /* why it cannot be started: static, */
    int error;                     /* > 0 */
    struct record_wait wait;       /* for the end of `record` */
    struct record record;          /* as it was when that came */
    bool has_record;               /* one was made, or seen, and not removed */
    bool was_paused;               /* what it leaves may be frozen */
    struct output_end printed;
    struct volt_sleep limit, probe; /* DO_LIMIT, DO_PROBE; not armed: never */
    struct store_commit kept;       /* DO_KEEP */
    uint64_t probe_usec;
    struct meter meter;      /* of what it has printed, where that has a limit */
    struct survivors left;   /* of the latest SIGKILL; changed with the lock */
    struct named_copy *room; /* for the names of what its end has left */
};

static inline struct job_key attempt_key(const struct work *w)
{
    return w->attempt->key;
}
static inline void attempt_disarm(struct volt_sleep *s)
{
    volt_sleep_fini(s);
    s->deadline_usec = 0;
}

/* --- attempt_inputs.c ------------------------------------------------------------- */

/* The next thing that its phase waits for: enum attempt_input; -1: nothing yet, and the
 * task will be woken. */
int attempt_hear(struct volt_cx *cx, struct work *w);

/* There is no record for its START, as the -errno says: the input that this is. */
enum attempt_input attempt_refused(struct attempt *a, int r);

/* --- attempt_actions.c ------------------------------------------------------------ */

/* Goes by the table, and does what that says. cx is NULL where no task runs yet. */
void attempt_take(struct volt_cx *cx, struct work *w, enum attempt_input in);

/* --- attempt.c ---------------------------------------------------------------------- */

/* The commit of STARTING is over. An attempt that was begun before has had none. */
void attempt_take_commit(struct volt_cx *cx, struct work *w);
/* READY: w->attempt->end is the end, or it is new again: it waits in the queue. */
enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w);

#endif
