/* See failures.h. */
#include "client/failures.h"
#include "client/elements.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TAIL       2048 /* bytes at the end of an output searched for its last line */
#define LINE_SHOWN 160

/* Returns the last line of text that is not empty; changes text. */
static const char *last_line(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && strchr("\r\n\t ", text[len - 1]))
        text[--len] = '\0';
    const char *nl = strrchr(text, '\n');
    return nl ? nl + 1 : text;
}

/* Reads the last line of an output; "": none, or the output is not available. */
static void get_last_line(struct client *c, const char *id, const char *stream, char *buf,
                          size_t size)
{
    char text[TAIL + 1];
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    buf[0] = '\0';
    int r = client_call(c, "org.voltd.logs.Open",
                        json_pack("{s:s, s:s}", "id", id, "stream", stream), &reply);
    if (r == 0 && !reply.error && reply.fd >= 0) {
        off_t end = lseek(reply.fd, 0, SEEK_END);
        off_t from = end > TAIL ? end - TAIL : 0;
        ssize_t n = pread(reply.fd, text, TAIL, from);
        text[n > 0 ? n : 0] = '\0';
        (void)snprintf(buf, size, "%s", last_line(text));
    }
    client_reply_fini(&reply);
}

static void say_failure(struct failures *f, struct client *c, const json_t *job)
{
    const char *id = job_view_string(job, "id");
    char outcome[256], line[TAIL + 1] = "", shown[LINE_SHOWN];
    job_view_outcome(job, outcome, sizeof(outcome));
    bool ran = strcmp(job_view_string(job, "result"), "exec_failed") != 0;
    if (f->lines && ran) {
        get_last_line(c, id, "stderr", line, sizeof(line)); /* with --error=file */
        if (!line[0])
            get_last_line(c, id, "stdout", line, sizeof(line));
    }
    term_clean(line, shown, sizeof(shown));
    say("job %s: %s%s%s", id, outcome, *shown ? ": " : "", shown);
}

/* Reports a job that could not be started; its spec tells which file was missing. */
static void say_failed_start(struct failures *f, struct client *c, const json_t *job)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const json_t *whole = NULL;
    if (client_call(
            c, "org.voltd.jobs.Get",
            json_pack("{s:s, s:b}", "id", job_view_string(job, "id"), "with_spec", 1),
            &reply) == 0)
        whole = json_object_get(reply.parameters, "job");
    say_failure(f, c, whole ? whole : job);
    client_reply_fini(&reply);
}

struct telling {
    struct failures *f;
    struct client *c;
};

static int tell(void *arg, json_t *job)
{
    struct telling *t = arg;
    if (t->f->said == FAILURES_SAID) {
        t->f->more = true;
        return -1;
    }
    t->f->said++;
    if (strcmp(job_view_string(job, "result"), "exec_failed") == 0)
        say_failed_start(t->f, t->c, job);
    else
        say_failure(t->f, t->c, job);
    return 0;
}

/* Returns the results that count as failures; new reference. */
static json_t *results(const struct failures *f)
{
    json_t *list = elements_failed_results();
    if (!f->all)
        (void)json_array_remove(list, 0); /* exit */
    return list;
}

static void say_array(struct failures *f, struct client *c, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY, error = CLIENT_REPLY_EMPTY;
    struct telling t = {f, c};
    struct elements e;
    json_t *list = results(f);
    f->arrays = true;
    if (client_call(c, "org.voltd.jobs.Get",
                    json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply) == 0 &&
        elements_of(json_object_get(reply.parameters, "job"), &e)) {
        const json_t *counts =
            json_object_get(json_object_get(reply.parameters, "job"), "counts");
        e.states = NULL;
        e.results = list;
        e.most = f->all ? (uint64_t)job_view_int(counts, "failed") : UINT64_MAX;
        (void)elements_walk(c, &e, tell, &t, &error);
    }
    client_reply_fini(&error);
    client_reply_fini(&reply);
    json_decref(list);
}

/* Reports an ended job if it is a failure, or an array with failed elements. */
static void say_ended(struct failures *f, struct client *c, json_t *job)
{
    struct telling t = {f, c};
    const char *result = job_view_string(job, "result");
    const json_t *counts = json_object_get(job, "counts");
    bool good = strcmp(result, "success") == 0 ||
                (!f->cancelled && strcmp(result, "cancelled") == 0);
    bool own = !f->all && strcmp(result, "exit") == 0;
    if (f->more)
        return;
    if (json_is_object(counts) && job_view_int(counts, "failed") > 0)
        say_array(f, c, job_view_string(job, "id"));
    else if (!json_is_object(counts) && *result && !good && !own)
        (void)tell(&t, job);
}

static void say_jobs(struct failures *f, struct client *c, const json_t *jobs)
{
    size_t i;
    json_t *job;
    json_array_foreach(jobs, i, job)
    {
        say_ended(f, c, job);
    }
}

void failures_say(struct failures *f, struct client *c, json_t *ids, const json_t *jobs)
{
    json_t *cursor = NULL;
    bool told = !f->all || json_array_size(jobs) == json_array_size(ids);
    int r = told ? 1 : 0;
    if (told)
        say_jobs(f, c, jobs);
    while (r == 0 && !f->more) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        json_t *filter =
            json_pack("{s:O, s:o}", "ids", ids, "results", elements_failed_results());
        json_t *params = json_pack("{s:o, s:i, s:o*}", "filter", filter, "limit",
                                   4 * FAILURES_SAID, "cursor", cursor);
        r = client_call(c, "org.voltd.jobs.List", params, &reply);
        say_jobs(f, c, json_object_get(reply.parameters, "jobs"));
        cursor = json_incref(json_object_get(reply.parameters, "cursor"));
        r = r == 0 && json_is_string(cursor) ? 0 : 1;
        client_reply_fini(&reply);
    }
    json_decref(cursor);
}

void failures_conclude(const struct failures *f, uint64_t failed, char *const *ids,
                       size_t nids)
{
    char text[256], number[32] = "";
    if (!f->more)
        return;
    id_range_format(ids, nids, text, sizeof(text));
    if (f->all && failed > f->said)
        (void)snprintf(number, sizeof(number), "%" PRIu64 " ", failed - f->said);
    say("and %smore: voltctl list %s--result=failed %s", number,
        f->arrays ? "--elements " : "", text);
}
