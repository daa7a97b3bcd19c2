/* voltctl clean: forgets ended jobs early. */
#include "wire/duration.h"
#include "client/id_range.h"
#include "client/job_view.h"
#include "client/say.h"
#include "client/voltctl/dry_run.h"
#include "client/voltctl/verbs.h"

#include <inttypes.h>

enum { OPT_OLDER_THAN = OPTION_LONG, OPT_KEEP, OPT_QUIET };

static const struct option_entry options[] = {
    {"all", 'a', NULL, "all that have ended"},
    {"older-than", OPT_OLDER_THAN, "TIME", "only what ended longer ago, such as 7d"},
    {"keep", OPT_KEEP, "N", "but not the newest N of them"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_DRY_RUN_OPTION,
    {"quiet", OPT_QUIET, NULL, "do not say how many"},
    {"json", CTL_OPT_JSON, NULL, "how many, as JSON on standard output"},
    CTL_OPTIONS_END,
};

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" -s --successful-only --successful ", "--result=success"},
    {NULL, NULL},
};

struct clean {
    json_t *filter;
    uint64_t older_usec, keep;
    bool quiet, json, all, dry_run, some; /* some: older_usec or keep was given */
};

/* Forgets jobs, and adds their number to *count. */
static int forget(struct ctl *ctl, const struct clean *c, int64_t *count)
{
    json_t *params = json_pack("{s:O*, s:I, s:I}", "filter", c->filter, "older_than_usec",
                               (json_int_t)c->older_usec, "keep", (json_int_t)c->keep);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Forget", params, &reply);
    if (code == CTL_EXIT_OK)
        *count += job_view_int(reply.parameters, "count");
    client_reply_fini(&reply);
    return code;
}

/* Forgets ids, in several messages if needed; with --keep in one, as it applies to all
 * ids together. */
static int forget_ids(struct ctl *ctl, struct clean *c, char *const *ids, size_t nids,
                      int64_t *count)
{
    int code = CTL_EXIT_OK;
    size_t at = 0;
    if (nids > 0 && !c->filter)
        c->filter = json_object();
    do {
        size_t n = c->keep > 0 ? nids : id_portion(ids + at, nids - at);
        if (n > 0)
            (void)json_object_set_new(c->filter, "ids", id_list(ids + at, n));
        code = forget(ctl, c, count);
        at += n;
    } while (code == CTL_EXIT_OK && at < nids);
    return code;
}

static int clean(struct ctl *ctl, struct clean *c)
{
    char **ids;
    int n = ctl_ids(ctl, 0, &ids);
    if (n < 0)
        return ctl->code;
    if (n == 0 && !c->filter && !c->some && !c->all)
        return ctl_usage(ctl, "ids, a filter, --older-than, --keep or --all are needed");
    if (c->all && n > 0)
        return ctl_usage(ctl, "--all and ids are too much");
    int code = ctl_choose(ctl, NULL);
    int64_t count = 0;
    ids = ctl->ids;
    n = (int)ctl->nids;
    if (code == CTL_EXIT_OK && c->dry_run)
        return dry_run_print(ctl, &(struct dry_run){.done = "removed",
                                                    .filter = c->filter,
                                                    .ids = ids,
                                                    .nids = (size_t)n,
                                                    .ended = true,
                                                    .older_usec = c->older_usec,
                                                    .keep = c->keep,
                                                    .quiet = c->quiet,
                                                    .json = c->json});
    if (code == CTL_EXIT_OK)
        code = forget_ids(ctl, c, ids, (size_t)n, &count);
    if (code == CTL_EXIT_OK && c->json)
        ctl_print_count(count);
    else if ((code == CTL_EXIT_OK || count > 0) && !c->quiet)
        say("%" PRId64 " job%s removed%s", count, count == 1 ? "" : "s",
            count == 0 ? ctl_none_text(ctl, c->filter) : "");
    return code;
}

/* Takes an option. Returns 0, or CTL_EXIT_USAGE after an error message. */
static int take(struct ctl *ctl, struct clean *c, int key)
{
    const char *arg = ctl->options.arg;
    if (ctl_filter_take(&c->filter, key, arg) < 0 ||
        (key == OPT_KEEP && !ctl_number("--keep", arg, &c->keep)))
        return CTL_EXIT_USAGE;
    if (key == OPT_OLDER_THAN && duration_parse(arg, &c->older_usec) < 0)
        return ctl_usage(ctl, "--older-than: %s is not a time, such as 7d", arg);
    c->all |= key == 'a';
    c->some |= key == OPT_OLDER_THAN || key == OPT_KEEP;
    c->quiet |= key == OPT_QUIET;
    c->dry_run |= key == CTL_OPT_DRY_RUN;
    c->json |= key == CTL_OPT_JSON;
    return 0;
}

static int run(struct ctl *ctl)
{
    struct clean c = {0};
    int key, code = CTL_EXIT_OK;
    while (code == CTL_EXIT_OK && (key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD) {
            json_decref(c.filter);
            return ctl->code;
        }
        code = take(ctl, &c, key);
    }
    if (code == CTL_EXIT_OK)
        code = clean(ctl, &c);
    json_decref(c.filter);
    return code;
}

const struct verb verb_clean = {
    .name = "clean",
    .operands = "[ID...]",
    .summary = "Forget ended jobs, and remove their output",
    .text =
        "A job is forgotten when everything given matches it. Nothing happens to jobs\n"
        "that have not ended. voltd itself forgets jobs as KeepHistoryJobs= and\n"
        "KeepHistorySec= say.\n"
        "\n"
        "Examples:\n"
        "  voltctl clean --older-than=7d --dry-run\n"
        "  voltctl clean --keep=100 --name=nightly --result=success\n",
    .options = options,
    .elsewhere = elsewhere,
    .run = run,
};
