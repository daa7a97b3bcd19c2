/* See each_job.h. */
#include "client/each_job.h"

#include <errno.h>

/* Passes the jobs of a page to fn, and sets the cursor of the next page. *ret_more: there
 * is one. */
static int page(struct client *c, json_t *parameters, each_job_fn *fn, void *arg,
                bool *ret_more, struct client_reply *ret)
{
    json_t *copy = json_copy(parameters), *job; /* the call takes it */
    int r = copy ? client_call(c, "org.voltd.jobs.List", copy, ret) : -ENOMEM;
    json_t *cursor = json_object_get(ret->parameters, "cursor");
    size_t i;

    *ret_more = json_is_string(cursor);
    if (*ret_more && json_object_set(parameters, "cursor", cursor) < 0)
        r = -ENOMEM;
    json_array_foreach(json_object_get(ret->parameters, "jobs"), i, job)
    {
        if (r == 0)
            r = fn(arg, job);
    }
    return r == 0 && ret->error ? 1 : r;
}

int each_job(struct client *c, json_t *parameters, each_job_fn *fn, void *arg,
             struct client_reply *error)
{
    bool more = true;
    int r = 0;

    while (r == 0 && more) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;

        r = page(c, parameters, fn, arg, &more, &reply);
        if (r == 1 && error)
            *error = reply;
        else
            client_reply_fini(&reply);
    }
    json_decref(parameters);
    return r;
}

json_t *each_job_elements(const char *array, json_t *results)
{
    return json_pack("{s:{s:[s], s:b, s:o*}}", "filter", "ids", array, "elements", 1,
                     "results", results);
}
