/* voltctl cancel: ends jobs, or prevents their start. */
#include "client/voltctl/steer.h"
#include "client/voltctl/verbs.h"

static int run(struct ctl *ctl)
{
    return steer_run(ctl, &(struct steer_words){.method = "org.voltd.jobs.Cancel",
                                                .done = "asked to end",
                                                .none = "what is named has ended"});
}

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" -s --signal -9 -f --force ", "`voltctl kill -s SIGNAL ID`"},
    {NULL, NULL},
};

const struct verb verb_cancel = {
    .name = "cancel",
    .operands = "[ID...]",
    .summary = "End jobs, whether they wait or run",
    .text =
        "Running jobs get their stop signal (SIGTERM), and SIGKILL when they are still\n"
        "there after --kill-after. An array's id means all its elements. With a filter\n"
        "everything given must match.\n"
        "\nExamples:\n  voltctl cancel 12 13_4\n  voltctl cancel --state=queued --dry-run\n",
    .options = steer_dry_options,
    .elsewhere = elsewhere,
    .run = run,
};
