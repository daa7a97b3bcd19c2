/* voltctl list: jobs as a table, or as JSON. */
#include "wire/duration.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/table.h"
#include "client/voltctl/verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPT_NEWEST = OPTION_LONG, OPT_NO_LEGEND, PAGE = 1000 };

static const struct option_entry options[] = {
    {"all", 'a', NULL, "also jobs that have ended"},
    {"lines", 'n', "N", "the newest N jobs only"},
    {"newest", OPT_NEWEST, NULL, "newest first"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    {"output", 'o', "FORMAT", "table (default) or json"},
    CTL_JSON_OPTION,
    {"no-legend", OPT_NO_LEGEND, NULL, "no headings and no closing line"},
    CTL_OPTIONS_END,
};

struct listing {
    json_t *filter;
    bool all, newest, json, legend, has_limit, has_since, orphans;
    uint64_t limit;
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
        l->all |= key == 'a' || key == CTL_OPT_STATE || key == CTL_OPT_RESULT ||
                  key == CTL_OPT_ORPHANS || key == CTL_OPT_SINCE || key == CTL_OPT_UNTIL;
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

/* Gets every page. The jobs are in the order they were asked for. */
static int fetch(struct ctl *ctl, const struct listing *l, bool newest_first,
                 json_t *jobs)
{
    json_t *cursor = NULL;
    int code = CTL_EXIT_OK;
    for (;;) {
        size_t have = json_array_size(jobs);
        uint64_t want = l->has_limit && l->limit - have < PAGE ? l->limit - have : PAGE;
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
        (void)printf("\n%zu job%s listed.%s\n", json_array_size(jobs),
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
        (void)fputs(i > 0 ? ",\n" : "", stdout);
        (void)json_dumpf(job, stdout, term_json_flags());
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
 * said. */
static int check_ids(struct ctl *ctl, char *const *ids, int n, const json_t *jobs)
{
    json_t *listed = json_object();
    size_t i;
    const json_t *job;
    int worst = CTL_EXIT_OK;
    json_array_foreach(jobs, i, job)
    {
        (void)json_object_set_new(listed, job_view_string(job, "id"), json_true());
    }
    for (int k = 0; k < n; k++) {
        int code = json_object_get(listed, ids[k])
                       ? CTL_EXIT_OK
                       : ctl_each(ctl, &ids[k], 1, ctl_find, NULL);
        worst = code > worst ? code : worst;
    }
    json_decref(listed);
    return worst;
}

static int list(struct ctl *ctl, struct listing *l)
{
    char **ids;
    int n = ctl_ids(ctl, 0, &ids);
    if (n < 0)
        return CTL_EXIT_USAGE;
    if (n > 0) {
        l->all = true;
        if (!l->filter)
            l->filter = json_object();
        (void)json_object_set_new(l->filter, "ids", ctl_strings(ids, n));
    }
    if (!l->all) {
        if (!l->filter)
            l->filter = json_object();
        (void)json_object_set_new(l->filter, "states", live_states());
    }
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code != CTL_EXIT_OK)
        return code;
    /* From the end that is near to what is asked for: nobody looks at the rest. */
    bool newest_first = l->newest || l->has_limit || l->has_since;
    json_t *jobs = json_array();
    code = fetch(ctl, l, newest_first, jobs);
    if (code == CTL_EXIT_OK && newest_first && !l->newest) {
        json_t *turned = json_array();
        for (size_t i = json_array_size(jobs); i > 0; i--)
            (void)json_array_append(turned, json_array_get(jobs, i - 1));
        json_decref(jobs);
        jobs = turned;
    }
    if (code == CTL_EXIT_OK && l->json)
        print_json(jobs);
    else if (code == CTL_EXIT_OK)
        code = print_table(l, jobs);
    if (code == CTL_EXIT_OK && !l->json && l->legend && !l->orphans &&
        term_is_tty(STDOUT_FILENO))
        hint_at_orphans(ctl);
    if (code == CTL_EXIT_OK)
        code = check_ids(ctl, ids, n, jobs);
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
    return code;
}

const struct verb verb_list = {
    .name = "list",
    .operands = "[ID...]",
    .summary = "List jobs that wait or run, or those that a filter describes",
    .text =
        "All filters given must match. --state, --result, --since, --until, --orphans\n"
        "and ids also find jobs that have ended. An id of no job is an error, when the\n"
        "others have been listed. An array is one line, its elements done in DONE.\n"
        "\nExamples:\n"
        "  voltctl list --all -n 20\n"
        "  voltctl list --since=yesterday --until=today --result=exit\n"
        "  voltctl list --state=running --queue=default\n"
        "  voltctl list --result=exit,signal,timeout --json\n"
        "  voltctl list --result=exit 17_{1..99}   of an array's elements, in bash\n",
    .options = options,
    .run = run,
};
