/* The memory backend: the manager's table is all there is, so a fact is kept as soon as
 * the manager has applied it, and there is nothing to load. */
#include <stdlib.h>

#include "daemon/store/store.h"

static int memory_append(struct store *s, const struct store_fact *facts, size_t n,
                         struct store_commit *commit)
{
    (void)s;
    (void)facts;
    (void)n;
    (void)commit; /* its status is 0 */
    return 0;
}

static void memory_kick(struct store *s)
{
    (void)s;
}

static enum volt_poll memory_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    (void)cx;
    (void)c;
    return VOLT_READY;
}

static void memory_commit_fini(struct store_commit *c)
{
    (void)c;
}

static int memory_load(struct store *s, store_load_fn *fn, void *arg,
                       struct volt_error *err)
{
    (void)s;
    (void)fn;
    (void)arg;
    (void)err;
    return 0;
}

static void memory_health(struct store *s, struct store_health *ret)
{
    (void)s;
    *ret = (struct store_health){0};
}

static void memory_retain(struct store *s, const struct store_retention *retention)
{
    (void)s;
    (void)retention;
}

static void memory_free(struct store *s)
{
    free(s);
}

static const struct store_backend memory_backend = {
    .name = "memory",
    .durable = false,
    .append = memory_append,
    .kick = memory_kick,
    .commit_poll = memory_commit_poll,
    .commit_fini = memory_commit_fini,
    .load = memory_load,
    .health = memory_health,
    .retain = memory_retain,
    .free = memory_free,
};

struct store *store_memory_new(void)
{
    struct store *s = malloc(sizeof(*s));

    if (s)
        s->backend = &memory_backend;
    return s;
}
