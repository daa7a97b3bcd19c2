/* See slurm_env.h. */
#include "daemon/run/slurm_env.h"

#include <inttypes.h>
#include <stdio.h>

static void put(struct slurm_env *to, size_t *n, const char *name, const char *value)
{
    (void)snprintf(to->text[*n], sizeof(to->text[*n]), "SLURM_%s=%s", name, value);
    to->strings[*n] = to->text[*n];
    (*n)++;
}

static void put_number(struct slurm_env *to, size_t *n, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    put(to, n, name, text);
}

void slurm_env(const struct job_spec *spec, const struct job_key *key,
               struct slurm_env *ret)
{
    char id[JOB_KEY_TEXT_MAX], name[JOB_NAME_BYTES + 1];
    size_t n = 0;

    if (spec->slurm) {
        (void)job_key_format_job(key, id);
        put(ret, &n, "JOB_ID", id);
        put(ret, &n, "JOBID", id);
        put(ret, &n, "JOB_NAME", job_spec_element_name(spec, key->index, name));
    }
    if (spec->slurm && key->index >= 0) {
        put_number(ret, &n, "ARRAY_JOB_ID", key->id);
        put_number(ret, &n, "ARRAY_TASK_ID", (uint64_t)key->index);
        put_number(ret, &n, "ARRAY_TASK_MIN", spec->array_first);
        put_number(ret, &n, "ARRAY_TASK_MAX", spec->array_last);
        put_number(ret, &n, "ARRAY_TASK_COUNT", job_spec_count(spec));
    }
    ret->strings[n] = NULL;
}
