/* Idempotency keys in a submission.
 *
 * A key is claimed before the ids are taken and belongs to the job when that is in the
 * table, so after its commit: a submission that finds a key with an id is told of it at
 * once. One that finds a claim waits until it is settled or released. It keeps its own
 * claims meanwhile if that is one of a younger submission. Before an older one it gives
 * all of them back, and takes none until it has the one that it waits for. So only the
 * older wait for the younger with anything in hand, which is no circle; and the oldest
 * gives nothing back, so that two which want the same keys in other orders do not make
 * way for each other for ever.
 *
 * A key lives as long as its job is known here, and then as long as the history. With
 * on_exists a later job may take it over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/exec/submission.h"

enum claimed {
    CLAIM_MINE,
    CLAIM_SAME,
    CLAIM_OTHER,  /* another body */
    CLAIM_REJECT, /* on_exists */
    CLAIM_WAIT,
    CLAIM_QUOTA,
    CLAIM_NO_MEMORY,
};

/* What an item brings: its key, and what it stands for. */
struct keyed {
    struct siphash128 name, body;
};

/* Lists per item are made when first needed. False: no memory. */
static bool note_same(const struct manager_submit *s, size_t i, uint64_t id)
{
    struct submission *p = s->pending;

    if (!p->same)
        p->same = calloc(s->count, sizeof(*p->same));
    if (p->same)
        p->same[i] = id;
    return p->same;
}

static bool note_old_body(const struct manager_submit *s, size_t i,
                          struct siphash128 body)
{
    struct submission *p = s->pending;

    if (!p->old_body)
        p->old_body = calloc(s->count, sizeof(*p->old_body));
    if (p->old_body)
        p->old_body[i] = body;
    return p->old_body;
}

/* Another item of this submission has the key already. */
static enum claimed claim_twice(const struct keys_entry *e, enum job_on_exists on_exists,
                                struct siphash128 body)
{
    switch (on_exists) {
    case JOB_ON_EXISTS_SAME:
        return keys_same(e->body, body) ? CLAIM_SAME : CLAIM_OTHER;
    case JOB_ON_EXISTS_COALESCE:
        return CLAIM_SAME;
    case JOB_ON_EXISTS_REJECT:
    case JOB_ON_EXISTS_REPLACE:
        break;
    }
    return CLAIM_REJECT;
}

/* The key is that of an earlier job: it stays with that, or is taken over. Until that is
 * settled the entry keeps the earlier id, and the earlier hash is noted. */
static enum claimed claim_again(struct manager_submit *s, size_t i, struct keys_entry *e,
                                struct siphash128 body)
{
    struct manager *m = s->manager;
    struct submission *p = s->pending;
    struct job_spec *spec = p->jobs[i]->spec;
    bool lives = succession_waits(m, s->owner.uid, e->id);
    int r;

    switch (spec->on_exists) {
    case JOB_ON_EXISTS_SAME:
        return keys_same(e->body, body) ? CLAIM_SAME : CLAIM_OTHER;
    case JOB_ON_EXISTS_REJECT:
        return CLAIM_REJECT;
    case JOB_ON_EXISTS_COALESCE:
        if (lives)
            return CLAIM_SAME;
        break;
    case JOB_ON_EXISTS_REPLACE:
        break;
    }
    if (!note_old_body(s, i, e->body))
        return CLAIM_NO_MEMORY;
    if (spec->on_exists == JOB_ON_EXISTS_REPLACE &&
        succession_root(m, s->owner.uid, e->id)) {
        r = succession_reserve(m, p->jobs[i]);
        if (r < 0)
            return r == -EDQUOT ? CLAIM_QUOTA : CLAIM_NO_MEMORY;
        spec->replaces = e->id;
    }
    e->body = body;
    e->claim = p;
    return CLAIM_MINE;
}

static bool is_older(const struct submission *a, const struct submission *b)
{
    return a->age < b->age;
}

/* Lock held. *ret_id: the job that has the key, SAME_BATCH: an item of ours. */
static enum claimed claim(struct manager_submit *s, size_t i, const struct keyed *key,
                          uint64_t *ret_id)
{
    struct manager *m = s->manager;
    struct keys_entry *e = keys_find(&m->keys, key->name);

    if (!e) {
        e = keys_put(&m->keys, key->name);
        if (!e)
            return CLAIM_NO_MEMORY;
        e->body = key->body;
        e->claim = s->pending;
        return CLAIM_MINE;
    }
    *ret_id = e->claim ? SAME_BATCH : e->id;
    if (e->claim && e->claim != s->pending) {
        struct submission *p = s->pending;

        p->yields = is_older(e->claim, p);
        return CLAIM_WAIT;
    }
    return e->claim ? claim_twice(e, s->items[i].spec->on_exists, key->body)
                    : claim_again(s, i, e, key->body);
}

static void reject_taken(struct manager_submit_item *item, bool other, uint64_t id)
{
    char whose[64] = "an earlier one of this batch";

    if (id != SAME_BATCH)
        (void)snprintf(whose, sizeof(whose), "job %llu", (unsigned long long)id);
    submission_reject(item, -EEXIST, "the key \"%.100s\" is that of %s%s",
                      item->spec->key, whose, other ? ", which is another" : "");
}

/* False: it has to wait. */
static bool claim_item(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    const struct job_spec *spec = p->jobs[i] ? p->jobs[i]->spec : NULL;
    enum claimed what = CLAIM_NO_MEMORY;
    struct keyed key;
    uint64_t id = 0;

    if (!spec || !spec->key || p->jobs[i]->claimed)
        return true;
    key.name = keys_name(&m->keys, s->owner.uid, spec->key);
    if (keys_body(&m->keys, spec, &key.body) == 0) {
        manager_lock(m);
        what = claim(s, i, &key, &id);
        manager_unlock(m);
    }
    switch (what) {
    case CLAIM_MINE:
        p->jobs[i]->claimed = true;
        p->jobs[i]->key = key.name;
        return true;
    case CLAIM_WAIT:
        return false;
    case CLAIM_SAME:
        if (note_same(s, i, id)) {
            submission_drop(s, i);
            return true;
        }
        break;
    case CLAIM_OTHER:
    case CLAIM_REJECT:
        submission_drop(s, i);
        reject_taken(&s->items[i], what == CLAIM_OTHER, id);
        return true;
    case CLAIM_QUOTA:
        submission_drop(s, i);
        submission_reject(&s->items[i], -EDQUOT,
                          "more than %d jobs that wait for those they replace",
                          SUCCESSIONS_MAX);
        return true;
    case CLAIM_NO_MEMORY:
        break;
    }
    submission_drop(s, i);
    submission_reject(&s->items[i], -ENOMEM, "out of memory");
    return true;
}

/* Lock held: the key goes back to whose it was. */
static void give_back(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct job *job = p->jobs[i];
    struct keys_entry *e = keys_find(&s->manager->keys, job->key);

    job->claimed = false;
    if (e && e->id) {
        e->body = p->old_body[i];
        e->claim = NULL;
    } else if (e) {
        keys_remove(&s->manager->keys, e);
    }
    if (job->spec->replaces) {
        succession_release(s->manager, job);
        job->spec->replaces = 0;
    }
}

void claim_release(struct manager_submit *s, size_t from, size_t to)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct tx tx;

    if (!p->keyed)
        return;
    core_begin(&tx, m);
    manager_did(m, to - from, 0, 0);
    for (size_t i = from; i < to; i++) {
        const struct job *job = p->jobs[i];

        if (!job || !job->claimed)
            continue;
        give_back(s, i);
        m->news_due = true;
    }
    core_finish(&tx);
}

static void stop_listening(struct submission *p)
{
    if (p->listening)
        volt_notified_fini(&p->news);
    p->listening = p->blocked = false;
}

/* To what happens from before the next look. */
static void listen_anew(struct manager_submit *s)
{
    struct submission *p = s->pending;

    stop_listening(p);
    volt_notified_init(&p->news, &s->manager->news);
    p->listening = true;
}

static void begin(struct manager_submit *s)
{
    struct submission *p = s->pending;

    manager_lock(s->manager);
    p->age = ++s->manager->claimers;
    manager_unlock(s->manager);
    p->at = 0;
    listen_anew(s);
}

/* Claims the item that is next. When it has to wait, it is the first again. */
static void claim_next(struct manager_submit *s)
{
    struct submission *p = s->pending;

    p->blocked = !claim_item(s, p->at);
    p->refused |= s->items[p->at].ret_error != 0;
    if (!p->blocked) {
        p->at = p->gave_back ? 0 : p->at + 1;
        p->gave_back = false;
    } else if (p->yields && !p->gave_back) {
        p->gave_back = p->returns = true;
        p->through = 0;
    }
}

/* Gives claims back, of a portion of the items. */
static void return_some(struct manager_submit *s)
{
    struct submission *p = s->pending;
    size_t end = p->through + submission_portion(s, s->count - p->through);

    claim_release(s, p->through, end);
    p->through = end;
    p->returns = end < s->count;
}

enum volt_poll claim_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (!p->keyed)
        return VOLT_READY;
    if (!p->listening)
        begin(s);
    while (p->blocked && !p->returns) {
        if (volt_notified_poll(cx, &p->news) == VOLT_PENDING)
            return VOLT_PENDING;
        listen_anew(s);
    }
    for (size_t n = p->blocked ? 0 : submission_portion(s, s->count - p->at);
         n > 0 && p->at < s->count && !p->blocked; n--)
        claim_next(s);
    if (p->returns)
        return_some(s);
    if (p->at == s->count) {
        stop_listening(p);
        return VOLT_READY;
    }
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void claim_settle(struct manager *m, const struct job *job, uint64_t id)
{
    struct keys_entry *e = keys_is_name(job->key) ? keys_find(&m->keys, job->key) : NULL;

    if (!e)
        return;
    e->id = id;
    e->claim = NULL;
}

/* Lock held. */
static void resolve_item(struct manager *m, uid_t uid, struct manager_submit_item *item,
                         uint64_t id)
{
    const struct keys_entry *e =
        id == SAME_BATCH ? keys_find(&m->keys, keys_name(&m->keys, uid, item->spec->key))
                         : NULL;
    struct siphash128 body;

    if (e && e->id &&
        (item->spec->on_exists == JOB_ON_EXISTS_COALESCE ||
         (keys_body(&m->keys, item->spec, &body) == 0 && keys_same(body, e->body))))
        id = e->id;
    if (id != SAME_BATCH) {
        item->ret_id = id;
        item->ret_existed = true;
        return;
    }
    submission_reject(item, -ECANCELED, "the job with this key was not taken");
}

enum volt_poll claim_resolve_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (!p->same || p->alone)
        return VOLT_READY;
    size_t end = p->through + submission_portion(s, s->count - p->through);
    manager_lock(s->manager);
    manager_did(s->manager, end - p->through, 0, 0);
    for (size_t i = p->through; i < end; i++)
        if (p->same[i])
            resolve_item(s->manager, s->owner.uid, &s->items[i], p->same[i]);
    manager_unlock(s->manager);
    p->through = end;
    if (end == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}
