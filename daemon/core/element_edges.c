/* See element_edges.h. */
#include "daemon/core/element_edges.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/admit/condition.h"

struct past_elements *past_elements_new(uint64_t total, uint64_t n)
{
    struct past_elements *p = malloc(sizeof(*p) + n);

    if (!p)
        return NULL;
    p->total = total;
    p->n = n;
    memset(p->of, JOB_RESULT_LOST << 1, n);
    return p;
}

struct past_elements *past_elements_copy(const struct past_elements *p)
{
    struct past_elements *copy = past_elements_new(p->total, p->n);

    if (copy)
        memcpy(copy->of, p->of, p->n);
    return copy;
}

struct each *each_new(uint64_t total, size_t nedges)
{
    struct each *e = calloc(1, sizeof(*e) + nedges * sizeof(e->edges[0]));

    if (!e)
        return NULL;
    e->is_ready = calloc(BITS_WORDS(total), sizeof(*e->is_ready));
    e->unmet = calloc(total, sizeof(*e->unmet));
    for (; e->nedges < nedges; e->nedges++) {
        e->edges[e->nedges].due = calloc(BITS_WORDS(total), sizeof(uint64_t));
        e->edges[e->nedges].open = calloc(BITS_WORDS(total), sizeof(uint64_t));
    }
    e->home = e->made = condition_elements_new();
    bool full = e->is_ready && e->unmet && e->home;
    for (size_t i = 0; i < nedges; i++)
        full &= e->edges[i].due && e->edges[i].open;
    if (full)
        return e;
    each_free(e);
    return NULL;
}

void each_free(struct each *e)
{
    for (size_t i = 0; e && i < e->nedges; i++) {
        free(e->edges[i].due);
        free(e->edges[i].open);
        free(e->edges[i].past);
    }
    if (e) {
        condition_elements_free(e->home, e->made);
        free(e->is_ready);
        free(e->unmet);
    }
    free(e);
}
