/* voltctl kill: a signal to running jobs. */
#include "client/spec_build.h"
#include "client/voltctl/verbs.h"

enum { OPT_MAIN = OPTION_LONG };

static const struct option_entry options[] = {
    {"signal", 's', "SIGNAL", "TERM (default), HUP, 9, ..."},
    {"main", OPT_MAIN, NULL, "to the main process only, not to the whole tree"},
    CTL_OPTIONS_END,
};

struct kill {
    char signal[32];
    const char *whom;
};

static int one(struct ctl *ctl, const char *id, void *arg)
{
    const struct kill *k = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    json_t *params =
        json_pack("{s:s, s:s, s:s}", "id", id, "signal", k->signal, "whom", k->whom);
    int code = ctl_call(ctl, "org.voltd.jobs.Signal", params, &reply);
    client_reply_fini(&reply);
    return code;
}

static int run(struct ctl *ctl)
{
    struct kill k = {.signal = "SIGTERM", .whom = "tree"};
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        if (key == OPT_MAIN)
            k.whom = "main";
        if (key == 's' &&
            spec_build_signal(ctl->options.arg, k.signal, sizeof(k.signal)) < 0)
            return ctl_usage(ctl, "--signal: %s is not a signal", ctl->options.arg);
    }
    return ctl_each_id(ctl, one, &k);
}

const struct verb verb_kill = {
    .name = "kill",
    .operands = "ID...",
    .summary = "Send a signal to running jobs",
    .text = "To end jobs use `voltctl cancel`: it also takes what still waits, and is\n"
            "recorded as cancelled, not as killed.\n"
            "\nExamples:\n  voltctl kill -s HUP 12\n  voltctl kill -s 9 --main 12\n",
    .options = options,
    .run = run,
};
