/* See retried.h. A new job has the label retry_of with the id of the old one. The first
 * query finds new jobs of earlier commands by these labels, with one List. */
#include "client/voltctl/retried.h"
#include "client/job_view.h"
#include "client/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void retried_init(struct retried *r)
{
    *r = (struct retried){
        .again = json_object(), .ahead = json_object(), .looked = json_object()};
}

void retried_fini(struct retried *r)
{
    json_decref(r->again);
    json_decref(r->ahead);
    json_decref(r->looked);
    json_decref(r->before);
}

/* --- new jobs of earlier commands ------------------------------------------------- */

static int note_before(void *arg, json_t *job)
{
    const json_t *labels = json_object_get(json_object_get(job, "spec"), "labels");
    (void)json_object_set(arg, job_view_string(labels, "retry_of"),
                          json_object_get(job, "id"));
    return 0;
}

static int fetch_before(struct ctl *ctl, struct retried *r)
{
    char user[32];
    (void)snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    r->before = json_object();
    return ctl_each_job(ctl,
                        json_pack("{s:{s:[s], s:s}, s:[], s:[s]}", "filter", "has_labels",
                                  "retry_of", "user", user, "fields", "spec_fields",
                                  "labels"),
                        note_before, r->before);
}

int retried_before(struct ctl *ctl, struct retried *r, const char *id, const char **ret)
{
    int code = r->before ? CTL_EXIT_OK : fetch_before(ctl, r);
    *ret = json_string_value(json_object_get(r->before, id));
    return code;
}

/* Finds the new job of a job; *ret NULL: none. A label that names a later job is not one
 * of ours. */
static int next_of(struct ctl *ctl, struct retried *r, const char *id, const char **ret)
{
    int code = CTL_EXIT_OK;
    *ret = json_string_value(json_object_get(r->again, id));
    if (!*ret)
        code = retried_before(ctl, r, id, ret);
    if (*ret && strtoull(*ret, NULL, 10) <= strtoull(id, NULL, 10))
        *ret = NULL;
    return code;
}

/* Follows new jobs to the last; *ret: the job itself if it has none. */
static int latest(struct ctl *ctl, struct retried *r, const char *id, const char **ret)
{
    const char *next = id;
    int code;
    do {
        *ret = next;
        code = next_of(ctl, r, *ret, &next);
    } while (code == CTL_EXIT_OK && next);
    return code;
}

/* --- what the new job waits for --------------------------------------------------- */

int retried_waits(struct ctl *ctl, struct retried *r, const json_t *job, bool *ret)
{
    int code = CTL_EXIT_OK;
    const json_t *edge;
    size_t i;
    *ret = false;
    if (!retried_still_waits(job))
        return code;
    json_array_foreach(json_object_get(json_object_get(job, "spec"), "after"), i, edge)
    {
        const char *next = job_view_string(edge, "job");
        while (code == CTL_EXIT_OK && next && !*ret) {
            *ret = json_object_get(r->ahead, next) != NULL;
            code = next_of(ctl, r, next, &next);
        }
    }
    return code;
}

static void wait_for_all(json_t *edge)
{
    (void)json_object_del(edge, "each");
}

void retried_wait_for_all(json_t *spec)
{
    json_t *edge;
    size_t i;
    json_array_foreach(json_object_get(spec, "after"), i, edge) wait_for_all(edge);
}

/* Fetches the states by id of existing jobs that the edges name. */
static int fetch_states(struct ctl *ctl, const json_t *edges, json_t *states)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *ids = json_array(), *item;
    size_t i;
    json_array_foreach(edges, i, item)(void)
        json_array_append(ids, json_object_get(item, "job"));
    int code = ctl_call(
        ctl, "org.voltd.jobs.List",
        json_pack("{s:{s:o}, s:[s]}", "filter", "ids", ids, "fields", "state"), &reply);
    json_array_foreach(json_object_get(reply.parameters, "jobs"), i, item)(void)
        json_object_set(states, job_view_string(item, "id"),
                        json_object_get(item, "state"));
    client_reply_fini(&reply);
    return code;
}

/* Decides whether an edge to a job without a new one stays; state "": it is not known any
 * more. The new job must not skip the antecedent that ended the old one. */
static int judge(const struct retried *r, const json_t *job, const char *other,
                 const char *state, bool *ret)
{
    const char *cause = job_view_string(json_object_get(job, "cause"), "id");
    const bool lives = *state && strcmp(state, "done") != 0;
    const int looked = (int)json_integer_value(json_object_get(r->looked, other));
    *ret = *state;
    if (lives || (looked == CTL_EXIT_OK && strcmp(cause, other) != 0))
        return CTL_EXIT_OK;
    say("job %s is not submitted again: job %s, for which it waited, was not%s%s%s",
        job_view_string(job, "id"), other,
        looked == CTL_EXIT_OK ? "; try `voltctl retry --with-dependents " : "",
        looked == CTL_EXIT_OK ? other : "", looked == CTL_EXIT_OK ? "`, or --alone" : "");
    return CTL_EXIT_FAILED;
}

static int map_edge(struct ctl *ctl, struct retried *r, const json_t *job, json_t *edge,
                    const json_t *states, bool *ret_stays)
{
    const char *other = job_view_string(edge, "job"), *now;
    int code = latest(ctl, r, other, &now);
    *ret_stays = true;
    if (code != CTL_EXIT_OK)
        return code;
    if (strcmp(now, other) == 0)
        return judge(r, job, other, job_view_string(states, other), ret_stays);
    (void)json_object_set_new(edge, "job", json_string(now));
    wait_for_all(edge);
    return CTL_EXIT_OK;
}

bool retried_still_waits(const json_t *job)
{
    return strcmp(job_view_string(job, "result"), "dependency") == 0 ||
           !json_object_get(job, "started_at_usec");
}

int retried_edges(struct ctl *ctl, struct retried *r, const json_t *job, json_t *spec)
{
    json_t *edges = json_object_get(spec, "after"), *states = json_object();
    int code = fetch_states(ctl, edges, states);
    bool stays;
    for (size_t i = 0; i < json_array_size(edges) && code == CTL_EXIT_OK; i += stays) {
        code = map_edge(ctl, r, job, json_array_get(edges, i), states, &stays);
        if (!stays)
            (void)json_array_remove(edges, i);
    }
    if (json_array_size(edges) == 0)
        (void)json_object_del(spec, "after");
    json_decref(states);
    return code;
}
