/* voltctl list: jobs as a table, or as JSON. */
#include "wire/duration.h"
#include "client/elements.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OPT_NEWEST = OPTION_LONG,
    OPT_NO_LEGEND,
    PAGE = 1000,
    PORTION = 10000 /* ids of one call: a message holds 20,000 tokens */
};

static const struct option_entry options[] = {
    {"all", 'a', NULL, "also jobs that have ended"},
    {"lines", 'n', "N", "the newest N jobs only"},
    {"newest", OPT_NEWEST, NULL, "newest first"},
    {"elements", 'e', NULL, "the elements of arrays instead of the arrays"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    {"output", 'o', "FORMAT", "table (default) or json"},
    CTL_JSON_OPTION,
    {"no-legend", OPT_NO_LEGEND, NULL, "no headings and no closing line"},
    CTL_OPTIONS_END,
};

struct listing {
    json_t *filter;
    bool all, newest, json, legend, has_limit, has_since, orphans, elements;
    uint64_t limit;
    char **ids; /* operands; 0: all jobs */
    size_t nids;
    json_t *states, *results; /* with elements: taken from the filter, for them */
};

static int parse(struct ctl *ctl, struct listing *l)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        const char *arg = ctl->options.arg;
        if (key == OPTION_BAD)
            return ctl->code;
        int r = ctl_filter_take(&l->filter, key, arg);
        if (r < 0)
            return CTL_EXIT_USAGE;
        l->all |= key == 'a' || r == 1;
        l->elements |= key == 'e';
        l->has_since |= key == CTL_OPT_SINCE;
        l->orphans |= key == CTL_OPT_ORPHANS;
        l->newest |= key == OPT_NEWEST;
        l->json |= key == CTL_OPT_JSON || (key == 'o' && strcmp(arg, "json") == 0);
        l->legend &= key != OPT_NO_LEGEND;
        if (key == 'o' && strcmp(arg, "json") != 0 && strcmp(arg, "table") != 0)
            return ctl_usage(ctl, "--output: %s is neither table nor json", arg);
        if (key == 'n' && !ctl_number("--lines", arg, &l->limit))
            return CTL_EXIT_USAGE;
        l->has_limit |= key == 'n';
    }
    return -1;
}

static json_t *live_states(void)
{
    return json_pack("[s,s,s,s]", "queued", "starting", "running", "stopping");
}

/* Gets every page of what the filter says. */
static int fetch_pages(struct ctl *ctl, const struct listing *l, bool newest_first,
                       json_t *jobs)
{
    json_t *cursor = NULL;
    int code = CTL_EXIT_OK;
    for (;;) {
        size_t have = json_array_size(jobs);
        bool bounded = l->has_limit && !l->elements;
        uint64_t want = bounded && l->limit - have < PAGE ? l->limit - have : PAGE;
        if (want == 0)
            break;
        json_t *params =
            json_pack("{s:O*, s:b, s:I, s:o*}", "filter", l->filter, "newest_first",
                      newest_first, "limit", (json_int_t)want, "cursor", cursor);
        cursor = NULL;
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        code = ctl_call(ctl, "org.voltd.jobs.List", params, &reply);
        if (code != CTL_EXIT_OK)
            break;
        (void)json_array_extend(jobs, json_object_get(reply.parameters, "jobs"));
        json_t *next = json_object_get(reply.parameters, "cursor");
        cursor = json_is_string(next) ? json_incref(next) : NULL;
        client_reply_fini(&reply);
        if (!cursor)
            break;
    }
    json_decref(cursor);
    return code;
}

/* The jobs are in the order they were asked for; ids that one message cannot hold are
 * asked for in portions. */
static int fetch(struct ctl *ctl, const struct listing *l, bool newest_first,
                 json_t *jobs)
{
    size_t portions = (l->nids + PORTION - 1) / PORTION;
    int code = l->nids == 0 ? fetch_pages(ctl, l, newest_first, jobs) : CTL_EXIT_OK;
    for (size_t i = 0; code == CTL_EXIT_OK && i < portions; i++) {
        size_t at = (newest_first ? portions - 1 - i : i) * PORTION;
        size_t n = l->nids - at < PORTION ? l->nids - at : PORTION;
        (void)json_object_set_new(l->filter, "ids", ctl_strings(l->ids + at, (int)n));
        code = fetch_pages(ctl, l, newest_first, jobs);
    }
    return code;
}

/* --- elements ----------------------------------------------------------------------- */

/* Filters by state and result are for elements, and for jobs that are no arrays: an array
 * whose elements match may itself run still, or have a worse result. */
static void split_filter(struct listing *l)
{
    if (!l->elements || !l->filter)
        return;
    l->states = json_incref(json_object_get(l->filter, "states"));
    l->results = json_incref(json_object_get(l->filter, "results"));
    (void)json_object_del(l->filter, "states");
    (void)json_object_del(l->filter, "results");
}

static bool has_word(const json_t *list, const char *word)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(item), word) == 0)
            return true;
    }
    return list == NULL;
}

static int append(void *arg, json_t *job)
{
    return json_array_append(arg, job) < 0 ? -ENOMEM : 0;
}

static int expand_array(struct ctl *ctl, const struct listing *l, const json_t *array,
                        json_t *to)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY, error = CLIENT_REPLY_EMPTY;
    struct elements e;
    json_t *params =
        json_pack("{s:s, s:b}", "id", job_view_string(array, "id"), "with_spec", 1);
    int code = ctl_call(ctl, "org.voltd.jobs.Get", params, &reply), r = 0;
    if (code == CTL_EXIT_OK &&
        elements_of(json_object_get(reply.parameters, "job"), &e)) {
        e.states = l->states;
        e.results = l->results;
        e.most = UINT64_MAX;
        r = elements_walk(ctl->client, &e, append, to, &error);
    }
    if (r != 0)
        code = r == 1 ? ctl_refused(&error) : ctl_lost(r);
    client_reply_fini(&error);
    client_reply_fini(&reply);
    return code;
}

/* Arrays give way to those of their elements that match. */
static int expand(struct ctl *ctl, const struct listing *l, json_t **jobs)
{
    json_t *to = json_array();
    int code = CTL_EXIT_OK;
    size_t i;
    json_t *job;
    json_array_foreach(*jobs, i, job)
    {
        if (code != CTL_EXIT_OK)
            break;
        if (json_is_object(json_object_get(job, "counts")))
            code = expand_array(ctl, l, job, to);
        else if (has_word(l->states, job_view_string(job, "state")) &&
                 has_word(l->results, job_view_string(job, "result")))
            (void)append(to, job);
    }
    json_decref(*jobs);
    *jobs = to;
    return code;
}

/* Leaves the newest `most` of jobs, which are in the order of their submission; turned:
 * the newest first. */
static void cut(json_t **jobs, uint64_t most, bool turned)
{
    json_t *kept = json_array();
    size_t n = json_array_size(*jobs), left = n < most ? n : (size_t)most;
    for (size_t i = 0; i < left; i++)
        (void)json_array_append(kept,
                                json_array_get(*jobs, turned ? n - 1 - i : n - left + i));
    json_decref(*jobs);
    *jobs = kept;
}

static const struct table_column columns[] = {
    {"ID", TABLE_LEFT, false},        {"NAME", TABLE_LEFT, true},
    {"STATE", TABLE_LEFT, false},     {"RESULT", TABLE_LEFT, false},
    {"DONE", TABLE_RIGHT, false},     {"QUEUE", TABLE_LEFT, true},
    {"PRIO", TABLE_RIGHT, false},     {"RUNTIME", TABLE_RIGHT, false},
    {"SUBMITTED", TABLE_LEFT, false},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* The time of day; with the date when that was not today. */
static void short_time(uint64_t at_usec, uint64_t now, char *buf, size_t size)
{
    time_t t = (time_t)(at_usec / 1000000), today = (time_t)(now / 1000000);
    struct tm a, b;
    (void)snprintf(buf, size, "-");
    if (at_usec == 0 || !localtime_r(&t, &a) || !localtime_r(&today, &b))
        return;
    bool same = a.tm_yday == b.tm_yday && a.tm_year == b.tm_year;
    (void)strftime(buf, size, same ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &a);
}

static int add_row(struct table *t, const json_t *job, uint64_t now)
{
    char result[48], done[48] = "-", prio[24], runtime[32] = "-", submitted[32];
    const json_t *counts = json_object_get(job, "counts");
    if (json_is_object(counts))
        (void)snprintf(done, sizeof(done), "%" PRId64 "/%" PRId64,
                       job_view_int(counts, "done"), job_view_int(counts, "total"));
    job_view_result_word(job, result, sizeof(result));
    (void)snprintf(prio, sizeof(prio), "%" PRId64, job_view_int(job, "priority"));
    uint64_t usec = job_view_runtime(job, now);
    if (usec > 0)
        duration_format(usec, runtime, sizeof(runtime));
    short_time((uint64_t)job_view_int(job, "submitted_at_usec"), now, submitted,
               sizeof(submitted));
    const char *queue = job_view_string(job, "queue");
    const char *cells[COLUMNS] = {job_view_string(job, "id"),
                                  job_view_string(job, "name"),
                                  job_view_string(job, "state"),
                                  result,
                                  done,
                                  *queue ? queue : "-",
                                  prio,
                                  runtime,
                                  submitted};
    return table_add(t, cells, job_view_style(job));
}

static int print_table(const struct listing *l, json_t *jobs)
{
    struct table *t = table_new(columns, COLUMNS);
    size_t i;
    json_t *job;
    uint64_t now = job_view_now();
    int r = t ? 0 : -1;
    json_array_foreach(jobs, i, job)
    {
        if (r == 0)
            r = add_row(t, job, now);
    }
    if (r == 0 && (json_array_size(jobs) > 0 || !term_is_tty(STDOUT_FILENO)))
        table_print(t, l->legend);
    if (r == 0 && l->legend && term_is_tty(STDOUT_FILENO))
        term_print("\n%zu job%s listed.%s\n", json_array_size(jobs),
                   json_array_size(jobs) == 1 ? "" : "s",
                   l->all ? "" : " Those that have ended: voltctl list --all");
    table_free(t);
    if (r < 0)
        say("out of memory");
    return r < 0 ? CTL_EXIT_FAILED : CTL_EXIT_OK;
}

/* One array, a job a line. */
static void print_json(const json_t *jobs)
{
    size_t i;
    json_t *job;
    (void)putchar('[');
    json_array_foreach(jobs, i, job)
    {
        term_print("%s", i > 0 ? ",\n" : "");
        (void)term_put_json(job);
    }
    (void)puts("]");
}

/* On a terminal: that there is more than meets the eye. */
static void hint_at_orphans(struct ctl *ctl)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *params = json_pack("{s:{s:b, s:o}, s:i}", "filter", "orphans", 1, "states",
                               live_states(), "limit", 1);
    if (client_call(ctl->client, "org.voltd.jobs.List", params, &reply) == 0 &&
        json_array_size(json_object_get(reply.parameters, "jobs")) > 0)
        (void)puts("Jobs of an earlier voltd still run: voltctl list --orphans");
    client_reply_fini(&reply);
}

/* What was asked for by its id and is not listed: filtered out, or not there, which is
 * said; of a range some may be missing. */
static int check_ids(struct ctl *ctl, const struct listing *l, const json_t *jobs)
{
    if (ctl->ranged)
        return CTL_EXIT_OK;
    json_t *listed = json_object();
    size_t i;
    const json_t *job;
    int worst = CTL_EXIT_OK;
    json_array_foreach(jobs, i, job)
    {
        (void)json_object_set_new(listed, job_view_string(job, "id"), json_true());
    }
    for (size_t k = 0; k < l->nids; k++) {
        int code = json_object_get(listed, l->ids[k])
                       ? CTL_EXIT_OK
                       : ctl_each(ctl, &l->ids[k], 1, ctl_find, NULL);
        worst = code > worst ? code : worst;
    }
    json_decref(listed);
    return worst;
}

/* All jobs that are to be shown, in their order. */
static int gather(struct ctl *ctl, struct listing *l, json_t **jobs)
{
    /* From the end that is near to what is asked for: nobody looks at the rest. */
    bool newest_first = l->newest || l->has_limit || l->has_since;
    int code = fetch(ctl, l, newest_first, *jobs);
    if (newest_first && (!l->newest || l->elements))
        cut(jobs, UINT64_MAX, true);
    if (code != CTL_EXIT_OK || !l->elements)
        return code;
    code = expand(ctl, l, jobs);
    cut(jobs, l->has_limit ? l->limit : UINT64_MAX, l->newest);
    return code;
}

static int list(struct ctl *ctl, struct listing *l)
{
    int n = ctl_ids(ctl, 0, &l->ids);
    if (n < 0)
        return ctl->code;
    l->nids = (size_t)n;
    l->all |= n > 0;
    if (!l->filter)
        l->filter = json_object();
    if (!l->all)
        (void)json_object_set_new(l->filter, "states", live_states());
    split_filter(l);
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *jobs = json_array();
    code = gather(ctl, l, &jobs);
    if (code == CTL_EXIT_OK && l->json)
        print_json(jobs);
    else if (code == CTL_EXIT_OK)
        code = print_table(l, jobs);
    if (code == CTL_EXIT_OK && !l->json && l->legend && !l->orphans &&
        term_is_tty(STDOUT_FILENO))
        hint_at_orphans(ctl);
    if (code == CTL_EXIT_OK)
        code = check_ids(ctl, l, jobs);
    json_decref(jobs);
    return code;
}

static int run(struct ctl *ctl)
{
    struct listing l = {.legend = true};
    int code = parse(ctl, &l);
    if (code < 0)
        code = list(ctl, &l);
    json_decref(l.filter);
    json_decref(l.states);
    json_decref(l.results);
    return code;
}

const struct verb verb_list = {
    .name = "list",
    .operands = "[ID...]",
    .summary = "List jobs that wait or run, or those that a filter describes",
    .text =
        "All filters given must match. Filters and ids also find jobs that have ended.\n"
        "An id of no job is an error, when the others have been listed. An array is one\n"
        "line, its elements done in DONE; with --elements each of them is a line, and\n"
        "--state and --result are about them.\n"
        "\nExamples:\n"
        "  voltctl list --all -n 20\n"
        "  voltctl list --since=yesterday --until=today --result=exit\n"
        "  voltctl list --state=running --queue=default\n"
        "  voltctl list --result=failed --json 12-40\n"
        "  voltctl list --elements --result=failed 17   which of an array failed\n",
    .options = options,
    .run = run,
};
