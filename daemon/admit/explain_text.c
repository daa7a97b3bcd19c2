/* See explain.h: the texts of reasons. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/admit/explain.h"
#include "daemon/admit/state.h"
#include "wire/duration.h"

/* --- resources ---------------------------------------------------------------------- */

static const char *holds(const struct reason *r)
{
    if (resource_counts(r->resource))
        return "";
    return r->exclusive ? ", wanted exclusive" : ", wanted shared";
}

/* Writes the name of a holder: a job, or the process of a lease. */
static void holder_name(const struct reason *r, char *ret, size_t size)
{
    char id[JOB_KEY_TEXT_MAX];

    if (r->is_lease) {
        (void)snprintf(ret, size, "volt-lock (pid %d)", (int)r->holder_pid);
        return;
    }
    (void)job_key_format_job(&r->holder, id);
    (void)snprintf(ret, size, "%sjob %s", r->is_left_behind ? "what is left of " : "",
                   id);
}

/* Writes who holds the lock. */
static void holder_text(const struct reason *r, char *ret, size_t size)
{
    char name[JOB_KEY_TEXT_MAX + 24], span[32], more[48] = "", others[48] = "";

    if (r->others)
        (void)snprintf(others, sizeof(others), " (%" PRIu64 " of others)", r->others);
    if (!r->holder.id) {
        (void)snprintf(ret, size, "%" PRIu64 "%s", r->used, others);
        return;
    }
    if (r->used > 1)
        (void)snprintf(more, sizeof(more), ", and by %" PRIu64 " more", r->used - 1);
    holder_name(r, name, sizeof(name));
    duration_format(r->held_usec, span, sizeof(span));
    (void)snprintf(ret, size, "%s for %s%s%s", name, span, more, others);
}

static int lock_text(const struct reason *r, char *ret, size_t size)
{
    const char *kind = r->resource->kind->name, *name = named_name(r->resource);
    char by[REASON_TEXT];

    if (r->is_left)
        return snprintf(ret, size, "%s %s: left to what is in front", kind, name);
    if (resource_counts(r->resource))
        return snprintf(ret, size,
                        "%s %s: %" PRIu64 " of %" PRIu64 " in use (%" PRIu64
                        " by others), %" PRIu64 " wanted",
                        kind, name, r->used, r->capacity, r->others, r->wanted);
    holder_text(r, by, sizeof(by));
    return snprintf(ret, size, "%s %s: held by %s%s", kind, name, by, holds(r));
}

static int rate_text(const struct reason *r, char *ret, size_t size)
{
    const char *name = named_name(r->resource);
    char span[32];

    if (r->is_left)
        return snprintf(ret, size, "rate %s: left to what is in front", name);
    duration_format(r->usec, span, sizeof(span));
    return snprintf(ret, size,
                    "rate %s: %" PRIu64 " of %" PRIu64 " tokens left, %" PRIu64
                    " wanted; enough in %s",
                    name, r->capacity - r->used, r->capacity, r->wanted, span);
}

static int resource_text(const struct reason *r, char *ret, size_t size)
{
    const char *kind = r->resource->kind->name, *name = named_name(r->resource);

    switch (r->kind) {
    case REASON_IMPOSSIBLE:
        return snprintf(ret, size, "impossible: %s %s: %" PRIu64 " wanted of %" PRIu64,
                        kind, name, r->wanted, r->capacity);
    case REASON_RATE:
        return rate_text(r, ret, size);
    default:
        return lock_text(r, ret, size);
    }
}

static int slots_text(const struct reason *r, char *ret, size_t size)
{
    char name[REASON_TEXT] = "";

    if (r->queue)
        (void)snprintf(name, sizeof(name), " %s", r->queue);
    switch (r->kind) {
    case REASON_PAUSED:
        return snprintf(ret, size, "queue%s is paused", name);
    case REASON_AWAY:
        return snprintf(ret, size, "nothing is there that runs jobs of its user");
    case REASON_QUEUE:
        return snprintf(ret, size,
                        "queue%s has %" PRIu64 " of its %" PRIu64 " slots (%" PRIu64
                        " by others)",
                        name, r->used, r->capacity, r->others);
    case REASON_USER:
        return snprintf(ret, size,
                        "user has %" PRIu64 " of %" PRIu64 " slots in its queue%s", r->used,
                        r->capacity, name);
    case REASON_USER_ALL:
        return snprintf(ret, size,
                        "user has %" PRIu64 " of %" PRIu64
                        " slots over all queues (MaxRunningPerUser=)",
                        r->used, r->capacity);
    case REASON_ARRAY:
        return snprintf(ret, size,
                        "array runs %" PRIu64 " of %" PRIu64 " elements at once", r->used,
                        r->capacity);
    case REASON_KEPT:
        return snprintf(ret, size,
                        "%" PRIu64 " of %" PRIu64
                        " slots in use, and the others are kept for other queues",
                        r->used, r->capacity);
    case REASON_SLOTS:
        return snprintf(ret, size,
                        "%" PRIu64 " of %" PRIu64 " slots in use (%" PRIu64 " by others)",
                        r->used, r->capacity, r->others);
    default:
        return snprintf(ret, size, "starts soon");
    }
}

/* --- all ---------------------------------------------------------------------------- */

/* Returns where the next part begins, after a part of n characters that may have been
 * cut. */
static size_t behind(size_t at, int n, size_t size)
{
    return n > 0 && (size_t)n < size - at ? at + (size_t)n : size - 1;
}

void explain_text(const struct reason *r, const struct admission_times *now, char *ret,
                  size_t size)
{
    int n = r->kind == REASON_CONDITION
                ? r->condition->kind->explain(r->condition, now, ret, size)
            : r->resource ? resource_text(r, ret, size)
                          : slots_text(r, ret, size);
    size_t at = behind(0, n, size);

    if (r->in_front) {
        n = snprintf(ret + at, size - at, "; %" PRIu64 "%s in front", r->in_front,
                     r->in_front >= ADMISSION_EXACT ? " or more" : "");
        at = behind(at, n, size);
    }
    if (r->reserved)
        (void)snprintf(ret + at, size - at, "; reserved");
}
