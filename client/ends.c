/* See ends.h. */
#include "client/ends.h"
#include "client/job_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ends_add(struct ends *e, const json_t *job)
{
    const json_t *counts = json_object_get(job, "counts");
    const char *result = job_view_string(job, "result");
    const bool cancelled = strcmp(result, "cancelled") == 0;
    if (json_is_object(counts)) {
        e->total += (uint64_t)job_view_int(counts, "total");
        e->failed += (uint64_t)job_view_int(counts, "failed");
        e->cancelled += (uint64_t)job_view_int(counts, "cancelled");
        return;
    }
    e->total++;
    e->cancelled += cancelled;
    e->failed += !cancelled && strcmp(result, "success") != 0;
}

void ends_format(const struct ends *e, char *buf, size_t size)
{
    int n = snprintf(buf, size,
                     "%" PRIu64 " job%s ended: %" PRIu64 " succeeded, %" PRIu64 " failed",
                     e->total, e->total == 1 ? "" : "s",
                     e->total - e->failed - e->cancelled - e->unknown, e->failed);
    if (e->cancelled > 0 && n > 0 && (size_t)n < size)
        (void)snprintf(buf + n, size - (size_t)n, ", %" PRIu64 " cancelled", e->cancelled);
}
