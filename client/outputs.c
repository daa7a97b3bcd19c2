/* See outputs.h.
 *
 * Following takes two connections: one watches, the other opens outputs. The watch begins
 * before each job is queried, so no end is missed. A single job that has begun takes one,
 * which waits for its end. The output of a running job is open, and inotify reports its
 * growth. Bytes of a job without a prefix, alone, are printed as they come; else whole
 * lines, so lines of two jobs never mix unless longer than 256 KiB. Jobs that ended
 * before are printed in order. If this user's inotify instances or watches are used up,
 * the daemon sends the rest, in order. */
#include "client/outputs.h"
#include "client/each_job.h"
#include "client/follow.h"
#include "client/job_view.h"
#include "client/outputs_watch.h"
#include "client/reconnect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct source *x = *(struct source *const *)a, *y = *(struct source *const *)b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct source *outputs_find(const struct outputs *o, const char *id)
{
    char *end;
    struct source key = {.job = strtoull(id, &end, 10), .index = -1}, *at = &key;
    if (*end == '_')
        key.index = strtoll(end + 1, NULL, 10);
    struct source **found =
        bsearch(&at, o->sorted, o->n, sizeof(struct source *), compare);
    return found ? *found : NULL;
}

void outputs_id(const struct source *s, char *buf, size_t size)
{
    if (s->index >= 0)
        (void)snprintf(buf, size, "%" PRIu64 "_%" PRId64, s->job, s->index);
    else
        (void)snprintf(buf, size, "%" PRIu64, s->job);
}

struct printer outputs_printer(const struct outputs *o, const char *prefix)
{
    return (struct printer){.out = o->rq->out,
                            .cleans = o->rq->cleans,
                            .prefix = o->prefixed ? prefix : NULL};
}

/* --- which ones --------------------------------------------------------------------- */

/* Adds a source that has not begun. Returns 0 or -ENOMEM. */
static int add_id(struct outputs *o, const char *id)
{
    char *end;
    if (o->n == o->room) {
        size_t room = o->room ? o->room * 2 : 64;
        struct source *list = realloc(o->sources, room * sizeof(*list));
        if (!list)
            return -ENOMEM;
        o->sources = list;
        o->room = room;
    }
    struct source *s = &o->sources[o->n++];
    *s = (struct source){.index = -1, .offset = -1, .element = o->in_array};
    s->job = strtoull(id, &end, 10);
    if (*end == '_')
        s->index = strtoll(end + 1, NULL, 10);
    return 0;
}

static int add(void *arg, json_t *job)
{
    struct outputs *o = arg;
    const char *field =
        strcmp(o->rq->stream, "stderr") == 0 ? "error_path" : "output_path";
    int r = add_id(o, job_view_string(job, "id"));
    if (r < 0)
        return r;
    struct source *s = &o->sources[o->n - 1];
    s->state = outputs_state(job);
    s->elsewhere = o->rq->follow && !o->rq->files && !o->rq->own &&
                   json_object_get(json_object_get(job, "spec"), field);
    return 0;
}

/* Resolves an operand: a job, or the elements of an array. Returns 0; 1: an error reply;
 * negative. */
static int resolve(struct outputs *o, struct client *c, const char *id,
                   struct client_reply *error)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int r = client_call(c, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    if (r == 0 && reply.error) {
        *error = reply;
        return 1;
    }
    json_t *job = json_object_get(reply.parameters, "job");
    o->in_array = json_is_object(json_object_get(job, "counts"));
    o->arrays |= o->in_array;
    if (r == 0)
        r = o->in_array ? each_job(c, each_job_elements(id, NULL), add, o, error)
                        : add(o, job);
    client_reply_fini(&reply);
    return r;
}

void outputs_refused(struct outputs *o, struct client *c, struct client_reply *error)
{
    int code = o->rq->refused(c, error);
    o->code = code > o->code ? code : o->code;
    client_reply_fini(error);
}

void outputs_skipped(struct outputs *o, struct client_reply *error)
{
    if (!o->none.error)
        o->none = *error;
    else
        client_reply_fini(error);
    *error = CLIENT_REPLY_EMPTY;
}

/* Resolves all operands, each source once, in order. */
static int resolve_all(struct outputs *o, struct client *c)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int r = 0;
    o->n = 0;
    for (size_t i = 0; i < o->rq->nids && r == 0; i++) {
        r = o->rq->direct ? add_id(o, o->rq->ids[i])
                          : resolve(o, c, o->rq->ids[i], &error);
        if (r == 1)
            outputs_refused(o, *o->c, &error);
        r = r == 1 ? 0 : r;
    }
    o->sorted = r < 0 ? NULL : calloc(o->n + 1, sizeof(struct source *));
    if (r == 0 && !o->sorted)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < o->n; i++)
        o->sorted[i] = &o->sources[i];
    if (r == 0)
        qsort(o->sorted, o->n, sizeof(struct source *), compare);
    o->prefixed = !o->rq->no_prefix && (o->n > 1 || o->arrays || o->rq->nids > 1);
    return r;
}

/* --- one after the other ------------------------------------------------------------ */

/* Prints or follows one source. Returns 0; 1: an error reply, moved to *error; negative:
 * ends everything. */
static int follow_one(struct outputs *o, struct source *s, struct client_reply *error)
{
    char id[48], prefix[52];
    outputs_id(s, id, sizeof(id));
    (void)snprintf(prefix, sizeof(prefix), "%s: ", id);
    struct printer printer = outputs_printer(o, prefix);
    struct follow_request rq = {.id = id,
                                .stream = o->rq->stream,
                                .printer = &printer,
                                .tail = {o->rq->lines, UINT64_MAX},
                                .offset = &s->offset,
                                .follow = o->rq->follow};
    int r = follow_output(*o->c, &rq, error);
    o->writing |= printer.failed;
    return r;
}

/* Prints one source. Returns 0, or negative, which ends everything. */
static int print_one(struct outputs *o, struct source *s)
{
    struct client_reply error = CLIENT_REPLY_EMPTY;
    int r = o->rq->follow && !o->unwatched ? outputs_watch(o, s, 1) : OUTPUTS_UNWATCHED;
    if (r != OUTPUTS_UNWATCHED)
        return r;
    o->unwatched = true;
    r = follow_one(o, s, &error);
    s->finished = r >= 0;
    o->any |= r == 0 && outputs_may_lack(o, s);
    if (r == 1 && outputs_may_lack(o, s) && client_error_is(&error, "NoOutput"))
        outputs_skipped(o, &error);
    else if (r == 1)
        outputs_refused(o, *o->c, &error);
    return r == 1 ? 0 : r;
}

static int print_in_order(struct outputs *o)
{
    int r = 0;
    for (size_t i = 0; i < o->n && r == 0 && *o->c; i++) {
        struct source *s = &o->sources[i];
        if (!s->finished && (o->rq->follow || s->state != SOURCE_WAITS || !s->element))
            r = print_one(o, s);
    }
    return r;
}

/* Prints a single operand, which is mostly a job. An operand without output is checked
 * for an array. Returns 1: it is an array; otherwise as outputs_print(). */
static int print_single(struct outputs *o)
{
    struct client_reply error = CLIENT_REPLY_EMPTY, reply = CLIENT_REPLY_EMPTY;
    const char *id = o->rq->ids[0];
    char *end;
    struct source s = {.job = strtoull(id, &end, 10), .index = -1, .offset = -1};
    if (*end == '_')
        s.index = strtoll(end + 1, NULL, 10);
    int r = follow_one(o, &s, &error);
    if (r != 1)
        return r;
    bool array = false;
    if (client_error_is(&error, "NoOutput") && s.index < 0 && *o->c &&
        client_call(*o->c, "org.voltd.jobs.Get", json_pack("{s:s}", "id", id), &reply) ==
            0)
        array = json_is_object(
            json_object_get(json_object_get(reply.parameters, "job"), "counts"));
    client_reply_fini(&reply);
    if (!array)
        outputs_refused(o, *o->c, &error);
    client_reply_fini(&error);
    return array ? 1 : 0;
}

static int print_several(struct outputs *o)
{
    const struct outputs_request *rq = o->rq;
    int r = o->sorted ? 0 : resolve_all(o, *o->c);
    if (r == 0 && rq->follow && !rq->keep_order && o->n > 1 && !o->unwatched)
        r = outputs_watch(o, o->sources, o->n);
    else if (r == 0)
        r = print_in_order(o);
    if (r == OUTPUTS_UNWATCHED) { /* the daemon watches and sends, one after the other */
        o->unwatched = true;
        r = print_in_order(o);
    }
    if (r == 0 && !o->any && o->none.error && *o->c)
        outputs_refused(o, *o->c, &o->none);
    return r;
}

int outputs_print(struct client **c, const struct outputs_request *rq, int *ret_code,
                  bool *ret_writing)
{
    struct outputs o = {.rq = rq, .c = c, .none = CLIENT_REPLY_EMPTY};
    client_set_interrupt_fd(*c, rq->interrupt);
    int r = rq->nids == 1 && !rq->follow ? print_single(&o) : 1;
    if (r == 1)
        r = print_several(&o);
    while (r == -ECONNRESET && *c && rq->follow && !o.writing) {
        r = reconnect(c, rq->choice, ADDRESS_JOBS, rq->reconnect_usec, rq->interrupt);
        if (r == 0) {
            client_set_interrupt_fd(*c, rq->interrupt);
            r = print_several(&o);
        }
    }
    client_reply_fini(&o.none);
    free(o.sources);
    free(o.sorted);
    *ret_code = o.code;
    *ret_writing = o.writing;
    return r;
}
