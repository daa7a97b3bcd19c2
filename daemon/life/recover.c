/* Recovery of the state of an earlier voltd from the store.
 *
 *   1. recover_load() replays every event through job_update(), the pure function that
 *      made the state. An event that it refuses is damage; nothing is guessed. Replay
 *      yields statuses alone, so two replays of one store give equal states.
 *   2. Counters, users, indexes and the line are derived from the statuses, once.
 *   3. job_act() acts once per job, in order of ids (core/act.h); recover_start() spawns
 *      the tasks.
 *
 * All but recover_start() runs before there is any task, and so without the lock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/siphash.h"
#include "daemon/core/act.h"
#include "daemon/core/agenda.h"
#include "daemon/core/claims.h"
#include "daemon/core/conditions.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/edit.h"
#include "daemon/core/index.h"
#include "daemon/core/interned.h"
#include "daemon/core/jobs.h"
#include "daemon/core/keys.h"
#include "daemon/core/parts.h"
#include "daemon/core/post.h"
#include "daemon/core/queues.h"
#include "daemon/core/table.h"
#include "daemon/core/users.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/dispatcher.h"
#include "daemon/dispatch/timer.h"
#include "daemon/job/array.h"
#include "daemon/job/news.h"
#include "daemon/job/spec_edit.h"
#include "daemon/job/spec_pack.h"
#include "daemon/life/recover.h"
#include "daemon/life/state.h"
#include "daemon/log/event_log.h"
#include "daemon/query/past_edges.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"

/* --- replay --------------------------------------------------------------------- */

struct replay {
    struct core *core;
    struct volt_error *err;
    uint64_t max;         /* the latest id; ids come in ascending order */
    uint64_t seq;         /* number of the event that is replayed */
    struct job *ended;    /* the latest job, if it is an array that has ended */
    struct job_news last; /* last event of that array */
    struct array_fold fold;
    struct array *array; /* of the latest job; NULL: it is none */
    uint64_t *taken;     /* jobs whose key a later job has taken over */
    size_t ntaken;
    bool lacks_key_rows; /* the store's format is older than rows of keys */
    struct job *edited;  /* the latest job, if it was edited; edits: how */
    struct job_edits edits;
};

static int refuse(struct replay *r, const struct job_key *key, const char *what)
{
    char text[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(key, text);
    if (r->err)
        (void)snprintf(r->err->text, sizeof(r->err->text), "job %s: %s", text, what);
    return -EBADMSG;
}

/* Returns NULL without memory. */
static struct keys_entry *key_entry(struct core *core, uid_t uid, struct siphash128 name)
{
    struct keys *keys = parts_of(core)->keys;
    struct keys_entry *e = keys_find(keys, name);

    return e ? e : keys_put(keys, name, uid);
}

/* Assigns the key to this job. If two jobs have one key, the later one has it: when it
 * was submitted, the earlier job was forgotten, ended or being replaced. A row of the
 * earlier job is dropped later. Returns 0 or -ENOMEM. */
static int take_key(struct replay *r, struct keys_entry *e, uint64_t id,
                    struct siphash128 body)
{
    if (e->id && e->id != id) {
        uint64_t *grown = reallocarray(r->taken, r->ntaken + 1, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        r->taken = grown;
        r->taken[r->ntaken++] = e->id < id ? e->id : id;
    }
    if (e->id <= id) {
        e->id = id;
        e->body = body;
    }
    return 0;
}

static int replay_key(struct replay *r, const struct store_key *key)
{
    struct keys_entry *e = key_entry(r->core, key->uid, key->name);

    jobs_note_forgotten(r->core, key->id);
    return e ? take_key(r, e, key->id, key->body) : -ENOMEM;
}

/* Sets the hashed name of the job's key, and enters the key if the store has no row of it
 * yet: a key gets its row at the end of its job. Returns 0 or -ENOMEM. */
static int own_key(struct replay *r, struct job *job)
{
    const struct keys *keys = parts_of(r->core)->keys;
    struct keys_bodies bodies = {0};
    struct siphash128 body;

    if (!job->spec->key)
        return 0;
    job->key = keys_name(keys, job->owner.uid, job->spec->key);
    if (job->is_history && !r->lacks_key_rows)
        return 0;
    struct keys_entry *e = key_entry(r->core, job->owner.uid, job->key);
    if (!e || keys_body(keys, job->spec, &bodies, &body) < 0)
        return -ENOMEM;
    return take_key(r, e, job->id, body);
}

static void log_event(struct replay *r, const struct job *job, const struct job_key *key,
                      const struct job_event *ev, const struct job_status *st)
{
    struct job_news news = {.seq = r->seq,
                            .at_usec = ev->at_usec,
                            .key = *key,
                            .type = (uint8_t)ev->type,
                            .state = st->state,
                            .end = job_end_notified(ev, st),
                            .owner = job->owner.uid};

    /* Deferred names the attempt that it takes back. */
    news.key.attempt = st->attempt + (ev->type == JOB_EV_DEFERRED);
    job_news_set_more(&news, ev);
    event_log_put_again(parts_of(r->core)->log, &news);
}

/* Begins an ended array, of which only the counts are loaded: a million elements would
 * take a hundred megabytes. */
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

static void end_ended_array(struct replay *r)
{
    if (!r->ended)
        return;
    array_fold_end(&r->fold);
    r->last.end = job_end_of(&r->ended->array->worst);
    event_log_put_again(parts_of(r->core)->log, &r->last);
    r->ended = NULL;
}

static int end_edits(struct replay *r)
{
    if (!r->edited)
        return 0;
    const struct job_key key = jobs_key(r->edited, NO_OFFSET);
    int result = core_edit_again(r->core, r->edited, &r->edits);
    job_edits_fini(&r->edits);
    r->edited = NULL;
    return result == -EBADMSG ? refuse(r, &key, job_event_name(JOB_EV_EDIT)) : result;
}

/* Finishes the latest job: all its facts have come. An edit of an earlier job may have
 * made it wait for this one, so whether it has ended is known before edges look. */
static int end_job(struct replay *r)
{
    end_ended_array(r);
    if (r->array)
        array_replay_end(r->array);
    r->array = NULL;
    return end_edits(r);
}

static int replay_job(struct replay *r, const struct store_loaded_job *loaded)
{
    const struct job_owner owner = {.uid = loaded->uid, .gid = loaded->gid};
    const struct job_key key = {.id = loaded->id, .index = JOB_NO_INDEX};
    const struct job_event submit =
        job_spec_submission(loaded->spec, loaded->submitted_usec);
    int result = end_job(r);

    if (result < 0)
        return result;
    struct job *job = job_new_bare(r->core, loaded->spec, &owner, true, loaded->ended);
    r->max = loaded->id;
    if (!job || table_put(parts_of(r->core)->table, loaded->id, job) < 0) {
        if (job)
            job_free(job);
        return -ENOMEM;
    }
    job->id = loaded->id;
    job->recovered = true;
    job->is_history = loaded->ended;
    r->lacks_key_rows = loaded->lacks_key_row;
    if (own_key(r, job) < 0)
        return -ENOMEM;
    if (job_waits_bare(job)) {
        if (job_slumber(r->core, job) < 0)
            return -ENOMEM;
        job_spec_unref(job->spec);
        job->spec = NULL;
    }
    if (job_update(&job->status, &submit) < 0)
        return refuse(r, &key, "event submit");
    if (job->array) {
        r->array = job->array;
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
    const struct job_status told = core_whole_reported(ev->type);
    log_event(r, job, key, ev, &told);
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
    struct job *job = table_get(parts_of(r->core)->table, key->id);
    struct job_event ev = *loaded->event;
    int result = 0;

    if (!job)
        return refuse(r, key, "an event before its submission");
    if (interned_event(parts_of(r->core)->interned, &ev) < 0)
        return -ENOMEM;
    if (key->index != JOB_NO_INDEX)
        return replay_element(r, job, key, &ev);
    if (ev.type == JOB_EV_MET && !job->is_history &&
        dependencies_replay(r->core, job, &ev) < 0)
        return -ENOMEM;
    if (ev.type == JOB_EV_EDIT) {
        r->edited = job;
        result = job_edits_add(&r->edits, &ev.changes);
    }
    if (result < 0)
        return result == -EBADMSG ? refuse(r, key, job_event_name(ev.type)) : result;
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
    case STORE_LOADED_RESOURCE:
        return claims_replay(r->core, &loaded->resource, waiting_now(r->core));
    case STORE_LOADED_QUEUE:
        return queues_replay(r->core, &loaded->queue);
    case STORE_LOADED_KEY:
        return replay_key(r, &loaded->key);
    }
    return -EBADMSG;
}

/* --- what follows from the statuses --------------------------------------------- */

static void count(struct core_counts *c, const struct job_status *st)
{
    c->submitted++;
    c->by_state[st->state]++;
    if (st->state != JOB_DONE)
        return;
    c->ended++;
    c->by_result[st->result]++;
}

static void count_array(struct core_counts *c, const struct array *a)
{
    c->submitted += a->total;
    c->ended += a->by_state[JOB_DONE];
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        c->by_state[i] += a->by_state[i];
    for (int i = 0; i < JOB_RESULT_COUNT; i++)
        c->by_result[i] += a->by_result[i];
}

/* Raises the user's front to that of this job, so that a job put first from now on
 * precedes it. Rank 0: never put first. */
static void derive_front(struct user *u, const struct job *job)
{
    const uint64_t front = WAITING_FRONT(0) - job->waiter.rank;

    if (job->waiter.rank && front > u->front)
        u->front = front;
}

static int derive(struct core *core, struct job *job)
{
    struct user *u = users_get(parts_of(core)->users, job->owner.uid);

    if (!u)
        return -ENOMEM;
    if (job->array)
        count_array(parts_of(core)->counts, job->array);
    else
        count(parts_of(core)->counts, &job->status);
    if (!jobs_done(job))
        derive_front(u, job);
    if (!jobs_done(job))
        users_add(parts_of(core)->users, u,
                  job->array ? job->array->total - job->array->by_state[JOB_DONE] : 1,
                  job->bytes);
    index_enter(core, job);
    return 0;
}

/* Reserves room for one more task of recover_start(). */
static int reserve_resumed(struct life *life)
{
    if (life->nresumed & (life->nresumed + 1)) /* not 2^n - 1: there is room */
        return 0;
    struct work **grown =
        reallocarray(life->resumed, 2 * (life->nresumed + 1), sizeof(struct work *));
    if (!grown)
        return -ENOMEM;
    life->resumed = grown;
    return 0;
}

/* Acts as job_act() does, but leaves the tasks to recover_start(). */
static int act(struct tx *tx, struct job *job, int64_t item)
{
    struct life *life = parts_of(tx->core)->life;

    if (reserve_resumed(life) < 0)
        return -ENOMEM;
    int r = job_act(tx, job, item);
    while (tx->nspawn > 0)
        life->resumed[life->nresumed++] = tx->spawn[--tx->nspawn];
    return r;
}

static int act_on_elements(struct tx *tx, struct job *job)
{
    int r = 0;

    for (int64_t at = 0; r == 0 && array_find_own(job->array, &at); at++)
        r = act(tx, job, at);
    return r;
}

/* Acts on the elements of an ended array that left processes. */
static int act_on_left(struct tx *tx, struct job *job)
{
    const struct job_status *own;
    int r = 0;

    for (int64_t at = 0; r == 0 && (own = array_find_own(job->array, &at)); at++)
        if (jobs_left(job, own))
            r = act(tx, job, at);
    return r;
}

/* Reads from the store how antecedents ended that are not in memory. An antecedent in
 * neither place is lost: how it ended is unknown. */
static int look_at_past(struct core *core, struct job *job)
{
    size_t at = 0;
    int r = job_awaken(job);

    if (r < 0)
        return r;
    do {
        if (r == -ENOENT && dependencies_lose(&job->spec->after[at++]) < 0)
            return -ENOMEM;
        r = past_edges_look(NULL, core, &job->owner, job->spec, &at, NULL);
    } while (r == -ENOENT);
    return r;
}

static int wait_for(struct core *core, struct job *job)
{
    struct volt_error err;
    int r = core_wait_for(core, job, &err);

    if (r != -EAGAIN)
        return r;
    r = look_at_past(core, job);
    if (r == 0)
        r = core_wait_for(core, job, &err);
    if (job->packed) {
        job_spec_unref(job->spec);
        job->spec = NULL;
    }
    return r;
}

/* Appends the row of an ended job's key to a store that had no such rows. */
static int keep_key(struct core *core, const struct job *job)
{
    const struct job_status *st = job->array ? &job->array->worst : &job->status;
    struct store_fact fact;

    if (!job_last_key(core, job, jobs_now_usec(), job_end_of(st), &fact))
        return 0;
    return store_append(parts_of(core)->store, &fact, 1, NULL);
}

static int settle(struct core *core, struct job *job, bool lacks_key_rows)
{
    struct tx tx;
    int r = derive(core, job);

    if (r == 0 && lacks_key_rows && job->is_history)
        r = keep_key(core, job);
    if (r == 0)
        r = wait_for(core, job);
    if (r < 0)
        return r;
    tx_init(&tx, core);
    if (job->array && jobs_done(job) && jobs_may_take(job))
        r = act_on_left(&tx, job);
    if (r == 0)
        r = act(&tx, job, NO_OFFSET);
    if (r == 0 && job->array && !jobs_done(job))
        r = act_on_elements(&tx, job);
    if (job->array && array_is_cancelled(job->array) && !jobs_done(job))
        agenda_add(core, job);
    (void)job_leave_some(&tx);
    tx_carry_out(&tx);
    core_drop_news(core);
    return r;
}

/* Drops the rows of keys that later jobs have. A crash between the submission of the
 * later job and the drop leaves such rows. */
static int drop_taken(const struct replay *r)
{
    int result = 0;

    for (size_t i = 0; i < r->ntaken && result == 0; i++) {
        const struct store_fact none = {.type = STORE_KEY, .key = {.id = r->taken[i]}};

        result = store_append(parts_of(r->core)->store, &none, 1, NULL);
    }
    return result;
}

int recover_load(struct core *core, uint64_t *ret_max, struct volt_error *err)
{
    struct replay r = {.core = core, .err = err};
    uint64_t id = 0;
    struct job *job;
    int result = store_load(parts_of(core)->store, replay, &r, err);

    if (result >= 0)
        result = end_job(&r);
    job_edits_fini(&r.edits);
    if (result >= 0)
        result = drop_taken(&r);
    free(r.taken);
    if (result < 0)
        return result;
    *ret_max = store_last_id(parts_of(core)->store);
    if (*ret_max < r.max)
        *ret_max = r.max;
    do {
        size_t steps = SIZE_MAX;

        id = table_next(parts_of(core)->table, id, &steps, &job);
        result = job ? settle(core, job, r.lacks_key_rows) : 0;
        *parts_of(core)->held = (struct quota){0}; /* no task waits for the lock yet */
    } while (id && result == 0);
    dependencies_forget(core);
    if (result < 0 && err)
        (void)snprintf(err->text, sizeof(err->text), "%s", strerror(-result));
    parts_of(core)->counts->recovered_queued =
        parts_of(core)->counts->by_state[JOB_QUEUED];
    return result;
}

/* --- actions -------------------------------------------------------------------- */

/* Carries out a portion of the agenda. Returns whether there is more to do and memory for
 * it. */
static bool cancel_some(struct core *core)
{
    struct tx tx;

    core_begin(&tx, core);
    const bool more =
        parts_of(core)->agenda->first && !parts_of(core)->dispatcher->starved;
    dispatch_finish(&tx);
    return more;
}

/* Replaced jobs, and the rest of arrays whose cancel an earlier voltd had begun, are
 * cancelled before their tasks read the records: a job that has ended since could no
 * longer be cancelled, and a job that has not begun would begin. */
int recover_start(struct core *core)
{
    CRASH_POINT("recovered");
    struct tx tx;
    int r = dispatcher_start(core);

    if (r == 0)
        r = timer_start(core);
    if (r < 0)
        return r;
    core_begin(&tx, core);
    queues_tidy(&tx);
    dispatch_finish(&tx);
    while (cancel_some(core))
        ;
    for (size_t i = 0; i < parts_of(core)->life->nresumed; i++)
        (void)volt_task_spawn(parts_of(core)->life->resumed[i],
                              NULL); /* a closing runtime drops it */
    free(parts_of(core)->life->resumed);
    parts_of(core)->life->resumed = NULL;
    parts_of(core)->life->nresumed = 0;
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
                              st->held,
                              st->edited,
                              st->edits,
                              st->holds,
                              st->lost,
                              st->last,
                              st->kept,
                              st->attempt,
                              (uint64_t)st->code,
                              st->code_is,
                              (uint64_t)st->pid,
                              st->survivors,
                              st->left_killed,
                              st->submitted_usec,
                              st->started_usec,
                              st->ended_usec,
                              st->usage.user_usec,
                              st->usage.system_usec,
                              st->usage.max_rss_bytes,
                              st->usage.memory_peak_kib,
                              st->usage.oom_kills,
                              st->usage.contained};

    siphash_add(h, words, sizeof(words));
    if (st->step)
        siphash_add(h, st->step, strlen(st->step));
}

/* Adds the spec of a job, with its edits. */
static void hash_spec(struct siphash *h, const struct job *job)
{
    struct job_spec *spec = job_spec_of(job);
    struct spec_pack p = {.own = {.n = 0}};

    if (spec && job_spec_pack(spec, &p) == 0)
        siphash_add(h, p.own.bytes, p.own.n);
    spec_pack_fini(&p);
    job_spec_unref(spec);
    siphash_add_number(h, (uint64_t)job->priority);
    siphash_add_number(h, job->bytes);
    siphash_add_number(h, (uint64_t)job->elsewhere << 1 | job->conditioned);
    if (job->waiter.state != WAITER_NONE)
        siphash_add_number(h, job->waiter.rank);
}

static void hash_job(struct siphash *h, const struct job *job)
{
    const struct job_status *own;

    siphash_add_number(h, job->id);
    siphash_add_number(h, job->owner.uid);
    hash_spec(h, job);
    hash_status(h, &job->status);
    if (!job->array)
        return;
    siphash_add_number(h, job->array->cancelled_usec);
    siphash_add_number(h, job->array->held);
    siphash_add_number(h, job->array->edited);
    siphash_add_number(h, job->array->edits);
    siphash_add_number(h, job->array->holds);
    siphash_add_number(h, job->array->rest_result);
    siphash_add_number(h, job->array->cause.job);
    siphash_add_number(h, job->array->rest);
    siphash_add(h, job->array->by_state, sizeof(job->array->by_state));
    siphash_add(h, job->array->by_result, sizeof(job->array->by_result));
    hash_status(h, &job->array->worst);
    for (int64_t at = 0; (own = array_find_own(job->array, &at)); at++) {
        siphash_add_number(h, (uint64_t)at);
        hash_status(h, own);
    }
}

uint64_t recover_hash(struct core *core)
{
    static const struct siphash_key no_secret; /* equal states, equal hashes */
    struct siphash h;
    uint64_t id = 0;
    struct job *job;

    siphash_init64(&h, &no_secret);
    core_lock(core);
    do {
        size_t steps = SIZE_MAX;

        id = table_next(parts_of(core)->table, id, &steps, &job);
        if (job)
            hash_job(&h, job);
    } while (id);
    core_unlock(core);
    return siphash_end64(&h);
}

void recover_discard(struct core *core)
{
    for (size_t i = 0; i < parts_of(core)->life->nresumed; i++)
        volt_task_discard(parts_of(core)->life->resumed[i]);
    free(parts_of(core)->life->resumed);
}
