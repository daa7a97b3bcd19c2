/* voltctl kill: a signal to running jobs. */
#include <ctype.h>
#include <string.h>

#include "client/spec_build.h"
#include "client/voltctl/verbs.h"

enum { OPT_MAIN = OPTION_LONG };

static const struct option_entry options[] = {
    {"signal", 's', "SIGNAL", "TERM (default), HUP, 9, ...; also -HUP, -9 as a word"},
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

/* "9", "KILL", "SIGKILL" as kill(1) takes them behind one dash: no option of ours has
 * such a name. */
static bool take_short(const char *name, struct kill *k)
{
    return name[0] != '-' && (name[1] || isdigit((unsigned char)name[0])) &&
           spec_build_signal(name, k->signal, sizeof(k->signal)) == 0;
}

/* Takes such words wherever they stand before "--", out of argv. */
static void take_shorts(struct ctl *ctl, struct kill *k)
{
    for (int i = 1; i < ctl->argc && strcmp(ctl->argv[i], "--") != 0;) {
        const char *word = ctl->argv[i], *before = ctl->argv[i - 1];
        bool value = strcmp(before, "-s") == 0 || strcmp(before, "--signal") == 0;
        if (value || word[0] != '-' || !take_short(word + 1, k)) {
            i++;
            continue;
        }
        memmove(ctl->argv + 1, ctl->argv, (size_t)i * sizeof(*ctl->argv));
        ctl->argv++;
        ctl->argc--;
    }
}

static int run(struct ctl *ctl)
{
    struct kill k = {.signal = "SIGTERM", .whom = "tree"};
    int key;
    take_shorts(ctl, &k);
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
            "recorded as cancelled, not as killed. Of an array name elements: one,\n"
            "ID_INDEX, or several, ID_FIRST-LAST.\n"
            "\nExamples:\n  voltctl kill -s HUP 12\n  voltctl kill -9 --main 12\n"
            "  voltctl kill -9 12_1-40\n",
    .options = options,
    .run = run,
};
