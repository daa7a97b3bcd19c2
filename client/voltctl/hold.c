/* voltctl hold and voltctl release: prevent jobs from starting, for a while. */
#include "client/voltctl/steer.h"
#include "client/voltctl/verbs.h"

static int run_hold(struct ctl *ctl)
{
    return steer_run(
        ctl, &(struct steer_words){.method = "org.voltd.jobs.Hold", .done = "held"});
}

static int run_release(struct ctl *ctl)
{
    return steer_run(ctl, &(struct steer_words){.method = "org.voltd.jobs.Release",
                                                .done = "released"});
}

const struct verb verb_hold = {
    .name = "hold",
    .operands = "[ID...]",
    .summary = "Keep jobs that wait from starting",
    .text =
        "They keep their places in the line until `voltctl release`, also over a restart.\n"
        "An array is held as a whole: elements that have started go on. A job that has\n"
        "started cannot be held; `voltctl pause` stops its processes. With a filter\n"
        "everything given must match, and jobs that have started are passed over.\n"
        "`volt-submit --hold` submits a job that is held.\n"
        "\nExamples:\n  voltctl hold 12 13\n  voltctl hold --name='nightly*'\n",
    .options = steer_options,
    .run = run_hold,
};

const struct verb verb_release = {
    .name = "release",
    .operands = "[ID...]",
    .summary = "Let jobs start that are held",
    .text = "What an administrator holds of another user, only administrators release.\n"
            "\nExamples:\n  voltctl release 12 13\n  voltctl release --all\n",
    .options = steer_options,
    .run = run_release,
};
