/* Orphans: records of an earlier life of the daemon, of which the store knows nothing.
 *
 * A record whose attempt the store says has ended is only a leftover and is removed, and
 * so is one that says "never ran": it is of a job that waited, which is forgotten.
 * Orphans are shown with what their record says, never run again and never deleted. One
 * that runs still has a task that waits for its end; where the shim was killed, the end
 * is that of what it left running. A record belongs to the daemon's user. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/launch.h"

struct scan {
    struct manager *m;
    size_t capacity;
    uint64_t max;
};

/* Replays what the record says into a status. */
static void status_of_record(struct manager *m, const struct record *rec,
                             struct job_status *st)
{
    struct job_event ev = {.type = JOB_EV_SUBMIT,
                           .at_usec = rec->header.created_real_usec};

    if (!ev.at_usec)
        ev.at_usec = 1; /* damaged: some time */
    *st = (struct job_status){0};
    (void)job_update(st, &ev);
    ev = (struct job_event){.type = JOB_EV_STARTING, .attempt = 1, .at_usec = ev.at_usec};
    (void)job_update(st, &ev);
    if (rec->has_started) {
        ev = (struct job_event){.type = JOB_EV_STARTED,
                                .at_usec = rec->started.real_usec,
                                .pid = (int32_t)rec->started.pid};
        (void)job_update(st, &ev);
    }
    if (rec->verdict == RECORD_RUNNING || rec->verdict == RECORD_SHIM_KILLED)
        return;
    ev = launch_end_event(rec);
    ev.named = manager_keep_named(m, ev.named);
    (void)job_update(st, &ev);
    if (rec->verdict != RECORD_DONE)
        st->ended_usec = 0; /* nobody saw it end */
}

/* What the store knows of the record's attempt; NULL: nothing. */
static const struct job_status *known(struct manager *m, const struct job_key *key)
{
    struct job *job = table_get(&m->table, key->id);
    const struct job_status *own;

    if (!job || (key->index == JOB_NO_INDEX) != !job->array)
        return NULL;
    if (!job->array)
        return job->status.attempt >= key->attempt ? &job->status : NULL;
    if ((uint64_t)key->index < job->spec->array_first ||
        (uint64_t)key->index > job->spec->array_last)
        return NULL;
    own = array_own(job->array, key->index - (int64_t)job->spec->array_first);
    return own && own->attempt >= key->attempt ? own : NULL;
}

static int add(const struct job_key *key, void *arg)
{
    struct scan *scan = arg;
    struct manager *m = scan->m;
    const struct job_status *st = known(m, key);
    struct record rec;

    if (key->id > scan->max)
        scan->max = key->id;
    if (st &&
        (st->state == JOB_DONE || st->state == JOB_QUEUED || st->attempt > key->attempt))
        return sweep_add(m, key); /* the daemon died before it could remove the record */
    if (st)
        return 0; /* its job adopts it */
    int r = record_probe(m->record_fd, key, m->boot_id, &rec);
    if (r < 0)
        return r;
    if (rec.verdict == RECORD_NEVER_RAN)
        return sweep_add(m, key);
    if (m->norphans == scan->capacity) {
        size_t capacity = scan->capacity ? scan->capacity * 2 : 16;
        struct orphan *grown = reallocarray(m->orphans, capacity, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        m->orphans = grown;
        scan->capacity = capacity;
    }
    struct orphan *o = &m->orphans[m->norphans++];
    o->key = *key;
    status_of_record(m, &rec, &o->status);
    o->status.attempt = key->attempt;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct job_key *x = &((const struct orphan *)a)->key;
    const struct job_key *y = &((const struct orphan *)b)->key;

    int order = job_key_compare(x, y);

    return order ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

int orphans_scan(struct manager *m, uint64_t *ret_max, struct volt_error *err)
{
    struct scan scan = {.m = m};
    int r = record_scan(m->record_fd, add, &scan);

    if (r < 0) {
        if (err)
            (void)snprintf(err->text, sizeof(err->text),
                           "cannot read the record directory: %s", strerror(-r));
        return r;
    }
    if (m->norphans)
        qsort(m->orphans, m->norphans, sizeof(*m->orphans), by_key);
    m->counts.orphans = m->norphans;
    *ret_max = scan.max;
    return 0;
}

/* The newest attempt: it is the last of its job in the order of keys. */
struct orphan *orphans_find(struct manager *m, uint64_t id, int64_t index)
{
    for (size_t i = m->norphans; i-- > 0;)
        if (m->orphans[i].key.id == id && m->orphans[i].key.index == index)
            return &m->orphans[i];
    return NULL;
}

struct orphan_wait {
    struct manager *m;
    struct orphan *orphan;
    struct record_wait wait;
    struct record record;
    struct keeper_call kill;
    int at;
};

static void note_end(struct manager *m, struct orphan *o, const struct record *rec,
                     const struct keeper_reply *kill)
{
    struct job_event end = launch_end_event(rec);
    struct survivors left = {.n = kill->survivors};
    struct aftermath after = {0};

    memcpy(left.named.pid, kill->survivor, sizeof(left.named.pid));
    if (rec->verdict == RECORD_SHIM_KILLED)
        launch_end_survivors(&end, &left);
    end.named = manager_keep_named(m, end.named);
    manager_lock(m);
    if (job_update(&o->status, &end) == 0) {
        struct job_news ev = {.at_usec = end.at_usec,
                              .key = o->key,
                              .type = JOB_EV_EXITED,
                              .state = o->status.state,
                              .result = o->status.result,
                              .code = o->status.code,
                              .owner = getuid()};
        const struct store_fact fact = {.key = o->key,
                                        .event = &end,
                                        .uid = ev.owner,
                                        .news_only = true,
                                        .state = ev.state,
                                        .result = ev.result,
                                        .code = ev.code};
        event_ring_push(&m->ring, &ev);
        m->news_due = true;
        (void)store_append(m->store, &fact, 1, NULL); /* no memory: nobody is told */
    }
    manager_unlock(m, &after);
}

static enum volt_poll orphan_poll(struct volt_cx *cx, void *state)
{
    struct orphan_wait *o = state;

    VOLT_BEGIN(o->at);
    VOLT_AWAIT(o->at, record_wait_poll(cx, &o->wait));
    if (record_wait_result(&o->wait, &o->record) < 0)
        return VOLT_READY;
    while (o->record.verdict == RECORD_SHIM_KILLED) {
        keeper_call_fini(&o->kill);
        keeper_call_init_signal(&o->kill, o->m->link, &o->orphan->key, SIGKILL,
                                KEEPER_SCOPE_TREE);
        VOLT_AWAIT(o->at, keeper_call_poll(cx, &o->kill));
        if (keeper_call_status(&o->kill) != -ECONNRESET)
            break;
    }
    note_end(o->m, o->orphan, &o->record, keeper_call_reply(&o->kill));
    VOLT_END(o->at);
}

static void orphan_drop(void *state)
{
    struct orphan_wait *o = state;

    record_wait_fini(&o->wait);
    keeper_call_fini(&o->kill);
}

static const struct volt_task_type orphan_type = {"orphan", sizeof(struct orphan_wait),
                                                  orphan_poll, orphan_drop, NULL};

int orphans_start(struct manager *m)
{
    sweep_start(m);
    for (size_t i = 0; i < m->norphans; i++) {
        if (m->orphans[i].status.state == JOB_DONE)
            continue;

        struct orphan_wait *o = volt_task_new(m->rt, &orphan_type);
        if (!o)
            return -ENOMEM;
        o->m = m;
        o->orphan = &m->orphans[i];
        record_wait_init(&o->wait, m->watch, &m->orphans[i].key);
        (void)volt_task_spawn(o, NULL); /* closing: it is dropped */
    }
    return 0;
}
