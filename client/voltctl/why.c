/* voltctl why: prints what jobs wait for. */
#include "client/estimate.h"
#include "client/job_view.h"
#include "client/term.h"
#include "client/voltctl/verbs.h"
#include "wire/accounts.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

/* Prints when the job starts, if it waits for the ends of others. */
static void print_estimate(const char *id, const json_t *answer)
{
    char when[ESTIMATE_TEXT];
    if (!estimate_is_due(answer))
        return;
    if (estimate_text(answer, when))
        term_print("job %s: starts %s\n", id, when);
    else
        term_print("job %s: when it starts is unknown\n", id);
}

static void print_one(const char *id, const json_t *answer)
{
    const json_t *reasons = json_object_get(answer, "reasons"), *reason;
    size_t i;
    if (json_array_size(reasons) == 0)
        term_print("job %s is %s, and waits for nothing\n", id,
                   job_view_string(answer, "state"));
    json_array_foreach(reasons, i, reason)
        term_print("job %s: %s\n", id, job_view_string(reason, "text"));
    print_estimate(id, answer);
}

static int one(struct ctl *ctl, const char *id, void *arg)
{
    const bool *json = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Why", json_pack("{s:s}", "id", id), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    if (*json) {
        (void)json_object_set_new(reply.parameters, "id", json_string(id));
        ctl_print_json(reply.parameters);
    } else {
        print_one(id, reply.parameters);
    }
    client_reply_fini(&reply);
    return CTL_EXIT_OK;
}

/* Returns whether jobs of others are among them. */
static bool has_others(const json_t *reasons)
{
    const json_t *reason;
    size_t i;
    json_array_foreach(reasons, i, reason)
    {
        const json_t *uid = json_object_get(reason, "uid");
        if (uid && json_integer_value(uid) != (json_int_t)geteuid())
            return true;
    }
    return false;
}

static void print_all(const struct ctl *ctl, const json_t *answer)
{
    const json_t *reasons = json_object_get(answer, "reasons"), *reason;
    const int64_t others = job_view_int(answer, "others");
    const bool of_all = has_others(reasons);
    size_t i;
    if (json_array_size(reasons) == 0)
        term_print("%s\n", ctl->choice.admin || geteuid() == 0
                               ? "no job waits"
                               : "none of your jobs waits");
    json_array_foreach(reasons, i, reason)
    {
        int64_t count = job_view_int(reason, "count");
        char name[256] = "";
        if (of_all)
            (void)accounts_user((uid_t)job_view_int(reason, "uid"), name, sizeof(name));
        term_print("%" PRId64 " job%s%s%s, such as %s: %s\n", count,
                   count == 1 ? "" : "s", of_all ? " of " : "", name,
                   job_view_string(reason, "id"), job_view_string(reason, "text"));
    }
    if (others > 0)
        term_print("and %" PRId64 " more, for other reasons\n", others);
}

static int all(struct ctl *ctl, bool json)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_open(ctl, ADDRESS_JOBS);
    if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, "org.voltd.jobs.Why", json_object(), &reply);
    if (code != CTL_EXIT_OK)
        return code;
    if (json)
        ctl_print_json(reply.parameters);
    else
        print_all(ctl, reply.parameters);
    client_reply_fini(&reply);
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl)
{
    bool json;
    if (!ctl_json_only(ctl, &json))
        return ctl->code;
    return optind < ctl->argc ? ctl_each_chosen(ctl, NULL, one, &json) : all(ctl, json);
}

const struct verb verb_why = {
    .name = "why",
    .operands = "[ID...]",
    .summary = "Say what jobs wait for",
    .text =
        "Without an id: what your jobs wait for, what most of them do first; to root, and\n"
        "with --all-users to an administrator, what those of each user wait for. Of jobs\n"
        "of other users it tells numbers only. Of a job that waits for a slot, a lock, a\n"
        "rate or the limit of its array also when it may start, from how long your jobs\n"
        "have run since voltd was started. Of a job that runs: what something inside it\n"
        "waits for, other jobs or a lock, and that its slot is lent meanwhile.\n"
        "\nExamples:\n  voltctl why 12\n  voltctl why\n",
    .options = options,
    .run = run,
};
