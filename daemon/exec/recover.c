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
#include "daemon/exec/jobs.h"

/* --- replay --------------------------------------------------------------------- */

struct replay {
    struct manager *m;
    struct volt_error *err;
    uint64_t max; /* the latest id: they come in order */
};

static int refuse(struct replay *r, const struct store_fact *fact, const char *what)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(&fact->key, text);
    if (r->err)
        (void)snprintf(r->err->text, sizeof(r->err->text), "job %s: %s", text, what);
    return -EBADMSG;
}

/* Steps are static strings everywhere: a replayed one becomes the manager's. There are as
 * many as there are causes, so few. */
static const char *keep_step(struct manager *m, const char *step)
{
    for (size_t i = 0; i < m->nsteps; i++)
        if (strcmp(m->steps[i], step) == 0)
            return m->steps[i];

    char **grown = reallocarray(m->steps, m->nsteps + 1, sizeof(*grown));
    if (!grown)
        return "";
    m->steps = grown;
    char *copy = strdup(step);
    if (!copy)
        return "";
    return m->steps[m->nsteps++] = copy;
}

const char *manager_keep_step(struct manager *m, const char *step)
{
    if (!step)
        return NULL;
    pthread_mutex_lock(&m->lock);
    const char *kept = keep_step(m, step);
    pthread_mutex_unlock(&m->lock);
    return kept;
}

#define NAMED_BACK 64 /* how far back an equal one is looked for */

/* Each end with survivors has some, which differ from those of others; the events of one
 * job follow each other, so equal ones stand close together. 32 bytes each, 56 with the
 * allocation and the pointer, until voltd ends: a hundred thousand ends with processes
 * that SIGKILL did not end are 5.6 MB. */
static const struct job_named *keep_named(struct manager *m,
                                          const struct job_named *named)
{
    size_t first = m->nnamed > NAMED_BACK ? m->nnamed - NAMED_BACK : 0;

    for (size_t i = first; i < m->nnamed; i++)
        if (memcmp(m->named[i], named, sizeof(*named)) == 0)
            return m->named[i];

    struct job_named **grown = reallocarray(m->named, m->nnamed + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    m->named = grown;
    struct job_named *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *named;
    return m->named[m->nnamed++] = copy;
}

const struct job_named *manager_keep_named(struct manager *m,
                                           const struct job_named *named)
{
    if (!named || !named->pid[0])
        return NULL;
    pthread_mutex_lock(&m->lock);
    const struct job_named *kept = keep_named(m, named);
    pthread_mutex_unlock(&m->lock);
    return kept;
}

/* It was submitted in the place of another, which may not have been cancelled yet. */
static bool replay_replace(struct manager *m, const struct job *job)
{
    uint64_t earlier = job->spec->replaces;
    uid_t uid = job->owner.uid;

    if (succession_waits(m, uid, earlier)) {
        struct replaced *grown =
            reallocarray(m->replaced, m->nreplaced + 1, sizeof(*grown));

        if (!grown)
            return false;
        m->replaced = grown;
        m->replaced[m->nreplaced++] = (struct replaced){earlier, job->owner};
    }
    return succession_restore(m, uid, earlier, job->id) == 0;
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

static void log_fact(struct manager *m, const struct job *job,
                     const struct store_fact *fact, const struct job_status *st)
{
    log_again(m, &(struct job_news){.seq = fact->loaded->seq,
                                    .at_usec = fact->event->at_usec,
                                    .key = fact->key,
                                    .type = (uint8_t)fact->event->type,
                                    .state = st->state,
                                    .result = jobs_result_told(fact->event->type, st),
                                    .code = st->code,
                                    .owner = job->owner.uid});
}

static void log_end_of_array(struct manager *m, const struct job *job)
{
    log_again(m, &(struct job_news){.seq = job->elements->end_seq,
                                    .at_usec = job->elements->end_usec,
                                    .key = jobs_key(job, NO_OFFSET),
                                    .type = JOB_EV_EXITED,
                                    .state = JOB_DONE,
                                    .result = job->array->worst.result,
                                    .code = job->array->worst.code,
                                    .owner = job->owner.uid});
}

static int replay_submit(struct replay *r, const struct store_fact *fact)
{
    const struct job_owner owner = {.uid = fact->uid, .gid = fact->gid};
    struct job *job = job_new_bare(fact->spec, &owner, true);

    r->max = fact->key.id;
    if (!job || table_put(&r->m->table, fact->key.id, job) < 0) {
        if (job)
            job_free(job);
        return -ENOMEM;
    }
    job->id = fact->key.id;
    job->recovered = true;
    job->is_history = fact->last;
    if (!own_key(r->m, job))
        return -ENOMEM;
    if (job_waits_bare(job)) {
        if (job_slumber(r->m, job) < 0)
            return -ENOMEM;
        job_spec_unref(job->spec);
        job->spec = NULL;
    }
    if (job_update(&job->status, fact->event) < 0)
        return refuse(r, fact, "event submit");
    if (job->array) {
        array_replay_begin(job->array);
        (void)array_update(job->array, ARRAY_WHOLE, fact->event,
                           &(struct array_effects){0});
        job->elements->end_seq = fact->loaded->end_seq;
        job->elements->end_usec = fact->loaded->ended_usec;
    }
    log_fact(r->m, job, fact, &job->status);
    return 0;
}

static int replay_array(struct replay *r, struct job *job, const struct store_fact *fact,
                        const struct job_event *ev)
{
    struct array_effects fx;

    if (array_update(job->array, ARRAY_WHOLE, ev, &fx) < 0)
        return refuse(r, fact, job_event_name(ev->type));
    log_fact(r->m, job, fact, &(struct job_status){.state = JOB_STOPPING});
    return 0;
}

static int replay_element(struct replay *r, struct job *job,
                          const struct store_fact *fact, const struct job_event *ev)
{
    uint64_t index = (uint64_t)fact->key.index;
    struct array_effects fx;

    if (!job->array || index < job->spec->array_first || index > job->spec->array_last)
        return refuse(r, fact, "no such element");
    int64_t offset = (int64_t)(index - job->spec->array_first);
    if (array_reserve(job->array, offset) < 0)
        return -ENOMEM;
    if (array_update(job->array, offset, ev, &fx) < 0)
        return refuse(r, fact, job_event_name(ev->type));
    log_fact(r->m, job, fact, array_own(job->array, offset));
    return 0;
}

static int replay_fact(void *arg, const struct store_fact *fact)
{
    struct replay *r = arg;
    struct job_event ev = *fact->event;

    if (ev.type == JOB_EV_SUBMIT)
        return replay_submit(r, fact);
    struct job *job = table_get(&r->m->table, fact->key.id);
    if (!job)
        return refuse(r, fact, "an event before its submission");
    ev.step = manager_keep_step(r->m, ev.step);
    ev.named = manager_keep_named(r->m, ev.named);
    if (fact->key.index != JOB_NO_INDEX)
        return replay_element(r, job, fact, &ev);
    if (job->array)
        return replay_array(r, job, fact, &ev);
    if (job_update(&job->status, &ev) < 0)
        return refuse(r, fact, job_event_name(ev.type));
    log_fact(r->m, job, fact, &job->status);
    return 0;
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
    w->recorded = verdict == RECORD_NEVER_RAN;
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
    struct aftermath after = {0};
    int r = derive(m, job);

    if (r < 0)
        return r;
    if (jobs_done(job)) {
        if (job->array)
            log_end_of_array(m, job);
        job_retire(m, job, &after);
        aftermath_finish(m, &after);
        return 0;
    }
    job->held = keys_is_name(job->key) && succession_is_held(m, job->id);
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
    int result = store_load(m->store, replay_fact, &r, err);

    if (result < 0)
        return result;
    *ret_max = store_last_id(m->store);
    if (*ret_max < r.max)
        *ret_max = r.max;
    do {
        size_t steps = SIZE_MAX;

        id = table_next(&m->table, id, &steps, &job);
        result = job ? settle(m, job) : 0;
    } while (id && result == 0);
    if (result < 0 && err)
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-result));
    m->counts.recovered_queued = m->counts.by_state[JOB_QUEUED];
    return result;
}

/* --- actions -------------------------------------------------------------------- */

int recover_start(struct manager *m)
{
    CRASH_POINT("recovered");
    for (size_t i = 0; i < m->nreplaced; i++) /* or it has ended */
        (void)manager_cancel(m, &m->replaced[i].by, m->replaced[i].id, JOB_NO_INDEX);
    free(m->replaced);
    m->replaced = NULL;
    m->nreplaced = 0;
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
    for (int64_t at = 0; (own = array_find_own(job->array, &at)); at++) {
        siphash_add_number(h, (uint64_t)at);
        hash_status(h, own);
    }
}

uint64_t recover_hash(struct manager *m)
{
    static const struct siphash_key no_secret; /* equal in two managers */
    struct aftermath after = {0};
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
    manager_unlock(m, &after);
    return siphash_end64(&h);
}

void recover_discard(struct manager *m)
{
    for (size_t i = 0; i < m->nresumed; i++)
        volt_task_discard(m->resumed[i]);
    free(m->resumed);
    for (size_t i = 0; i < m->nsteps; i++)
        free(m->steps[i]);
    free(m->steps);
    for (size_t i = 0; i < m->nnamed; i++)
        free(m->named[i]);
    free(m->named);
}
