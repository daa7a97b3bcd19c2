/* From submission into the table, and from the end to oblivion. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/exec/jobs.h"
#include "daemon/store/fact.h"

static bool make_array(struct job *job, bool ended)
{
    const uint64_t total = job_spec_count(job->spec);

    job->array = ended ? array_new_counts(total) : array_new(total);
    if (ended || !job->array)
        return job->array;
    job->elements = elements_new(job->array);
    return job->elements;
}

struct job *job_new_bare(const struct manager *m, struct job_spec *spec,
                         const struct job_owner *owner, bool durable, bool ended)
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
    job->name_tag = index_tag_of_name(m, owner->uid, job_spec_display_name(spec));
    job->labelled = spec->nlabels > 0;
    if (spec->is_array && !make_array(job, ended)) {
        job_free(job);
        return NULL;
    }
    return job;
}

struct job *job_new(struct manager *m, struct job_spec *spec,
                    const struct job_owner *owner, bool durable)
{
    struct job *job = job_new_bare(m, spec, owner, durable, false);

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

/* An array's elements are compact; eight of them count as one job. One that is counts
 * alone has none here. */
static uint64_t weight(const struct job *job)
{
    return 1 + (job->array && !array_is_counts(job->array) ? job->array->total / 8 : 0);
}

static void ended_push(struct manager *m, struct job *job)
{
    list_add_last(&m->ended, &job->node.node);
    m->ended_weight += weight(job);
}

void job_leave(struct tx *tx, struct job *job)
{
    struct manager *m = tx->m;

    agenda_remove(m, job);
    list_remove(&m->ended, &job->node.node);
    m->ended_weight -= weight(job);
    m->gone += weight(job);
    index_leave(m, job);
    table_remove(&m->table, job->id);
    job->next = tx->garbage;
    tx->garbage = job;
}

/* The newest stays whatever it weighs: a large array can be asked about at all. */
static bool are_too_many(const struct manager *m)
{
    return m->ended.first != m->ended.last && m->ended_weight > m->limits.keep_ended_jobs;
}

bool job_leave_some(struct tx *tx)
{
    struct manager *m = tx->m;

    for (int n = 0;
         n < JOBS_SLICE && are_too_many(m) && m->held.bytes < MANAGER_WALK_BYTES; n++) {
        struct job *oldest = list_thing(m->ended.first, struct job, node.node);

        if (oldest->id > m->forgotten_max)
            m->forgotten_max = oldest->id;
        keys_forget(&m->keys, oldest->key, oldest->id, m->limits.keep_history);
        past_add(&m->past, oldest->id, oldest->owner.uid,
                 oldest->array ? &oldest->array->worst : &oldest->status);
        job_leave(tx, oldest);
        manager_did(m, 1, 0, 0);
    }
    return are_too_many(m);
}

void job_retire(struct tx *tx, struct job *job)
{
    struct manager *m = tx->m;

    if (!jobs_done(job))
        return; /* the daemon ends: manager_free finds it in the table */
    if (m->nsuccessions)
        succession_over(m, job->id);
    if (job->array && !job->is_history) {
        const struct store_fact fact = {
            .type = STORE_ARRAY_END,
            .array_end = {.id = job->id,
                          .at_usec = jobs_now_usec(),
                          .count = job->array->total,
                          .after = {.owner = job->owner.uid,
                                    .state = JOB_DONE,
                                    .end = job_end_of(&job->array->worst)}}};

        tx->kick = true;
        m->news_due = true;
        (void)store_append(m->store, &fact, 1, NULL); /* otherwise at the next start */
    }
    ended_push(m, job);
}
