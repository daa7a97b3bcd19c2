/* See durations.h. */
#include "daemon/core/durations.h"

#include <stdlib.h>

#include "base/list.h"
#include "daemon/core/jobs.h"

struct known_user {
    struct hash_node hash; /* by uid */
    uid_t uid;
    size_t nnames;
    struct list names; /* the latest last */
    struct sketch all;
};

struct known_name {
    struct hash_node hash; /* by user and tag */
    struct list_node node, of_all;
    struct known_user *user;
    struct sketch times;
};

static uint64_t hash_of(uid_t uid, uint32_t tag)
{
    return (uint64_t)uid << 32 | tag;
}

static struct known_user *find_user(const struct durations *d, uid_t uid)
{
    struct hash_node *n = hash_table_first(&d->users, uid);

    return n ? list_thing(n, struct known_user, hash) : NULL;
}

static struct known_name *find_name(const struct durations *d, uid_t uid, uint32_t tag)
{
    struct hash_node *n = hash_table_first(&d->names, hash_of(uid, tag));

    return n ? list_thing(n, struct known_name, hash) : NULL;
}

static struct known_user *get_user(struct durations *d, uid_t uid)
{
    struct known_user *u = find_user(d, uid);

    if (u || d->users.count >= DURATIONS_MOST || hash_table_reserve(&d->users) < 0)
        return u;
    u = calloc(1, sizeof(*u));
    if (!u)
        return NULL;
    u->uid = uid;
    hash_table_add(&d->users, &u->hash, uid);
    return u;
}

static struct known_name *first_of(const struct known_user *u)
{
    return u->names.first ? list_thing(u->names.first, struct known_name, node) : NULL;
}

static void unlist(struct durations *d, struct known_name *name)
{
    list_remove(&name->user->names, &name->node);
    list_remove(&d->all, &name->of_all);
}

static void take_out(struct durations *d, struct known_name *name)
{
    unlist(d, name);
    name->user->nnames--;
    hash_table_remove(&d->names, &name->hash);
}

/* Returns a zeroed name that is in no table. When there is no room, reuses the oldest
 * name, of the user or of all users. */
static struct known_name *make_name(struct durations *d, const struct known_user *u)
{
    struct known_name *name = NULL;

    if (u->nnames >= DURATIONS_NAMES)
        name = first_of(u);
    else if (d->names.count >= DURATIONS_MOST)
        name = list_thing(d->all.first, struct known_name, of_all);
    else
        return hash_table_reserve(&d->names) < 0 ? NULL : calloc(1, sizeof(*name));
    take_out(d, name);
    *name = (struct known_name){.user = NULL};
    return name;
}

static struct known_name *get_name(struct durations *d, struct known_user *u,
                                   uint32_t tag)
{
    struct known_name *name = find_name(d, u->uid, tag);

    if (name) {
        unlist(d, name);
    } else if ((name = make_name(d, u))) {
        name->user = u;
        u->nnames++;
        hash_table_add(&d->names, &name->hash, hash_of(u->uid, tag));
    } else {
        return NULL;
    }
    list_add_last(&u->names, &name->node);
    list_add_last(&d->all, &name->of_all);
    return name;
}

void durations_add(struct durations *d, uid_t uid, uint32_t tag, uint64_t usec)
{
    struct known_user *u = get_user(d, uid);
    struct known_name *name = u ? get_name(d, u, tag) : NULL;

    if (u)
        sketch_add(&u->all, usec);
    if (name)
        sketch_add(&name->times, usec);
}

void durations_note(struct durations *d, const struct job *job,
                    const struct job_status *st, const struct job_event *exited,
                    uint64_t ran_usec)
{
    if (st->cancel_asked || exited->result == JOB_RESULT_LOST ||
        exited->result == JOB_RESULT_EXEC_FAILED)
        return;
    durations_add(d, job->owner.uid, job->name_tag,
                  ran_usec > st->paused_usec ? ran_usec - st->paused_usec : 0);
}

const struct sketch *durations_of_name(const struct durations *d, uid_t uid, uint32_t tag)
{
    const struct known_name *name = find_name(d, uid, tag);

    return name ? &name->times : NULL;
}

const struct sketch *durations_of_user(const struct durations *d, uid_t uid)
{
    const struct known_user *u = find_user(d, uid);

    return u ? &u->all : NULL;
}

void durations_fini(struct durations *d)
{
    struct hash_cursor at = {.next = NULL};

    for (struct hash_node *n; (n = hash_table_each(&d->users, &at));) {
        struct known_user *u = list_thing(n, struct known_user, hash);

        for (struct known_name *name; (name = first_of(u));) {
            take_out(d, name);
            free(name);
        }
        free(u);
    }
    hash_table_fini(&d->users);
    hash_table_fini(&d->names);
}
