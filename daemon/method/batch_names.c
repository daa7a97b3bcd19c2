/* See batch_names.h. The specs are visited depth first, each after those that it waits
 * for. No recursion: each place notes from which place it was reached. */
#include "daemon/method/batch_names.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/spec.h"

#define NO_ITEM     SIZE_MAX
#define CYCLE_NAMES 8 /* of a cycle that the error shows */

struct name {
    struct hash_node node;
    char *text;
    size_t item;
};

struct batch_place {
    enum { PLACE_NEW = 0, PLACE_OPEN, PLACE_SORTED } is;
    uint32_t edge; /* next of its `after` */
    size_t waiter; /* OPEN: the item that led here; SORTED: the place */
};

static struct name *name_of_node(struct hash_node *n)
{
    return (struct name *)(void *)n; /* first member */
}

static uint64_t hash(const struct batch_names *n, const char *text)
{
    return siphash64(&n->secret, text, strlen(text));
}

static struct name *find(const struct batch_names *n, const char *text)
{
    struct hash_node *node = hash_table_first(&n->table, hash(n, text));

    while (node && strcmp(name_of_node(node)->text, text) != 0)
        node = hash_node_next(node);
    return node ? name_of_node(node) : NULL;
}

static int add(struct batch_names *n, char *text, size_t item)
{
    struct name *name = malloc(sizeof(*name));

    if (!name || hash_table_reserve(&n->table) < 0) {
        free(name);
        return -ENOMEM;
    }
    name->text = text;
    name->item = item;
    hash_table_add(&n->table, &name->node, hash(n, text));
    return 0;
}

int batch_names_take(struct batch_names *n, struct job_spec *spec, size_t item)
{
    if (!spec->local && !job_spec_local_edge(spec))
        return 0;
    if (!n->used && siphash_key_random(&n->secret) < 0)
        return -ENOMEM;
    n->used = true;
    if (!spec->local)
        return 0;
    if (find(n, spec->local))
        return -EEXIST;
    int r = add(n, spec->local, item);
    if (r == 0)
        spec->local = NULL;
    return r;
}

/* --- the order ---------------------------------------------------------------------- */

static int begin(struct batch_names *n, size_t nitems)
{
    n->places = calloc(nitems + 1, sizeof(*n->places));
    n->sorted = calloc(nitems + 1, sizeof(*n->sorted));
    n->at = NO_ITEM;
    return n->places && n->sorted ? 0 : -ENOMEM;
}

static void open_place(struct batch_names *n, size_t item, size_t waiter)
{
    n->places[item].is = PLACE_OPEN;
    n->places[item].waiter = waiter;
    n->at = item;
}

/* Appends the item: all that it waits for is sorted. */
static void close_place(struct batch_names *n, const struct jobs_submit_item *items)
{
    struct batch_place *p = &n->places[n->at];
    const struct jobs_submit_item *item = &items[n->at];

    for (size_t i = 0; i < item->spec->nafter; i++) {
        struct job_edge *edge = &item->spec->after[i];

        if (!edge->local)
            continue;
        edge->item = n->places[edge->item - 1].waiter + 1;
        free(edge->local);
        edge->local = NULL;
    }
    n->sorted[n->nsorted] = *item;
    n->at = p->waiter;
    p->is = PLACE_SORTED;
    p->waiter = n->nsorted++;
}

static void append(struct field_error *err, const char *before, const char *text)
{
    const size_t len = strlen(err->reason);

    (void)snprintf(err->reason + len, sizeof(err->reason) - len, "%s%.20s", before, text);
}

/* Refuses a cycle: the item `first` waits for n->at through the places that led here. */
static int refuse_cycle(const struct batch_names *n, const struct jobs_submit_item *items,
                        const struct name *first, struct field_error *err)
{
    size_t told = 1, at = n->at;

    (void)field_fail(err, "after", "jobs that wait for each other: ");
    append(err, "", first->text);
    for (; at != first->item && told < CYCLE_NAMES; told++) {
        const size_t waiter = n->places[at].waiter;

        append(err, " -> ", items[waiter].spec->after[n->places[waiter].edge - 1].local);
        at = waiter;
    }
    if (at != first->item)
        append(err, " -> ", "...");
    append(err, " -> ", first->text);
    return -EINVAL;
}

/* Looks at the next antecedent of n->at. */
static int look(struct batch_names *n, const struct jobs_submit_item *items,
                struct field_error *err)
{
    struct batch_place *p = &n->places[n->at];
    struct job_edge *edge = &items[n->at].spec->after[p->edge++];

    if (!edge->local)
        return 0;
    const struct name *name = find(n, edge->local);
    if (!name)
        return field_fail(err, "after", "\"%.100s\" is the local name of no job here",
                          edge->local);
    edge->item = name->item + 1;
    if (n->places[name->item].is == PLACE_OPEN)
        return refuse_cycle(n, items, name, err);
    if (n->places[name->item].is == PLACE_NEW)
        open_place(n, name->item, n->at);
    return 0;
}

int batch_names_sort(struct batch_names *n, const struct jobs_submit_item *items,
                     size_t nitems, struct quota *quota, struct field_error *err)
{
    quota_charge(quota, 1, 0, 0);
    if (!n->places && begin(n, nitems) < 0)
        return -ENOMEM;
    if (n->at == NO_ITEM && n->first == nitems)
        return 1;
    if (n->at == NO_ITEM) {
        if (n->places[n->first].is == PLACE_NEW)
            open_place(n, n->first, NO_ITEM);
        n->first++;
        return 0;
    }
    const size_t nafter = items[n->at].spec->nafter;
    if (n->places[n->at].edge < nafter)
        return look(n, items, err);
    quota_charge(quota, nafter, 0, 0);
    close_place(n, items);
    return 0;
}

struct jobs_submit_item *batch_names_sorted(struct batch_names *n)
{
    struct jobs_submit_item *sorted = n->sorted;

    n->sorted = NULL;
    return sorted;
}

size_t batch_names_place(const struct batch_names *n, size_t item)
{
    return n->places ? n->places[item].waiter : item;
}

void batch_names_fini(struct batch_names *n)
{
    struct hash_cursor c = {0};

    for (struct hash_node *node; (node = hash_table_each(&n->table, &c));) {
        struct name *name = name_of_node(node);

        free(name->text);
        free(name);
    }
    hash_table_fini(&n->table);
    free(n->places);
    free(n->sorted);
}
