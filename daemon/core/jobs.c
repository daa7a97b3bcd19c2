/* Questions about jobs under the lock, and the ring of events. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/core/state.h"

uint64_t jobs_now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void core_event_add(struct core *core, const struct job_news *ev)
{
    vlock_lock(&core->ring_lock);
    event_ring_push(&core->ring, ev);
    vlock_unlock(&core->ring_lock);
    core->news_due = true;
    core->ends_due |= job_news_may_end(ev);
}

size_t core_events_read(struct core *core, const struct asker *asker, uint64_t after,
                        struct job_news *buf, size_t max, uint64_t *ret_next,
                        uint64_t *ret_lost)
{
    vlock_lock(&core->ring_lock);
    const size_t n = event_ring_read(&core->ring, asker, after, buf, max, QUOTA_ENTRIES,
                                     ret_next, ret_lost);
    vlock_unlock(&core->ring_lock);
    return n;
}

void jobs_note_forgotten(struct core *core, uint64_t id)
{
    if (id > core->forgotten_max)
        core->forgotten_max = id;
}

uint64_t jobs_forgotten_max(const struct core *core)
{
    return core->forgotten_max;
}

uint64_t jobs_visited(const struct core *core)
{
    return vat_u64_load(&core->visited, VAT_RLX);
}

void jobs_subscribe_all(struct core *core, uint32_t n)
{
    (void)vat_u32_add(&core->of_all, n, VAT_RLX);
}

void jobs_unsubscribe_all(struct core *core, uint32_t n)
{
    (void)vat_u32_sub(&core->of_all, n, VAT_RLX);
}

bool jobs_has_subscribed_all(const struct core *core)
{
    return vat_u32_load(&core->of_all, VAT_RLX) > 0;
}

void jobs_note_visited(struct core *core, uint64_t visited)
{
    uint64_t most = vat_u64_load(&core->visited, VAT_RLX);

    while (visited > most &&
           !vat_u64_cas(&core->visited, &most, visited, VAT_RLX, VAT_RLX))
        ;
}

void jobs_wake(struct work *w, struct tx *tx)
{
    if (!w || !w->waker.task)
        return;
    assert(tx->n < TX_WAKERS);
    tx_wake(tx, &w->waker);
    vat_u32_store(&w->quiet, false, VAT_RLX);
}

int job_awaken(struct job *job)
{
    return job->spec ? 0 : packed_unpack(job->packed, &job->spec);
}

struct work *jobs_give_task(struct tx *tx, struct job *job)
{
    if (job_awaken(job) < 0)
        return NULL;
    job->live = work_new(tx->core, job, NO_OFFSET);
    if (!job->live)
        return NULL;
    job->tasks++;
    tx->spawn[tx->nspawn++] = job->live;
    return job->live;
}

bool jobs_is_process(const struct job *job)
{
    return job_kinds[job->kind].is_process;
}

bool jobs_left(const struct job *job, const struct job_status *st)
{
    return job->claims && st->state == JOB_DONE && st->survivors;
}

bool jobs_takes(const struct job *job)
{
    return jobs_is_process(job) || job->claims;
}

bool jobs_may_take(const struct job *job)
{
    return jobs_done(job) ? job->claims && !job->is_history : jobs_takes(job);
}

const struct job_status *jobs_status(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? &job->status : array_own(job->array, offset);
}

/* See jobs.h. */
struct job_status jobs_any_status(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? job->status : array_element(job->array, offset);
}

struct work *jobs_live(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? job->live : elements_work(job->elements, offset);
}

bool jobs_done(const struct job *job)
{
    return job->array ? array_done(job->array) : job->status.state == JOB_DONE;
}

bool jobs_has_begun(const struct job *job)
{
    return job->array ? job->array->has_begun : job_has_begun(&job->status);
}

struct job_key jobs_key(const struct job *job, int64_t offset)
{
    struct job_key key = {
        .id = job->id, .index = JOB_NO_INDEX, .attempt = job->status.attempt};
    const struct job_status *own;

    if (offset == NO_OFFSET)
        return key;
    own = array_own(job->array, offset);
    key.index = job_spec_index(job->spec, offset);
    key.attempt = own ? own->attempt : 0;
    return key;
}

uint8_t core_before_log(struct core *core)
{
    return event_log_fact_begin(core->parts.log);
}

void core_after_log(struct core *core, uint8_t *ticket)
{
    if (*ticket)
        event_log_fact_end(core->parts.log, *ticket);
    *ticket = 0;
}

void jobs_forget_output(struct core *core, uint64_t id)
{
    output_forget_later(&core->outputs, core->parts.rt, id);
}

void job_free(struct job *job)
{
    job_spec_unref(job->spec);
    packed_free(job->packed);
    array_free(job->array);
    elements_free(job->elements);
    free(job);
}
