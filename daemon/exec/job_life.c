/* From submission into the table, and from the end to oblivion. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/exec/submission.h"

static bool make_array(struct job *job)
{
    job->array = array_new(job_spec_count(job->spec));
    job->elements = job->array ? elements_new(job->array) : NULL;
    return job->elements;
}

struct job *job_new_bare(struct job_spec *spec, const struct job_owner *owner,
                         bool durable)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    job->spec = job_spec_ref(spec);
    job->kind = (uint8_t)spec->kind;
    job->priority = (int16_t)spec->priority;
    job->owner = *owner;
    job->durable = durable;
    job->bytes = (uint32_t)job_spec_bytes(spec);
    if (spec->is_array && !make_array(job)) {
        job_free(job);
        return NULL;
    }
    return job;
}

struct job *job_new(struct manager *m, struct job_spec *spec,
                    const struct job_owner *owner, bool durable)
{
    struct job *job = job_new_bare(spec, owner, durable);

    if (!job || job_waits_bare(job))
        return job;
    job->live = work_new(m, job, NO_OFFSET);
    if (!job->live) {
        job_free(job);
        return NULL;
    }
    job->tasks = 1;
    return job;
}

bool job_waits_bare(const struct job *job)
{
    return !job->array && jobs_slotted(job) && job->status.state == JOB_QUEUED;
}

int job_slumber(struct manager *m, struct job *job)
{
    if (!job->dormant)
        job->dormant = dormant_new(&m->shares, job->spec);
    return job->dormant ? 0 : -ENOMEM;
}

int job_awaken(struct job *job)
{
    return job->spec ? 0 : dormant_wake(job->dormant, &job->spec);
}

struct job_spec *job_spec_of(const struct job *job)
{
    struct job_spec *spec = NULL;

    if (job->spec)
        return job_spec_ref(job->spec);
    return dormant_wake(job->dormant, &spec) < 0 ? NULL : spec;
}

void job_discard(struct job *job)
{
    if (job->live)
        volt_task_discard(job->live);
    job_free(job);
}

void job_free(struct job *job)
{
    job_spec_unref(job->spec);
    dormant_free(job->dormant);
    array_free(job->array);
    elements_free(job->elements);
    free(job);
}

int job_enter(struct manager *m, struct job *job, uint64_t id, uint64_t now)
{
    struct job_event submit = job_spec_submission(job->spec, now);
    uint64_t n = job_spec_count(job->spec);
    int r = table_put(&m->table, id, job);

    if (r < 0)
        return r;
    job->id = id;
    m->counts.submitted += n;
    m->counts.by_state[JOB_QUEUED] += n;
    if (job->array)
        job->status.submitted_usec = now;
    (void)jobs_apply(m, job, NO_OFFSET, &submit); /* what is fresh takes it */
    if (jobs_slotted(job) && !job->held)
        queue_add(&m->queue, &job->node, job->priority);
    return 0;
}

/* An array's elements are compact; eight of them count as one job. */
static uint64_t weight(const struct job *job)
{
    return 1 + (job->array ? job->array->total / 8 : 0);
}

static void ended_push(struct manager *m, struct job *job)
{
    list_add_last(&m->ended, &job->node.node);
    m->ended_weight += weight(job);
}

void job_leave(struct manager *m, struct job *job, struct aftermath *after)
{
    list_remove(&m->ended, &job->node.node);
    m->ended_weight -= weight(job);
    table_remove(&m->table, job->id);
    job->next = after->garbage;
    after->garbage = job;
    m->gone++;
}

/* The newest stays whatever it weighs: a large array can be asked about at all. */
static bool are_too_many(const struct manager *m)
{
    return m->ended.first != m->ended.last && m->ended_weight > m->config.keep_ended_jobs;
}

/* The oldest ones leave memory; of many, which a large array or another configuration
 * makes too many at once, the first. */
static void let_go_some(struct manager *m, struct aftermath *after)
{
    for (int n = 0; n < JOBS_SLICE && are_too_many(m); n++) {
        struct job *oldest = list_thing(m->ended.first, struct job, node.node);

        if (oldest->id > m->forgotten_max)
            m->forgotten_max = oldest->id;
        claim_forget(m, oldest);
        past_add(&m->past, oldest->id, oldest->owner.uid,
                 oldest->array ? &oldest->array->worst : &oldest->status);
        job_leave(m, oldest, after);
        manager_did(m, 1, 0, 0);
    }
    m->crowded = are_too_many(m);
}

struct leaving {
    struct manager *manager;
};

static enum volt_poll leaving_poll(struct volt_cx *cx, void *state)
{
    struct manager *m = ((struct leaving *)state)->manager;
    struct aftermath after = {0};

    manager_lock(m);
    let_go_some(m, &after);
    bool more = m->leaving = m->crowded;
    manager_unlock(m, &after);
    if (!more)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static const struct volt_task_type leaving_type = {
    "ended jobs leave", sizeof(struct leaving), leaving_poll, NULL, NULL};

void job_leaving_begin(struct manager *m)
{
    struct leaving *l = volt_task_new(m->rt, &leaving_type);

    if (l) {
        l->manager = m;
        (void)volt_task_spawn(l, NULL); /* closing: they go with the manager */
        return;
    }
    pthread_mutex_lock(&m->lock);
    m->leaving = false; /* the next end tries again */
    pthread_mutex_unlock(&m->lock);
}

void job_retire(struct manager *m, struct job *job, struct aftermath *after)
{
    if (!jobs_done(job))
        return; /* the daemon ends: manager_free finds it in the table */
    if (m->nsuccessions)
        succession_over(m, job->id, after);
    if (job->array && !job->is_history) {
        struct store_fact fact = {.key = jobs_key(job, NO_OFFSET),
                                  .uid = job->owner.uid,
                                  .last = true,
                                  .ended_usec = jobs_now_usec(),
                                  .state = JOB_DONE,
                                  .result = job->array->worst.result,
                                  .code = job->array->worst.code};

        after->kick = true;
        m->news_due = true;
        (void)store_append(m->store, &fact, 1, NULL); /* otherwise at the next start */
    }
    ended_push(m, job);
    let_go_some(m, after);
}
