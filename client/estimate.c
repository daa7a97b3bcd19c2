/* See estimate.h. */
#include "client/estimate.h"
#include "client/job_view.h"
#include "wire/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes a time, rounded to its first number, as it is not known better. */
static const char *about(const json_t *e, const char *field, char *buf, size_t size)
{
    static const uint64_t units[] = {86400000000, 3600000000, 60000000, 1000000, 1000};
    const uint64_t usec = (uint64_t)job_view_int(e, field);
    size_t i = 0;
    while (i < 4 && usec < 2 * units[i])
        i++;
    duration_format((usec + units[i] / 2) / units[i] * units[i], buf, size);
    buf[strcspn(buf, " ")] = '\0';
    return buf;
}

bool estimate_is_due(const json_t *answer)
{
    static const char *const waits[] = {"turn", "slot", "lock", "array", "rate"};
    const json_t *reasons = json_object_get(answer, "reasons");
    const char *wait = job_view_string(json_array_get(reasons, 0), "wait");
    for (size_t i = 0; json_array_size(reasons) == 1 && i < 5; i++)
        if (strcmp(wait, waits[i]) == 0)
            return true;
    return false;
}

bool estimate_text(const json_t *answer, char ret[ESTIMATE_TEXT])
{
    const json_t *e = json_object_get(answer, "estimate");
    const int64_t runs = job_view_int(e, "runs");
    char in[32], least[32], most[32];
    if (!json_is_object(e))
        return false;
    int n = snprintf(ret, ESTIMATE_TEXT, "in about %s",
                     about(e, "in_usec", in, sizeof(in)));
    if (runs > 0)
        (void)snprintf(ret + n, ESTIMATE_TEXT - (size_t)n,
                       " (%s to %s, from %" PRId64 " earlier runs)",
                       about(e, "least_usec", least, sizeof(least)),
                       about(e, "most_usec", most, sizeof(most)), runs);
    return true;
}
