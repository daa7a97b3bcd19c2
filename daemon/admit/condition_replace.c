/* The condition `replace`: the waiter took the key of a job that may still have
 * processes, and must not run beside them. An index leads from that job to its
 * waiters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/admit/state.h"

struct replace {
    struct condition condition;
    struct hash_node node; /* in admission.replaced */
    uint64_t predecessor;
};

static struct replace *replace_of_node(struct hash_node *n)
{
    return list_thing(n, struct replace, node);
}

static void replace_free(struct admission *a, struct condition *c)
{
    struct replace *r = (struct replace *)(void *)c;

    hash_table_remove(&a->replaced, &r->node);
    free(r);
}

static int replace_explain(const struct condition *c, const struct admission_times *now,
                           char *ret, size_t size)
{
    (void)now;
    return snprintf(ret, size, "until job %" PRIu64 ", which it replaces, is gone",
                    ((const struct replace *)(const void *)c)->predecessor);
}

const struct condition_kind condition_replace = {
    .name = "replace",
    .wait = JOB_WAIT_REPLACE,
    .free = replace_free,
    .explain = replace_explain,
};

int condition_replace_add(struct admission *a, struct waiter *w, uint64_t predecessor)
{
    struct replace *r = hash_table_reserve(&a->replaced) == 0 ? malloc(sizeof(*r)) : NULL;

    if (!r)
        return -ENOMEM;
    *r = (struct replace){.condition.kind = &condition_replace,
                          .predecessor = predecessor};
    hash_table_add(&a->replaced, &r->node, siphash64_number(&a->secret, predecessor));
    condition_add(a, w, &r->condition);
    return 0;
}

static struct replace *find(struct admission *a, uint64_t predecessor)
{
    struct hash_node *n =
        hash_table_first(&a->replaced, siphash64_number(&a->secret, predecessor));

    while (n && replace_of_node(n)->predecessor != predecessor)
        n = hash_node_next(n);
    return n ? replace_of_node(n) : NULL;
}

void condition_replace_gone(struct admission *a, uint64_t predecessor, uint64_t now)
{
    for (struct replace *r; (r = find(a, predecessor));)
        condition_met(a, &r->condition, now);
}

uint64_t condition_replace_of(const struct waiter *w)
{
    const struct condition *c = condition_find(w, &condition_replace);

    return c ? ((const struct replace *)(const void *)c)->predecessor : 0;
}
