/* What is asked of jobs under the lock, and the log of what happened to them. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/exec/jobs.h"

uint64_t jobs_now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void jobs_note_told(struct manager *m, uint64_t looked)
{
    uint64_t most = vat_u64_load(&m->told, VAT_RLX);

    while (looked > most && !vat_u64_cas(&m->told, &most, looked, VAT_RLX, VAT_RLX))
        ;
}

void jobs_wake(struct work *w, struct tx *tx)
{
    if (!w || !w->waker.task)
        return;
    assert(tx->n < TX_WAKERS);
    tx->wakers[tx->n++] = w->waker;
    w->waker = (struct volt_waker){0};
}

int job_awaken(struct job *job)
{
    return job->spec ? 0 : dormant_wake(job->dormant, &job->spec);
}

bool jobs_give_task(struct tx *tx, struct job *job)
{
    if (job->live) { /* it has been deferred */
        jobs_wake(job->live, tx);
        return true;
    }
    if (job_awaken(job) < 0)
        return false;
    job->live = work_new(tx->m, job, NO_OFFSET);
    if (!job->live)
        return false;
    job->tasks++;
    tx->spawn[tx->nspawn++] = job->live;
    return true;
}

bool jobs_visible(uid_t asker, uid_t owner)
{
    return asker == 0 || asker == owner;
}

bool jobs_slotted(const struct job *job)
{
    return job->kind == JOB_KIND_EXEC;
}

const struct job_status *jobs_status(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? &job->status : array_own(job->array, offset);
}

/* Also of an element without a status of its own. */
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

void jobs_log(void *manager, const struct job_news *news, size_t n)
{
    struct manager *m = manager;

    pthread_mutex_lock(&m->log_lock);
    for (size_t i = 0; i < n; i++)
        event_ring_put(&m->log, &news[i]);
    bool awaited = n == 0 && m->watchers > 0;
    pthread_mutex_unlock(&m->log_lock);
    if (awaited) /* a watcher that begins only now has seen them */
        audience_tell(&m->log_audience);
}

void job_free(struct job *job)
{
    job_spec_unref(job->spec);
    dormant_free(job->dormant);
    array_free(job->array);
    elements_free(job->elements);
    free(job);
}
