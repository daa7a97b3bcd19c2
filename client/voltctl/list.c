/* voltctl list: prints jobs as a table, or as JSON. Each page is printed as it comes,
 * after the next one was requested. Only output that is sorted or reversed is collected
 * first. JSON for a program is printed as received, without parsing. */
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/list_columns.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_NEWEST = OPTION_LONG,
    OPT_NO_LEGEND,
    OPT_SORT,
    PAGE = 1000,
    PORTION = 10000, /* ids in a call: a message holds 20,000 tokens */
    ENDED_SHOWN = 5  /* on a terminal, after those that wait or run */
};

static const struct option_entry options[] = {
    {"all", 'a', NULL, "also jobs that have ended"},
    {"lines", 'n', "N", "the newest N jobs only"},
    {"newest", OPT_NEWEST, NULL, "newest first"},
    {"sort", OPT_SORT, "COL,COL", "by these columns instead; -COL: the largest first"},
    {"elements", 'e', NULL, "the elements of arrays instead of the arrays"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    {"output", 'o', "FORMAT",
     "how: table (default), wide, json, ndjson (a job a line), or "
     "the columns to show: id,state,command"},
    CTL_JSON_OPTION,
    {"no-legend", OPT_NO_LEGEND, NULL, "no headings and no closing line"},
    CTL_OPTIONS_END,
};

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" -r --running ", "--state=running"},
    {" -t --states --status ",
     "--state=STATE, or --result=RESULT of those that have ended"},
    {" -l --long --full --json-pretty ", "--output=wide, or json"},
    {" --format -O ", "--json, or --output=COL,COL: the columns to show"},
    {" -j --jobs ", "the ids alone: voltctl list ID..."},
    {" -w -q -g --group --partition ", "--queue=QUEUE"},
    {" --noheader --no-header --no-headers --no-heading ", "--no-legend"},
    {" -S --starttime --after ", "--since=TIME"},
    {" -E --endtime --before ", "--until=TIME"},
    {" -f --follow --watch -i --iterate ",
     "`voltctl events -f`, or `watch voltctl list`"},
    {" --no-pager ", OPTION_LEAVE_OUT ": there is no pager"},
    {" --limit --max --lines ", "--newest -n N: the latest N"},
    {" --reverse ", "--newest: the newest first"},
    {NULL, NULL},
};

enum { RUNNING_SHOWN = 16 }; /* ids printed after a list */

enum format { AS_TABLE = 0, AS_JSON, AS_NDJSON };

struct listing {
    json_t *filter;
    bool all, newest, legend, has_limit, has_since, orphans, elements;
    enum format format;
    struct list_columns columns, by;
    bool chosen; /* columns were chosen: none is left out */
    uint64_t limit;
    char **ids; /* operands; 0: all jobs */
    size_t nids;
    bool none; /* there were operands, and none is a job: the list is empty */

    json_t *also;     /* parameters of List: fields of the specs */
    uint64_t now;     /* the same for all jobs */
    uint64_t fetched; /* jobs */
    json_t *held;     /* jobs to print at the end; NULL: pages are printed as they come */
    bool as_text;     /* jobs are printed as received, without parsing */
    struct table *table;
    bool begun;     /* of the JSON */
    uint64_t told;  /* jobs */
    json_t *states; /* on a terminal: number of jobs by state */
    char *running[RUNNING_SHOWN];
    size_t nrunning; /* may exceed RUNNING_SHOWN */
    json_t *missing; /* ids named by themselves that were not listed; NULL: none */
};

static int take_output(struct ctl *ctl, struct listing *l, const char *arg)
{
    char bad[80], names[256];
    l->chosen = false;
    l->format = strcmp(arg, "json") == 0     ? AS_JSON
                : strcmp(arg, "ndjson") == 0 ? AS_NDJSON
                                             : AS_TABLE;
    if (l->format != AS_TABLE || strcmp(arg, "table") == 0) {
        list_columns_default(&l->columns, false);
        return 0;
    }
    l->chosen = true;
    if (strcmp(arg, "wide") == 0) {
        list_columns_wide(&l->columns);
        return 0;
    }
    if (list_columns_parse(arg, false, &l->columns, bad, sizeof(bad)) == 0)
        return 0;
    list_columns_names(names, sizeof(names));
    say("list: --output: \"%s\" is neither table, wide, json nor ndjson, and not one of "
        "the columns, each once: %s",
        bad, names);
    return ctl->code = CTL_EXIT_USAGE;
}

static int take_sort(struct ctl *ctl, struct listing *l, const char *arg)
{
    char bad[80], names[256];
    if (list_columns_parse(arg, true, &l->by, bad, sizeof(bad)) == 0)
        return 0;
    list_columns_names(names, sizeof(names));
    say("list: --sort: \"%s\" is not one of the columns, each once: %s", bad, names);
    return ctl->code = CTL_EXIT_USAGE;
}

static int parse(struct ctl *ctl, struct listing *l)
{
    bool json = false;
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
        l->legend &= key != OPT_NO_LEGEND;
        json |= key == CTL_OPT_JSON;
        if ((key == 'o' && take_output(ctl, l, arg) != 0) ||
            (key == OPT_SORT && take_sort(ctl, l, arg) != 0))
            return ctl->code;
        if (key == 'n' && !ctl_number("--lines", arg, &l->limit))
            return CTL_EXIT_USAGE;
        l->has_limit |= key == 'n';
    }
    if (json && l->chosen)
        return ctl_usage(ctl, "--json prints objects with all; --output=COL,COL a table");
    if (json && l->format == AS_TABLE)
        l->format = AS_JSON;
    return -1;
}

/* --- what comes out ----------------------------------------------------------------- */

static bool on_terminal(const struct listing *l)
{
    return l->format == AS_TABLE && term_is_tty(STDOUT_FILENO);
}

static struct table *new_table(const struct listing *l)
{
    unsigned width = on_terminal(l) ? term_columns(STDOUT_FILENO) : 0;
    return list_columns_table(&l->columns, l->chosen, width, l->legend);
}

/* Counts the job for the line after the list, as the beginning may have scrolled by.
 * Returns 0 or -ENOMEM. */
static int count_state(struct listing *l, const json_t *job)
{
    const char *state = job_view_string(job, "state");
    if (!l->states)
        l->states = json_object();
    (void)json_object_set_new(l->states, state,
                              json_integer(job_view_int(l->states, state) + 1));
    if (strcmp(state, "running") != 0)
        return 0;
    if (l->nrunning < RUNNING_SHOWN &&
        !(l->running[l->nrunning] = strdup(job_view_string(job, "id"))))
        return -ENOMEM;
    l->nrunning++;
    return 0;
}

static int add_row(struct listing *l, const json_t *job)
{
    if (on_terminal(l) && count_state(l, job) < 0)
        return -ENOMEM;
    if (!l->table)
        l->table = new_table(l);
    return l->table ? list_columns_add(&l->columns, l->table, job, l->now) : -ENOMEM;
}

/* Begins a job in JSON: in an array, a job per line, or without one. */
static void before_json(struct listing *l)
{
    if (l->format == AS_JSON)
        term_print("%s", l->begun ? ",\n" : "[");
    l->begun = true;
}

static void after_json(const struct listing *l)
{
    if (l->format == AS_NDJSON)
        (void)putchar('\n');
}

static int add_json(struct listing *l, const json_t *job)
{
    before_json(l);
    int r = term_put_json(job);
    if (r == 0)
        after_json(l);
    return r;
}

static void print_texts(struct listing *l, const struct client_list *jobs)
{
    size_t at = 0;
    const char *job;
    while ((job = client_list_next(jobs, &at))) {
        before_json(l);
        term_put_escaped(job, true, '\0');
        after_json(l);
        l->told++;
    }
}

static int no_memory(void)
{
    say("out of memory");
    return CTL_EXIT_FAILED;
}

static int print_jobs(struct listing *l, json_t *jobs)
{
    size_t i;
    json_t *job;
    int r = 0;
    json_array_foreach(jobs, i, job)
    {
        r = l->format == AS_TABLE ? add_row(l, job) : add_json(l, job);
        if (r < 0)
            return no_memory();
        l->told++;
        if (l->missing)
            (void)json_object_del(l->missing, job_view_string(job, "id"));
    }
    return CTL_EXIT_OK;
}

/* Ends the output. After an error an array of JSON stays open, so that a part is not
 * taken for all. */
static int end_printing(struct listing *l)
{
    if (l->format == AS_JSON)
        term_print("%s\n", l->begun ? "]" : "[]");
    if (l->format != AS_TABLE || (l->told == 0 && on_terminal(l)))
        return CTL_EXIT_OK;
    if (!l->table)
        l->table = new_table(l);
    return l->table && table_end(l->table) == 0 ? CTL_EXIT_OK : no_memory();
}

/* --- what comes in ------------------------------------------------------------------ */

/* Returns the fields to request: all for programs, otherwise those of the columns. */
static json_t *wishes(const struct listing *l)
{
    if (l->format != AS_TABLE)
        return json_pack("{s:b}", "with_spec", 1);
    json_t *fields = json_array(), *spec_fields = json_array();
    list_columns_need(&l->columns, fields, spec_fields);
    list_columns_need(&l->by, fields, spec_fields);
    if (on_terminal(l))
        (void)json_array_append_new(fields, json_string("state"));
    return json_pack("{s:o, s:o}", "fields", fields, "spec_fields", spec_fields);
}

/* Returns how many jobs the next answer may have. */
static uint64_t wanted(const struct listing *l)
{
    return l->has_limit && l->limit - l->fetched < PAGE ? l->limit - l->fetched : PAGE;
}

/* Requests a page; without a limit a stream of all. Takes the cursor; NULL: from the
 * beginning. */
static int ask(struct ctl *ctl, const struct listing *l, bool newest_first,
               json_t *cursor)
{
    json_t *params = json_pack("{s:O, s:b, s:o*}", "filter", l->filter, "newest_first",
                               newest_first, "cursor", cursor);
    if (!params)
        return no_memory();
    if (l->has_limit)
        (void)json_object_set_new(params, "limit", json_integer((json_int_t)wanted(l)));
    (void)json_object_update(params, l->also);
    return ctl_send(ctl, "org.voltd.jobs.List", params, l->has_limit ? 0 : CLIENT_MORE);
}

/* Drops a parameter that an older voltd does not know. Returns false if there is none. */
static bool forgo(struct listing *l, const char *wish)
{
    if (!json_object_get(l->also, wish))
        return false;
    (void)json_object_del(l->also, wish);
    if (strcmp(wish, "spec_fields") == 0) /* then whole specs */
        (void)json_object_set_new(l->also, "with_spec", json_true());
    return true;
}

/* Receives the next answer. If an older voltd refuses parameters, asks again without
 * them. */
static int receive(struct ctl *ctl, struct listing *l, bool newest_first,
                   struct client_list *jobs, struct client_reply *ret)
{
    int code = ctl_answer(ctl, l->as_text ? jobs : NULL, ret);
    while (code == CTL_EXIT_OK && ret->error) {
        if (!client_error_is(ret, "InvalidParameter") ||
            !forgo(l, job_view_string(ret->parameters, "parameter")))
            return ctl_refused(ret);
        client_reply_fini(ret);
        code = ask(ctl, l, newest_first, NULL);
        if (code == CTL_EXIT_OK)
            code = ctl_answer(ctl, l->as_text ? jobs : NULL, ret);
    }
    return code;
}

/* Fetches and prints all pages for the filter. On error the connection is of no further
 * use. */
static int fetch_pages(struct ctl *ctl, struct listing *l, bool newest_first)
{
    bool more = wanted(l) > 0;
    int code = more ? ask(ctl, l, newest_first, NULL) : CTL_EXIT_OK;
    while (code == CTL_EXIT_OK && more) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        struct client_list texts = {.name = "jobs"};
        code = receive(ctl, l, newest_first, &texts, &reply);
        if (code != CTL_EXIT_OK) {
            client_reply_fini(&reply);
            break;
        }
        json_t *jobs = json_object_get(reply.parameters, "jobs");
        json_t *next = json_object_get(reply.parameters, "cursor");
        print_texts(l, &texts); /* before the connection is used again */
        l->fetched += json_array_size(jobs);
        more = reply.continues || (json_is_string(next) && wanted(l) > 0);
        if (more && !reply.continues)
            code = ask(ctl, l, newest_first, json_incref(next));
        if (code == CTL_EXIT_OK && l->held)
            code = json_array_extend(l->held, jobs) < 0 ? no_memory() : CTL_EXIT_OK;
        else if (code == CTL_EXIT_OK)
            code = print_jobs(l, jobs);
        client_reply_fini(&reply);
    }
    return code;
}

/* Fetches jobs in the requested order; many ids in portions, as a message is limited. */
static int fetch(struct ctl *ctl, struct listing *l, bool newest_first)
{
    size_t portions = (l->nids + PORTION - 1) / PORTION;
    int code = l->nids == 0 ? fetch_pages(ctl, l, newest_first) : CTL_EXIT_OK;
    for (size_t i = 0; code == CTL_EXIT_OK && i < portions; i++) {
        size_t at = (newest_first ? portions - 1 - i : i) * PORTION;
        size_t n = l->nids - at < PORTION ? l->nids - at : PORTION;
        (void)json_object_set_new(l->filter, "ids", id_list(l->ids + at, n));
        code = fetch_pages(ctl, l, newest_first);
    }
    return code;
}

/* --- the end of it ------------------------------------------------------------------ */

/* Prints the newest ended jobs after those that wait or run. Returns false if there are
 * none, or on error. */
static bool print_ended(struct ctl *ctl, const struct listing *l)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *params = json_pack("{s:{s:[s]}, s:b, s:i}", "filter", "states", "done",
                               "newest_first", 1, "limit", ENDED_SHOWN);
    (void)json_object_update(params, l->also);
    int r = client_call(ctl->client, "org.voltd.jobs.List", params, &reply);
    json_t *jobs = json_object_get(reply.parameters, "jobs");
    size_t n = r == 0 ? json_array_size(jobs) : 0;
    struct table *t = n > 0 ? new_table(l) : NULL;
    for (size_t i = 0; t && i < n; i++) {
        size_t at = l->newest ? i : n - 1 - i;
        (void)list_columns_add(&l->columns, t, json_array_get(jobs, at), l->now);
    }
    if (t) {
        term_print("%sEnded:\n", l->told > 0 ? "\n" : "");
        (void)table_end(t);
    }
    table_free(t);
    client_reply_fini(&reply);
    return n > 0;
}

/* Prints "100 jobs listed: 2 running (9-10), 98 queued.". */
static void print_counts(const struct listing *l)
{
    char ids[RUNNING_SHOWN * 24];
    const char *state, *before = ": ";
    json_t *n;
    term_print("%" PRIu64 " job%s listed", l->told, l->told == 1 ? "" : "s");
    if (l->nrunning > 0) {
        term_print("%s%zu running", before, l->nrunning);
        before = ", ";
    }
    if (l->nrunning > 0 && l->nrunning <= RUNNING_SHOWN) {
        id_range_format(l->running, l->nrunning, ids, sizeof(ids));
        term_print(" (%s)", ids);
    }
    json_object_foreach(l->states, state, n)
    {
        if (strcmp(state, "running") == 0)
            continue;
        term_print("%s%lld %s", before, (long long)json_integer_value(n), state);
        before = ", ";
    }
    term_print(".");
}

static void print_closing(struct ctl *ctl, const struct listing *l)
{
    bool ended = !l->all && print_ended(ctl, l);
    if (l->told > 0 || ended)
        (void)putchar('\n');
    if (l->told == 0 && !l->all)
        (void)fputs("No job waits or runs.", stdout);
    else
        print_counts(l);
    if (l->told == 0 && ctl_misses_others(ctl, l->filter))
        (void)fputs(" Those of other users are shown to administrators: --all-users.",
                    stdout);
    bool narrow = term_columns(STDOUT_FILENO) < 90;
    term_print("%s%s\n",
               l->all   ? ""
               : narrow ? "\n"
                        : " ",
               l->all ? "" : "All that have ended: voltctl list --all");
}

/* Prints, on a terminal, that orphans run. */
static void hint_at_orphans(struct ctl *ctl)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *params = json_pack("{s:{s:b, s:o}, s:i}", "filter", "orphans", 1, "states",
                               job_view_live(true), "limit", 1);
    if (client_call(ctl->client, "org.voltd.jobs.List", params, &reply) == 0 &&
        json_array_size(json_object_get(reply.parameters, "jobs")) > 0)
        (void)puts("Jobs of an earlier voltd still run: voltctl list --orphans");
    client_reply_fini(&reply);
}

/* Checks ids that were not listed: they do not match, or an error is printed as they do
 * not exist. */
static int check_missing(struct ctl *ctl, const struct listing *l)
{
    int worst = CTL_EXIT_OK;
    const char *id;
    json_t *unused;
    json_object_foreach(l->missing, id, unused)
    {
        (void)unused;
        int code = ctl->client ? ctl_find(ctl, id, NULL) : CTL_EXIT_OK;
        worst = code > worst ? code : worst;
    }
    return worst;
}

static void turn_round(json_t **jobs)
{
    json_t *turned = json_array();
    for (size_t n = json_array_size(*jobs); n > 0; n--)
        (void)json_array_append(turned, json_array_get(*jobs, n - 1));
    json_decref(*jobs);
    *jobs = turned;
}

/* Prints the collected jobs, in order. */
static int arrange(struct listing *l, bool newest_first)
{
    if (newest_first && !l->newest)
        turn_round(&l->held);
    if (l->by.n > 0 && list_columns_sort(&l->by, l->held, l->now) < 0)
        return no_memory();
    return print_jobs(l, l->held);
}

/* Prints all jobs that are to be shown, in order. */
static int print_all(struct ctl *ctl, struct listing *l)
{
    /* Newest first if only the newest are wanted. */
    bool newest_first = l->newest || l->has_limit || l->has_since;
    if (l->by.n > 0 || (newest_first && !l->newest))
        l->held = json_array();
    l->as_text = l->format != AS_TABLE && !l->held && !l->missing && !l->has_limit &&
                 !term_is_tty(STDOUT_FILENO);
    int code = l->none ? CTL_EXIT_OK : fetch(ctl, l, newest_first);
    if (code == CTL_EXIT_OK && l->held)
        code = arrange(l, newest_first);
    return code == CTL_EXIT_OK ? end_printing(l) : code;
}

/* Whether the jobs may be those of several users: those of the system's voltd, for an
 * administrator or root. */
static bool is_of_all(const struct ctl *ctl)
{
    const struct address_choice *c = &ctl->choice;
    return c->admin || (geteuid() == 0 && c->scope != ADDRESS_USER && !c->jobs);
}

/* Connects, and leaves gaps in ranges out. Returns an exit code, after an error message
 * if it failed. */
static int choose(struct ctl *ctl, struct listing *l, bool by_id)
{
    int code = ctl_choose(ctl, NULL);
    l->ids = ctl->ids;
    l->nids = ctl->nids;
    l->none = by_id && ctl->client && l->nids == 0;
    return code;
}

static int list(struct ctl *ctl, struct listing *l)
{
    int n = ctl_ids(ctl, 0, &l->ids);
    if (n < 0)
        return ctl->code;
    l->all |= n > 0;
    l->now = job_view_now();
    if (!l->chosen && is_of_all(ctl))
        list_columns_default(&l->columns, true);
    l->also = wishes(l);
    l->missing = json_copy(ctl->single);
    if (!l->filter)
        l->filter = json_object();
    if (!l->all)
        (void)json_object_set_new(l->filter, "states", job_view_live(true));
    if (l->elements)
        (void)json_object_set_new(l->filter, "elements", json_true());
    const int chosen = choose(ctl, l, n > 0);
    int code = l->none ? CTL_EXIT_OK : chosen;
    if (code == CTL_EXIT_OK)
        code = print_all(ctl, l);
    if (code == CTL_EXIT_OK && l->legend && on_terminal(l)) {
        print_closing(ctl, l);
        if (!l->orphans)
            hint_at_orphans(ctl);
    }
    if (code == CTL_EXIT_OK && l->told == 0 && ctl_misses_queue(ctl, l->filter))
        say("note: there is no queue %s; `voltctl queues` lists them",
            job_view_string(l->filter, "queue"));
    if (code == CTL_EXIT_OK)
        code = check_missing(ctl, l);
    return code == CTL_EXIT_OK ? chosen : code;
}

static int run(struct ctl *ctl)
{
    struct listing l = {.legend = true};
    list_columns_default(&l.columns, false);
    int code = parse(ctl, &l);
    if (code < 0)
        code = list(ctl, &l);
    table_free(l.table);
    json_decref(l.filter);
    json_decref(l.also);
    json_decref(l.held);
    json_decref(l.missing);
    json_decref(l.states);
    for (size_t i = 0; i < l.nrunning && i < RUNNING_SHOWN; i++)
        free(l.running[i]);
    return code;
}

const struct verb verb_list = {
    .name = "list",
    .operands = "[ID...]",
    .summary = "List jobs: those that wait or run, or all that match",
    .text =
        "All filters given must match. Filters and ids also find jobs that have ended.\n"
        "An id of no job is an error; the others are listed first. An array is one line,\n"
        "with the number of elements that are done in DONE. With --elements each element\n"
        "is a line, and --state and --result choose elements. Of an array that the store\n"
        "has removed, nothing is known of its elements. A command is shown as it was\n"
        "typed.\n"
        "\n"
        "On a terminal, columns that are empty or have no room are left out, and the\n"
        "newest five jobs that have ended are shown below those that wait or run. The\n"
        "last line counts the states and names the jobs that run. Administrators, with\n"
        "--all-users, and root see whose each job is. Columns named with --output are\n"
        "all shown: id, index, name, user, state, wait, place, result, exit, code, done,\n"
        "queue, prio, attempt, pid, runtime, submitted, started, ended, labels,\n"
        "directory, command. place is that in the line of its queue, from 1, index the\n"
        "index of an element, exit an exit status, code what `voltctl wait` exits with.\n"
        "JSON has each job with what was submitted, in its member spec.\n"
        "\n"
        "Examples:\n"
        "  voltctl list --all -n 20\n"
        "  voltctl list --since=yesterday --until=today --result=exit\n"
        "  voltctl list --state=running --sort=-runtime\n"
        "  voltctl list -o id,user,labels,command --label=night=1\n"
        "  voltctl list --failed -u alice --since=today --all-users\n"
        "  voltctl list --result=failed --json 12-40\n"
        "  voltctl list --elements --result=failed 17   which of an array failed\n"
        "  voltctl list --elements -o index,result,exit,started,ended 17\n",
    .options = options,
    .elsewhere = elsewhere,
    .run = run,
};
