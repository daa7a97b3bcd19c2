/* The commit log of the SQLite backend: packs facts into entries of groups, which the
 * writer takes. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/store/sqlite_store.h"

/* Appends an entry, which it takes, also on error. */
static int enter(struct sqlite_store *s, struct group_entry *entry,
                 struct store_commit *c)
{
    int r = groups_append(&s->groups, entry, c);

    if (r < 0)
        free(entry);
    return r;
}

static int enter_packed(struct sqlite_store *s, struct entry_packing *e,
                        struct store_commit *c)
{
    struct group_entry *entry = entry_end(e);

    return entry ? enter(s, entry, c) : -ENOMEM;
}

static int log_append(struct store *store, const struct store_fact *facts, size_t n,
                      struct store_commit *commit)
{
    struct sqlite_store *s = sqlite_of(store);
    struct entry_packing e;

    if (!n)
        return enter(s, NULL, commit); /* a barrier */
    entry_begin(&e, s->life.number);
    entry_add(&e, facts, n);
    return enter_packed(s, &e, commit);
}

struct sqlite_draft {
    struct store_draft draft;
    struct entry_packing e;
};

static struct store_draft *log_draft(struct store *store)
{
    struct sqlite_draft *d = malloc(sizeof(*d));

    if (!d)
        return NULL;
    d->draft.store = store;
    entry_begin(&d->e, sqlite_of(store)->life.number);
    return &d->draft;
}

static struct sqlite_draft *draft_of(struct store_draft *d)
{
    return (struct sqlite_draft *)d;
}

static void log_draft_add(struct store_draft *d, const struct store_fact *facts, size_t n)
{
    entry_add(&draft_of(d)->e, facts, n);
}

static int log_draft_append(struct store_draft *d, struct store_commit *commit)
{
    int r = enter_packed(sqlite_of(d->store), &draft_of(d)->e, commit);

    free(d);
    return r;
}

static void log_draft_free(struct store_draft *d)
{
    free(entry_end(&draft_of(d)->e));
    free(d);
}

int sqlite_append_forget(struct store *store, const uint64_t *ids, size_t n,
                         struct store_commit *commit)
{
    struct sqlite_store *s = sqlite_of(store);
    struct entry_packing e;

    entry_begin(&e, s->life.number);
    entry_add_forget(&e, ids, n);
    return enter_packed(s, &e, commit);
}

static void log_kick(struct store *s, bool patient)
{
    groups_kick(&sqlite_of(s)->groups, patient);
}

static enum volt_poll log_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    return groups_commit_poll(cx, &sqlite_of(c->store)->groups, c);
}

static void log_commit_fini(struct store_commit *c)
{
    groups_commit_fini(&sqlite_of(c->store)->groups, c);
}

static void log_subscribe(struct store *s, store_news_fn *fn, void *arg)
{
    sqlite_of(s)->told = fn;
    sqlite_of(s)->told_arg = arg;
}

static void log_numbers(struct store *s, uint64_t *ret_first, uint64_t *ret_last)
{
    *ret_first = sqlite_of(s)->sums.first;
    *ret_last = sqlite_of(s)->sums.seq - 1;
}

static void log_health(struct store *s, struct store_health *ret)
{
    groups_health(&sqlite_of(s)->groups, ret);
}

const struct store_log_ops sqlite_log = {
    .append = log_append,
    .draft = log_draft,
    .draft_add = log_draft_add,
    .draft_append = log_draft_append,
    .draft_free = log_draft_free,
    .kick = log_kick,
    .commit_poll = log_commit_poll,
    .commit_fini = log_commit_fini,
    .subscribe = log_subscribe,
    .numbers = log_numbers,
    .health = log_health,
};
