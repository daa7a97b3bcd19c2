/* See sqlite_entry.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/job/event.h"
#include "daemon/store/sqlite_entry.h"

static void pack_bytes(struct pack *p, const struct pack *part)
{
    pack_number(p, part->n);
    pack_raw(p, part->bytes, part->n);
    p->failed |= part->failed;
}

/* Packs a submission; `spec` is scratch. */
static void pack_submit(struct pack *p, const struct store_fact_submit *f,
                        struct spec_pack *spec)
{
    pack_clear(&spec->own);
    pack_clear(&spec->env);
    pack_clear(&spec->argv);
    p->failed |= job_spec_pack(f->spec, spec) < 0;
    pack_number(p, ENTRY_JOB);
    pack_number(p, f->id);
    pack_number(p, f->uid);
    pack_number(p, f->gid);
    pack_number(p, f->at_usec);
    pack_bytes(p, &spec->own);
    pack_bytes(p, &spec->env);
    pack_bytes(p, &spec->argv);
}

static void pack_news(struct pack *p, const struct store_fact *f)
{
    struct job_news news;

    if (!store_fact_news(f, &news))
        return;
    pack_number(p, ENTRY_NEWS);
    pack_raw(p, &news, sizeof(news));
}

static bool are_of_one(const struct store_fact *a, const struct store_fact *b)
{
    return b->type == STORE_EVENT && a->event.key.id == b->event.key.id &&
           a->event.key.index == b->event.key.index;
}

/* Packs the events from i on that belong into one row. Returns the index after them. */
static size_t pack_events(struct pack *p, const struct store_fact *facts, size_t i,
                          size_t n, uint64_t life, struct pack *events)
{
    const struct job_key *key = &facts[i].event.key;
    size_t first = i;

    pack_clear(events);
    do
        job_event_pack(events, facts[i].event.event, life);
    while (++i < n && are_of_one(&facts[first], &facts[i]));
    pack_number(p, ENTRY_EVENT);
    pack_number(p, key->id);
    pack_signed(p, key->index);
    pack_bytes(p, events);
    for (; first < i; first++)
        pack_news(p, &facts[first]);
    return i;
}

static void pack_output(struct pack *p, const struct store_fact_output *f)
{
    for (unsigned i = 0; i < STORE_STREAMS; i++) {
        if (!f->piece[i].n)
            continue;
        pack_number(p, ENTRY_OUTPUT);
        pack_number(p, f->key.id);
        pack_signed(p, f->key.index);
        pack_number(p, i);
        pack_number(p, f->piece[i].n);
        pack_raw(p, f->piece[i].bytes, f->piece[i].n);
    }
}

static void pack_last(struct pack *p, const struct store_fact_last *last, uint64_t count,
                      bool has_news)
{
    pack_number(p, ENTRY_LAST);
    pack_number(p, last->id);
    pack_number(p, last->at_usec);
    pack_number(p, last->uid);
    pack_number(p, count);
    pack_number(p, has_news);
}

static void pack_array_end(struct pack *p, const struct store_fact_array_end *f)
{
    const struct store_fact_last last = {
        .id = f->id, .at_usec = f->at_usec, .uid = f->after.owner};

    pack_last(p, &last, f->count, true);
}

void entry_begin(struct entry_packing *e, uint64_t life)
{
    e->head = (struct entry){.size = 0};
    e->life = life;
    e->p = pack_in(e->room, sizeof(e->room));
    e->part = (struct spec_pack){.own = pack_in(e->own_room, sizeof(e->own_room))};
    pack_raw(&e->p, &e->head, sizeof(e->head));
}

static void pack_queue(struct pack *p, const struct store_fact_queue *q)
{
    pack_number(p, ENTRY_QUEUE);
    pack_string(p, q->name);
    pack_number(p, q->n);
    for (size_t i = 0; i < q->n; i++)
        pack_number(p, q->numbers[i]);
}

void entry_add(struct entry_packing *e, const struct store_fact *facts, size_t n)
{
    struct pack *p = &e->p;

    for (size_t i = 0; i < n;) {
        const struct store_fact *f = &facts[i++];

        switch (f->type) {
        case STORE_SUBMIT:
            pack_submit(p, &f->submit, &e->part);
            e->head.head.submits = true;
            break;
        case STORE_EVENT:
            i = pack_events(p, facts, i - 1, n, e->life, &e->part.own);
            break;
        case STORE_OUTPUT:
            pack_output(p, &f->output);
            break;
        case STORE_LAST:
            pack_last(p, &f->last, 1, false);
            break;
        case STORE_ARRAY_END:
            pack_array_end(p, &f->array_end);
            pack_news(p, f);
            break;
        case STORE_NEWS:
            pack_news(p, f);
            break;
        case STORE_RESOURCE:
            pack_number(p, ENTRY_RESOURCE);
            pack_number(p, f->resource.owner);
            pack_string(p, f->resource.name);
            pack_number(p, f->resource.capacity);
            pack_number(p, f->resource.per_usec);
            pack_number(p, f->resource.full_usec);
            break;
        case STORE_QUEUE:
            pack_queue(p, &f->queue);
            break;
        case STORE_KEY:
            pack_number(p, ENTRY_KEY);
            pack_raw(p, &f->key, sizeof(f->key));
            break;
        }
    }
}

void entry_add_forget(struct entry_packing *e, const uint64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pack_number(&e->p, ENTRY_FORGET);
        pack_number(&e->p, ids[i]);
    }
}

/* Returns the entry at its exact size, as a burst has 200,000 entries. */
static struct group_entry *exact(const struct pack *p)
{
    void *entry = realloc(p->lent ? NULL : p->bytes, p->n);

    if (!p->lent)
        return (struct group_entry *)(entry ? entry : (void *)p->bytes);
    if (entry)
        memcpy(entry, p->bytes, p->n);
    return (struct group_entry *)entry;
}

struct group_entry *entry_end(struct entry_packing *e)
{
    struct pack *p = &e->p;

    spec_pack_fini(&e->part);
    if (p->failed || p->n > UINT32_MAX) {
        pack_fini(p);
        return NULL;
    }
    e->head.size = (uint32_t)(p->n - sizeof(e->head));
    memcpy(p->bytes, &e->head, sizeof(e->head));
    return exact(p);
}
