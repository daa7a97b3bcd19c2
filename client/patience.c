/* See patience.h. */
#include "client/patience.h"
#include "client/job_view.h"
#include "wire/duration.h"

#include <stdio.h>
#include <string.h>

#define FIRST_USEC   UINT64_C(5000000)
#define LONGEST_USEC UINT64_C(300000000)
#define NAMED        5   /* jobs */
#define LOOKED_AT    100 /* jobs searched for those that cannot go on */

void patience_init(struct patience *p)
{
    *p = (struct patience){.due_usec = duration_now_usec() + FIRST_USEC,
                           .gap_usec = FIRST_USEC};
}

uint64_t patience_left(const struct patience *p)
{
    uint64_t now = duration_now_usec();
    return p->due_usec > now ? p->due_usec - now : 0;
}

int patience_left_ms(const struct patience *p)
{
    uint64_t ms = (patience_left(p) + 999) / 1000;
    return ms < 3600000 ? (int)ms : 3600000;
}

bool patience_is_over(struct patience *p)
{
    if (patience_left(p) > 0)
        return false;
    if (p->gap_usec < LONGEST_USEC)
        p->gap_usec *= 2;
    p->due_usec = duration_now_usec() + p->gap_usec;
    return true;
}

static bool is_named(const json_t *job, enum patience_which which)
{
    const char *wait = job_view_string(job, "wait");
    if (which == PATIENCE_WAITING)
        return !json_object_get(job, "counts") &&
               (*wait || strcmp(job_view_string(job, "state"), "paused") == 0);
    return which == PATIENCE_ALL || strcmp(wait, "keeper") == 0 ||
           strcmp(wait, "survivors") == 0;
}

/* Writes some jobs of a page. Returns whether it found any. */
static bool name_some(const json_t *jobs, enum patience_which which, bool more, char *buf,
                      size_t size)
{
    size_t i, used = 0, named = 0;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        char doing[256];
        if (!is_named(job, which))
            continue;
        if (used >= size || named++ == NAMED) {
            more = true;
            break;
        }
        job_view_outcome(job, doing, sizeof(doing));
        used += (size_t)snprintf(buf + used, size - used, "%s%s (%s)", used ? ", " : "",
                                 job_view_string(job, "id"), doing);
    }
    if (named > 0 && more && used < size)
        (void)snprintf(buf + used, size - used, ", ...");
    return named > 0;
}

bool patience_name(struct client *c, json_t *filter, enum patience_which which, char *buf,
                   size_t size)
{
    const bool stuck = which == PATIENCE_STUCK;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    bool any = false;
    (void)json_object_set_new(filter, "states", job_view_live(!stuck));
    json_t *params =
        json_pack("{s:o, s:i, s:[s]}", "filter", filter, "limit",
                  stuck ? LOOKED_AT : NAMED, "spec_fields", "retry");
    if (client_call(c, "org.voltd.jobs.List", params, &reply) == 0)
        any = name_some(json_object_get(reply.parameters, "jobs"), which,
                        json_is_string(json_object_get(reply.parameters, "cursor")), buf,
                        size);
    client_reply_fini(&reply);
    return any;
}
