/* See index.h. */
#include "daemon/core/index.h"

#include <string.h>

#include "daemon/core/state.h"

enum key_kind { OF_NAME, OF_LABEL };

/* bytes of a string that are hashed: a difference behind them makes no other tag */
#define KEY_BYTES 255

/* --- tags --------------------------------------------------------------------------- */

static uint32_t tag_of(const struct core *core, uid_t uid, enum key_kind kind,
                       const char *name, const char *value)
{
    uint8_t key[sizeof(uid) + 1 + KEY_BYTES + 1 + KEY_BYTES];
    const size_t n = strnlen(name, KEY_BYTES);
    size_t end = sizeof(uid);

    memcpy(key, &uid, sizeof(uid));
    key[end++] = (uint8_t)kind;
    memcpy(key + end, name, n);
    end += n;
    if (value) {
        const size_t more = strnlen(value, KEY_BYTES);

        key[end++] = 0;
        memcpy(key + end, value, more);
        end += more;
    }
    return postings_tag(siphash64(&core->keys.secret, key, end));
}

uint32_t index_tag_of_name(const struct core *core, uid_t uid, const char *name)
{
    return tag_of(core, uid, OF_NAME, name, NULL);
}

uint32_t index_tag_of_label(const struct core *core, uid_t uid,
                            const struct job_label *label)
{
    return tag_of(core, uid, OF_LABEL, label->name, label->value);
}

/* --- a job's keys ------------------------------------------------------------------- */

static enum job_class class_of(const struct job *job)
{
    const enum job_state state =
        job->array ? array_state(job->array) : (enum job_state)job->status.state;

    if (state == JOB_QUEUED)
        return JOB_CLASS_QUEUED;
    return state == JOB_DONE ? JOB_CLASS_DONE : JOB_CLASS_BUSY;
}

/* Adds or removes the ids of the job's labels. Returns 0, -ENOMEM, or as
 * postings_add(). */
static int set_labels(struct core *core, const struct job *job, bool known)
{
    struct postings *keys = &core->index.keys;
    struct job_spec *spec = NULL;
    size_t unpacked = 0;
    int r = 0;

    if (job->spec)
        spec = job_spec_ref(job->spec);
    else if ((r = packed_peek(job->packed, &spec, &unpacked)) < 0)
        return r;
    core_did(core, 0, unpacked, 0);
    for (size_t i = 0; i < spec->nlabels && r == 0; i++) {
        uint32_t tag = index_tag_of_label(core, job->owner.uid, &spec->labels[i]);

        if (known)
            r = postings_add(keys, tag, job->id);
        else
            postings_remove(keys, tag, job->id);
    }
    job_spec_unref(spec);
    return r;
}

/* Removes the job's name and labels. Without memory to read them, labels stay: their tags
 * then lead to no job. */
static void take_keys(struct core *core, const struct job *job)
{
    postings_remove(&core->index.keys, job->name_tag, job->id);
    if (job->labelled)
        (void)set_labels(core, job, false);
}

static bool put_keys(struct core *core, const struct job *job)
{
    if (postings_add(&core->index.keys, job->name_tag, job->id) == 0 &&
        (!job->labelled || set_labels(core, job, true) == 0))
        return true;
    take_keys(core, job);
    return false;
}

static void set_missing(struct core *core, struct job *job)
{
    job->indexed = INDEX_MISSING;
    core->index.missing++;
}

void index_prepare(const struct core *core, const struct job *job)
{
    postings_prefetch(&core->index.keys, job->name_tag);
}

void index_enter(struct core *core, struct job *job)
{
    const enum job_class class = class_of(job);
    struct user *u = users_find(&core->users, job->owner.uid);

    if (!u || idset_add(&u->ids[class], job->id) < 0) {
        set_missing(core, job);
    } else if (!put_keys(core, job)) {
        idset_remove(&u->ids[class], job->id);
        set_missing(core, job);
    } else {
        job->indexed = (uint8_t)(INDEX_IN + class);
    }
}

void index_leave(struct core *core, struct job *job)
{
    const uint8_t indexed = job->indexed;

    job->indexed = INDEX_OUT;
    if (indexed == INDEX_MISSING)
        core->index.missing--;
    if (indexed < INDEX_IN)
        return;
    idset_remove(&users_find(&core->users, job->owner.uid)->ids[indexed - INDEX_IN],
                 job->id);
    take_keys(core, job);
}

void index_follow(struct core *core, struct job *job)
{
    if (job->indexed < INDEX_IN)
        return;
    const enum job_class had = (enum job_class)(job->indexed - INDEX_IN);
    const enum job_class has = class_of(job);
    if (had == has)
        return;
    struct user *u = users_find(&core->users, job->owner.uid);
    if (idset_add(&u->ids[has], job->id) < 0) {
        index_leave(core, job);
        set_missing(core, job);
        return;
    }
    idset_remove(&u->ids[had], job->id);
    job->indexed = (uint8_t)(INDEX_IN + has);
}
