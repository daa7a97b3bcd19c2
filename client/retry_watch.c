/* See retry_watch.h. */
#include "client/retry_watch.h"
#include "client/each_job.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "wire/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LAST_USEC UINT64_C(200000) /* how late the event of an end may be */

static void stop(struct retry_watch *w)
{
    client_free(w->c);
    w->c = NULL;
}

/* --- what is said ------------------------------------------------------------------- */

static int64_t most_of(const struct retry_watch *w, const char *id)
{
    char job[64];
    (void)snprintf(job, sizeof(job), "%.*s", (int)strcspn(id, "_"), id);
    const json_t *most = json_object_get(w->most, id);
    if (!most)
        most = json_object_get(w->most, job);
    return most ? json_integer_value(most) : w->most_of_all;
}

/* Reports an attempt. Lost attempts do not count against the number allowed. */
static void say_attempt(const struct retry_watch *w, const json_t *event)
{
    const char *id = job_view_string(event, "id");
    const int64_t most = most_of(w, id);
    const bool lost = strcmp(job_view_string(event, "result"), "lost") == 0;
    char name[80] = "", of[32] = "", result[64], span[32];
    if (w->several || strchr(id, '_'))
        (void)snprintf(name, sizeof(name), "job %.60s: ", id);
    if (most > 1 && !lost)
        (void)snprintf(of, sizeof(of), " of %" PRId64, most);
    job_view_result_word(event, result, sizeof(result));
    duration_format((uint64_t)job_view_int(event, "again_in_usec"), span, sizeof(span));
    if (lost)
        say("%sattempt %" PRId64 " was lost, the next one follows", name,
            job_view_int(event, "attempt"));
    else
        say("%sattempt %" PRId64 "%s failed (%s), the next in %s", name,
            job_view_int(event, "attempt"), of, result, span);
}

static void take_event(struct retry_watch *w, const json_t *event)
{
    const char *state = job_view_string(event, "state");
    if (strcmp(state, "done") == 0 && w->left > 0)
        w->left--;
    if (strcmp(state, "queued") == 0 &&
        strcmp(job_view_string(event, "event"), "exited") == 0)
        say_attempt(w, event);
}

static void take_reply(struct retry_watch *w, const struct client_reply *reply)
{
    const json_t *event;
    size_t i;
    json_array_foreach(json_object_get(reply->parameters, "events"), i, event)
    {
        take_event(w, event);
    }
    if (reply->error || !reply->continues)
        stop(w);
}

/* Takes one reply. Returns false if none came in time, or the watch has ended. */
static bool take_one(struct retry_watch *w, uint64_t usec)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_receive(w->c, usec, &reply);
    if (r < 0)
        stop(w);
    if (r > 0)
        take_reply(w, &reply);
    client_reply_fini(&reply);
    return r > 0;
}

/* --- which jobs --------------------------------------------------------------------- */

/* Returns a filter for the jobs; NULL: too many for a message. */
static json_t *filter_of(char *const *ids, size_t nids)
{
    if (id_portion(ids, nids) < nids)
        return NULL;
    return json_pack("{s:o}", "ids", id_list(ids, nids));
}

/* Starts the watch. Takes filter. after: from the first event on; otherwise from now.
 * Leaves out events of begins. */
static void watch(struct retry_watch *w, json_t *filter, bool after)
{
    (void)json_object_set_new(filter, "states", json_pack("[s, s]", "queued", "done"));
    json_t *params = json_pack("{s:o, s:[]}", "filter", filter, "fields");
    if (after)
        (void)json_object_set_new(params, "after", json_integer(0));
    if (client_send(w->c, "org.voltd.jobs.Watch", params, CLIENT_MORE) < 0)
        stop(w);
}

void retry_watch_own(struct retry_watch *w, const struct address_choice *choice,
                     char *const *ids, size_t nids, int64_t most, uint64_t total)
{
    struct client_tried tried;
    json_t *filter = filter_of(ids, nids);
    *w = (struct retry_watch){.several = nids > 1, .most_of_all = most, .left = total};
    if (filter && client_open(choice, ADDRESS_JOBS, &w->c, &tried) == 0)
        watch(w, json_incref(filter), true);
    json_decref(filter);
}

/* Reports that a single job has had a failed attempt, and when the next one begins. */
static void say_backs_off(const struct retry_watch *w, const json_t *job)
{
    char doing[256];
    if (w->several || job_view_int(job, "attempt") == 0 ||
        strcmp(job_view_string(job, "wait"), "time") != 0)
        return;
    job_view_outcome(job, doing, sizeof(doing));
    say("%s", doing);
}

static int take_most(void *arg, json_t *job)
{
    struct retry_watch *w = arg;
    const int64_t most = job_view_attempts(job);
    say_backs_off(w, job);
    if (most > 0)
        (void)json_object_set_new(w->most, job_view_string(job, "id"),
                                  json_integer(most));
    return 0;
}

/* Asks how many attempts each job may have. Returns false on error. */
static bool list_most(struct retry_watch *w, json_t *filter)
{
    json_t *params = json_pack("{s:O, s:[s,s,s,s,s], s:[s]}", "filter", filter, "fields",
                               "state", "wait", "wait_ends_at_usec", "attempt", "counts",
                               "spec_fields", "retry");
    return each_job(w->c, params, take_most, w, NULL) == 0;
}

void retry_watch_begin(struct retry_watch *w, const struct address_choice *choice,
                       char *const *ids, size_t nids, int interrupt)
{
    struct client_tried tried;
    json_t *filter = filter_of(ids, nids);
    *w = (struct retry_watch){.several = nids > 1, .most = json_object()};
    if (filter && client_open(choice, ADDRESS_JOBS, &w->c, &tried) == 0) {
        client_set_interrupt_fd(w->c, interrupt);
        client_set_silence(w->c, say_silence);
        if (list_most(w, filter) && json_object_size(w->most) > 0)
            watch(w, json_incref(filter), false);
        else
            stop(w);
    }
    json_decref(filter);
}

/* --- while they are waited for ------------------------------------------------------ */

int retry_watch_fd(const struct retry_watch *w)
{
    return w && w->c ? client_fd(w->c) : -1;
}

void retry_watch_take(struct retry_watch *w)
{
    while (w && w->c && take_one(w, 0))
        ;
}

void retry_watch_finish(struct retry_watch *w)
{
    retry_watch_take(w);
    while (w && w->c && w->left > 0 && take_one(w, LAST_USEC))
        ;
}

void retry_watch_fini(struct retry_watch *w)
{
    stop(w);
    json_decref(w->most);
    w->most = NULL;
}
