#include "daemon/core/tombstones.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of the first range that ends at or after id, or n. */
static size_t lower_bound(const struct tombstones *p, uint64_t id)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (p->range[mid].last < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct tombstone *tombstones_find(const struct tombstones *p, uint64_t id)
{
    size_t i = lower_bound(p, id);

    return i < p->n && p->range[i].first <= id ? &p->range[i] : NULL;
}

static bool alike(const struct tombstone *r, uid_t uid, const struct job_end *end)
{
    return r->uid == uid && r->end.result == end->result && r->end.code == end->code &&
           r->end.code_is == end->code_is && r->end.exit_code == end->exit_code;
}

static void later(struct tombstone *r, uint64_t usec)
{
    if (r->ended_usec < usec)
        r->ended_usec = usec;
}

/* Removes the range at i. */
static void take_out(struct tombstones *p, size_t i)
{
    p->n--;
    memmove(&p->range[i], &p->range[i + 1], (p->n - i) * sizeof(*p->range));
}

static bool make_room(struct tombstones *p)
{
    if (p->n == TOMBSTONES_MAX) {
        p->n -= TOMBSTONES_MAX / 4;
        memmove(p->range, p->range + TOMBSTONES_MAX / 4, p->n * sizeof(*p->range));
    }
    if (p->n < p->capacity)
        return true;
    size_t capacity = p->capacity ? p->capacity * 2 : 64;
    struct tombstone *grown = reallocarray(p->range, capacity, sizeof(*grown));
    if (!grown)
        return false;
    p->range = grown;
    p->capacity = capacity;
    return true;
}

void tombstones_add(struct tombstones *p, uint64_t id, uid_t uid,
                    const struct job_status *st)
{
    const struct job_end end = job_end_of(st);
    size_t i = lower_bound(p, id);
    struct tombstone *before = i > 0 ? &p->range[i - 1] : NULL;
    struct tombstone *behind = i < p->n ? &p->range[i] : NULL;
    bool joins_before = before && before->last + 1 == id && alike(before, uid, &end);
    bool joins_behind = behind && behind->first == id + 1 && alike(behind, uid, &end);

    if (joins_before) {
        before->last = joins_behind ? behind->last : id;
        later(before, st->ended_usec);
        if (joins_behind) {
            later(before, behind->ended_usec);
            take_out(p, i);
        }
    } else if (joins_behind) {
        behind->first = id;
        later(behind, st->ended_usec);
    } else if (make_room(p)) {
        i = lower_bound(p, id); /* make_room() may have removed the lowest ranges */
        memmove(&p->range[i + 1], &p->range[i], (p->n - i) * sizeof(*p->range));
        p->n++;
        p->range[i] = (struct tombstone){.first = id,
                                         .last = id,
                                         .ended_usec = st->ended_usec,
                                         .uid = uid,
                                         .end = end};
    }
}

void tombstones_remove(struct tombstones *p, uint64_t id)
{
    size_t i = lower_bound(p, id);

    if (i == p->n || p->range[i].first > id)
        return;
    struct tombstone *r = &p->range[i];
    if (r->first == id && r->last == id) {
        take_out(p, i);
    } else if (r->first == id) {
        r->first++;
    } else if (r->last == id) {
        r->last--;
    } else if (make_room(p)) { /* may have removed the lowest ranges */
        i = lower_bound(p, id);
        if (i == p->n || p->range[i].first > id)
            return;
        memmove(&p->range[i + 1], &p->range[i], (p->n - i) * sizeof(*p->range));
        p->n++;
        p->range[i].last = id - 1;
        p->range[i + 1].first = id + 1;
    }
}

void tombstones_fini(struct tombstones *p)
{
    free(p->range);
    *p = (struct tombstones){0};
}
