/* Orphans: records of an earlier life of the daemon, of which the store knows nothing.
 *
 * A record whose attempt the store says has ended is only a leftover and is removed, and
 * so is one that says "never ran": it is of a job that waited, which is forgotten.
 * Orphans are shown with what their record says, never run again and never deleted. One
 * that runs still has a task that waits for its end; where the shim was killed, the end
 * is that of what it left running. A record belongs to the daemon's user. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/exec/history.h"
#include "daemon/exec/launch.h"
#include "daemon/observe/log.h"
#include "daemon/store/fact.h"

struct scan {
    struct manager *m;
    const char *dir;
    struct volt_error *err;
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
    ev.named = interned_named(&m->interned, ev.named);
    (void)job_update(st, &ev);
    if (rec->verdict != RECORD_DONE)
        st->ended_usec = 0; /* nobody saw it end */
}

/* What the store knows of an element's attempts. 0; -ENOENT: nothing; -errno. */
static int known_element(struct manager *m, const struct job *job,
                         const struct job_key *key, struct job_status *ret)
{
    int64_t offset = job_spec_offset(job->spec, key->index);
    const struct job_status *own;

    if (offset < 0)
        return -ENOENT;
    if (array_is_counts(job->array))
        return history_element(m, key, ret);
    own = array_own(job->array, offset);
    if (!own)
        return -ENOENT;
    *ret = *own;
    return 0;
}

/* What it knows of the record's attempt, likewise. */
static int known(struct manager *m, const struct job_key *key, struct job_status *ret)
{
    const struct job *job = table_get(&m->table, key->id);
    int r = 0;

    if (!job || (key->index == JOB_NO_INDEX) != !job->array)
        return -ENOENT;
    if (job->array)
        r = known_element(m, job, key, ret);
    else
        *ret = job->status;
    return r == 0 && ret->attempt < key->attempt ? -ENOENT : r;
}

/* The record of no job that the store knows, or why the start is refused: it cannot be
 * read, and might say that a job runs. */
static int read_orphan(struct scan *scan, const struct job_key *key, struct record *ret)
{
    char name[JOB_KEY_TEXT_MAX];
    int r = record_probe(scan->m->record_fd, key, scan->m->boot_id, ret);

    (void)job_key_format(key, name);
    if (r < 0)
        return error_set(scan->err, r,
                         "cannot read the exit record %.120s/%s: %s: mend that, or move "
                         "it away",
                         scan->dir, name, strerror(-r));
    if (ret->verdict == RECORD_DAMAGED)
        log_warning("%s/%s is a damaged exit record, or none: its job is shown as lost "
                    "by voltctl list --orphans until it is removed",
                    scan->dir, name);
    return 0;
}

static int add(const struct job_key *key, void *arg)
{
    struct scan *scan = arg;
    struct manager *m = scan->m;
    struct job_status st;
    struct record rec;
    int r = known(m, key, &st);

    if (key->id > scan->max)
        scan->max = key->id;
    if (r == 0 &&
        (st.state == JOB_DONE || st.state == JOB_QUEUED || st.attempt > key->attempt))
        return sweep_add(m, key); /* the daemon died before it could remove the record */
    if (r == 0)
        return 0; /* its job adopts it */
    if (r != -ENOENT)
        return error_set(scan->err, r,
                         "cannot read from the store how job %llu ended: %s",
                         (unsigned long long)key->id, strerror(-r));
    r = read_orphan(scan, key, &rec);
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

int orphans_scan(struct manager *m, const char *dir, uint64_t *ret_max,
                 struct volt_error *err)
{
    struct volt_error one = {.text = ""};
    struct scan scan = {.m = m, .dir = dir, .err = &one};
    int r = record_scan(m->record_fd, add, &scan);

    if (r < 0 && one.text[0])
        return error_set(err, r, "%s", one.text);
    if (r < 0)
        return error_set(err, r, "cannot read the record directory %.150s: %s", dir,
                         strerror(-r));
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
    struct tx tx;

    memcpy(left.named.pid, kill->survivor, sizeof(left.named.pid));
    if (rec->verdict == RECORD_SHIM_KILLED)
        launch_end_survivors(&end, &left);
    end.named = interned_named(&m->interned, end.named);
    core_begin(&tx, m);
    if (job_update(&o->status, &end) == 0) {
        struct job_news ev = {.at_usec = end.at_usec,
                              .key = o->key,
                              .type = JOB_EV_EXITED,
                              .state = o->status.state,
                              .end = job_end_of(&o->status),
                              .owner = getuid()};
        const struct store_fact fact = {.type = STORE_NEWS, .news = &ev};

        event_ring_push(&m->ring, &ev);
        m->news_due = true;
        (void)store_append(m->store, &fact, 1, NULL); /* no memory: nobody is told */
    }
    core_finish(&tx);
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
