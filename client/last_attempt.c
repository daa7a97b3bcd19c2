/* See last_attempt.h. The rule is voltd's: Retry in org.voltd.jobs. */
#include "client/last_attempt.h"
#include "client/job_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has(const json_t *list, const json_t *wanted)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        if (json_equal(item, wanted))
            return true;
    }
    return false;
}

/* Returns whether the job's retry options want another attempt after its result. */
static bool is_wanted(const json_t *retry, const json_t *job)
{
    const json_t *on = json_object_get(retry, "on");
    const json_t *codes = json_object_get(retry, "exit_codes");
    const char *result = job_view_string(job, "result");
    if (on ? !has(on, json_object_get(job, "result"))
           : strcmp(result, "exec_failed") == 0)
        return false;
    return strcmp(result, "exit") != 0 || !codes ||
           has(codes, json_object_get(job, "exit_status"));
}

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words;
}

/* Returns why no attempt follows. NULL: unknown, as for other results: a job cancelled
 * after its timeout ends as timeout. */
static const char *why(const json_t *job, const json_t *retry)
{
    static const char *const failures[] = {"exit",        "signal", "timeout",
                                           "exec_failed", "oom",    NULL};
    static const char *const by_itself[] = {"exit", "signal", "oom", NULL};
    const char *result = job_view_string(job, "result");
    if (!is_one_of(result, failures))
        return NULL;
    if (!is_wanted(retry, job))
        return " is not in --retry-on";
    return is_one_of(result, by_itself) && !json_object_get(job, "survivors") &&
                   json_object_get(retry, "max_total_usec")
               ? ", and the next would begin later than --max-total"
               : NULL;
}

bool last_attempt_text(const json_t *job, char *buf, size_t size)
{
    const json_t *retry = json_object_get(json_object_get(job, "spec"), "retry");
    const int64_t n = job_view_int(job, "attempt"), most = job_view_attempts(job);
    const char *reason = n < most ? why(job, retry) : NULL;
    char result[64];
    if (!reason || json_object_get(job, "counts"))
        return false;
    job_view_result_word(job, result, sizeof(result));
    (void)snprintf(buf, size, "%" PRId64 " of %" PRId64 " was the last: %s%s", n, most,
                   result, reason);
    return true;
}
