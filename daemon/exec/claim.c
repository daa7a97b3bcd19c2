/* Idempotency keys in a submission.
 *
 * A key is claimed before the ids are taken and belongs to the job when that is in the
 * table, so after its commit: who finds a key with an id may be told of it at once. Who
 * finds a claim waits until it is settled or released. Whoever waits holds no claim, so
 * nobody waits for each other.
 *
 * A key lives as long as its job is known here, and then as long as the history. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/exec/submission.h"

enum claimed {
    CLAIM_MINE,
    CLAIM_SAME,
    CLAIM_OTHER, /* another body */
    CLAIM_WAIT,
    CLAIM_NO_MEMORY,
};

/* Lock held. */
static enum claimed claim(struct manager *m, const void *who, uint64_t key, uint64_t body,
                          uint64_t *ret_id)
{
    struct keys_entry *e = keys_find(&m->keys, key);

    if (!e) {
        e = keys_put(&m->keys, key);
        if (!e)
            return CLAIM_NO_MEMORY;
        e->body = body;
        e->claim = who;
        return CLAIM_MINE;
    }
    *ret_id = e->id;
    if (e->claim && e->claim != who)
        return CLAIM_WAIT;
    return e->body == body ? CLAIM_SAME : CLAIM_OTHER;
}

static bool mark_same(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;

    if (!p->same)
        p->same = calloc(s->count, sizeof(*p->same));
    if (p->same)
        p->same[i] = true;
    return p->same;
}

/* False: it has to wait. */
static bool claim_item(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    const struct job_spec *spec = p->jobs[i] ? p->jobs[i]->spec : NULL;
    struct aftermath after = {0};
    enum claimed what = CLAIM_NO_MEMORY;
    uint64_t body, id = 0;

    if (!spec || !spec->key)
        return true;
    uint64_t key = keys_hash(&m->keys, s->owner.uid, spec->key);
    if (keys_hash_body(m->keys.seed, spec, &body) == 0) {
        manager_lock(m);
        what = claim(m, p, key, body, &id);
        manager_unlock(m, &after);
    }
    switch (what) {
    case CLAIM_MINE:
        p->jobs[i]->claimed = true;
        p->jobs[i]->key = key;
        return true;
    case CLAIM_WAIT:
        return false;
    case CLAIM_SAME:
        if (mark_same(s, i)) {
            submission_drop(s, i);
            return true;
        }
        break;
    case CLAIM_OTHER:
        submission_drop(s, i);
        submission_reject(&s->items[i], -EEXIST,
                          "the key \"%.100s\" is that of job %llu, which is another",
                          s->items[i].spec->key, (unsigned long long)id);
        return true;
    case CLAIM_NO_MEMORY:
        break;
    }
    submission_drop(s, i);
    submission_reject(&s->items[i], -ENOMEM, "out of memory");
    return true;
}

void claim_release(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct aftermath after = {0};

    manager_lock(m);
    for (size_t i = 0; i < s->count; i++) {
        struct job *job = p->jobs[i];

        if (!job || !job->claimed)
            continue;
        keys_remove(&m->keys, job->key);
        job->claimed = false;
        m->news_due = true;
    }
    manager_unlock(m, &after);
}

static void stop_listening(struct submission *p)
{
    if (p->listening)
        volt_notified_fini(&p->news);
    p->listening = p->blocked = false;
}

/* From the first item on, listening to what happens from before the first look. */
static void begin_anew(struct manager_submit *s)
{
    struct submission *p = s->pending;

    stop_listening(p);
    volt_notified_init(&p->news, &s->manager->news);
    p->listening = true;
    p->at = 0;
}

enum volt_poll claim_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (!p->keyed)
        return VOLT_READY;
    if (!p->listening)
        begin_anew(s);
    while (p->blocked) {
        if (volt_notified_poll(cx, &p->news) == VOLT_PENDING)
            return VOLT_PENDING;
        begin_anew(s);
    }
    for (size_t n = 0; n < SUBMIT_SLICE && p->at < s->count && !p->blocked; n++) {
        p->blocked = !claim_item(s, p->at);
        p->at += !p->blocked;
    }
    if (p->at == s->count) {
        stop_listening(p);
        return VOLT_READY;
    }
    if (p->blocked)
        claim_release(s);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void claim_settle(struct manager *m, const struct job *job, uint64_t id)
{
    struct keys_entry *e = job->key ? keys_find(&m->keys, job->key) : NULL;

    if (!e)
        return;
    e->id = id;
    e->claim = NULL;
}

/* Lock held. */
static void resolve_item(struct manager *m, uid_t uid, struct manager_submit_item *item)
{
    const struct keys_entry *e =
        keys_find(&m->keys, keys_hash(&m->keys, uid, item->spec->key));
    uint64_t body;

    if (e && e->id && keys_hash_body(m->keys.seed, item->spec, &body) == 0 &&
        body == e->body) {
        item->ret_id = e->id;
        item->ret_existed = true;
        return;
    }
    submission_reject(item, -ECANCELED, "the job with this key was not taken");
}

void claim_resolve(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct aftermath after = {0};

    if (!p->same || p->alone)
        return;
    manager_lock(s->manager);
    for (size_t i = 0; i < s->count; i++)
        if (p->same[i])
            resolve_item(s->manager, s->owner.uid, &s->items[i]);
    manager_unlock(s->manager, &after);
}

void claim_forget(struct manager *m, const struct job *job)
{
    uint64_t keep = m->config.keep_history;

    if (!job->key)
        return;
    if (!keep || m->old_keys_capacity != keep) { /* configured anew: begin anew */
        free(m->old_keys);
        m->old_keys = keep ? calloc(keep, sizeof(*m->old_keys)) : NULL;
        m->old_keys_capacity = m->old_keys ? keep : 0;
        m->old_keys_at = 0;
    }
    if (!m->old_keys) {
        keys_remove(&m->keys, job->key);
        return;
    }
    uint64_t *slot = &m->old_keys[m->old_keys_at++ % m->old_keys_capacity];
    if (*slot)
        keys_remove(&m->keys, *slot);
    *slot = job->key;
}
