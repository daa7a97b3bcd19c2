/* Adopts works of an earlier voltd: decides which of them have slots and claims, before
 * their tasks read their records. */
#include "daemon/core/jobs.h"
#include "daemon/core/work.h"
#include "daemon/dispatch/grant.h"
#include "daemon/job/retry.h"
#include "daemon/keeper/record.h"
#include "daemon/run/kinds.h"
#include "daemon/run/state.h"

/* Returns what the record of an attempt says now; its task reads it again. A job that is
 * no process has no record and begins anew. */
static struct record look_at_record(const struct run *run, const struct work *w,
                                    const struct job_status *st)
{
    struct job_key key = jobs_key(w->job, w->offset);
    struct record rec = {.verdict = RECORD_RUNNING, .has_started = true};

    if (!jobs_is_process(w->job) || st->state == JOB_QUEUED ||
        record_probe(run->record_fd, &key, run->boot_id, &rec) < 0)
        return rec;
    if ((rec.verdict == RECORD_ABSENT || rec.verdict == RECORD_NEVER_RAN) &&
        (st->other_life || st->started_usec))
        rec.verdict = RECORD_OTHER_BOOT;
    return rec;
}

static void tally(struct core_counts *c, enum record_verdict verdict)
{
    switch (verdict) {
    case RECORD_RUNNING:
        c->recovered_running++;
        return;
    case RECORD_DONE:
        c->recovered_ended++;
        return;
    case RECORD_ABSENT:
    case RECORD_NEVER_RAN:
        c->recovered_unstarted++;
        return;
    case RECORD_SHIM_KILLED:
    case RECORD_OTHER_BOOT:
    case RECORD_DAMAGED:
        break;
    }
    c->recovered_lost++;
}

/* Returns whether only STARTING has happened, and no START can be carried out any more.
 * Such a work asks for its slot and claims again. The work may have given them back when
 * its end could not be stored. */
static bool is_unborn(const struct job_status *st, const struct record *rec)
{
    return st->state == JOB_STARTING &&
           (rec->verdict == RECORD_ABSENT || rec->verdict == RECORD_NEVER_RAN);
}

/* Adopts a work:
 *   - starting or running: has its slot and claims, unless it never began or was
 *     lost by a reboot
 *   - deferred, or lost: waits for slot and claims
 *   - ended with survivors: has its claims
 * If it waits anew, its STARTING has already spent tokens of its rates. */
void work_adopt(struct core *core, struct work *w)
{
    struct job *job = w->job;
    const struct job_status *st = jobs_status(job, w->offset);

    if (jobs_left(job, st)) {
        if (!st->other_life)
            grant_recover_claims(core, w);
        return;
    }
    const struct record rec = look_at_record(parts_of(core)->run, w, st);

    if (w->adopted)
        tally(parts_of(core)->counts, rec.verdict);
    if (!jobs_takes(job))
        return;
    const uint64_t left = job_retry_left(st, jobs_now_usec());
    if (left) {
        w->rests = true;
        grant_rest(core, w, left);
        return;
    }
    if (w->adopted && rec.verdict == RECORD_OTHER_BOOT)
        return;
    if (w->adopted && !is_unborn(st, &rec)) {
        w->assumed = st->state == JOB_STARTING;
        grant_recover(core, w);
        return;
    }
    w->spent = w->adopted && st->state == JOB_STARTING && job->claims;
    grant_wait(core, w);
    grant_set_early(core, w, w->adopted);
}
