/* The commit log of the SQLite backend: entries into groups, which the writer takes. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/store/sqlite_store.h"

/* Takes entry. */
static int enter(struct sqlite_store *s, struct group_entry *entry,
                 struct store_commit *c)
{
    int r = groups_append(&s->groups, entry, c);

    if (r < 0)
        free(entry);
    return r;
}

static int log_append(struct store *store, const struct store_fact *facts, size_t n,
                      store_fill_fn *fill, void *arg, struct store_commit *commit)
{
    struct sqlite_store *s = sqlite_of(store);
    struct store_fact window[STORE_FILL_MAX];
    struct entry_packing e;

    if (!n && !fill)
        return enter(s, NULL, commit); /* a barrier */
    entry_begin(&e, s->life.number);
    entry_add(&e, facts, n);
    while (fill && (n = fill(arg, window, STORE_FILL_MAX)) > 0)
        entry_add(&e, window, n);
    struct group_entry *entry = entry_end(&e);
    return entry ? enter(s, entry, commit) : -ENOMEM;
}

int sqlite_append_forget(struct store *store, const uint64_t *ids, size_t n,
                         struct store_commit *commit)
{
    struct sqlite_store *s = sqlite_of(store);
    struct entry_packing e;

    entry_begin(&e, s->life.number);
    entry_add_forget(&e, ids, n);
    struct group_entry *entry = entry_end(&e);
    return entry ? enter(s, entry, commit) : -ENOMEM;
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
    .durable = true,
    .append = log_append,
    .kick = log_kick,
    .commit_poll = log_commit_poll,
    .commit_fini = log_commit_fini,
    .subscribe = log_subscribe,
    .numbers = log_numbers,
    .health = log_health,
};
