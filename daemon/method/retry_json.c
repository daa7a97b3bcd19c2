/* See retry_json.h. */
#include "daemon/method/retry_json.h"

#include <errno.h>
#include <string.h>

#include "daemon/job/retry.h"

#define CODE_MAX 255

/* Names of the bits of JOB_RETRY_ON_MOST. */
static const char *const retry_on_names[] = {"exit", "signal", "timeout", "exec_failed",
                                             "oom"};

int read_codes(json_t *value, void *member, struct field_error *err)
{
    struct job_codes *codes = member;
    size_t i, n = json_array_size(value);
    json_t *item;

    if (n < 1)
        return field_fail(err, "", "must be a list of exit codes, such as [75, 100]");
    json_array_foreach(value, i, item)
    {
        int64_t code;

        if (!field_whole_number(item, &code) || code < 0 || code > CODE_MAX)
            return field_fail(err, "", "must be exit codes, from 0 to %d", CODE_MAX);
        job_codes_add(codes, (int)code);
    }
    return 0;
}

/* Returns the bit of a result that may be named; 0: none. */
static uint32_t bit_of(const char *name)
{
    for (size_t i = 0; i < sizeof(retry_on_names) / sizeof(retry_on_names[0]); i++)
        for (int r = 0; strcmp(retry_on_names[i], name) == 0 && r < JOB_RESULT_COUNT; r++)
            if (strcmp(job_result_names[r], name) == 0)
                return UINT32_C(1) << r;
    return 0;
}

int read_retry_on(json_t *value, void *member, struct field_error *err)
{
    uint32_t *results = member;
    size_t i;
    json_t *item;

    if (json_array_size(value) < 1)
        return field_fail(err, "", "must be a list of results, such as [\"exit\"]");
    json_array_foreach(value, i, item)
    {
        const char *name = field_string(item, "", err);
        const uint32_t bit = name ? bit_of(name) : 0;

        if (!name)
            return -EINVAL;
        if (strcmp(name, "lost") == 0)
            return field_fail(err, "", "must not have \"lost\": on_lost says that");
        if (strcmp(name, "output_limit") == 0)
            return field_fail(err, "",
                              "must not have \"output_limit\": all attempts print "
                              "together");
        if (!bit)
            return field_fail(
                err, "", "must have exit, signal, timeout, exec_failed and oom alone");
        *results |= bit;
    }
    return 0;
}

void put_codes(struct wire_writer *to, const char *key, const struct job_codes *codes)
{
    if (!job_codes_any(codes))
        return;
    wire_open(to, key, '[');
    for (int code = 0; code <= CODE_MAX; code++)
        if (job_codes_has(codes, code))
            wire_put_int(to, NULL, code);
    wire_close(to, ']');
}

void put_results(struct wire_writer *to, const char *key, uint32_t results)
{
    if (!results)
        return;
    wire_open(to, key, '[');
    for (int r = 0; r < JOB_RESULT_COUNT; r++)
        if (results >> r & 1)
            wire_put_text(to, NULL, job_result_names[r]);
    wire_close(to, ']');
}
