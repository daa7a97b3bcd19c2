/* See inside.h. */
#include "client/inside.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether the text after an id names the socket of c, as other voltds have the
 * same ids. */
static bool is_here(const char *behind_id, const struct client *c)
{
    return *behind_id == ' ' && strcmp(behind_id + 1, client_socket(c)) == 0;
}

/* Finds the id of the job that this process runs inside of. Returns its length; 0: no job
 * of this voltd. */
static size_t own_job(const struct client *c, const char **ret)
{
    const char *job = getenv("VOLT_JOB");
    const size_t len = job ? strcspn(job, " ") : 0;

    *ret = job;
    return len > 0 && is_here(job + len, c) ? len : 0;
}

static void add_job(json_t *parameters, const struct client *c)
{
    const char *job;
    const size_t len = own_job(c, &job);

    if (len > 0)
        (void)json_object_set_new(parameters, "inside_job", json_stringn(job, len));
}

static void add_lease(json_t *parameters, const struct client *c)
{
    const char *lease = getenv(INSIDE_LEASE);
    char *path;
    const long long id = lease ? strtoll(lease, &path, 10) : 0;

    if (id > 0 && is_here(path, c))
        (void)json_object_set_new(parameters, "inside_lease", json_integer(id));
}

void inside_add(json_t *parameters, const struct client *c)
{
    add_job(parameters, c);
    add_lease(parameters, c);
}

void inside_add_for(json_t *parameters, const struct client *c, const char *id)
{
    const char *own;
    const size_t len = own_job(c, &own);

    if (len == 0 || strncmp(id, own, len) != 0 || id[len])
        inside_add(parameters, c);
}
