/* voltctl graph: prints jobs that wait for others as a tree. */
#include "client/job_view.h"
#include "client/say.h"
#include "client/term.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DEEPEST = 100,  /* levels printed */
    PORTION = 10000 /* ids in a call: a message holds 20,000 tokens */
};

static const struct option_entry options[] = {CTL_OPTIONS_END};

struct graph {
    json_t *jobs;    /* by id: jobs that have not ended, and their antecedents */
    json_t *waiting; /* by id of a job: its dependents, {id, when} each */
    json_t *printed; /* by id */
    json_t *wanted;  /* by id: roots of the trees to print; NULL: all */
};

static int add_edges(void *arg, json_t *job)
{
    struct graph *g = arg;
    json_t *edges = json_object_get(json_object_get(job, "spec"), "after"), *edge;
    const char *id = job_view_string(job, "id");
    size_t i;
    json_array_foreach(edges, i, edge)
    {
        const char *of = job_view_string(edge, "job");
        json_t *list = json_object_get(g->waiting, of);
        if (!list) {
            list = json_array();
            (void)json_object_set_new(g->waiting, of, list);
        }
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "id", id, "when",
                                                  job_view_string(edge, "when"), "each",
                                                  job_view_bool(edge, "each"))) < 0)
            return -ENOMEM;
    }
    return json_object_set(g->jobs, id, job) < 0 ? -ENOMEM : 0;
}

/* Adds the jobs that match, with or without their antecedents; takes filter. */
static int fetch(struct ctl *ctl, struct graph *g, json_t *filter, bool with_edges)
{
    json_t *params =
        json_pack("{s:o, s:[s,s,s,s,s,s], s:o*}", "filter", filter, "fields", "name",
                  "state", "result", "exit_status", "signal", "counts", "spec_fields",
                  with_edges ? json_pack("[s]", "after") : NULL);
    return ctl_each_job(ctl, params, add_edges, g);
}

/* Fetches all jobs of this user that have not ended. */
static int fetch_live(struct ctl *ctl, struct graph *g)
{
    char user[32];
    (void)snprintf(user, sizeof(user), "%u", (unsigned)getuid());
    return fetch(ctl, g,
                 json_pack("{s:o, s:s}", "states", job_view_live(true), "user", user),
                 true);
}

/* Fetches antecedents that have ended. */
static int fetch_ended(struct ctl *ctl, struct graph *g)
{
    json_t *ids = json_array(), *unused;
    int code = CTL_EXIT_OK;
    const char *id;
    json_object_foreach(g->waiting, id, unused)
    {
        (void)unused;
        if (code != CTL_EXIT_OK || json_object_get(g->jobs, id))
            continue;
        (void)json_array_append_new(ids, json_string(id));
        if (json_array_size(ids) < PORTION)
            continue;
        code = fetch(ctl, g, json_pack("{s:O}", "ids", ids), false);
        (void)json_array_clear(ids);
    }
    if (code == CTL_EXIT_OK && json_array_size(ids) > 0)
        code = fetch(ctl, g, json_pack("{s:O}", "ids", ids), false);
    json_decref(ids);
    return code;
}

static const char *text_of(const char *when)
{
    return strcmp(when, "notok") == 0   ? " (if it fails)"
           : strcmp(when, "any") == 0   ? " (when it ends)"
           : strcmp(when, "start") == 0 ? " (when it starts)"
                                        : "";
}

/* Prints "queued", "done, exit 3", or "ended" if no more is known. */
static void print_state(const json_t *job)
{
    const char *state = job_view_string(job, "state");
    char result[64];
    job_view_result_word(job, result, sizeof(result));
    if (strcmp(state, "done") == 0)
        term_print("done, %s", result);
    else
        term_print("%s", job ? state : "ended");
}

/* Prints the line of a job. Returns true if the job was not printed before. */
static bool print_line(struct graph *g, const char *id, const char *when, bool each,
                       unsigned depth)
{
    const json_t *job = json_object_get(g->jobs, id);
    const char *name = job_view_string(job, "name");
    const bool again = json_object_get(g->printed, id);
    term_print("%*s", (int)(2 * depth), "");
    term_put(id);
    term_print("%s", *name ? " " : "");
    term_put(name);
    term_print("%s%s: ", text_of(when), each ? " (element to element)" : "");
    print_state(job);
    term_print("%s\n", again ? ", as above" : "");
    (void)json_object_set_new(g->printed, id, json_true());
    return !again;
}

static void print_below(struct graph *g, const char *id, unsigned depth)
{
    const json_t *waiting = json_object_get(g->waiting, id), *edge;
    size_t i;
    if (depth > DEEPEST && json_array_size(waiting) > 0) {
        term_print("%*s...\n", (int)(2 * depth), "");
        return;
    }
    json_array_foreach(waiting, i, edge)
    {
        const char *next = job_view_string(edge, "id");
        if (print_line(g, next, job_view_string(edge, "when"),
                       job_view_bool(edge, "each"), depth))
            print_below(g, next, depth + 1);
    }
}

static const json_t *edges_of(const struct graph *g, const char *id)
{
    const json_t *job = json_object_get(g->jobs, id);
    return json_object_get(json_object_get(job, "spec"), "after");
}

/* Returns whether the job waits for a job in the tree. */
static bool is_below(const struct graph *g, const char *id)
{
    return json_array_size(edges_of(g, id)) > 0;
}

/* Marks the trees that have this job: those of all jobs that it waits for, directly or
 * not. Returns 0; -1: no memory. */
static int want(struct graph *g, const char *id)
{
    json_t *above = json_array(), *seen = json_object(), *edge;
    int r = json_array_append_new(above, json_string(id));
    for (size_t n = 0; r == 0 && n < json_array_size(above); n++) {
        const char *at = json_string_value(json_array_get(above, n));
        size_t i;
        if (json_object_get(seen, at))
            continue;
        r = json_object_set_new(seen, at, json_true());
        json_array_foreach(edges_of(g, at), i, edge) r |=
            json_array_append(above, json_object_get(edge, "job"));
        if (r == 0 && !is_below(g, at))
            r = json_object_set_new(g->wanted, at, json_true());
    }
    json_decref(above);
    json_decref(seen);
    return r;
}

/* A ctl_one_fn that marks the job's trees. */
static int want_one(struct ctl *ctl, const char *id, void *arg)
{
    struct graph *g = arg;
    int r = 0;
    if (json_object_get(g->waiting, id) || is_below(g, id))
        r = want(g, id);
    else if (json_object_get(g->jobs, id) || (r = ctl_find(ctl, id, NULL)) == CTL_EXIT_OK)
        term_print("%s: none of your jobs waits for it, and it waits for none\n", id);
    else
        return r; /* after an error message */
    if (r < 0)
        say("out of memory");
    return r < 0 ? CTL_EXIT_FAILED : CTL_EXIT_OK;
}

static void print(struct graph *g)
{
    const char *id;
    json_t *unused;
    if (!g->wanted && json_object_size(g->waiting) == 0)
        (void)puts("none of your jobs waits for another one");
    json_object_foreach(g->waiting, id, unused)
    {
        (void)unused;
        if (g->wanted && !json_object_get(g->wanted, id))
            continue;
        if (!is_below(g, id) && print_line(g, id, "ok", false, 0))
            print_below(g, id, 1);
    }
}

static int run(struct ctl *ctl)
{
    if (ctl_option(ctl) == OPTION_BAD)
        return ctl->code;
    char **ids;
    const int n = ctl_ids(ctl, 0, &ids);
    if (n < 0)
        return ctl->code;
    struct graph g = {.jobs = json_object(),
                      .waiting = json_object(),
                      .printed = json_object(),
                      .wanted = n > 0 ? json_object() : NULL};
    int code = ctl_choose(ctl, NULL);
    if (code == CTL_EXIT_OK)
        code = fetch_live(ctl, &g);
    if (code == CTL_EXIT_OK)
        code = fetch_ended(ctl, &g);
    if (code == CTL_EXIT_OK) {
        code = ctl_each(ctl, ctl->ids, (int)ctl->nids, want_one, &g);
        print(&g);
    }
    json_decref(g.jobs);
    json_decref(g.waiting);
    json_decref(g.printed);
    json_decref(g.wanted);
    return code;
}

const struct verb verb_graph = {
    .name = "graph",
    .operands = "[ID...]",
    .summary = "Show your jobs that wait for others, as a tree",
    .text =
        "With ids the trees that these are in.\n"
        "Below each job are those that wait for it. One that waits for several is below\n"
        "each of them, with what is below itself at the first only. A job that has ended\n"
        "is shown, with its result, as long as something waits that was submitted behind\n"
        "it.\n"
        "\nExamples:\n  voltctl graph\n  voltctl graph 17\n",
    .options = options,
    .run = run,
};
