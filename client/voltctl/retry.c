/* voltctl retry: submits ended jobs again, as new jobs. */
#include "client/index_list.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/spec_build.h"
#include "client/term.h"
#include "client/voltctl/array_results.h"
#include "client/voltctl/retried.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPT_WITH_DEPENDENTS = OPTION_LONG, OPT_ALONE, OPT_NEW };

static const struct option_entry options[] = {
    {"all", 'a', NULL, "every job that has ended"},
    {"with-dependents", OPT_WITH_DEPENDENTS, NULL,
     "also the jobs that ended as dependency for want of them"},
    {"alone", OPT_ALONE, NULL, "the new jobs wait for no others"},
    {"new", OPT_NEW, NULL, "also those that were submitted again before"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_JSON_OPTION,
    CTL_OPTIONS_END,
};

struct retry {
    json_t *filter;  /* NULL: none */
    json_t *results; /* of the elements of arrays; NULL: any */
    bool all, failed, dependents, alone, fresh, json;
    size_t fine; /* chosen jobs of which nothing has one of the results */
    struct retried jobs;
    json_t *late; /* chosen jobs that wait for other chosen jobs */
};

static int refuse(const char *id, const char *why)
{
    say("job %s %s", id, why);
    return CTL_EXIT_FAILED;
}

/* Makes the spec for another submission, new, without options of that one time. A job
 * that had begun waits for nothing again. Returns an exit code, after an error message if
 * it failed. */
static int spec_again(struct ctl *ctl, struct retry *r, const json_t *job, json_t **ret)
{
    static const char *const once[] = {"key", "hold", "delay_usec", "at_usec",
                                       "start_by_usec"};
    json_t *spec = json_deep_copy(json_object_get(job, "spec"));
    json_t *labels = json_object_get(spec, "labels");
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
        (void)json_object_del(spec, once[i]);
    if (!labels) {
        labels = json_object();
        (void)json_object_set_new(spec, "labels", labels);
    }
    (void)json_object_set(labels, "retry_of", json_object_get(job, "id"));
    *ret = spec;
    if (!r->alone && retried_still_waits(job))
        return retried_edges(ctl, &r->jobs, job, spec);
    (void)json_object_del(spec, "after");
    return CTL_EXIT_OK;
}

/* Sets a key, by which a job that was submitted again before is found. */
static void set_key(const struct retry *r, const char *old, json_t *spec)
{
    char key[96];
    (void)snprintf(key, sizeof(key), "voltctl retry %.64s", old);
    if (!r->fresh)
        (void)json_object_set_new(spec, "key", json_string(key));
}

static void say_retried(const char *old, const char *id, bool created)
{
    if (created)
        say("job %s is submitted again as job %s", old, id);
    else
        say("job %s was submitted again before, as job %s; --new submits another one",
            old, id);
}

static void tell(struct retry *r, const char *old, const char *id, bool created)
{
    (void)json_object_set_new(r->jobs.again, old, json_string(id));
    if (r->json) {
        json_t *line = json_pack("{s:s, s:s, s:b}", "id", id, "retry_of", old, "created",
                                 (int)created);
        ctl_print_json(line);
        json_decref(line);
    } else {
        term_print("%s\n", id);
        say_retried(old, id, created);
    }
}

/* Finds the new job that has the key, if it differs: it has all elements, or waits for
 * other jobs. */
static int find_before(struct ctl *ctl, struct retry *r, const char *old,
                       const struct client_reply *reply)
{
    const char *id;
    int code = retried_before(ctl, &r->jobs, old, &id);
    if (code == CTL_EXIT_OK && !id)
        return ctl_refused(reply);
    if (code == CTL_EXIT_OK)
        tell(r, old, id, false);
    return code;
}

/* Submits the job again; takes spec. */
static int submit(struct ctl *ctl, struct retry *r, const json_t *job, json_t *spec)
{
    const char *old = job_view_string(job, "id");
    set_key(r, old, spec);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code =
        ctl_send(ctl, "org.voltd.jobs.Submit", json_pack("{s:o}", "spec", spec), 0);
    if (code == CTL_EXIT_OK)
        code = ctl_answer(ctl, NULL, &reply);
    if (code != CTL_EXIT_OK)
        return code;
    if (!reply.error)
        tell(r, old, job_view_string(reply.parameters, "id"),
             job_view_bool(reply.parameters, "created"));
    else if (strcmp(reply.error, "org.voltd.jobs.KeyTaken") == 0)
        code = find_before(ctl, r, old, &reply);
    else
        code = ctl_refused(&reply);
    client_reply_fini(&reply);
    return code;
}

/* Reduces an array to these indexes. */
static int choose_indexes(json_t *spec, const char *id, const char *text)
{
    json_t *most =
        json_incref(json_object_get(json_object_get(spec, "array"), "at_once"));
    struct index_list list;
    int r = index_list_parse(text, &list);
    if (r < 0) {
        json_decref(most);
        return refuse(id, r == -E2BIG ? "has such elements in too many places for one "
                                        "array: name some of them"
                                      : "cannot be submitted again");
    }
    json_t *array = spec_build_array(&list);
    retried_wait_for_all(spec);
    if (most && json_object_set_new(array, "at_once", most) < 0)
        say("out of memory");
    (void)json_object_set_new(spec, "array", array);
    index_list_fini(&list);
    return CTL_EXIT_OK;
}

/* Reduces an array to its elements with these results; *ret_any: there are some. */
static int choose_elements(struct ctl *ctl, json_t *results, const json_t *job,
                           json_t *spec, bool *ret_any)
{
    struct array_results found;
    int code = array_results_find(ctl, job, results, &found);
    *ret_any = code != CTL_EXIT_OK || *found.indexes;
    if (code == CTL_EXIT_OK && *ret_any)
        code = choose_indexes(spec, job_view_string(job, "id"), found.indexes);
    array_results_fini(&found);
    return code;
}

static int check(const json_t *job)
{
    const char *id = job_view_string(job, "id");
    if (strcmp(job_view_string(job, "state"), "done") != 0)
        return refuse(id, "has not ended");
    if (!json_is_object(json_object_get(job, "spec")))
        return refuse(id, "cannot be submitted again: what it ran is not known any more");
    if ((uid_t)job_view_int(job, "uid") != geteuid())
        return refuse(id, "is another user's: it would be yours");
    return CTL_EXIT_OK;
}

/* Returns whether a filter's results have this one. */
static bool has_result(const json_t *results, const char *result)
{
    const bool good = strcmp(result, "success") == 0 || strcmp(result, "cancelled") == 0;
    const json_t *word;
    size_t i;
    json_array_foreach(results, i, word)
    {
        const char *text = json_string_value(word);
        if (strcmp(text, result) == 0 || (strcmp(text, "failed") == 0 && !good))
            return true;
    }
    return !results;
}

static int again(struct ctl *ctl, struct retry *r, const json_t *job)
{
    const bool array = json_is_object(json_object_get(job, "counts"));
    const char *element = strchr(job_view_string(job, "id"), '_');
    bool any = has_result(r->results, job_view_string(job, "result"));
    int code = check(job);
    r->fine += code == CTL_EXIT_OK && !any && !array;
    if (code != CTL_EXIT_OK || (!any && !array))
        return code;
    const char *id = job_view_string(job, "id"), *before = NULL;
    if (!r->fresh && retried_still_waits(job))
        code = retried_before(ctl, &r->jobs, id, &before);
    if (before)
        tell(r, id, before, false);
    if (code != CTL_EXIT_OK || before)
        return code;
    json_t *spec;
    code = spec_again(ctl, r, job, &spec);
    if (code == CTL_EXIT_OK && element)
        code = choose_indexes(spec, id, element + 1);
    else if (code == CTL_EXIT_OK && array && r->results)
        code = choose_elements(ctl, r->results, job, spec, &any);
    if (code == CTL_EXIT_OK && any)
        return submit(ctl, r, job, spec);
    r->fine += code == CTL_EXIT_OK;
    json_decref(spec);
    return code;
}

static int note_looked(struct retry *r, const char *id, int code)
{
    (void)json_object_set_new(r->jobs.looked, id, json_integer(code));
    (void)json_object_del(r->jobs.ahead, id);
    return code;
}

/* Submits a job again. If it waits for another chosen one, submit_late() does so
 * later. */
static int one(struct ctl *ctl, const char *id, void *arg)
{
    struct retry *r = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get",
                        json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply);
    json_t *job = json_object_get(reply.parameters, "job");
    bool waits = false;
    if (code == CTL_EXIT_OK)
        code = retried_waits(ctl, &r->jobs, job, &waits);
    if (waits)
        (void)json_array_append(r->late, job);
    else
        code = note_looked(r, id, code == CTL_EXIT_OK ? again(ctl, r, job) : code);
    client_reply_fini(&reply);
    return code;
}

/* Submits the jobs that are ahead and wait for no other one ahead; forced: also the first
 * that does. Returns how many. */
static size_t submit_ready(struct ctl *ctl, struct retry *r, const json_t *jobs,
                           bool forced, int *worst)
{
    size_t i, found = 0;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        const char *id = job_view_string(job, "id");
        bool waits = false;
        if (!ctl->client || !json_object_get(r->jobs.ahead, id))
            continue;
        int code = retried_waits(ctl, &r->jobs, job, &waits);
        if (code == CTL_EXIT_OK && waits && !forced)
            continue;
        code = note_looked(r, id, code == CTL_EXIT_OK ? again(ctl, r, job) : code);
        *worst = code > *worst ? code : *worst;
        found++;
        forced = false;
    }
    return found;
}

/* Submits each job after those that it waits for, in passes: these may have greater ids,
 * after an edit. In a circle one of them goes first. */
static int submit_late(struct ctl *ctl, struct retry *r, const json_t *jobs)
{
    int worst = CTL_EXIT_OK;
    while (submit_ready(ctl, r, jobs, false, &worst) > 0 ||
           submit_ready(ctl, r, jobs, true, &worst) > 0)
        ;
    return worst;
}

/* --- those that waited for them ----------------------------------------------------- */

static int add_job(void *jobs, json_t *job)
{
    return json_array_append(jobs, job) < 0 ? -ENOMEM : 0;
}

/* Fetches all jobs of this user that ended as dependency, in order of ids. */
static int fetch(struct ctl *ctl, json_t *jobs)
{
    char user[32];
    (void)snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    return ctl_each_job(ctl,
                        json_pack("{s:{s:[s], s:s}, s:b}", "filter", "results",
                                  "dependency", "user", user, "with_spec", 1),
                        add_job, jobs);
}

/* Marks jobs that waited for jobs submitted again or ahead. Returns how many. */
static size_t find_next(struct retry *r, const json_t *jobs)
{
    size_t i, found = 0;
    const json_t *job;
    json_array_foreach(jobs, i, job)
    {
        const char *cause = job_view_string(json_object_get(job, "cause"), "id");
        const char *id = job_view_string(job, "id");
        if ((!json_object_get(r->jobs.again, cause) &&
             !json_object_get(r->jobs.ahead, cause)) ||
            json_object_get(r->jobs.looked, id) || json_object_get(r->jobs.ahead, id))
            continue;
        (void)json_object_set_new(r->jobs.ahead, id, json_true());
        found++;
    }
    return found;
}

/* Submits dependents again. A dependent mostly has a greater id, so a pass also finds its
 * own dependents; more passes are for edited jobs. */
static int retry_dependents(struct ctl *ctl, struct retry *r)
{
    json_t *jobs = json_array();
    int worst = fetch(ctl, jobs);
    while (find_next(r, jobs) > 0)
        ;
    const int code = submit_late(ctl, r, jobs);
    json_decref(jobs);
    return code > worst ? code : worst;
}

static int parse(struct ctl *ctl, struct retry *r)
{
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        r->all |= key == 'a';
        r->failed |= key == CTL_OPT_FAILED;
        r->dependents |= key == OPT_WITH_DEPENDENTS;
        r->alone |= key == OPT_ALONE;
        r->fresh |= key == OPT_NEW;
        r->json |= key == CTL_OPT_JSON;
        if (key != CTL_OPT_FAILED &&
            ctl_filter_take(&r->filter, key, ctl->options.arg) < 0)
            return CTL_EXIT_USAGE;
    }
    if (optind == ctl->argc && !r->filter && !r->all)
        return ctl_usage(ctl, "ids, a filter or --all are needed");
    return optind < ctl->argc && r->all ? ctl_usage(ctl, "--all and ids are too much")
                                        : OPTION_END;
}

/* Takes the results out of the filter if jobs are named: each of these is looked at, and
 * the elements of an array may have ended otherwise than the array. */
static void take_results(struct retry *r, bool named)
{
    r->results = json_incref(json_object_get(r->filter, "results"));
    if (r->failed && !r->results)
        r->results = json_pack("[s]", "failed");
    if (!named || !r->filter)
        return;
    (void)json_object_del(r->filter, "results");
    if (json_object_size(r->filter) == 0) {
        json_decref(r->filter);
        r->filter = NULL;
    }
}

/* Completes the filter: ended jobs, of this user by default. */
static void complete_filter(struct retry *r, bool named)
{
    char user[32];
    take_results(r, named);
    if (r->all && !r->filter)
        r->filter = json_object();
    if (!r->filter)
        return;
    (void)snprintf(user, sizeof(user), "%u", (unsigned)geteuid());
    if (!json_object_get(r->filter, "user"))
        (void)json_object_set_new(r->filter, "user", json_string(user));
    if (!json_object_get(r->filter, "states"))
        (void)json_object_set_new(r->filter, "states", json_pack("[s]", "done"));
    if (r->results && !named)
        (void)json_object_set(r->filter, "results", r->results);
}

/* Submits the chosen jobs in order of ids, each after chosen jobs that it waits for. */
static int retry_chosen(struct ctl *ctl, struct retry *r)
{
    char **ids;
    if (ctl_ids(ctl, r->filter ? 0 : 1, &ids) < 0)
        return ctl->code;
    int code = ctl_choose(ctl, r->filter);
    (void)ctl_ids_unique(ctl);
    if (code != CTL_EXIT_OK)
        return code;
    for (size_t i = 0; i < ctl->nids; i++)
        (void)json_object_set_new(r->jobs.ahead, ctl->ids[i], json_true());
    code = ctl_each(ctl, ctl->ids, (int)ctl->nids, one, r);
    const int late = submit_late(ctl, r, r->late);
    return late > code ? late : code;
}

static int run(struct ctl *ctl)
{
    struct retry r = {.late = json_array()};
    retried_init(&r.jobs);
    int code = parse(ctl, &r);
    complete_filter(&r, optind < ctl->argc);
    if (code == OPTION_END)
        code = retry_chosen(ctl, &r);
    if (r.dependents && ctl->client && json_object_size(r.jobs.again) > 0) {
        const int rest = retry_dependents(ctl, &r);
        code = rest > code ? rest : code;
    }
    if (code == CTL_EXIT_OK && r.fine > 0 && json_object_size(r.jobs.again) == 0)
        say("0 jobs submitted again: nothing of these has %s",
            r.failed ? "failed" : "ended so");
    retried_fini(&r.jobs);
    json_decref(r.late);
    json_decref(r.results);
    json_decref(r.filter);
    return code;
}

const struct verb verb_retry = {
    .name = "retry",
    .operands = "[ID...]",
    .summary = "Submit jobs that have ended once more, as new jobs",
    .text =
        "Those that are named; of these those that match, or all that match and have\n"
        "ended. A job that was submitted again before is not once more, whether with\n"
        "--failed or --result of whatever value, or without: its new job is named, and\n"
        "its id printed. So the command can be repeated, with ids: a name is that of the\n"
        "newest job that has it. To run that one again, give its id.\n\n"
        "The ids of the new jobs are printed, one a line, in the order of the old ones,\n"
        "but each behind those for which it waits; which is which is said on standard\n"
        "error. A new job has the label retry_of with the id of the old one. It is what\n"
        "the old one was, but for its key, its times and its hold. Its own key is of the\n"
        "form \"voltctl retry 12\"; with --new it has none.\n\n"
        "A job that had begun waits for nothing again. One that never began waits for\n"
        "the same jobs as the old one, or for their new jobs. It is refused where the\n"
        "job that has ended it was not submitted again; with --alone it waits for none.\n\n"
        "An array is submitted as a whole, and with --failed or --result those of its\n"
        "elements that ended so; without ids the array has to have ended so, too. Of an\n"
        "element the new job is an array of that index, and it counts as another job than\n"
        "the array.\n"
        "`volt-submit --retry` lets a job run again by itself when it fails.\n"
        "\nExamples:\n  voltctl retry 12\n  voltctl retry --failed @last\n"
        "  voltctl retry --failed --since=-1d --name='build*'\n"
        "  voltctl retry --with-dependents 12\n",
    .options = options,
    .run = run,
};
