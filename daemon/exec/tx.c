/* The lock, and what follows from a change: tx.h. */
#include "daemon/exec/tx.h"

#include <assert.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/trim.h"

void manager_lock(struct manager *m)
{
    pthread_mutex_lock(&m->lock);
}

static void keep_largest(uint64_t *largest, uint64_t value)
{
    if (*largest < value)
        *largest = value;
}

/* Lock held, for the last time. */
static void count_held(struct manager *m)
{
    keep_largest(&m->counts.held.entries, m->held.entries);
    keep_largest(&m->counts.held.bytes, m->held.bytes);
    keep_largest(&m->counts.held.facts, m->held.facts);
    m->held = (struct manager_held){0};
}

static bool is_done(const struct manager *m)
{
    return !m->dispatcher.ops || m->dispatcher.ops->is_done(m);
}

void manager_unlock(struct manager *m)
{
    assert(!m->news_due && !m->entered && !m->held.facts && is_done(m));
    count_held(m);
    pthread_mutex_unlock(&m->lock);
}

void tx_init(struct tx *tx, struct manager *m)
{
    tx->m = m;
    tx->kick = tx->nudge = false;
    tx->n = tx->nspawn = 0;
    tx->garbage = NULL;
}

bool tx_has_room(const struct tx *tx)
{
    return tx->n + TX_STEP <= TX_WAKERS && tx->nspawn < JOBS_SLICE;
}

void core_begin(struct tx *tx, struct manager *m)
{
    tx_init(tx, m);
    manager_lock(m);
}

/* Of jobs that have left the table. */
static void free_some(struct tx *tx)
{
    struct manager *m = tx->m;
    const bool prints = !store_durable(m->store); /* else the store tells when */
    uint64_t printed[OUTPUT_FORGET_AT_ONCE];
    size_t n = 0;

    while (tx->garbage && n < OUTPUT_FORGET_AT_ONCE) {
        struct job *job = tx->garbage;

        tx->garbage = job->next;
        if (prints && jobs_slotted(job))
            printed[n++] = job->id;
        job_free(job);
    }
    output_forget_later(&m->outputs, m->rt, printed, n);
}

void tx_carry_out(struct tx *tx)
{
    struct manager *m = tx->m;

    if (tx->kick || tx->nudge)
        store_kick(m->store, !tx->kick);
    tx->kick = tx->nudge = false;
    for (size_t i = 0; i < tx->n; i++) {
        volt_waker_wake(&tx->wakers[i]);
        volt_waker_fini(&tx->wakers[i]);
    }
    tx->n = 0;
    for (size_t i = 0; i < tx->nspawn; i++)
        (void)volt_task_spawn(tx->spawn[i], NULL); /* closing: it is dropped */
    tx->nspawn = 0;
    while (tx->garbage)
        free_some(tx);
}

/* What concerns no single job, to be done once the lock is free. */
struct due {
    bool news, entered, trim;
};

/* Lock held. */
static struct due take_due(struct tx *tx)
{
    struct manager *m = tx->m;
    struct due due = {.news = m->news_due, .entered = m->entered, .trim = trim_due(m)};

    if (due.news && m->watchers) /* the log shall have it soon, too */
        *(m->queue.waiting ? &tx->nudge : &tx->kick) = true;
    m->news_due = m->entered = false;
    return due;
}

static void carry_out_due(struct manager *m, const struct due *due)
{
    if (due->trim)
        trim_begin(m);
    if (due->news)
        volt_notify_all(&m->news);
    if (due->entered)
        audience_tell(&m->log_audience);
}

void core_finish(struct tx *tx)
{
    struct manager *m = tx->m;

    if (m->dispatcher.ops)
        m->dispatcher.ops->run(tx);
    struct due due = take_due(tx);
    assert(is_done(m));
    assert(!m->held.facts || tx->kick || tx->nudge);
    count_held(m);
    pthread_mutex_unlock(&m->lock);
    tx_carry_out(tx);
    carry_out_due(m, &due);
}
