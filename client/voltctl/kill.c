/* voltctl kill: a signal to running jobs. */
#include "client/spec_build.h"
#include "client/voltctl/verbs.h"

enum { OPT_MAIN = OPTION_LONG };

static const struct option_entry options[] = {
    {"signal", 's', "SIGNAL", "TERM (default), HUP, 9, ..."},
    {"main", OPT_MAIN, NULL, "to the main process only, not to the whole tree"},
    CTL_OPTIONS_END,
};

static int run(struct ctl *ctl)
{
    char signal[32] = "SIGTERM";
    const char *whom = "tree";
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        if (key == OPT_MAIN)
            whom = "main";
        if (key == 's' && spec_build_signal(ctl->options.arg, signal, sizeof(signal)) < 0)
            return ctl_usage(ctl, "--signal: %s is not a signal", ctl->options.arg);
    }
    char **ids;
    int n = ctl_ids(ctl, 1, &ids);
    if (n < 0)
        return CTL_EXIT_USAGE;
    int worst = ctl_open(ctl, ADDRESS_JOBS);
    for (int i = 0; i < n && worst != CTL_EXIT_NO_DAEMON; i++) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        json_t *params =
            json_pack("{s:s, s:s, s:s}", "id", ids[i], "signal", signal, "whom", whom);
        int code = ctl_call(ctl, "org.voltd.jobs.Signal", params, &reply);
        worst = code > worst ? code : worst;
        client_reply_fini(&reply);
    }
    return worst;
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
