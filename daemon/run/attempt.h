/* An attempt: the state that the table of daemon/job/attempt.h works on. The attempt's
 * task owns all of it, but `left` is [L]. */
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
    uid_t owner;          /* owner of the job: its keeper runs it */
    uint32_t awaited;     /* inputs that its phase waits for: attempt_awaited_inputs() */
    struct job_event end; /* valid from ATTEMPT_ENDING on */
    struct keeper_start_args args; /* prepared for START */
    struct keeper_call call;       /* latest call */
    const char *step;              /* why it cannot start: static text */
    int error;                     /* > 0, errno for `step` */
    struct record_wait wait;       /* for the end of the attempt */
    struct record record;          /* as read at that end */
    bool has_record;               /* was made or seen, and not removed */
    bool was_paused;               /* processes that it leaves may be frozen */
    struct output_end printed;
    struct volt_sleep limit, probe; /* DO_LIMIT, DO_PROBE; not armed: never */
    uint64_t left_usec;             /* of the limit, which a pause has stopped; 0: it was
                                     * not armed */
    struct store_commit durable;    /* DO_AWAIT_STORE */
    uint64_t probe_usec;
    struct meter meter;      /* of its output, if it has a limit */
    struct survivors left;   /* of the latest SIGKILL; [L] */
    struct named_copy *room; /* room for the names of survivors at its end */
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

/* Returns the next input (enum attempt_input) that the phase waits for; -1: none yet, and
 * the task will be woken. */
int attempt_next_input(struct volt_cx *cx, struct work *w);

/* Returns the input for an -errno of making the record for START. */
enum attempt_input attempt_refused(struct attempt *a, int r);

/* --- attempt_actions.c ------------------------------------------------------------ */

/* Makes a step of the table, and carries out its actions. cx: NULL if no task runs
 * yet. */
void attempt_take(struct volt_cx *cx, struct work *w, enum attempt_input in);

/* --- attempt.c ---------------------------------------------------------------------- */

/* Handles the end of the commit of STARTING. An attempt of an earlier voltd has no such
 * commit. */
void attempt_take_commit(struct volt_cx *cx, struct work *w);
/* READY: w->attempt->end is the end; or the attempt is new again, and waits in the
 * queue. */
enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w);

#endif
