/* Recovery: the state of an earlier daemon, from the store.
 *
 *   1. recover_load() replays every event through job_update(), the same pure function
 *      that made the state: an event that it refuses is damage, and nothing is guessed.
 *      Only statuses come of it, so two replays of one store give equal states.
 *   2. Counters, users and queues are derived from the statuses, once.
 *   3. recover_start() acts, once per job: what was queued waits in its queue again, in
 *      order of ids; what was starting or running gets its task, which adopts the attempt
 *      and asks its record (attempt.c); what has ended is kept for questions.
 *
 * 1 and 2 run before there is any task, so without the lock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/siphash.h"
#include "daemon/exec/dispatcher.h"
#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"
#include "daemon/store/reader.h"

/* --- replay --------------------------------------------------------------------- */

struct replay {
    struct manager *m;
    struct volt_error *err;
    uint64_t max;         /* the latest id: they come in order */
    uint64_t seq;         /* number of the news of what is replayed */
    struct job *ended;    /* the latest, if it is an array that has ended ... */
    struct job_news last; /* ... and its last news */
    struct array_fold fold;
};

static int refuse(struct replay *r, const struct job_key *key, const char *what)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(key, text);
    if (r->err)
        (void)snprintf(r->err->text, sizeof(r->err->text), "job %s: %s", text, what);
    return -EBADMSG;
}

/* It was submitted in the place of another, which may not have been cancelled yet. */
static bool replay_replace(struct manager *m, const struct job *job)
{
    succession_cancel(m, job->owner.uid, job->spec->replaces);
    return succession_restore(m, job->owner.uid, job->spec->replaces, job->id) == 0;
}

/* False: no memory. Of two jobs with one key the later one has it: the earlier was no
 * longer known when it came, or done, or is replaced. */
static bool own_key(struct manager *m, struct job *job)
{
    if (!job->spec->key)
        return true;
    job->key = keys_name(&m->keys, job->owner.uid, job->spec->key);
    struct keys_entry *e = keys_find(&m->keys, job->key);
    if (!e)
        e = keys_put(&m->keys, job->key);
    if (!e || keys_body(&m->keys, job->spec, &e->body) < 0)
        return false;
    if (job->spec->replaces && !replay_replace(m, job))
        return false;
    e->id = job->id;
    return true;
}

/* The news that were told of it, if they are among the newest. */
static void log_again(struct manager *m, const struct job_news *news)
{
    if (news->seq && news->seq <= m->log.seq &&
        m->log.seq - news->seq < EVENT_RING_CAPACITY)
        event_ring_put(&m->log, news);
}

static void log_event(struct replay *r, const struct job *job, const struct job_key *key,
                      const struct job_event *ev, const struct job_status *st)
{
    struct job_news news = {.seq = r->seq,
                            .at_usec = ev->at_usec,
                            .key = *key,
                            .type = (uint8_t)ev->type,
                            .state = st->state,
                            .end = core_end_told(ev->type, st),
                            .owner = job->owner.uid};

    /* Deferred is told of the attempt that it takes back. */
    news.key.attempt = st->attempt + (ev->type == JOB_EV_DEFERRED);
    log_again(r->m, &news);
}

/* An array that has ended is not loaded but for its counts: a million elements are a
 * hundred megabytes. */
static void begin_ended_array(struct replay *r, struct job *job,
                              const struct store_loaded_job *loaded)
{
    array_fold_begin(&r->fold, job->array);
    r->ended = job;
    r->last = (struct job_news){.seq = loaded->end_seq,
                                .at_usec = loaded->ended_usec,
                                .key = jobs_key(job, NO_OFFSET),
                                .type = JOB_EV_EXITED,
                                .state = JOB_DONE,
                                .owner = job->owner.uid};
}

/* All its facts have come. */
static void end_ended_array(struct replay *r)
{
    if (!r->ended)
        return;
    array_fold_end(&r->fold);
    r->last.end = job_end_of(&r->ended->array->worst);
    log_again(r->m, &r->last);
    r->ended = NULL;
}

static int replay_job(struct replay *r, const struct store_loaded_job *loaded)
{
    const struct job_owner owner = {.uid = loaded->uid, .gid = loaded->gid};
    const struct job_key key = {.id = loaded->id, .index = JOB_NO_INDEX};
    const struct job_event submit =
        job_spec_submission(loaded->spec, loaded->submitted_usec);
    struct job *job = job_new_bare(r->m, loaded->spec, &owner, true, loaded->ended);

    end_ended_array(r);
    r->max = loaded->id;
    if (!job || table_put(&r->m->table, loaded->id, job) < 0) {
        if (job)
            job_free(job);
        return -ENOMEM;
    }
    job->id = loaded->id;
    job->recovered = true;
    job->is_history = loaded->ended;
    if (!own_key(r->m, job))
        return -ENOMEM;
    if (job_waits_bare(job)) {
        if (job_slumber(r->m, job) < 0)
            return -ENOMEM;
        job_spec_unref(job->spec);
        job->spec = NULL;
    }
    if (job_update(&job->status, &submit) < 0)
        return refuse(r, &key, "event submit");
    if (job->array) {
        array_replay_begin(job->array);
        (void)array_update(job->array, ARRAY_WHOLE, &submit, &(struct array_effects){0});
    }
    if (job->array && loaded->ended)
        begin_ended_array(r, job, loaded);
    log_event(r, job, &key, &submit, &job->status);
    return 0;
}

static int replay_array(struct replay *r, struct job *job, const struct job_key *key,
                        const struct job_event *ev)
{
    struct array_effects fx;
    int result = r->ended == job ? array_fold_event(&r->fold, ARRAY_WHOLE, ev)
                                 : array_update(job->array, ARRAY_WHOLE, ev, &fx);

    if (result < 0)
        return refuse(r, key, job_event_name(ev->type));
    log_event(r, job, key, ev, &(struct job_status){.state = JOB_STOPPING});
    return 0;
}

static int replay_element(struct replay *r, struct job *job, const struct job_key *key,
                          const struct job_event *ev)
{
    int64_t offset = job->array ? job_spec_offset(job->spec, key->index) : -1;
    struct array_effects fx;

    if (offset < 0)
        return refuse(r, key, "no such element");
    if (r->ended == job) {
        if (array_fold_event(&r->fold, offset, ev) < 0)
            return refuse(r, key, job_event_name(ev->type));
        log_event(r, job, key, ev, &r->fold.element);
        return 0;
    }
    if (array_reserve(job->array, offset) < 0)
        return -ENOMEM;
    if (array_update(job->array, offset, ev, &fx) < 0)
        return refuse(r, key, job_event_name(ev->type));
    log_event(r, job, key, ev, array_own(job->array, offset));
    return 0;
}

static int replay_event(struct replay *r, const struct store_loaded_event *loaded)
{
    const struct job_key *key = &loaded->key;
    struct job *job = table_get(&r->m->table, key->id);
    struct job_event ev = *loaded->event;

    if (!job)
        return refuse(r, key, "an event before its submission");
    ev.step = interned_step(&r->m->interned, ev.step);
    ev.named = interned_named(&r->m->interned, ev.named);
    if (key->index != JOB_NO_INDEX)
        return replay_element(r, job, key, &ev);
    if (job->array)
        return replay_array(r, job, key, &ev);
    if (job_update(&job->status, &ev) < 0)
        return refuse(r, key, job_event_name(ev.type));
    log_event(r, job, key, &ev, &job->status);
    return 0;
}

static int replay(void *arg, const struct store_loaded *loaded)
{
    struct replay *r = arg;

    r->seq = loaded->seq;
    switch (loaded->type) {
    case STORE_LOADED_JOB:
        return replay_job(r, &loaded->job);
    case STORE_LOADED_EVENT:
        return replay_event(r, &loaded->event);
    }
    return -EBADMSG;
}

/* --- what follows from the statuses --------------------------------------------- */

static void count(struct manager_counts *c, const struct job_status *st)
{
    c->submitted++;
    c->by_state[st->state]++;
    if (st->state != JOB_DONE)
        return;
    c->ended++;
    c->by_result[st->result]++;
}

static void count_array(struct manager_counts *c, const struct array *a)
{
    c->submitted += a->total;
    c->ended += a->by_state[JOB_DONE];
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        c->by_state[i] += a->by_state[i];
    for (int i = 0; i < JOB_RESULT_COUNT; i++)
        c->by_result[i] += a->by_result[i];
}

static int derive(struct manager *m, struct job *job)
{
    struct user *u = users_get(&m->users, job->owner.uid);

    if (!u)
        return -ENOMEM;
    if (job->array) {
        array_replay_end(job->array);
        count_array(&m->counts, job->array);
    } else {
        count(&m->counts, &job->status);
    }
    if (!jobs_done(job))
        users_add(&m->users, u,
                  job->array ? job->array->total - job->array->by_state[JOB_DONE] : 1,
                  job->bytes);
    index_enter(m, job);
    return 0;
}

/* A task that recover_start() will spawn. NULL: no memory. */
static struct work *give_task(struct manager *m, struct job *job, int64_t offset)
{
    if ((m->nresumed & (m->nresumed + 1)) == 0) { /* 2^n - 1: no room for another */
        struct work **grown =
            reallocarray(m->resumed, 2 * (m->nresumed + 1), sizeof(struct work *));

        if (!grown)
            return NULL;
        m->resumed = grown;
    }
    struct work *w = work_new(m, job, offset);
    if (!w)
        return NULL;
    m->resumed[m->nresumed++] = w;
    job->tasks++;
    return w;
}

/* What the record of an attempt says now; its task will ask again. What is no process has
 * none and begins anew. */
static enum record_verdict look_at_record(struct manager *m, struct job *job,
                                          int64_t offset, const struct job_status *st)
{
    struct job_key key = jobs_key(job, offset);
    struct record rec;

    if (job->kind != JOB_KIND_EXEC ||
        record_probe(m->record_fd, &key, m->boot_id, &rec) < 0)
        return RECORD_RUNNING;
    bool unborn = rec.verdict == RECORD_ABSENT || rec.verdict == RECORD_NEVER_RAN;
    return unborn && (st->other_life || st->started_usec) ? RECORD_OTHER_BOOT
                                                          : rec.verdict;
}

static void tally(struct manager_counts *c, enum record_verdict verdict)
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

/* Nothing of it has happened but that it was to start. It may have waited at the keeper
 * for the end of another, whose slot it has not got. */
static bool is_unborn(const struct job *job, const struct job_status *st,
                      enum record_verdict verdict)
{
    return job->kind == JOB_KIND_EXEC && st->state == JOB_STARTING &&
           (verdict == RECORD_ABSENT || verdict == RECORD_NEVER_RAN);
}

/* The task of what was starting or running, or of an element between two attempts; it has
 * its slot, unless it never began. */
static struct work *adopt(struct manager *m, struct job *job, int64_t offset,
                          const struct job_status *st)
{
    struct work *w = job_awaken(job) < 0 ? NULL : give_task(m, job, offset);

    if (!w)
        return NULL;
    w->adopted = st->state != JOB_QUEUED;
    w->kept_starting = true;
    w->kept_started = st->started_usec != 0;
    enum record_verdict verdict =
        w->adopted ? look_at_record(m, job, offset, st) : RECORD_RUNNING;
    if (w->adopted)
        tally(&m->counts, verdict);
    if (is_unborn(job, st, verdict)) {
        if (offset == NO_OFFSET)
            queue_place(&m->queue, &job->node, job->priority);
        ahead_join(m, w);
        return w;
    }
    w->granted = jobs_slotted(job);
    if (w->granted)
        queue_occupy(&m->queue);
    return w;
}

static int adopt_elements(struct manager *m, struct job *job)
{
    const struct job_status *st;

    for (int64_t at = 0; (st = array_find_own(job->array, &at)); at++) {
        if (st->state == JOB_DONE)
            continue;
        if (elements_reserve(job->elements, at) < 0)
            return -ENOMEM;
        struct work *w = adopt(m, job, at, st);
        if (!w)
            return -ENOMEM;
        elements_set(job->elements, at, w);
    }
    return 0;
}

static int settle(struct manager *m, struct job *job)
{
    struct tx tx;
    int r = derive(m, job);

    if (r < 0)
        return r;
    if (jobs_done(job)) {
        tx_init(&tx, m);
        job_retire(&tx, job);
        (void)job_leave_some(&tx);
        tx_carry_out(&tx);
        m->news_due = false; /* there is no task yet that could wait for them */
        return 0;
    }
    job->held = keys_is_name(job->key) && succession_is_held(m, job->id) &&
                !(job->due & DUE_RELEASE);
    if (!job->array && job->status.state != JOB_QUEUED) {
        job->live = adopt(m, job, NO_OFFSET, &job->status);
        return job->live ? 0 : -ENOMEM;
    }
    if (job_waits_bare(job)) {
        if (!job->held)
            queue_add(&m->queue, &job->node, job->priority);
        return 0;
    }
    if (!job->array || job->array->rest) {
        job->live = give_task(m, job, NO_OFFSET);
        if (!job->live)
            return -ENOMEM;
        if (jobs_slotted(job) && !job->held)
            queue_add(&m->queue, &job->node, job->priority);
    }
    return job->array ? adopt_elements(m, job) : 0;
}

int recover_load(struct manager *m, uint64_t *ret_max, struct volt_error *err)
{
    struct replay r = {.m = m, .err = err};
    uint64_t id = 0;
    struct job *job;
    int result = store_load(m->store, replay, &r, err);

    if (result < 0)
        return result;
    end_ended_array(&r);
    *ret_max = store_last_id(m->store);
    if (*ret_max < r.max)
        *ret_max = r.max;
    do {
        size_t steps = SIZE_MAX;

        id = table_next(&m->table, id, &steps, &job);
        result = job ? settle(m, job) : 0;
        m->held = (struct manager_held){0}; /* nothing waits for the lock yet */
    } while (id && result == 0);
    if (result < 0 && err)
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-result));
    m->counts.recovered_queued = m->counts.by_state[JOB_QUEUED];
    return result;
}

/* --- actions -------------------------------------------------------------------- */

/* What is replaced is cancelled before its task reads its record: a job that has ended
 * meanwhile would be too late to cancel. */
int recover_start(struct manager *m)
{
    CRASH_POINT("recovered");
    int r = dispatcher_start(m);

    if (r < 0)
        return r;
    for (size_t i = 0; i < m->nresumed; i++)
        (void)volt_task_spawn(m->resumed[i], NULL); /* closing: it is dropped */
    free(m->resumed);
    m->resumed = NULL;
    m->nresumed = 0;
    return 0;
}

static void hash_status(struct siphash *h, const struct job_status *st)
{
    const uint64_t words[] = {st->state,
                              st->result,
                              st->cancel_asked,
                              st->timed_out,
                              st->printed_too_much,
                              st->other_life,
                              st->retry_lost,
                              st->lost,
                              st->kept,
                              st->attempt,
                              (uint64_t)st->code,
                              st->code_is,
                              (uint64_t)st->pid,
                              st->survivors,
                              st->submitted_usec,
                              st->started_usec,
                              st->ended_usec,
                              st->usage.user_usec,
                              st->usage.system_usec,
                              st->usage.max_rss_bytes};

    siphash_add(h, words, sizeof(words));
    if (st->step)
        siphash_add(h, st->step, strlen(st->step));
}

static void hash_job(struct siphash *h, const struct job *job)
{
    const struct job_status *own;

    siphash_add_number(h, job->id);
    siphash_add_number(h, job->owner.uid);
    hash_status(h, &job->status);
    if (!job->array)
        return;
    siphash_add_number(h, job->array->cancelled_usec);
    siphash_add_number(h, job->array->rest);
    siphash_add(h, job->array->by_state, sizeof(job->array->by_state));
    siphash_add(h, job->array->by_result, sizeof(job->array->by_result));
    hash_status(h, &job->array->worst);
    for (int64_t at = 0; (own = array_find_own(job->array, &at)); at++) {
        siphash_add_number(h, (uint64_t)at);
        hash_status(h, own);
    }
}

uint64_t recover_hash(struct manager *m)
{
    static const struct siphash_key no_secret; /* equal in two managers */
    struct siphash h;
    uint64_t id = 0;
    struct job *job;

    siphash_init64(&h, &no_secret);
    manager_lock(m);
    do {
        size_t steps = SIZE_MAX;

        id = table_next(&m->table, id, &steps, &job);
        if (job)
            hash_job(&h, job);
    } while (id);
    manager_unlock(m);
    return siphash_end64(&h);
}

void recover_discard(struct manager *m)
{
    for (size_t i = 0; i < m->nresumed; i++)
        volt_task_discard(m->resumed[i]);
    free(m->resumed);
}
