/* See failures.h. */
#include "client/failures.h"
#include "client/each_job.h"
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

static json_t *results(const struct failures *f)
{
    return f->all ? json_pack("[s]", "failed")
                  : json_pack("[s,s,s,s,s,s,s,s]", "signal", "timeout", "exec_failed",
                              "lost", "output_limit", "expired", "dependency", "oom");
}

static void say_array(struct failures *f, struct client *c, const char *id)
{
    f->arrays = true;
    (void)each_job(c, each_job_elements(id, results(f)), tell, &(struct telling){f, c},
                   NULL);
}

/* Reports an ended job if it is a failure, or an array with failed elements. */
static int say_ended(void *arg, json_t *job)
{
    const struct telling *t = arg;
    struct failures *f = t->f;
    const char *result = job_view_string(job, "result");
    const json_t *counts = json_object_get(job, "counts");
    bool good = strcmp(result, "success") == 0 ||
                (!f->cancelled && strcmp(result, "cancelled") == 0);
    bool own = !f->all && strcmp(result, "exit") == 0;
    if (json_is_object(counts) && job_view_int(counts, "failed") > 0)
        say_array(f, t->c, job_view_string(job, "id"));
    else if (!json_is_object(counts) && *result && !good && !own)
        (void)tell(arg, job);
    return f->more ? -1 : 0;
}

void failures_say(struct failures *f, struct client *c, json_t *ids, const json_t *jobs)
{
    struct telling t = {f, c};
    bool told = !f->all || json_array_size(jobs) == json_array_size(ids);
    size_t i;
    json_t *job;
    if (f->more)
        return;
    if (!told)
        (void)each_job(c,
                       json_pack("{s:{s:O, s:[s]}, s:i}", "filter", "ids", ids, "results",
                                 "failed", "limit", 4 * FAILURES_SAID),
                       say_ended, &t, NULL);
    json_array_foreach(told ? jobs : NULL, i, job)
    {
        if (say_ended(&t, job) < 0)
            break;
    }
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
