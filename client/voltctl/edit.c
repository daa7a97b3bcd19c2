/* voltctl edit and voltctl first: change waiting jobs. */
#include "client/after.h"
#include "client/field_options.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/limit_options.h"
#include "client/say.h"
#include "client/slurm_advice.h"
#include "client/submit_conditions.h"
#include "client/submit_table.h"
#include "client/voltctl/verbs.h"
#include "client/word_list.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Options beside those of volt-submit. */
enum {
    OPT_NO_CLAIMS = OPTION_LONG + 300,
    OPT_NOW,
    OPT_NO_AFTER,
    OPT_OLD_QUEUE,
    OPT_OLD_NAME
};

#define QUIET_AND_JSON                                                                   \
    {"quiet", OPT_QUIET, NULL, "do not say how many"},                                   \
    {                                                                                    \
        "json", CTL_OPT_JSON, NULL, "how many, as JSON on standard output"               \
    }

static const struct option_entry edit_options[] = {
    {"queue", 'q', "QUEUE", "the queue; `voltctl queues` lists them"},
    {"priority", 'p', "N",
     "-1000 to 1000; higher starts first; in system mode one above 0 is for administrators and root"},
    {"name", 'n', "NAME", "the name to show and to filter by"},
    {"in", OPT_IN, "TIME",
     "not before TIME has passed from now on: 30s, 5m, 1h30m; an earlier --at is replaced"},
    {"at", OPT_AT, "TIME",
     "not before this date: \"2026-11-20 10:00\", 22:00, \"tomorrow 06:00\", +2h; an earlier "
     "--in is replaced"},
    {"now", OPT_NOW, NULL,
     "as soon as it may: neither --in nor --at counts any more; so do --in=none and "
     "--at=none"},
    {"start-by", OPT_START_BY, "TIME",
     "if it has not started by this date (as for --at) it ends as expired; none: at any time"},
    {"after", OPT_AFTER, "ID",
     "not before this job has ended as success; the jobs that it waited for are replaced by "
     "all that are given. ID is 17, 12-40, @last, name:NAME, key:KEY, or several with commas"},
    {"after-ok", OPT_AFTER_OK, "ID", "the same as --after"},
    {"after-notok", OPT_AFTER_NOTOK, "ID", "not before this job has ended otherwise"},
    {"after-any", OPT_AFTER_ANY, "ID", "not before this job has ended"},
    {"after-start", OPT_AFTER_START, "ID", "not before this job has started"},
    {"after-ok-each", OPT_AFTER_OK_EACH, "ID",
     "element to element, of an array after one with as many elements: as --after"},
    {"after-notok-each", OPT_AFTER_NOTOK_EACH, "ID", "... as --after-notok"},
    {"after-any-each", OPT_AFTER_ANY_EACH, "ID", "... as --after-any"},
    {"after-start-each", OPT_AFTER_START_EACH, "ID", "... as --after-start"},
    {"no-after", OPT_NO_AFTER, NULL, "it waits for no other jobs, as with --after=none"},
    {"lock", OPT_LOCK, "NAME",
     "your lock NAME, alone; what the job claimed before is replaced by all that is given"},
    {"lock-shared", OPT_LOCK_SHARED, "NAME", "your lock NAME, with others that share it"},
    {"sem", OPT_SEM, "NAME[:TAKE][/CAPACITY]", "permits of your semaphore NAME"},
    {"rate", OPT_RATE, "NAME=N/UNIT[,burst=B]", "starts by your rate NAME"},
    {"no-claims", OPT_NO_CLAIMS, NULL, "no locks, semaphores and rates"},
    {"timeout", OPT_TIMEOUT, "TIME",
     "stop it after TIME of running; 0 or none: when its queue says so, if that does"},
    {"kill-after", OPT_KILL_AFTER, "TIME", "time between the stop signal and SIGKILL"},
    {"output-limit", OPT_OUTPUT_LIMIT, "SIZE",
     "kill it when it has printed more; 0 or none: it may print any amount"},
    {"mem", OPT_MEM, "SIZE",
     "kill it when all its processes together need more memory; none, here and for the "
     "next six: no limit, but for one in voltd.conf"},
    {"mem-high", OPT_MEM_HIGH, "SIZE", "slow it down while they use more memory"},
    {"swap", OPT_SWAP, "SIZE", "so much of its memory may be swapped out"},
    {"pids-max", OPT_PIDS_MAX, "N", "it may have so many processes and threads"},
    {"cpu-max", OPT_CPU_MAX, "PERCENT%",
     "it gets so much CPU time at most; 100% is one CPU"},
    {"cpu-weight", OPT_CPU_WEIGHT, "N", "its share of the CPUs, 1 to 10000"},
    {"io-weight", OPT_IO_WEIGHT, "N", "its share of the disks, 1 to 10000"},
    {"all", 'a', NULL, "instead of ids: every job that waits"},
    {"old-queue", OPT_OLD_QUEUE, "QUEUE", "instead of ids: what waits in this queue"},
    {"old-name", OPT_OLD_NAME, "NAME",
     "likewise: jobs of this name; with * ? [...] a pattern. Of several, and with ids, all "
     "must match"},
    {"label", CTL_OPT_LABEL, "KEY[=VALUE]",
     "likewise: jobs with this label; may be repeated"},
    {"owner", 'u', "USER",
     "likewise: jobs of this user, by name or number; those of others are for administrators "
     "(--all-users) and root"},
    CTL_TIME_OPTIONS,
    QUIET_AND_JSON,
    CTL_OPTIONS_END,
};

static const struct option_elsewhere edit_elsewhere[] = {
    CTL_ELSEWHERE,
    {" --hold ", "`voltctl hold ID`"},
    {" --begin -b ", "--at=TIME, or --in=TIME"},
    {" --dependency --depend --depends --depends-on ", "--after=ID, or --after-any=ID"},
    {" --nice --qos ", "--priority=N, where a higher one starts first"},
    {" --deadline ", "--start-by=TIME"},
    {" -t --time --time-limit ",
     "--timeout=TIME, as 10m or 2h: a number alone is seconds, not minutes"},
    {" --partition ", "--queue=QUEUE"},
    {" -J --job-name ", "--name=NAME"},
    {" --licenses ", "--sem=NAME:TAKE"},
    {" --state --result --failed --orphans ",
     OPTION_LEAVE_OUT ": only jobs that wait are edited"},
    {" -d --chdir -e --env --all-env --no-env --umask --stdin --output -o --error "
     "--open-mode --retry --backoff --retry-on --max-total --success --key --if-exists "
     "--kind --duration --array --shell --stop-signal --kill-mode --on-lost --no-limits "
     "--singleton --command --cmd --argv --script ",
     OPTION_LEAVE_OUT ": it cannot be changed once the job is submitted"},
    {NULL, NULL},
};

static const struct option_entry first_options[] = {
    QUIET_AND_JSON,
    CTL_OPTIONS_END,
};

struct edit {
    json_t *changes; /* NULL: none; then the jobs go first */
    const char *done;
    bool quiet, json;
    json_t *filter; /* NULL: none */
    bool all;
    unsigned asks; /* PART_ and NO_PART of the options */
    int64_t count;
};

#define NONE "none" /* resets a value to its default */

/* The subject of an option, for options that remove it. */
enum { PART_TIME = 1, PART_AFTER = 2, PART_CLAIMS = 4, PARTS = 3 };
#define NO_PART(part) ((part) << PARTS)

static void set_number(json_t *changes, const char *name, json_int_t n)
{
    (void)json_object_set_new(changes, name, json_integer(n));
}

/* Returns the option that says the same, of one with the value none. */
static int key_of(int key, const char *arg)
{
    if (!arg || strcmp(arg, NONE) != 0)
        return key;
    if (key == OPT_IN || key == OPT_AT)
        return OPT_NOW;
    return key >= OPT_AFTER && key <= OPT_AFTER_START_EACH ? OPT_NO_AFTER : key;
}

static unsigned asks(int key)
{
    switch (key) {
    case OPT_IN:
    case OPT_AT:
        return PART_TIME;
    case OPT_NOW:
        return NO_PART(PART_TIME);
    case OPT_NO_AFTER:
        return NO_PART(PART_AFTER);
    case OPT_NO_CLAIMS:
        return NO_PART(PART_CLAIMS);
    case OPT_LOCK:
    case OPT_LOCK_SHARED:
    case OPT_SEM:
    case OPT_RATE:
        return PART_CLAIMS;
    default:
        return key >= OPT_AFTER && key <= OPT_AFTER_START_EACH ? PART_AFTER : 0;
    }
}

/* Checks that no options contradict each other. Returns CTL_EXIT_OK, or another code
 * after an error message. */
static int check_parts(const struct ctl *ctl, const struct edit *e)
{
    static const struct {
        unsigned part;
        const char *none, *some;
    } known[] = {{PART_TIME, "--now", "a time that it waits for (--in, --at)"},
                 {PART_AFTER, "--no-after", "a job that it waits for (--after)"},
                 {PART_CLAIMS, "--no-claims", "what it claims (--lock, --sem, --rate)"}};
    for (size_t i = 0; i < PARTS; i++)
        if (e->asks & known[i].part && e->asks & NO_PART(known[i].part))
            return ctl_usage(ctl, "%s, and %s: one of them", known[i].none,
                             known[i].some);
    return CTL_EXIT_OK;
}

/* Takes options that volt-submit has too. */
static int take_condition(json_t *changes, int key, const char *arg)
{
    if (key == OPT_START_BY && strcmp(arg, NONE) == 0) {
        set_number(changes, "start_by_usec", 0);
        return CTL_EXIT_OK;
    }
    return submit_conditions_take(changes, key, arg) < 0 ? CTL_EXIT_USAGE : CTL_EXIT_OK;
}

/* Takes an option of the filter. --queue and --name are new values here, so the filter
 * has other names for them. Returns 1: taken; 0: another option; negative after an error
 * message. */
static int take_filter(struct edit *e, int key, const char *arg)
{
    key = key == OPT_OLD_QUEUE ? CTL_OPT_QUEUE : key == OPT_OLD_NAME ? CTL_OPT_NAME : key;
    return ctl_filter_take(&e->filter, key, arg);
}

static int take(struct ctl *ctl, struct edit *e, int key)
{
    const char *arg = ctl->options.arg;
    struct volt_error err;
    int r = take_filter(e, key, arg);
    if (r != 0)
        return r < 0 ? CTL_EXIT_USAGE : CTL_EXIT_OK;
    r = e->changes ? limit_option_take(e->changes, key, arg, true) : 1;
    if (r <= 0)
        return r < 0 ? CTL_EXIT_USAGE : CTL_EXIT_OK;
    r = e->changes ? field_option_take(e->changes, key, arg, true, &err) : 1;
    if (r <= 0)
        return r < 0 ? ctl_usage(ctl, "%s", err.text) : CTL_EXIT_OK;
    switch (key) {
    case 'a':
        e->all = true;
        break;
    case OPT_NOW:
        set_number(e->changes, "delay_usec", 0);
        set_number(e->changes, "at_usec", 0);
        break;
    case OPT_NO_CLAIMS:
        (void)json_object_set_new(e->changes, "claims", json_array());
        break;
    case OPT_NO_AFTER:
        (void)json_object_set_new(e->changes, "after", json_array());
        break;
    case OPT_QUIET:
        e->quiet = true;
        break;
    case CTL_OPT_JSON:
        e->json = true;
        break;
    default:
        return take_condition(e->changes, key, arg);
    }
    return CTL_EXIT_OK;
}

/* Makes the time that is given the only one: a job of --at and --in begins at the later
 * of both. */
static void replace_time(json_t *changes)
{
    const bool in = json_object_get(changes, "delay_usec") != NULL;
    const bool at = json_object_get(changes, "at_usec") != NULL;

    if (in != at)
        set_number(changes, in ? "at_usec" : "delay_usec", 0);
}

/* Refuses an operand such as priority=5 with the option that is meant. Returns false if
 * there is one. */
static bool has_no_settings(struct ctl *ctl)
{
    for (int i = optind; i < ctl->argc; i++) {
        const char *word = ctl->argv[i];
        const size_t len = strcspn(word, "=");
        struct word_list words = {0};
        const char *ours = NULL;

        for (const struct option_entry *o = edit_options; word[len] && o->help; o++)
            if (strlen(o->name) == len && strncmp(o->name, word, len) == 0)
                ours = word;
        if (word[len] && slurm_advice_update(word, &words) == 0)
            ctl->code = *words.at[0] == '-'
                            ? ctl_usage(ctl, "%s: did you mean %s?", word, words.at[0])
                            : ctl_usage(ctl, "%s: did you mean `voltctl hold`?", word);
        else if (ours)
            ctl->code = ctl_usage(ctl, "%s: did you mean --%s?", word, word);
        word_list_fini(&words);
        if (ctl->code != CTL_EXIT_OK)
            return false;
    }
    return true;
}

/* Returns how many words follow the first "--". */
static int behind_dashes(const struct ctl *ctl)
{
    for (int i = 1; i < ctl->argc; i++)
        if (strcmp(ctl->argv[i], "--") == 0)
            return ctl->argc - i - 1;
    return 0;
}

/* Checks that something is to be changed, and no command. */
static int check_changes(const struct ctl *ctl, const struct edit *e, int behind)
{
    if (behind > 0 && behind < ctl->argc - optind)
        return ctl_usage(ctl,
                         "the command of a job stays what it was; cancel the job, and "
                         "submit the other command with volt-submit");
    if (json_object_size(e->changes) > 0)
        return CTL_EXIT_OK;
    if (json_object_get(e->filter, "labels") || json_object_get(e->filter, "has_labels"))
        return ctl_usage(ctl, "--label says which jobs are edited; labels stay what they "
                              "were");
    return ctl_usage(ctl, "an option is needed that says what is to be changed: queue, "
                          "priority, name, times, what it waits for, claims or limits");
}

/* Reads all options. False: return ctl->code. */
static bool read_options(struct ctl *ctl, struct edit *e)
{
    const int behind = behind_dashes(ctl);
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        key = key_of(key, ctl->options.arg);
        if (key != OPTION_BAD)
            ctl->code = take(ctl, e, key);
        if (key == OPTION_BAD || ctl->code != CTL_EXIT_OK)
            return false;
        e->asks |= asks(key);
    }
    ctl->code = e->changes && !has_no_settings(ctl) ? ctl->code : check_parts(ctl, e);
    if (ctl->code == CTL_EXIT_OK && e->changes)
        ctl->code = check_changes(ctl, e, behind);
    replace_time(e->changes);
    if (ctl->code == CTL_EXIT_OK && e->changes && submit_conditions_check(e->changes) < 0)
        ctl->code = CTL_EXIT_USAGE;
    return ctl->code == CTL_EXIT_OK;
}

static int call(struct ctl *ctl, struct edit *e, char *const *ids, size_t n)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *params = json_pack("{s:O*, s:o*}", "changes", e->changes, "first",
                               e->changes ? NULL : json_true());
    if (e->filter || e->all)
        (void)json_object_set_new(params, "filter",
                                  e->filter ? json_deep_copy(e->filter) : json_object());
    if (n > 0) /* inside the filter, so that jobs must match both */
        (void)json_object_set_new(e->filter ? json_object_get(params, "filter") : params,
                                  "ids", id_list(ids, n));
    int code = ctl_call(ctl, "org.voltd.jobs.Edit", params, &reply);
    e->count += job_view_int(reply.parameters, "count");
    client_reply_fini(&reply);
    return code;
}

/* Edits the jobs; those of a message are edited all or none. Jobs that go first go in one
 * message, as their order matters. */
static int edit_all(struct ctl *ctl, struct edit *e, char *const *ids, size_t n)
{
    int code;
    size_t at = 0;
    if (!e->changes && id_portion(ids, n) < n)
        return ctl_usage(ctl, "at most %zu of these ids at a time", id_portion(ids, n));
    do {
        const size_t some = id_portion(ids + at, n - at);
        code = call(ctl, e, ids + at, some);
        at += some;
    } while (at < n && code == CTL_EXIT_OK);
    return code;
}

/* Reduces ids of ranges to jobs that wait: the others may be no jobs, or wait no
 * longer. */
static int keep_waiting(struct ctl *ctl)
{
    json_t *waits = json_pack("{s:[s]}", "states", "queued");
    const size_t named = ctl->nids;
    size_t removed;
    int code = ctl_ids_keep(ctl, waits, &removed);
    json_decref(waits);
    if (code == CTL_EXIT_OK && ctl->nids == 0) {
        say("no job matches");
        code = CTL_EXIT_NO_SUCH_JOB;
    } else if (removed > 0) {
        say("note: %zu of the %zu ids are of no job that waits", removed, named);
    }
    return code;
}

/* Connects and chooses the jobs that are meant. */
static int choose(struct ctl *ctl, const struct edit *e)
{
    int code = e->filter ? ctl_choose(ctl, NULL) : ctl_open(ctl, ADDRESS_JOBS);
    if (code == CTL_EXIT_OK && e->filter)
        code = ctl_ids_check(ctl, ctl->ids, ctl->nids);
    else if (code == CTL_EXIT_OK && ctl->ranged)
        code = keep_waiting(ctl);
    return code;
}

/* Reads the ids. Returns their number; -1: return ctl->code, after an error message. */
static int read_ids(struct ctl *ctl, const struct edit *e)
{
    char **ids;
    const int n = ctl_ids(ctl, e->changes ? 0 : 1, &ids);
    if (n == 0 && !e->filter && !e->all)
        ctl->code =
            ctl_usage(ctl, "ids, --all or a filter are needed; --queue and --name "
                           "are what a job is to have: --old-queue and --old-name "
                           "say which");
    else if (n > 0 && e->all)
        ctl->code = ctl_usage(ctl, "--all and ids are too much");
    else
        return n;
    return -1;
}

/* Resolves the jobs to wait for. */
static int resolve(struct ctl *ctl, struct edit *e)
{
    struct volt_error err;
    int r = e->changes ? after_resolve(e->changes, ctl->client, &err) : 0;
    if (r < 0)
        say("--after: %s", err.text);
    return r == 0 ? CTL_EXIT_OK : r == -ENOENT ? CTL_EXIT_NO_SUCH_JOB : CTL_EXIT_FAILED;
}

static int run(struct ctl *ctl, struct edit *e)
{
    if (!read_options(ctl, e) || read_ids(ctl, e) < 0)
        return ctl->code;
    int code = choose(ctl, e);
    if (code == CTL_EXIT_OK)
        code = resolve(ctl, e);
    if (code == CTL_EXIT_OK)
        code = edit_all(ctl, e, ctl->ids, ctl->nids);
    if (code == CTL_EXIT_OK && e->json)
        ctl_print_count(e->count);
    else if ((code == CTL_EXIT_OK || e->count > 0) && !e->quiet)
        say("%" PRId64 " job%s %s%s", e->count, e->count == 1 ? "" : "s", e->done,
            e->count == 0 ? ctl_none_text(ctl, e->filter) : "");
    return code;
}

static int run_edit(struct ctl *ctl)
{
    struct edit e = {.changes = json_object(), .done = "edited"};
    int code = run(ctl, &e);
    json_decref(e.changes);
    json_decref(e.filter);
    return code;
}

static int run_first(struct ctl *ctl)
{
    return run(ctl, &(struct edit){.done = "put first"});
}

const struct verb verb_edit = {
    .name = "edit",
    .operands = "[ID...]",
    .summary = "Change jobs that wait",
    .text =
        "What is not given stays as it is, and so does the place of a job among those\n"
        "of its queue and priority. A job that has started cannot be changed, even where\n"
        "it waits for a further attempt, nor one that is starting; an array can while\n"
        "nothing of it has started. The change is kept over a restart of voltd. The key\n"
        "of a job stands for what was submitted: the same submission still gets the same\n"
        "job. Of a range those are changed that wait; of what is named otherwise all, or\n"
        "none.\n"
        "\nExamples:\n  voltctl edit 12 13 --priority=5\n  voltctl edit 12-40 -q night\n"
        "  voltctl edit 12 --at=22:00 --lock=db --timeout=1h\n"
        "  voltctl edit 12 --after=11 --after-any=9\n"
        "  voltctl edit --old-queue=night -q day\n",
    .options = edit_options,
    .elsewhere = edit_elsewhere,
    .run = run_edit,
};

const struct verb verb_first = {
    .name = "first",
    .operands = "ID...",
    .summary = "Put jobs that wait before your others",
    .text =
        "Of your jobs in the same queue and of the same priority they start first, in the\n"
        "order in which they are given. Those of other users are not passed by it:\n"
        "between users time is shared. Where one of them cannot go first, none does.\n"
        "\nExamples:\n  voltctl first 40 38\n",
    .options = first_options,
    .run = run_first,
};
