/* Idempotency keys in a submission.
 *
 * A submission claims its keys before it takes ids. A key gets its job's id when the job
 * enters the table, after the commit. A submission that finds a key with an id has its
 * answer; one that finds a claim waits until that is settled or released.
 *
 * No deadlock: a submission that waits for a younger one keeps its claims. One that waits
 * for an older one first gives all of them back, then claims the awaited key before any
 * other. So a submission with claims waits only for younger ones, which cannot be a
 * circle. The oldest never gives claims back: it gets all its keys.
 *
 * A key outlives its job: core/keys.h. With on_exists a later job may take it over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/core/jobs.h"
#include "daemon/core/replacement.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/store/fact.h"
#include "daemon/submit/submission.h"

enum claimed {
    CLAIM_MINE,
    CLAIM_SAME,
    CLAIM_OTHER,  /* another body */
    CLAIM_REJECT, /* on_exists */
    CLAIM_WAIT,
    CLAIM_QUOTA,
    CLAIM_KEYS,    /* the user has MaxKeysPerUser= keys */
    CLAIM_UNKNOWN, /* a new job with an antecedent that is not known */
    CLAIM_NOT_NEW, /* a new job that its queue rejects, or its claims */
    CLAIM_NO_MEMORY,
};

/* An item's hashed key, and the hash of what it stands for. */
struct keyed {
    struct siphash128 name, body;
};

static bool is_hashed(struct siphash128 body)
{
    return body.lo || body.hi;
}

/* Notes that job `id` stands for the item. Lists are made when needed. False: no
 * memory. */
static bool note_same(const struct jobs_submit *s, size_t i, uint64_t id)
{
    struct submission *p = s->pending;

    if (!p->same)
        p->same = calloc(s->count, sizeof(*p->same));
    if (p->same)
        p->same[i] = id;
    return p->same;
}

static bool note_old_body(const struct jobs_submit *s, size_t i, struct siphash128 body)
{
    struct submission *p = s->pending;

    if (!p->old_body)
        p->old_body = calloc(s->count, sizeof(*p->old_body));
    if (p->old_body)
        p->old_body[i] = body;
    return p->old_body;
}

/* Hashes, once, what the item's key stands for. False: no memory. */
static bool note_body(const struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    const struct job_spec *spec = s->items[i].spec;

    if (!p->body)
        p->body = calloc(s->count, sizeof(*p->body));
    if (!p->body)
        return false;
    if (!is_hashed(p->body[i]) && i > 0 && s->items[i - 1].spec == spec)
        p->body[i] = p->body[i - 1];
    return is_hashed(p->body[i]) ||
           keys_body(parts_of(s->core)->keys, spec, &p->bodies, &p->body[i]) == 0;
}

int claim_rehash(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct core *core = s->core;

    p->body[i] = (struct siphash128){0};
    if (!note_body(s, i))
        return -ENOMEM;
    core_lock(core);
    keys_find(parts_of(core)->keys, p->jobs[i]->key)->body = p->body[i];
    core_unlock(core);
    return 0;
}

/* Decides on an item whose key another item of this submission has. If items wait for
 * others, each item must be a job of its own. */
static enum claimed claim_twice(const struct jobs_submit *s, const struct keys_entry *e,
                                enum job_on_exists on_exists, struct siphash128 body)
{
    const struct submission *p = s->pending;

    switch (p->binds ? JOB_ON_EXISTS_REJECT : on_exists) {
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

/* Adds a key. NULL: the user has too many, or no memory; *ret says which. */
static struct keys_entry *put_new(struct jobs_submit *s, struct siphash128 name,
                                  enum claimed *ret)
{
    const struct parts *p = parts_of(s->core);
    struct user *user = users_get(p->users, s->owner.uid);

    *ret = CLAIM_NO_MEMORY;
    if (user && user->keys >= p->limits->max_keys_per_user)
        *ret = CLAIM_KEYS;
    return user && *ret != CLAIM_KEYS ? keys_put(p->keys, name, user->uid) : NULL;
}

/* MINE: the item may be a new job. */
static enum claimed may_be_new(const struct jobs_submit_item *item)
{
    if (item->not_new)
        return CLAIM_NOT_NEW;
    return submission_unknown(item->spec) ? CLAIM_UNKNOWN : CLAIM_MINE;
}

/* Decides on a key of an earlier job: that job keeps it, or it is taken over. Until this
 * is settled the entry keeps the earlier id, and the earlier hash is noted. */
static enum claimed claim_again(struct jobs_submit *s, size_t i, struct keys_entry *e,
                                const struct keyed *key)
{
    struct core *core = s->core;
    struct submission *p = s->pending;
    struct job_spec *spec = p->jobs[i]->spec;
    int r = 0;

    switch (spec->on_exists) {
    case JOB_ON_EXISTS_SAME:
        return keys_same(e->body, key->body) ? CLAIM_SAME : CLAIM_OTHER;
    case JOB_ON_EXISTS_REJECT:
        return CLAIM_REJECT;
    case JOB_ON_EXISTS_COALESCE:
        if (replacement_is_due(core, s->owner.uid, e->id))
            return CLAIM_SAME;
        break;
    case JOB_ON_EXISTS_REPLACE:
        break;
    }
    const enum claimed fresh = may_be_new(&s->items[i]);
    if (fresh != CLAIM_MINE)
        return fresh;
    if (!note_old_body(s, i, e->body))
        return CLAIM_NO_MEMORY;
    if (spec->on_exists == JOB_ON_EXISTS_REPLACE)
        r = replacement_add(core, p->jobs[i], key->name, e->id);
    if (r < 0)
        return r == -EDQUOT ? CLAIM_QUOTA : CLAIM_NO_MEMORY;
    if (r > 0)
        spec->replaces = e->id;
    e->body = key->body;
    e->claim = p->age;
    return CLAIM_MINE;
}

/* Lock held. *ret_id: the job that has the key; SAME_BATCH: an item of this
 * submission. */
static enum claimed claim(struct jobs_submit *s, size_t i, const struct keyed *key,
                          uint64_t *ret_id)
{
    struct core *core = s->core;
    struct submission *p = s->pending;
    struct keys_entry *e = keys_find(parts_of(core)->keys, key->name);

    if (!e) {
        enum claimed fresh = may_be_new(&s->items[i]);
        if (fresh != CLAIM_MINE)
            return fresh;
        e = put_new(s, key->name, &fresh);
        if (!e)
            return fresh;
        e->body = key->body;
        e->claim = p->age;
        return CLAIM_MINE;
    }
    *ret_id = e->claim ? SAME_BATCH : e->id;
    if (e->claim && e->claim != p->age) {
        p->yields = keys_is_older(e->claim, p->age);
        return CLAIM_WAIT;
    }
    return e->claim ? claim_twice(s, e, s->items[i].spec->on_exists, key->body)
                    : claim_again(s, i, e, key);
}

static void reject_taken(struct jobs_submit_item *item, bool other, uint64_t id)
{
    char whose[64] = "an earlier one of this batch";

    item->ret_taken = id != SAME_BATCH ? id : 0;
    if (id != SAME_BATCH)
        (void)snprintf(whose, sizeof(whose), "job %llu", (unsigned long long)id);
    submission_reject(item, -EEXIST, "key \"%.100s\" belongs to %s%s", item->spec->key,
                      whose, other ? ", whose spec differs" : "");
}

static void refuse(struct jobs_submit *s, size_t i, enum claimed why, uint64_t id)
{
    struct jobs_submit_item *item = &s->items[i];

    submission_drop(s, i);
    if (why == CLAIM_OTHER || why == CLAIM_REJECT)
        reject_taken(item, why == CLAIM_OTHER, id);
    else if (why == CLAIM_QUOTA)
        submission_over(item, REPLACEMENTS_MAX,
                        "jobs of yours that are replaced and have not ended");
    else if (why == CLAIM_KEYS)
        submission_over(
            item, parts_of(s->core)->limits->max_keys_per_user,
            "keys (MaxKeysPerUser): each lasts for KeepKeysSec= after the end "
            "of its job, and voltctl clean frees it");
    else if (why == CLAIM_UNKNOWN)
        submission_reject_unknown(item, submission_unknown(item->spec));
    else if (why == CLAIM_NOT_NEW)
        item->ret_error = item->not_new;
    else
        submission_reject(item, -ENOMEM, "out of memory");
}

/* Claims the key of item i, if any. False: it has to wait. */
static bool claim_item(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct core *core = s->core;
    const struct job_spec *spec = p->jobs[i] ? p->jobs[i]->spec : NULL;
    enum claimed what = CLAIM_NO_MEMORY;
    struct keyed key;
    uint64_t id = 0;

    if (!spec || !spec->key || p->jobs[i]->claimed)
        return true;
    key.name = keys_name(parts_of(core)->keys, s->owner.uid, spec->key);
    if (submission_binds(spec)) {
        submission_bind_known(s, i);
        if (p->body)
            p->body[i] = (struct siphash128){0};
    }
    if (note_body(s, i)) {
        key.body = p->body[i];
        core_lock(core);
        what = claim(s, i, &key, &id);
        core_unlock(core);
    }
    if (what == CLAIM_WAIT)
        return false;
    if (what == CLAIM_MINE) {
        p->jobs[i]->claimed = true;
        p->jobs[i]->key = key.name;
    } else if (what == CLAIM_SAME && note_same(s, i, id)) {
        submission_drop(s, i);
    } else {
        refuse(s, i, what, id);
    }
    return true;
}

/* Lock held. Gives the key back to its earlier job, or removes it. */
static void give_back(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct job *job = p->jobs[i];
    struct keys_entry *e = keys_find(parts_of(s->core)->keys, job->key);

    job->claimed = false;
    if (e && e->id) {
        e->body = p->old_body[i];
        e->claim = 0;
    } else if (e) {
        keys_remove(parts_of(s->core)->keys, e);
    }
    if (job->spec->replaces) {
        replacement_drop(s->core, job, job->spec->replaces);
        job->spec->replaces = 0;
    }
}

void claim_release(struct jobs_submit *s, size_t from, size_t to)
{
    struct submission *p = s->pending;
    struct core *core = s->core;
    struct tx tx;

    if (!p->keyed)
        return;
    core_begin(&tx, core);
    core_did(core, to - from, 0, 0);
    for (size_t i = from; i < to; i++) {
        const struct job *job = p->jobs[i];

        if (!job || !job->claimed)
            continue;
        give_back(s, i);
        core_news_due(core);
    }
    dispatch_finish(&tx);
}

static void stop_listening(struct submission *p)
{
    if (p->listening)
        volt_notified_fini(&p->news);
    p->listening = p->blocked = false;
}

/* Subscribes to news from before the next look. */
static void listen_anew(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    stop_listening(p);
    volt_notified_init(&p->news, parts_of(s->core)->news);
    p->listening = true;
}

static void begin(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    core_lock(s->core);
    p->age = keys_new_age(parts_of(s->core)->keys);
    core_unlock(s->core);
    p->at = 0;
    listen_anew(s);
}

/* Lock not held. Returns whether another submission has claimed the item's key. */
static bool is_claimed(struct jobs_submit *s, size_t i)
{
    struct core *core = s->core;
    const struct siphash128 name =
        keys_name(parts_of(core)->keys, s->owner.uid, s->items[i].spec->key);

    core_lock(core);
    const struct keys_entry *e = keys_find(parts_of(core)->keys, name);
    const bool claimed = e && e->claim;
    core_unlock(core);
    return claimed;
}

/* Claims the next item. A blocked item is tried again first. Exception: an item that
 * waits for other items comes after these, which may be earlier jobs by now. */
static void claim_next(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    if (p->gave_back && submission_binds(s->items[p->at].spec)) {
        p->blocked = is_claimed(s, p->at);
        p->gave_back = p->blocked;
        p->at = p->blocked ? p->at : 0;
        return;
    }
    p->blocked = !claim_item(s, p->at);
    submission_note(s, p->at);
    if (!p->blocked) {
        p->at = p->gave_back ? 0 : p->at + 1;
        p->gave_back = false;
    } else if (p->yields && !p->gave_back) {
        p->gave_back = p->returns = true;
        p->through = 0;
    }
}

/* Gives back the claims of a portion of the items. */
static void return_some(struct jobs_submit *s)
{
    struct submission *p = s->pending;
    size_t end = p->through + submission_portion(s, s->count - p->through);

    claim_release(s, p->through, end);
    p->through = end;
    p->returns = end < s->count;
}

enum volt_poll claim_poll(struct volt_cx *cx, struct jobs_submit *s)
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
    p->bodies.bytes = 0;
    for (size_t n = p->blocked ? 0 : submission_portion(s, s->count - p->at);
         n > 0 && p->at < s->count && !p->blocked && p->bodies.bytes < CLAIM_BYTES; n--)
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

void claim_settle(struct core *core, const struct job *job, uint64_t id)
{
    struct keys_entry *e =
        keys_is_name(job->key) ? keys_find(parts_of(core)->keys, job->key) : NULL;

    if (!e)
        return;
    if (e->id) { /* the key's row in the store stands for the new job now */
        const struct store_fact none = {.type = STORE_KEY, .key = {.id = e->id}};
        (void)store_append(parts_of(core)->store, &none, 1, NULL); /* failed: removed at
                                                                    * the next start */
    }
    e->id = id;
    e->claim = 0;
}

/* Lock held. */
static void resolve_item(struct jobs_submit *s, size_t i)
{
    const struct submission *p = s->pending;
    struct jobs_submit_item *item = &s->items[i];
    uint64_t id = p->same[i];
    const struct keys *keys = parts_of(s->core)->keys;
    const struct keys_entry *e =
        id == SAME_BATCH ? keys_find(keys, keys_name(keys, s->owner.uid, item->spec->key))
                         : NULL;

    if (e && e->id &&
        (item->spec->on_exists == JOB_ON_EXISTS_COALESCE ||
         keys_same(p->body[i], e->body)))
        id = e->id;
    if (id != SAME_BATCH) {
        item->ret_id = id;
        item->ret_existed = true;
        return;
    }
    submission_reject(item, -ECANCELED, "the job with this key was not taken");
}

enum volt_poll claim_resolve_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;

    if (!p->same || p->alone)
        return VOLT_READY;
    size_t end = p->through + submission_portion(s, s->count - p->through);
    core_lock(s->core);
    core_did(s->core, end - p->through, 0, 0);
    for (size_t i = p->through; i < end; i++)
        if (p->same[i])
            resolve_item(s, i);
    core_unlock(s->core);
    p->through = end;
    if (end == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}
