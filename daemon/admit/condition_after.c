/* The condition `after`: an edge from a job to another one that it waits for.
 *
 * An index has the antecedents: what is known of each, the edges that its start meets,
 * and the edges that its end decides. Many edges may have one antecedent, so an edge
 * leaves in O(1), and decided edges are taken out in portions. An edge counts only when
 * its waiter has entered. If its antecedent starts or ends before that, the index notes
 * it. The caller reports the end of a waiter to its own dependents in the same way, so a
 * long chain is no deep recursion. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/admit/state.h"
#include "daemon/job/spec.h"

struct antecedent {
    struct hash_node node; /* in admission.antecedents */
    uint64_t id;
    uint64_t edges;           /* all edges, also those not entered or doomed, and marks */
    uint64_t marks;           /* of condition_after_await() */
    struct list starts, ends; /* edges that have entered */
    struct list_node decided; /* in admission.decided, if is_listed */
    bool is_listed;
    bool started;
    enum job_result result; /* NONE: it has not ended */
};

struct edge {
    struct condition condition;
    struct antecedent *antecedent;
    struct list_node node; /* in a list of the antecedent, if entered */
    struct doom doom;      /* its reason, and the antecedent's id */
    enum job_after after;
    bool entered, doomed;
};

_Static_assert(sizeof(struct edge) <= JOB_EDGE_BYTES, "what the job is charged for");

#define antecedent_of_node(n) list_thing(n, struct antecedent, node)
#define edge_of_node(n)       list_thing(n, struct edge, node)

static struct edge *edge_of(const struct condition *c)
{
    return (struct edge *)(uintptr_t)c; /* `condition` is the first member */
}

/* --- the index ---------------------------------------------------------------------- */

static struct antecedent *find(const struct admission *a, uint64_t id)
{
    struct hash_node *n =
        hash_table_first(&a->antecedents, siphash64_number(&a->secret, id));

    while (n && antecedent_of_node(n)->id != id)
        n = hash_node_next(n);
    return n ? antecedent_of_node(n) : NULL;
}

static struct antecedent *get(struct admission *a, uint64_t id)
{
    struct antecedent *x = find(a, id);

    if (x || hash_table_reserve(&a->antecedents) < 0 || !(x = calloc(1, sizeof(*x))))
        return x;
    x->id = id;
    hash_table_add(&a->antecedents, &x->node, siphash64_number(&a->secret, id));
    return x;
}

/* Moves the antecedent to the end of the list, so that antecedents take turns. */
static void to_the_end(struct admission *a, struct antecedent *x)
{
    list_remove(&a->decided, &x->decided);
    list_add_last(&a->decided, &x->decided);
}

/* Returns the next edge that the antecedent decides; NULL: none. */
static struct edge *next_decided(const struct antecedent *x)
{
    if (x->starts.first && (x->started || x->result))
        return edge_of_node(x->starts.first);
    return x->ends.first && x->result ? edge_of_node(x->ends.first) : NULL;
}

static void relist(struct admission *a, struct antecedent *x)
{
    const bool has = next_decided(x);

    if (has && !x->is_listed)
        list_add_last(&a->decided, &x->decided);
    else if (!has && x->is_listed)
        list_remove(&a->decided, &x->decided);
    x->is_listed = has;
}

static struct list *list_of(struct antecedent *x, enum job_after after)
{
    return after == JOB_AFTER_START ? &x->starts : &x->ends;
}

static void leave_list(struct admission *a, struct edge *e)
{
    list_remove(list_of(e->antecedent, e->after), &e->node);
    relist(a, e->antecedent);
}

static void put(struct admission *a, struct antecedent *x)
{
    if (--x->edges > 0)
        return;
    hash_table_remove(&a->antecedents, &x->node);
    free(x);
}

int condition_after_await(struct admission *a, uint64_t antecedent)
{
    struct antecedent *x = get(a, antecedent);

    if (!x)
        return -ENOMEM;
    x->edges++;
    x->marks++;
    return 0;
}

void condition_after_await_no_more(struct admission *a, uint64_t antecedent)
{
    struct antecedent *x = find(a, antecedent);

    x->marks--;
    put(a, x);
}

bool condition_after_is_marked(const struct admission *a, uint64_t antecedent)
{
    const struct antecedent *x = find(a, antecedent);

    return x && x->marks;
}

void condition_after_fini(struct admission *a)
{
    struct hash_cursor c = {0};

    for (struct hash_node *n; (n = hash_table_each(&a->antecedents, &c));)
        free(antecedent_of_node(n));
    hash_table_fini(&a->antecedents);
}

bool condition_after_is_awaited(const struct admission *a, uint64_t antecedent)
{
    return find(a, antecedent);
}

/* --- edges -------------------------------------------------------------------------- */

static void edge_free(struct admission *a, struct condition *c)
{
    struct edge *e = edge_of(c);

    if (e->doomed)
        doom_remove(a, &e->doom);
    else if (e->entered)
        leave_list(a, e);
    put(a, e->antecedent);
    free(e);
}

static const char *const what[] = {
    [JOB_AFTER_OK] = "succeeds",
    [JOB_AFTER_NOTOK] = "fails",
    [JOB_AFTER_ANY] = "ends",
    [JOB_AFTER_START] = "runs",
};

int condition_after_text(uint64_t antecedent, enum job_after when, bool each, char *ret,
                         size_t size)
{
    return snprintf(ret, size, "until %s of job %" PRIu64 " %s",
                   each ? "the same element, for each," : "the same element", antecedent,
                   what[when]);
}

static int edge_explain(const struct condition *c, const struct admission_times *now,
                        char *ret, size_t size)
{
    const struct edge *e = edge_of(c);

    (void)now;
    return snprintf(ret, size,
                    e->doomed ? "job %" PRIu64 " never %s" : "until job %" PRIu64 " %s",
                    e->doom.antecedent, what[e->after]);
}

const struct condition_kind condition_after = {
    .name = "after",
    .wait = JOB_WAIT_DEPENDENCY,
    .free = edge_free,
    .explain = edge_explain,
    .many = true,
};

int condition_after_add(struct admission *a, struct waiter *w, uint64_t antecedent,
                        enum job_after after)
{
    struct edge *e = malloc(sizeof(*e));
    struct antecedent *x = e ? get(a, antecedent) : NULL;

    if (!x) {
        free(e);
        return -ENOMEM;
    }
    *e = (struct edge){.condition.kind = &condition_after,
                       .antecedent = x,
                       .doom = {.reason = DOOM_DEPENDENCY, .antecedent = antecedent},
                       .after = after};
    x->edges++;
    condition_add(a, w, &e->condition);
    return 0;
}

void condition_after_enter(struct admission *a, struct waiter *w)
{
    for (struct condition *c = condition_first(w); c; c = c->next) {
        struct edge *e = edge_of(c);

        if (c->kind != &condition_after || e->entered)
            continue;
        e->entered = true;
        e->doom.waiter = w;
        list_add_last(list_of(e->antecedent, e->after), &e->node);
        relist(a, e->antecedent);
    }
}

uint64_t condition_after_of(const struct condition *c, enum job_after *ret_when)
{
    *ret_when = edge_of(c)->after;
    return edge_of(c)->doom.antecedent;
}

uint64_t condition_after_only(const struct waiter *w, enum job_after *ret_when)
{
    const struct condition *c = condition_first(w);

    while (c && c->kind != &condition_after && c->kind->wait != JOB_WAIT_DEPENDENCY)
        c = c->next;
    return c && c->kind == &condition_after && !c->next ? condition_after_of(c, ret_when)
                                                        : 0;
}

/* --- what happens to antecedents ---------------------------------------------------- */

void condition_after_started(struct admission *a, uint64_t antecedent)
{
    struct antecedent *x = a->antecedents.count ? find(a, antecedent) : NULL;

    if (!x)
        return;
    x->started = true;
    relist(a, x);
}

void condition_after_ended(struct admission *a, uint64_t antecedent,
                           enum job_result result)
{
    struct antecedent *x = a->antecedents.count ? find(a, antecedent) : NULL;

    if (!x)
        return;
    x->result = result;
    relist(a, x);
}

bool condition_after_is_due(const struct admission *a)
{
    return a->decided.first;
}

struct condition *condition_after_due(struct admission *a, unsigned *budget)
{
    while (a->decided.first && *budget > 0) {
        struct antecedent *x = list_thing(a->decided.first, struct antecedent, decided);
        struct edge *e = next_decided(x);

        --*budget;
        to_the_end(a, x);
        if (job_after_is_met(e->after, x->started, x->result))
            return &e->condition;
        e->doom.result = x->result;
        leave_list(a, e);
        e->doomed = true;
        doom_add(a, &e->doom);
    }
    return NULL;
}
