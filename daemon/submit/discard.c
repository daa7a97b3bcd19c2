/* Discards jobs of a submission that are not to be taken. */
#include "daemon/dispatch/grant.h"
#include "daemon/run/work.h"
#include "daemon/submit/submission.h"

struct job *submission_granted(const struct submission *p)
{
    size_t i = 0;

    if (!p->granted)
        return NULL;
    while (!p->jobs[i])
        i++;
    return p->jobs[i];
}

static void take_slot_back(struct jobs_submit *s)
{
    struct submission *p = s->pending;
    struct core *core = s->core;
    struct tx tx;
    struct job *job = submission_granted(p);

    if (!job)
        return;
    p->granted = false;
    if (job->live->attempt && !p->committed) /* otherwise the next start has the job */
        jobs_forget_output(core, p->first_id);
    attempt_free(job->live->attempt);
    job->live->attempt = NULL;
    core_begin(&tx, core);
    grant_end(core, job->live, NEVER_RAN);
    dispatch_finish(&tx);
}

bool discard_some(struct jobs_submit *s, int error, const char *text)
{
    struct submission *p = s->pending;
    const size_t from = p->through;
    uint64_t n = 0, bytes = 0;

    p->through = s->count - from < SUBMIT_SLICE ? s->count : from + SUBMIT_SLICE;
    claim_release(s, from, p->through);
    submission_forget(s, from, p->through);
    for (size_t i = from; i < p->through; i++) {
        if (!p->jobs[i])
            continue;
        if (!s->items[i].not_new) {
            n += job_spec_count(p->jobs[i]->spec);
            bytes += p->jobs[i]->bytes;
        }
        job_discard(p->jobs[i]);
        p->jobs[i] = NULL;
        p->accepted--;
        if (!s->items[i].ret_error && !p->alone)
            submission_reject(&s->items[i], error, "%s", text);
    }
    if (n > 0)
        submission_unbook(s, n, bytes);
    return p->through < s->count;
}

void discard(struct jobs_submit *s, size_t from, int error, const char *text)
{
    struct submission *p = s->pending;

    take_slot_back(s);
    p->through = from;
    while (discard_some(s, error, text))
        ;
}

struct beside {
    struct jobs_submit *s;
    size_t from;
    int error;
    const char *text;
};

static void run_beside(void *arg)
{
    const struct beside *b = arg;

    discard(b->s, b->from, b->error, b->text);
}

void discard_beside(struct volt_cx *cx, struct jobs_submit *s, size_t from, int error,
                    const char *text)
{
    struct beside b = {s, from, error, text};

    if (from == s->count)
        return;
    if (s->count - from > JOBS_SLICE)
        volt_block_in_place(cx, run_beside, &b);
    else
        run_beside(&b);
}
