/* Exit records without a job: see orphan.h.
 *
 * A record is removed if the store knows that its attempt has ended, or if it says "never
 * ran" (its job waited and is forgotten). Any other record without a job is an orphan. An
 * orphan is shown with what its record says, is never run again and never deleted. A task
 * waits for the end of each orphan that still runs; if its shim was killed, the task
 * kills the processes left behind, and that is the end. Orphans belong to the user of
 * voltd. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/core/interned.h"
#include "daemon/core/orphans.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/life/orphan.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/link/keeper_links.h"
#include "daemon/link/record_watch.h"
#include "daemon/observe/log.h"
#include "daemon/query/history.h"
#include "daemon/run/record_end.h"
#include "daemon/run/record_removal.h"
#include "daemon/run/run.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"

struct scan {
    struct core *core;
    const char *dir;
    struct volt_error *err;
    size_t capacity;
    uint64_t max;
};

/* Replays the contents of a record into a status. Returns 0 or -ENOMEM. */
static int status_of_record(struct core *core, const struct record *rec,
                            struct job_status *st)
{
    struct job_event ev = {.type = JOB_EV_SUBMIT,
                           .at_usec = rec->header.created_real_usec};
    struct job_named named;

    if (!ev.at_usec)
        ev.at_usec = 1; /* damaged record: any time will do */
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
        return 0;
    ev = record_end_event(rec, &named);
    if (interned_event(parts_of(core)->interned, &ev) < 0)
        return -ENOMEM;
    (void)job_update(st, &ev);
    if (rec->verdict != RECORD_DONE)
        st->ended_usec = 0; /* the end was not observed */
    return 0;
}

/* Reads from memory or store how an element stands. Returns 0; -ENOENT: nothing is known
 * of it; -errno. */
static int known_element(struct core *core, const struct job *job,
                         const struct job_key *key, struct job_status *ret)
{
    int64_t offset = job_spec_offset(job->spec, key->index);
    const struct job_status *own;

    if (offset < 0)
        return -ENOENT;
    if (array_is_counts(job->array))
        return history_one(core, key, ret, NULL);
    own = array_own(job->array, offset);
    if (!own)
        return -ENOENT;
    *ret = *own;
    return 0;
}

/* Reads from the store how a job ended that is not in memory. The facts of one that are
 * damaged do not refuse the start: it has ended. Returns as known_element() does. */
static int known_ended(struct core *core, const struct job_key *key,
                       struct job_status *ret, uid_t *ret_owner)
{
    int r = history_one(core, key, ret, ret_owner);

    if (r != -EBADMSG)
        return r;
    *ret = (struct job_status){.state = JOB_DONE, .attempt = key->attempt};
    *ret_owner = KEEPER_OF_NOBODY;
    return 0;
}

/* Reads how the job or element of a record stands, and whose it is. All attempts of a job
 * that is not in memory have ended. Returns as known_element() does; -ENOENT also if the
 * record's attempt is later than all known ones. */
static int known(struct core *core, const struct job_key *key, struct job_status *ret,
                 uid_t *ret_owner)
{
    const struct job *job = table_get(parts_of(core)->table, key->id);
    int r = 0;

    if (job && (key->index == JOB_NO_INDEX) != !job->array)
        return -ENOENT;
    if (job)
        *ret_owner = job->owner.uid;
    if (!job)
        r = known_ended(core, key, ret, ret_owner);
    else if (job->array)
        r = known_element(core, job, key, ret);
    else
        *ret = job->status;
    return r == 0 && ret->attempt < key->attempt ? -ENOENT : r;
}

/* Returns whether the attempt of a record may have been paused when voltd ended. Of
 * earlier attempts nothing is known. */
static bool may_be_frozen(const struct job_status *st, const struct job_key *key)
{
    return st->attempt > key->attempt || st->paused_usec > 0;
}

/* Reads a record that belongs to no known job. A failure refuses the start: the record
 * might say that a job runs. */
static int read_orphan(struct scan *scan, const struct job_key *key, struct record *ret)
{
    char name[JOB_KEY_TEXT_MAX];
    int r = record_probe(run_record_fd(parts_of(scan->core)->run), key,
                         run_boot_id(parts_of(scan->core)->run), ret);

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

/* Returns NULL without memory. */
static struct orphan *new_orphan(struct scan *scan)
{
    struct orphans *o = parts_of(scan->core)->orphans;

    if (o->n == scan->capacity) {
        size_t capacity = scan->capacity ? scan->capacity * 2 : 16;
        struct orphan *grown = reallocarray(o->all, capacity, sizeof(*grown));
        if (!grown)
            return NULL;
        o->all = grown;
        scan->capacity = capacity;
    }
    return &o->all[o->n++];
}

static int add(const struct job_key *key, void *arg)
{
    struct scan *scan = arg;
    struct core *core = scan->core;
    struct job_status st;
    struct record rec;
    uid_t owner;
    int r = known(core, key, &st, &owner);

    if (key->id > scan->max)
        scan->max = key->id;
    if (r == 0 &&
        (st.state == JOB_DONE || st.state == JOB_QUEUED || st.attempt > key->attempt))
        /* voltd ended before it could remove the record */
        return removal_add(core, key, owner, may_be_frozen(&st, key));
    if (r == 0)
        return 0; /* the job adopts the record */
    if (r != -ENOENT)
        return error_set(scan->err, r,
                         "cannot read from the store how job %llu ended: %s",
                         (unsigned long long)key->id, strerror(-r));
    r = read_orphan(scan, key, &rec);
    if (r < 0)
        return r;
    if (rec.verdict == RECORD_NEVER_RAN)
        return removal_add(core, key, owner, false);
    struct orphan *o = new_orphan(scan);
    if (!o)
        return -ENOMEM;
    o->key = *key;
    r = status_of_record(core, &rec, &o->status);
    o->status.attempt = key->attempt;
    return r;
}

static int by_key(const void *a, const void *b)
{
    const struct job_key *x = &((const struct orphan *)a)->key;
    const struct job_key *y = &((const struct orphan *)b)->key;

    int order = job_key_compare(x, y);

    return order ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

int orphans_scan(struct core *core, const char *dir, uint64_t *ret_max,
                 struct volt_error *err)
{
    struct volt_error one = {.text = ""};
    struct scan scan = {.core = core, .dir = dir, .err = &one};
    struct orphans *all = parts_of(core)->orphans;
    int r = record_scan(run_record_fd(parts_of(core)->run), add, &scan);

    if (r < 0 && one.text[0])
        return error_set(err, r, "%s", one.text);
    if (r < 0)
        return error_set(err, r, "cannot read the record directory %.150s: %s", dir,
                         strerror(-r));
    if (all->n)
        qsort(all->all, all->n, sizeof(*all->all), by_key);
    parts_of(core)->counts->orphans = all->n;
    *ret_max = scan.max;
    return 0;
}

struct orphan_wait {
    struct core *core;
    struct orphan *orphan;
    struct record_wait wait;
    struct record record;
    struct keeper_call kill;
    struct named_copy *room; /* memory for the list of survivors */
    int at;
};

static void note_end(struct orphan_wait *w)
{
    const struct keeper_reply *kill = keeper_call_reply(&w->kill);
    struct core *core = w->core;
    struct orphan *o = w->orphan;
    struct job_named named;
    struct job_event end = record_end_event(&w->record, &named);
    struct survivors left = {.n = kill->survivors};
    struct tx tx;

    memcpy(left.named.pid, kill->survivor, sizeof(left.named.pid));
    if (w->record.verdict == RECORD_SHIM_KILLED)
        record_end_survivors(&end, &left);
    end.named = interned_named(parts_of(core)->interned, end.named, &w->room);
    core_begin(&tx, core);
    if (job_update(&o->status, &end) == 0) {
        struct job_news ev = {.at_usec = end.at_usec,
                              .key = o->key,
                              .type = JOB_EV_EXITED,
                              .state = o->status.state,
                              .end = job_end_of(&o->status),
                              .owner = getuid()};
        const struct store_fact fact = {.type = STORE_NEWS, .news = &ev};

        core_event_add(core, &ev);
        (void)store_append(parts_of(core)->store, &fact, 1,
                           NULL); /* without memory subscribers miss this event */
    }
    dispatch_finish(&tx);
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
        keeper_call_init_signal(&o->kill, run_link(o->core, KEEPER_OF_NOBODY),
                                &o->orphan->key, SIGKILL, KEEPER_SCOPE_TREE);
        VOLT_AWAIT(o->at, keeper_call_poll(cx, &o->kill));
        if (keeper_call_status(&o->kill) != -ECONNRESET)
            break;
    }
    note_end(o);
    VOLT_END(o->at);
}

static void orphan_drop(void *state)
{
    struct orphan_wait *o = state;

    record_wait_fini(&o->wait);
    keeper_call_fini(&o->kill);
    free(o->room);
}

static const struct volt_task_type orphan_type = {"orphan", sizeof(struct orphan_wait),
                                                  orphan_poll, orphan_drop, NULL};

int orphans_start(struct core *core)
{
    struct orphans *all = parts_of(core)->orphans;

    removal_start(core);
    for (size_t i = 0; i < all->n; i++) {
        if (all->all[i].status.state == JOB_DONE)
            continue;

        struct named_copy *room = interned_room();
        struct orphan_wait *o =
            room ? volt_task_new(parts_of(core)->rt, &orphan_type) : NULL;
        if (!o) {
            free(room);
            return -ENOMEM;
        }
        o->core = core;
        o->room = room;
        o->orphan = &all->all[i];
        record_wait_init(&o->wait, run_watch(core), &all->all[i].key);
        (void)volt_task_spawn(o, NULL); /* a closing runtime drops the task */
    }
    return 0;
}
