/* See await_any.h.
 *
 * A stream watches all jobs. Its snapshot, in pages, has the jobs that ended before. If a
 * page is not the whole, List is asked which ended first. Later events tell of each end.
 * The end of an array is no event, so when an element has ended its array is queried. The
 * end time of an array is that of its last element. A watch that missed events (lagged)
 * begins again. */
#include "client/await_any.h"
#include "client/elements.h"
#include "client/inside.h"
#include "client/job_view.h"
#include "client/patience.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct racing {
    const struct wait_request *rq;
    struct client **c;
    json_t *ids;   /* ids waited for */
    json_t *known; /* the same ids as members of an object */
    struct patience patience;
};

static bool has_ended(const json_t *item)
{
    return strcmp(job_view_string(item, "state"), "done") == 0;
}

/* Opens a connection beside the stream. */
static int open_beside(const struct racing *w, struct client **ret)
{
    struct client_tried tried;
    if (client_open(w->rq->choice, ADDRESS_JOBS, ret, &tried) < 0)
        return -ECONNRESET;
    client_set_interrupt_fd(*ret, w->rq->interrupt);
    return 0;
}

static int get_beside(const struct racing *w, const char *id, struct client_reply *ret)
{
    struct client *c;
    int r = open_beside(w, &c);
    if (r < 0)
        return r;
    r = client_call(c, "org.voltd.jobs.Get",
                    json_pack("{s:s, s:b}", "id", id, "with_spec", 1), ret);
    client_free(c);
    return r;
}

/* The end time of an array's last element. */
struct array_end {
    int64_t at, before; /* later ends do not matter */
};

static int take_element(void *arg, json_t *element)
{
    struct array_end *end = arg;
    int64_t at = job_view_int(element, "ended_at_usec");
    end->at = at > end->at ? at : end->at;
    return end->at >= end->before ? -ERANGE : 0;
}

/* Finds when an array ended; 0 if voltd has purged it since, as it purges the oldest
 * first. Returns 0, or as client_call(). */
static int ask_array_end(const struct racing *w, const char *id, struct array_end *end)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY, error = CLIENT_REPLY_EMPTY;
    struct elements e = {.most = UINT64_MAX};
    struct client *c;
    int r = get_beside(w, id, &reply);
    if (r == 0 && elements_of(json_object_get(reply.parameters, "job"), &e)) {
        r = open_beside(w, &c);
        if (r == 0) {
            r = elements_walk(c, &e, take_element, end, &error);
            client_free(c);
        }
    }
    client_reply_fini(&error);
    client_reply_fini(&reply);
    return r == 1 || r == -ERANGE ? 0 : r;
}

/* Finds the id of the first job in a list that ended before *at, and lowers *at. Returns
 * 1; 0: none; otherwise as client_call(). */
static int first_of(const struct racing *w, const json_t *jobs, int64_t *at, char *ret,
                    size_t size)
{
    const json_t *job;
    size_t i;
    int any = 0;
    json_array_foreach(jobs, i, job)
    {
        struct array_end end = {.at = 0, .before = *at};
        int r = 0;
        if (!has_ended(job))
            continue;
        if (json_object_get(job, "counts"))
            r = ask_array_end(w, job_view_string(job, "id"), &end);
        else
            end.at = job_view_int(job, "ended_at_usec");
        if (r < 0)
            return r;
        if (end.at >= *at)
            continue;
        *at = end.at;
        (void)snprintf(ret, size, "%s", job_view_string(job, "id"));
        any = 1;
    }
    return any;
}

static size_t count_ended(const json_t *jobs, const json_t **ret_last)
{
    const json_t *job;
    size_t i, n = 0;
    json_array_foreach(jobs, i, job)
    {
        if (has_ended(job)) {
            *ret_last = job;
            n++;
        }
    }
    return n;
}

/* As first_of(), for all jobs waited for. */
static int first_of_all(const struct racing *w, int64_t *at, char *ret, size_t size)
{
    struct client *c;
    json_t *cursor = NULL;
    bool any = false, more = true;
    int r = open_beside(w, &c);
    if (r < 0)
        return r;
    while (r == 0 && more) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        json_t *params = json_pack("{s:{s:O, s:[s]}, s:i, s:o*}", "filter", "ids", w->ids,
                                   "states", "done", "limit", 1000, "cursor", cursor);
        r = client_call(c, "org.voltd.jobs.List", params, &reply);
        int got = 0;
        if (r == 0)
            got = first_of(w, json_object_get(reply.parameters, "jobs"), at, ret, size);
        any |= got > 0;
        r = got < 0 ? got : r;
        cursor = json_incref(json_object_get(reply.parameters, "cursor"));
        more = json_is_string(cursor);
        client_reply_fini(&reply);
    }
    json_decref(cursor);
    client_free(c);
    return r < 0 ? r : any;
}

/* Looks at a page of the snapshot. If it has an ended job and is not the whole, a job on
 * a later page may have ended before. Returns 1, 0, or as client_call(). */
static int look_at_page(const struct racing *w, const json_t *jobs, char *ret,
                        size_t size)
{
    int64_t at = INT64_MAX;
    const json_t *ended = NULL;
    size_t n = count_ended(jobs, &ended);
    bool whole = json_array_size(jobs) == json_object_size(w->known);
    if (n == 0)
        return 0;
    (void)snprintf(ret, size, "%s", job_view_string(ended, "id"));
    if (whole && n == 1)
        return 1;
    int r = whole ? first_of(w, jobs, &at, ret, size) : first_of_all(w, &at, ret, size);
    return r < 0 ? r : 1;
}

/* Returns 1 if the array has ended, 0 if not, or as client_call(). */
static int array_ended(const struct racing *w, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = get_beside(w, id, &reply);
    if (r == 0)
        r = has_ended(json_object_get(reply.parameters, "job"));
    client_reply_fini(&reply);
    return r;
}

/* Writes the id that has ended with an event. Returns 1; 0: none; or as client_call(). */
static int end_by(const struct racing *w, const json_t *event, char *ret, size_t size)
{
    const char *id = job_view_string(event, "id");
    if (!has_ended(event))
        return 0;
    (void)snprintf(ret, size, "%s", id);
    if (json_object_get(w->known, id))
        return 1;
    ret[strcspn(ret, "_")] = '\0';
    return json_object_get(w->known, ret) ? array_ended(w, ret) : 0;
}

static int look_at(const struct racing *w, const json_t *p, char *ret, size_t size)
{
    const json_t *event;
    size_t i;
    int r = look_at_page(w, json_object_get(p, "jobs"), ret, size);
    if (r != 0)
        return r;
    json_array_foreach(json_object_get(p, "events"), i, event)
    {
        r = end_by(w, event, ret, size);
        if (r != 0)
            return r;
    }
    return job_view_int(p, "lagged") > 0 ? -ESTALE : 0;
}

/* Watches on one connection until a job has ended. Returns 1; 2: refused, after an error
 * message; negative. */
static int watch(struct racing *w, char *ret, size_t size)
{
    json_t *params = json_pack("{s:{s:O}}", "filter", "ids", w->ids);
    inside_add(params, *w->c);
    client_set_interrupt_fd(*w->c, w->rq->interrupt);
    int r = client_send(*w->c, "org.voltd.jobs.Watch", params, CLIENT_MORE);
    while (r == 0) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(*w->c, patience_left(&w->patience), &reply);
        if (r < 0)
            return r;
        if (patience_is_over(&w->patience) && !w->rq->quiet && !w->rq->json)
            wait_say_stuck(w->rq, w->ids);
        if (r == 0)
            continue;
        if (reply.error)
            say_error(&reply);
        r = reply.error        ? 2
            : !reply.continues ? -EPROTO
                               : look_at(w, reply.parameters, ret, size);
        client_reply_fini(&reply);
    }
    return r;
}

/* Checks that all ids are jobs, as Watch accepts any id. Returns 0; 2: after an error
 * message, with *code. */
static int check(const struct racing *w, int *code)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(*w->c, "org.voltd.jobs.Wait", json_pack("{s:O}", "ids", w->ids),
                        &reply);
    if (r == 0 && reply.error) {
        say_error(&reply);
        *code = client_error_is(&reply, "NoSuchJob") ? w->rq->no_such_job_code
                                                     : WAIT_EXIT_VOLT_FAILED;
        r = 2;
    }
    client_reply_fini(&reply);
    return r;
}

/* Prints the job that ended. Returns its exit code. */
static int conclude(const struct racing *w, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    char outcome[256];
    int code = WAIT_EXIT_VOLT_FAILED;
    int r = get_beside(w, id, &reply);
    const json_t *job = json_object_get(reply.parameters, "job");
    if (r < 0)
        say_lost(r);
    else if (reply.error)
        say_error(&reply);
    else
        code = (int)job_view_int(job, "exit_code");
    if (job && w->rq->json)
        (void)term_put_json(job);
    if (job && (!w->rq->json))
        term_print("%s", id);
    if (job)
        (void)putchar('\n');
    if (job && code != 0 && !w->rq->quiet && !w->rq->json) {
        job_view_outcome(job, outcome, sizeof(outcome));
        say("job %s: %s", id, outcome);
    }
    client_reply_fini(&reply);
    return code;
}

/* Watches again; the snapshot has what the watch before missed. */
static int watch_again(struct racing *w, int why, char *ret, size_t size)
{
    const struct wait_request *rq = w->rq;
    struct client_tried tried;
    int r = 0;
    if (why == -ESTALE) { /* too slow, but still connected */
        client_free(*w->c);
        *w->c = NULL;
        r = client_open(rq->choice, ADDRESS_JOBS, w->c, &tried) < 0 ? -ECONNRESET : 0;
    }
    if (why == -ECONNRESET || r < 0)
        r = reconnect(w->c, rq->choice, ADDRESS_JOBS, rq->reconnect_usec, rq->interrupt);
    if (r == -ECONNRESET)
        return 2; /* after an error message */
    return r < 0 ? r : watch(w, ret, size);
}

static int run(struct racing *w)
{
    const struct wait_request *rq = w->rq;
    char id[64];
    int code = WAIT_EXIT_VOLT_FAILED;
    patience_init(&w->patience);
    int r = check(w, &code);
    if (r == 0)
        r = watch(w, id, sizeof(id));
    while (r == -ECONNRESET || r == -ESTALE)
        r = watch_again(w, r, id, sizeof(id));
    if (r == 1)
        return conclude(w, id);
    if (r == -EINTR)
        wait_say_interrupted(rq->ids, rq->nids);
    else if (r < 0)
        say_lost(r);
    return r == -EINTR ? WAIT_EXIT_INTERRUPTED : code;
}

int wait_for_any(struct client **c, const struct wait_request *rq)
{
    struct racing w = {.rq = rq, .c = c, .ids = json_array(), .known = json_object()};
    int code = WAIT_EXIT_VOLT_FAILED;
    bool ok = w.ids && w.known;
    for (size_t i = 0; ok && i < rq->nids; i++)
        ok = json_array_append_new(w.ids, json_string(rq->ids[i])) == 0 &&
             json_object_set_new(w.known, rq->ids[i], json_true()) == 0;
    if (ok)
        code = run(&w);
    else
        say_lost(-ENOMEM);
    json_decref(w.ids);
    json_decref(w.known);
    return code;
}
