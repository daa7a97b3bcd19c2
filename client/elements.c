/* See elements.h. */
#include "client/elements.h"
#include "client/job_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Ids in a call: far below the limits of a message (20,000 tokens, 256 KiB). */
#define PORTION 5000
#define PAGE    1000 /* of an answer */

json_t *elements_failed_results(void)
{
    return json_pack("[s,s,s,s,s,s,s,s,s]", "exit", "signal", "timeout", "exec_failed",
                     "lost", "output_limit", "expired", "dependency", "oom");
}

bool elements_of(const json_t *job, struct elements *e)
{
    const json_t *array = json_object_get(json_object_get(job, "spec"), "array");
    *e = (struct elements){
        .id = job_view_string(job, "id"), .array = array, .most = UINT64_MAX};
    return json_is_object(array) && json_is_object(json_object_get(job, "counts"));
}

static void enter(struct elements_place *p, const json_t *range)
{
    p->range = range;
    p->index = range ? job_view_int(range, "first") : 0;
}

void elements_first(struct elements_place *p, const json_t *array)
{
    const json_t *ranges = json_object_get(array, "ranges");
    p->number = 0;
    enter(p, json_array_size(ranges) > 0 ? json_array_get(ranges, 0) : array);
}

void elements_next(struct elements_place *p, const json_t *array)
{
    int64_t by = job_view_int(p->range, "step");
    by = by > 0 ? by : 1;
    if (p->index <= job_view_int(p->range, "last") - by)
        p->index += by;
    else
        enter(p, json_array_get(json_object_get(array, "ranges"), ++p->number));
}

/* Returns the ids of the next portion. NULL: no memory. */
static json_t *next_ids(const struct elements *e, struct elements_place *p)
{
    json_t *ids = json_array();
    char element[64];
    for (size_t n = 0; ids && p->range && n < PORTION; n++) {
        (void)snprintf(element, sizeof(element), "%s_%" PRId64, e->id, p->index);
        if (json_array_append_new(ids, json_string(element)) < 0) {
            json_decref(ids);
            return NULL;
        }
        elements_next(p, e->array);
    }
    return ids;
}

/* Makes one call. Replaces *cursor by that of the answer; NULL: the last page. */
static int page(struct client *c, const struct elements *e, json_t *filter,
                json_t **cursor, uint64_t most, struct client_reply *ret)
{
    int limit = most < PAGE ? (int)most : PAGE;
    json_t *params = json_pack("{s:O, s:i, s:o*}", "filter", filter, "limit", limit,
                               "cursor", *cursor);
    *cursor = NULL;
    if (params && e->also)
        (void)json_object_update(params, e->also);
    int r = params ? client_call(c, "org.voltd.jobs.List", params, ret) : -ENOMEM;
    if (r < 0 || ret->error)
        return r < 0 ? r : 1;
    json_t *next = json_object_get(ret->parameters, "cursor");
    *cursor = json_is_string(next) ? json_incref(next) : NULL;
    return 0;
}

/* Walks a portion; *left counts down how many elements may still be passed. */
static int walk_portion(struct client *c, const struct elements *e, json_t *filter,
                        uint64_t *left, int (*fn)(void *arg, json_t *job), void *arg,
                        struct client_reply *error)
{
    json_t *cursor = NULL;
    int r;
    do {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = page(c, e, filter, &cursor, *left, &reply);
        size_t i;
        json_t *job;
        json_array_foreach(json_object_get(reply.parameters, "jobs"), i, job)
        {
            if (r != 0 || *left == 0)
                break;
            r = fn(arg, job);
            (*left)--;
        }
        if (r == 1)
            *error = reply;
        else
            client_reply_fini(&reply);
    } while (r == 0 && cursor && *left > 0);
    json_decref(cursor);
    return r;
}

int elements_walk(struct client *c, const struct elements *e,
                  int (*fn)(void *arg, json_t *job), void *arg,
                  struct client_reply *error)
{
    struct elements_place at;
    uint64_t left = e->most;
    int r = 0;
    elements_first(&at, e->array);
    while (at.range && left > 0 && r == 0) {
        json_t *filter = json_pack("{s:o, s:O*, s:O*}", "ids", next_ids(e, &at), "states",
                                   e->states, "results", e->results);
        r = filter ? walk_portion(c, e, filter, &left, fn, arg, error) : -ENOMEM;
        json_decref(filter);
    }
    return r;
}
