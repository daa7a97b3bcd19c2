/* voltctl pause and voltctl resume: stop the processes of jobs for a while. */
#include "client/voltctl/steer.h"
#include "client/voltctl/verbs.h"

static int run_pause(struct ctl *ctl)
{
    return steer_run(
        ctl, &(struct steer_words){.method = "org.voltd.jobs.Pause", .done = "paused"});
}

static int run_resume(struct ctl *ctl)
{
    return steer_run(
        ctl, &(struct steer_words){.method = "org.voltd.jobs.Resume", .done = "resumed"});
}

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" -w --wait -g --group ", "`voltctl queue pause QUEUE`: what runs in it goes on"},
    {NULL, NULL},
};

const struct verb verb_pause = {
    .name = "pause",
    .operands = "[ID...]",
    .summary = "Stop running jobs for a while",
    .text =
        "All their processes stand still until `voltctl resume`, also over a restart of\n"
        "voltd. Where systemd runs voltd, they are frozen in the cgroup of the job. They\n"
        "keep their memory, their slots, their locks and what else they claim. The time\n"
        "of a pause does not count towards --timeout.\n"
        "Of an array the elements that run are paused; others start in free slots,\n"
        "unless the array is held as well. `voltctl cancel` ends what is paused as it\n"
        "ends other jobs. With a filter everything given must match, and jobs that do\n"
        "not run are passed over.\n"
        "\nExamples:\n  voltctl pause 12 13_4\n  voltctl pause --name='render*'\n",
    .options = steer_options,
    .elsewhere = elsewhere,
    .run = run_pause,
};

const struct verb verb_resume = {
    .name = "resume",
    .operands = "[ID...]",
    .summary = "Let paused jobs go on",
    .text = "Their processes are thawed, and get SIGCONT.\n"
            "\nExamples:\n  voltctl resume 12 13_4\n  voltctl resume --all\n",
    .options = steer_options,
    .run = run_resume,
};
