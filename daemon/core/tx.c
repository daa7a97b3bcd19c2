/* The lock, and what a change collects: tx.h. */
#include "daemon/core/tx.h"

#include <assert.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/core/state.h"
#include "daemon/core/trim.h"

void core_news_due(struct core *core)
{
    core->news_due = true;
}

void core_drop_news(struct core *core)
{
    core->news_due = core->ends_due = false;
}

void core_did(struct core *core, size_t entries, size_t bytes, size_t facts)
{
    quota_charge(&core->held, entries, bytes, facts);
    quota_charge(core->charged, entries, bytes, facts);
}

void core_charge(struct core *core, struct quota *turn)
{
    core->charged = turn;
}

bool core_is_used_up(const struct core *core)
{
    return quota_is_over(&core->held) || quota_is_over(core->charged);
}

void core_lock(struct core *core)
{
    fair_lock(&core->lock);
}

static void keep_largest(size_t *largest, size_t value)
{
    if (*largest < value)
        *largest = value;
}

/* Lock held. Keeps the largest counts of a hold, as the hold ends. */
static void count_held(struct core *core)
{
    keep_largest(&core->counts.held.entries, core->held.entries);
    keep_largest(&core->counts.held.bytes, core->held.bytes);
    keep_largest(&core->counts.held.facts, core->held.facts);
    core->dispatcher.facts += core->held.facts;
    core->held = (struct quota){0};
    core->charged = NULL;
    core->now_usec = 0;
}

bool core_is_settled(const struct core *core)
{
    const struct dispatcher *d = &core->dispatcher;
    const struct admission *a = core->parts.admit;

    if (!d->on || d->more || d->starved)
        return true;
    return !core->agenda.first && !condition_after_is_due(a) && !doom_first(a) &&
           !core->each_due.first && (core->closed || admission_is_settled(a));
}

void core_unlock(struct core *core)
{
    assert(!core->news_due && !core->entered && !core->held.facts &&
           core_is_settled(core));
    count_held(core);
    fair_unlock(&core->lock);
}

void tx_init(struct tx *tx, struct core *core)
{
    tx->core = core;
    tx->kick = tx->nudge = false;
    tx->n = tx->nspawn = 0;
    tx->garbage = NULL;
}

bool tx_has_room(const struct tx *tx)
{
    return tx->n + TX_STEP <= TX_WAKERS && tx->nspawn < JOBS_SLICE;
}

void core_begin(struct tx *tx, struct core *core)
{
    tx_init(tx, core);
    core_lock(core);
}

/* Frees the jobs that left the table. */
static void free_garbage(struct tx *tx)
{
    while (tx->garbage) {
        struct job *job = tx->garbage;

        tx->garbage = job->next;
        job_free(job);
    }
}

void tx_carry_out(struct tx *tx)
{
    struct core *core = tx->core;

    if (tx->kick || tx->nudge)
        store_kick(core->parts.store, !tx->kick);
    tx->kick = tx->nudge = false;
    for (size_t i = 0; i < tx->n; i++) {
        volt_waker_wake(&tx->wakers[i]);
        volt_waker_fini(&tx->wakers[i]);
    }
    tx->n = 0;
    for (size_t i = 0; i < tx->nspawn; i++)
        (void)volt_task_spawn(tx->spawn[i], NULL); /* dropped if the runtime ends */
    tx->nspawn = 0;
    free_garbage(tx);
}

/* Work for after the unlock that belongs to no single job. */
struct due {
    bool news, ends, entered, trim, missed;
};

/* Lock held. Takes and clears that work. */
static struct due take_due(struct tx *tx)
{
    struct core *core = tx->core;
    struct due due = {.news = core->news_due,
                      .ends = core->ends_due ||
                              (core->news_due && jobs_has_subscribed_all(core)),
                      .entered = core->entered,
                      .trim = trim_due(core),
                      .missed = admission_misses_users(core->parts.admit)};

    if (due.news &&
        event_log_is_watched(core->parts.log)) /* the log should have it soon */
        *(waiting_crowds(core) ? &tx->nudge : &tx->kick) = true;
    core->news_due = core->ends_due = core->entered = false;
    return due;
}

static void carry_out_due(struct core *core, const struct due *due)
{
    if (due->trim)
        trim_begin(core);
    if (due->news)
        volt_notify_all(&core->news);
    if (due->ends)
        volt_notify_all(&core->ends);
    if (due->entered)
        event_log_notify(core->parts.log);
    if (due->missed)
        volt_notify_one(&core->missed);
}

void core_end(struct tx *tx)
{
    struct core *core = tx->core;
    struct due due = take_due(tx);
    assert(core_is_settled(core));
    assert(!core->held.facts || tx->kick || tx->nudge);
    count_held(core);
    fair_unlock(&core->lock);
    tx_carry_out(tx);
    carry_out_due(core, &due);
}
