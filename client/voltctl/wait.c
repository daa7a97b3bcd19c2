/* voltctl wait: waits until jobs have ended, and exits with their code. */
#include "client/await.h"
#include "client/ends.h"
#include "client/job_view.h"
#include "client/reconnect.h"
#include "client/retry_watch.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

enum { OPT_QUIET = OPTION_LONG, OPT_ANY };

static const struct option_entry options[] = {
    {"all", 'a', NULL, "all jobs that have not ended"},
    {"any", OPT_ANY, NULL,
     "wait for the first one to end: print its id, and exit "
     "as it did"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_RECONNECT_OPTION,
    {"quiet", OPT_QUIET, NULL, "no progress and no summary"},
    {"json", CTL_OPT_JSON, NULL, "events as JSON, one a line, on standard output"},
    CTL_OPTIONS_END,
};

struct waiting {
    struct wait_request rq;
    json_t *filter;
    bool all, ended; /* ended: the filter has states, so ended jobs may match */
};

static int parse(struct ctl *ctl, struct waiting *w)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        if (ctl_filter_take(&w->filter, key, ctl->options.arg) < 0)
            return CTL_EXIT_USAGE;
        w->all |= key == 'a';
        w->rq.any |= key == OPT_ANY;
        w->ended |= key == CTL_OPT_STATE || key == CTL_OPT_RESULT ||
                    key == CTL_OPT_FAILED || key == CTL_OPT_SINCE;
        w->rq.quiet |= key == OPT_QUIET;
        w->rq.json |= key == CTL_OPT_JSON;
        if (!ctl_reconnect_take(ctl, key, &w->rq.reconnect_usec))
            return CTL_EXIT_USAGE;
    }
    return -1;
}

/* Adds the ids of all jobs that match now to ctl's. */
static int find(struct ctl *ctl, struct waiting *w)
{
    if (!w->filter)
        w->filter = json_object();
    if (!w->ended)
        (void)json_object_set_new(w->filter, "states", job_view_live(true));
    return ctl_ids_find(ctl, w->filter);
}

static int count_end(void *arg, json_t *job)
{
    ends_add(arg, job);
    return 0;
}

/* Counts the ended jobs that match. Returns an exit code. */
static int count_ends(struct ctl *ctl, const struct waiting *w, struct ends *e)
{
    (void)json_object_set_new(w->filter, "states", json_pack("[s]", "done"));
    return ctl_each_job(
        ctl,
        json_pack("{s:O, s:[s,s]}", "filter", w->filter, "fields", "result", "counts"),
        count_end, e);
}

/* Says why a filter matches no job to wait for. Returns an exit code. */
static int say_why_none(struct ctl *ctl, const struct waiting *w)
{
    struct ends e = {0};
    char text[160];
    int code = w->ended ? CTL_EXIT_OK : count_ends(ctl, w, &e);
    if (code != CTL_EXIT_OK)
        return code;
    ends_format(&e, text, sizeof(text));
    if (e.total == 0)
        say("no job matches%s", ctl_none_text(ctl, w->filter));
    else if (w->rq.quiet)
        say("no such job waits or runs");
    else
        say("no such job waits or runs; %s. `voltctl list --all` with the same filter "
            "lists them, and --state=done waits for them too",
            text);
    return CTL_EXIT_NO_SUCH_JOB;
}

/* Reports that there is no job to wait for. With a filter that is mostly a mistake or too
 * late, and success would be wrong for jobs that failed. */
static int say_none(struct ctl *ctl, const struct waiting *w)
{
    int code = w->all ? CTL_EXIT_OK : say_why_none(ctl, w);
    if (w->all && !w->rq.quiet && !w->rq.json)
        say("no such job waits or runs");
    if (w->rq.json && !w->rq.any)
        wait_print_none(code);
    return code;
}

/* Chooses the jobs. Returns CTL_EXIT_OK with the ids in w->rq, perhaps none; or the exit
 * code. */
static int choose(struct ctl *ctl, struct waiting *w)
{
    bool by_filter = w->all || w->filter;
    char **ids;
    int n = ctl_ids(ctl, 0, &ids);
    if (n < 0)
        return ctl->code;
    if (by_filter && n > 0)
        return ctl_usage(ctl, "ids, or --all or a filter: both are too much");
    if (!by_filter && n == 0)
        return ctl_usage(ctl, "ids, a filter or --all are needed");
    int code = ctl_choose(ctl, NULL);
    if (code == CTL_EXIT_OK && by_filter)
        code = find(ctl, w);
    w->rq.own = by_filter; /* a job that is purged meanwhile is no error */
    w->rq.ids = ctl->ids;
    w->rq.nids = ctl->nids > 0 ? ctl_ids_unique(ctl) : 0;
    if (code == CTL_EXIT_OK && w->rq.any && w->rq.nids > WAIT_ANY_MOST)
        return ctl_usage(ctl, "--any: at most %d jobs", WAIT_ANY_MOST);
    return code;
}

static int run(struct ctl *ctl)
{
    struct waiting w = {.rq = {.choice = &ctl->choice,
                               .reconnect_usec = RECONNECT_USEC,
                               .no_such_job_code = CTL_EXIT_NO_SUCH_JOB,
                               .interrupt = -1}};
    int code = parse(ctl, &w);
    if (code < 0)
        code = choose(ctl, &w);
    else
        w.rq.nids = 0;
    if (code == CTL_EXIT_OK && ctl->client && w.rq.nids == 0)
        code = say_none(ctl, &w);
    json_decref(w.filter);
    if (code != CTL_EXIT_OK || w.rq.nids == 0)
        return code;
    w.rq.interrupt = wait_interrupt_fd();
    struct retry_watch retries = {.c = NULL};
    if (!w.rq.quiet && !w.rq.json && !w.rq.any)
        retry_watch_begin(&retries, &ctl->choice, w.rq.ids, w.rq.nids, w.rq.interrupt);
    w.rq.retries = &retries;
    code = wait_for_jobs(&ctl->client, &w.rq);
    retry_watch_fini(&retries);
    return code;
}

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" --timeout -t ", "`timeout 10 voltctl wait ID`"},
    {NULL, NULL},
};

const struct verb verb_wait = {
    .name = "wait",
    .operands = "[ID...]",
    .summary = "Wait until jobs have ended, and exit as they did",
    .text =
        "Exits with the job's own code; 128+N killed by signal N; 124 its timeout;\n"
        "126 found but not executable; 127 not found; 125 cancelled, lost, or voltd\n"
        "failed; of several jobs the largest. 130: interrupted (the jobs go on).\n"
        "Codes 2, 3 and 4 below may come before the wait has begun.\n"
        "\n"
        "With --all or a filter it waits for the jobs that match and have not ended when\n"
        "it begins. With --state, --result, --failed or --since jobs that have ended\n"
        "count as well.\n"
        "Where a filter matches none of them the exit code is 4, and it says how many\n"
        "have ended, and how; with --all it is 0.\n"
        "It says when a job cannot go on: voltd-keeper does not answer, or SIGKILL does\n"
        "not end a process; and when an attempt has failed and another one follows.\n"
        "\n"
        "Examples:\n"
        "  voltctl wait 12 13 && echo both fine\n"
        "  voltctl wait --name=nightly --since=today\n"
        "  first=$(voltctl wait --any 12-40)\n",
    .options = options,
    .elsewhere = elsewhere,
    .run = run,
};
