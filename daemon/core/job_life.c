/* A job's start and its end in memory. Jobs enter the table in post.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/conditions.h"
#include "daemon/core/state.h"
#include "daemon/store/fact.h"

_Static_assert(JOB_KIND_COUNT <= 8, "three bits are enough");

#define ENDED_BYTES 32768 /* bytes of a spec that weigh as much as an ended job */

static bool make_array(struct job *job, bool ended)
{
    const uint64_t total = job_spec_count(job->spec);

    job->array = ended ? array_new_counts(total) : array_new(total);
    if (ended || !job->array)
        return job->array;
    job->elements = elements_new(job->array);
    return job->elements;
}

void job_describe(const struct core *core, struct job *job, const struct job_spec *spec)
{
    job->priority = (int16_t)spec->priority;
    job->bytes = (uint32_t)job_spec_bytes(spec);
    job->name_tag = index_tag_of_name(core, job->owner.uid, job_spec_display_name(spec));
    job->elsewhere = spec->queue && strcmp(spec->queue, QUEUE_DEFAULT) != 0;
    job->conditioned = conditions_asked(spec);
}

struct job *job_new_bare(const struct core *core, struct job_spec *spec,
                         const struct job_owner *owner, bool durable, bool ended)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    job->spec = job_spec_ref(spec);
    job->kind = (uint8_t)spec->kind;
    job->owner = *owner;
    job->durable = durable;
    job->claims = spec->nclaims > 0;
    job->labelled = spec->nlabels > 0;
    job_describe(core, job, spec);
    if (spec->is_array && !make_array(job, ended)) {
        job_free(job);
        return NULL;
    }
    return job;
}

/* Returns whether a job waits without a task, or an array without one of its own: each
 * slot brings a task. */
static bool waits_idle(const struct job *job)
{
    return jobs_takes(job) && (job->array || job->status.state == JOB_QUEUED);
}

struct job *job_new(struct core *core, struct job_spec *spec,
                    const struct job_owner *owner, bool durable)
{
    struct job *job = job_new_bare(core, spec, owner, durable, false);

    if (!job || waits_idle(job))
        return job;
    job->live = work_new(core, job, NO_OFFSET);
    if (!job->live) {
        job_free(job);
        return NULL;
    }
    job->tasks = 1;
    return job;
}

bool job_waits_bare(const struct job *job)
{
    return !job->array && waits_idle(job);
}

int job_slumber(struct core *core, struct job *job)
{
    if (!job->packed)
        job->packed = packed_new(&core->shares, job->spec);
    return job->packed ? 0 : -ENOMEM;
}

struct job_spec *job_spec_of(const struct job *job)
{
    struct job_spec *spec = NULL;

    if (job->spec)
        return job_spec_ref(job->spec);
    return packed_unpack(job->packed, &spec) < 0 ? NULL : spec;
}

void job_discard(struct job *job)
{
    if (job->live)
        volt_task_discard(job->live);
    job_free(job);
}

/* Returns what an ended job counts in core.ended_weight. Eight elements count as one job;
 * an array of counts only has no elements. Long specs, as with a standard input, count
 * too. */
static uint64_t weight(const struct job *job)
{
    return 1 + job->bytes / ENDED_BYTES +
           (job->array && !array_is_counts(job->array) ? job->array->total / 8 : 0);
}

static void ended_push(struct core *core, struct job *job)
{
    job->retired = true;
    job->barrier = core->dispatcher.barriers + 1;
    list_add_last(&core->ended, &job->node);
    core->ended_weight += weight(job);
}

void job_leave(struct tx *tx, struct job *job)
{
    struct core *core = tx->core;

    agenda_remove(core, job);
    list_remove(&core->ended, &job->node);
    core->ended_weight -= weight(job);
    core->gone += weight(job);
    index_leave(core, job);
    table_remove(&core->table, job->id);
    job->next = tx->garbage;
    tx->garbage = job;
}

/* Returns whether there are too many ended jobs. The newest stays whatever it weighs, so
 * that a large array can be asked about. */
static bool are_too_many(const struct core *core)
{
    return core->ended.first != core->ended.last &&
           core->ended_weight > core->limits.keep_ended_jobs;
}

/* Returns whether the store is known to have the end. */
static bool is_stored(const struct core *core, const struct job *job)
{
    return job->is_history || job->barrier <= core->dispatcher.barrier_done;
}

bool job_leave_some(struct tx *tx)
{
    struct core *core = tx->core;

    for (int n = 0;
         n < JOBS_SLICE && are_too_many(core) && core->held.bytes < QUOTA_BYTES; n++) {
        struct job *oldest = list_thing(core->ended.first, struct job, node);

        if (oldest->elements && oldest->elements->followers.n)
            return false; /* stays until its ends have been looked at, which is due */
        if (!is_stored(core, oldest)) {
            core->dispatcher.ends_wait =
                core->dispatcher.barriers == core->dispatcher.barrier_done;
            return false; /* stays until the barrier is done */
        }
        if (oldest->id > core->forgotten_max)
            core->forgotten_max = oldest->id;
        job_leave(tx, oldest);
        core_did(core, 1, 0, 0);
    }
    return are_too_many(core);
}

struct store_fact job_last(const struct job *job, uint64_t at_usec)
{
    if (!job->array)
        return (struct store_fact){
            .type = STORE_LAST,
            .last = {.id = job->id, .at_usec = at_usec, .uid = job->owner.uid}};
    return (struct store_fact){
        .type = STORE_ARRAY_END,
        .array_end = {.id = job->id,
                      .at_usec = at_usec,
                      .count = job->array->total,
                      .after = {.owner = job->owner.uid,
                                .state = JOB_DONE,
                                .end = job_end_of(&job->array->worst)}}};
}

size_t job_last_key(const struct core *core, const struct job *job, uint64_t at_usec,
                    struct job_end end, struct store_fact *ret)
{
    const struct keys_entry *e =
        keys_is_name(job->key) ? keys_find(&core->keys, job->key) : NULL;

    if (!e || e->id != job->id)
        return 0;
    *ret = (struct store_fact){.type = STORE_KEY,
                               .key = {.id = job->id,
                                       .uid = job->owner.uid,
                                       .at_usec = at_usec,
                                       .name = job->key,
                                       .body = e->body,
                                       .end = end}};
    return 1;
}

void job_append_last(struct tx *tx, struct job *job, uint64_t at_usec)
{
    const struct job_status *st = job->array ? &job->array->worst : &job->status;
    struct store_fact facts[2] = {job_last(job, at_usec)};
    const size_t n = 1 + job_last_key(tx->core, job, at_usec, job_end_of(st), &facts[1]);

    tx->kick = true;
    tx->core->news_due |= job->array != NULL;
    job->unstored |= store_append(tx->core->parts.store, facts, n, NULL) < 0;
}

void job_retire(struct tx *tx, struct job *job)
{
    struct core *core = tx->core;

    if (!jobs_done(job))
        return; /* voltd ends: life_free() finds the job in the table */
    replacement_over(core, job);
    if (job->array && !job->is_history && !job->unstored)
        job_append_last(tx, job, jobs_now_usec());
    waiting_forget(core, job);
    if (!job->unstored) /* else the next voltd stores it */
        ended_push(core, job);
}
