/* See replacement.h. */
#include "daemon/core/replacement.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/admit/condition.h"
#include "daemon/core/state.h"

bool replacement_is_due(struct core *core, uid_t uid, uint64_t id)
{
    const struct job *job = table_get(&core->table, id);

    return job && job->owner.uid == uid && !job->is_history && !jobs_done(job);
}

static int list(struct core *core, struct siphash128 key, struct job *earlier,
                size_t most)
{
    struct replacements *r = &core->replacements;
    struct user *user = users_get(&core->users, earlier->owner.uid);
    struct replaced *grown;

    if (earlier->replaced)
        return 0;
    if (!user)
        return -ENOMEM;
    if (user->nreplaced >= most)
        return -EDQUOT;
    grown = reallocarray(r->all, r->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    r->all = grown;
    r->all[r->n++] = (struct replaced){key, earlier->id};
    user->nreplaced++;
    earlier->replaced = true;
    return 0;
}

/* Removes the job from the list; does nothing if it is not there. */
static void unlist(struct core *core, struct job *earlier)
{
    struct replacements *r = &core->replacements;
    size_t i = 0;

    if (!earlier || !earlier->replaced)
        return;
    while (r->all[i].id != earlier->id)
        i++;
    r->all[i] = r->all[--r->n];
    users_find(&core->users, earlier->owner.uid)->nreplaced--;
    earlier->replaced = false;
}

/* Adds a condition for each job listed with the key. Returns 1, 0 (none is listed) or
 * -ENOMEM. */
static int wait_for_all(struct core *core, struct job *job, struct siphash128 key)
{
    const struct replacements *r = &core->replacements;
    int result = 0;

    for (size_t i = 0; i < r->n && result >= 0; i++) {
        if (!keys_same(r->all[i].key, key))
            continue;
        result = job->waiter.state == WAITER_NONE ? waiting_assign_again(core, job) : 0;
        if (result == 0)
            result = condition_replace_add(core->parts.admit, &job->waiter, r->all[i].id);
        if (result == 0)
            result = 1;
    }
    return result;
}

static int add(struct core *core, struct job *job, struct siphash128 key,
               uint64_t earlier, size_t most)
{
    int r = 0;

    if (replacement_is_due(core, job->owner.uid, earlier))
        r = list(core, key, table_get(&core->table, earlier), most);
    if (r == 0 && !jobs_done(job))
        r = wait_for_all(core, job, key);
    if (r < 0)
        replacement_drop(core, job, earlier);
    return r;
}

int replacement_add(struct core *core, struct job *job, struct siphash128 key,
                    uint64_t earlier)
{
    return add(core, job, key, earlier, REPLACEMENTS_MAX);
}

/* Puts this user's job in the agenda, if it has not ended. */
static void cancel(struct core *core, uid_t uid, uint64_t id)
{
    if (replacement_is_due(core, uid, id))
        agenda_add(core, table_get(&core->table, id));
}

int replacement_add_again(struct core *core, struct job *job, uint64_t earlier)
{
    cancel(core, job->owner.uid, earlier);
    int r = add(core, job, job->key, earlier, SIZE_MAX);
    return r < 0 ? r : 0;
}

void replacement_drop(struct core *core, struct job *job, uint64_t earlier)
{
    if (job->waiter.state == WAITER_APART)
        condition_free_kind(core->parts.admit, &job->waiter, &condition_replace);
    unlist(core, table_get(&core->table, earlier));
}

void replacement_over(struct core *core, struct job *job)
{
    if (!job->replaced)
        return;
    unlist(core, job);
    condition_replace_gone(core->parts.admit, job->id, waiting_now(core));
}
