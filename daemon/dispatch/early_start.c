/* Chooses which jobs start early, and how many: early_start.h. */
#include <stdlib.h>
#include <volt/time.h>

#include "daemon/core/claims.h"
#include "daemon/core/conditions.h"
#include "daemon/core/each.h"
#include "daemon/core/jobs.h"
#include "daemon/core/post.h"
#include "daemon/core/tx.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"
#include "daemon/dispatch/state.h"

#define EARLY_SPAN UINT64_C(6000)
#define EARLY_PACE UINT64_C(5000)    /* for longer jobs a commit is a thirtieth or less */
#define PACE_SLOW  UINT64_C(1000000) /* the most that one job counts */
#define PACE_PAST  3

struct dispatch *dispatch_new(void)
{
    struct dispatch *d = calloc(1, sizeof(*d));

    if (d)
        d->early.most = EARLY_MAX;
    return d;
}

/* Returns how many may start early: as many as will start within the span, and one for
 * each slot. */
static uint32_t limit_of(const struct core *core)
{
    const struct early_starts *a = &parts_of(core)->dispatch->early;
    const uint64_t pace = a->pace_usec + 1;

    if (a->past < PACE_PAST || pace >= EARLY_PACE)
        return 0;
    uint64_t n =
        admission_count(parts_of(core)->admit).slots * (EARLY_SPAN + pace) / pace;
    return n < a->most ? (uint32_t)n : a->most;
}

void early_limit(struct core *core, uint64_t most)
{
    parts_of(core)->dispatch->early.most = most < EARLY_MAX ? (uint32_t)most : EARLY_MAX;
}

/* Starts a waiting work early; wakes its task if it was deferred before. */
static void begin(struct core *core, struct work *w, struct tx *tx)
{
    grant_set_early(core, w, true);
    jobs_wake(w, tx);
}

/* Returns false: no memory; the next change tries again. */
static bool fill_job(struct core *core, struct job *job, struct tx *tx)
{
    struct work *w = job->live ? job->live : jobs_give_task(tx, job);

    if (w && !work_is_early(w))
        begin(core, w, tx);
    return w;
}

static bool fill_array(struct core *core, struct job *job, uint32_t limit, struct tx *tx)
{
    const struct early_starts *a = &parts_of(core)->dispatch->early;
    struct list_node *n = job->elements->waiting.first;
    struct work *w;

    if (job->spec->at_once)
        return true;
    for (; n && a->n < limit && tx_has_room(tx); n = n->next) {
        w = list_thing(n, struct work, element);
        if (!work_is_early(w))
            begin(core, w, tx);
    }
    while (each_rest(job) && a->n < limit && tx_has_room(tx)) {
        w = grant_element(tx, job);
        if (!w)
            return false;
        begin(core, w, tx);
    }
    return true;
}

/* Looks at all early jobs to find the next, so it waits until a quarter of them are
 * missing. */
void early_fill(struct core *core, struct tx *tx)
{
    const struct early_starts *a = &parts_of(core)->dispatch->early;
    struct waiter *first[EARLY_MAX];
    const uint32_t limit = waiting_crowds(core) ? limit_of(core) : 0;
    const bool lacks = a->n + limit / 4 < limit;
    const size_t n = lacks ? admission_peek(parts_of(core)->admit, first, limit) : 0;

    for (size_t i = 0; i < n && a->n < limit && tx_has_room(tx); i++) {
        struct job *job = job_of_waiter(first[i]);

        if (!(job->array ? fill_array(core, job, limit, tx) : fill_job(core, job, tx)))
            return;
    }
}

void early_note_end(struct core *core, uint64_t took_usec)
{
    struct early_starts *a = &parts_of(core)->dispatch->early;
    const uint64_t took = took_usec < PACE_SLOW ? took_usec : PACE_SLOW;

    a->pace_usec = (a->past * a->pace_usec + took) / (a->past + 1);
    if (a->past < PACE_PAST)
        a->past++;
}

bool early_defer(struct tx *tx, struct work *w)
{
    struct core *core = tx->core;
    struct job *job = w->job;
    struct job_event ev = {.type = JOB_EV_DEFERRED, .at_usec = jobs_now_usec()};

    if (!work_is_early(w) || jobs_status(job, w->offset)->state != JOB_STARTING ||
        core_post(tx, job, w->offset, &ev) < 0)
        return false;
    grant_refund(core, w);
    claims_keep_refund(tx, job, waiting_now(core));
    grant_set_early(core, w, false);
    if (conditions_is_held(job))
        (void)conditions_keep_hold(tx, job);
    else
        parts_of(core)->dispatch->early.pace_usec = PACE_SLOW;
    return true;
}
