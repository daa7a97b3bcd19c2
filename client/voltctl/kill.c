/* voltctl kill: sends a signal to running jobs. */
#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "client/job_view.h"
#include "client/say.h"
#include "client/spec_build.h"
#include "client/term.h"
#include "wire/signal_name.h"
#include "client/voltctl/verbs.h"

enum { OPT_MAIN = OPTION_LONG };
enum { LOOKS = 500 }; /* 5 s, for a job that starts or ends */

static const struct option_entry options[] = {
    {"signal", 's', "SIGNAL",
     "TERM (default), HUP, 9, ...; also -HUP, -9 as a word; 0 sends none: the exit code "
     "says whether the job runs"},
    {"list", 'l', NULL, "print the numbers and names of signals"},
    {"main", OPT_MAIN, NULL, "to the main process only, not to the whole tree"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_OPTIONS_END,
};

struct kill {
    json_t *filter;  /* NULL: none */
    char signal[32]; /* "0": none */
    const char *whom;
};

static bool waits(const struct client_reply *reply)
{
    const char *state = job_view_string(reply->parameters, "state");
    return strcmp(state, "queued") == 0 || strcmp(state, "starting") == 0;
}

/* Returns whether to ask again: a starting job will soon have a process, and the end of a
 * running job without one will soon be known. */
static bool is_between(const struct client_reply *reply)
{
    const char *state = job_view_string(reply->parameters, "state");
    return client_error_is(reply, "NotRunning") &&
           (strcmp(state, "starting") == 0 || strcmp(state, "running") == 0);
}

static int send_signal(struct ctl *ctl, const char *id, const struct kill *k,
                       struct client_reply *ret)
{
    json_t *params =
        json_pack("{s:s, s:s, s:s}", "id", id, "signal", k->signal, "whom", k->whom);
    int code = ctl_send(ctl, "org.voltd.jobs.Signal", params, 0);
    return code == CTL_EXIT_OK ? ctl_answer(ctl, NULL, ret) : code;
}

/* Asks whether the job runs, as kill -0 does. */
static int ask(struct ctl *ctl, const char *id)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    int code = ctl_call(ctl, "org.voltd.jobs.Get", json_pack("{s:s}", "id", id), &reply);
    const char *state =
        job_view_string(json_object_get(reply.parameters, "job"), "state");
    bool runs = strcmp(state, "running") == 0 || strcmp(state, "paused") == 0 ||
                strcmp(state, "stopping") == 0;
    if (code == CTL_EXIT_OK && !runs) {
        say("job %s is not running (%s)", id, state);
        code = CTL_EXIT_FAILED;
    }
    client_reply_fini(&reply);
    return code;
}

static int one(struct ctl *ctl, const char *id, void *arg)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const struct kill *k = arg;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    if (strcmp(k->signal, "0") == 0)
        return ask(ctl, id);
    int code = send_signal(ctl, id, k, &reply);
    for (int look = 0; look < LOOKS && code == CTL_EXIT_OK && is_between(&reply);
         look++) {
        client_reply_fini(&reply);
        (void)nanosleep(&pause, NULL);
        code = send_signal(ctl, id, k, &reply);
    }
    if (code == CTL_EXIT_OK && reply.error)
        code = ctl_refused(&reply);
    if (client_error_is(&reply, "NotRunning") && waits(&reply))
        say("`voltctl cancel %s` ends a job that does not run yet", id);
    client_reply_fini(&reply);
    return code;
}

static int take_signal(struct kill *k, const char *text)
{
    if (strcmp(text, "0") == 0) {
        strcpy(k->signal, text);
        return 0;
    }
    return spec_build_signal(text, k->signal, sizeof(k->signal));
}

static void print_signals(void)
{
    char name[SIGNAL_NAME_MAX];
    for (int n = 1; n < NSIG; n++)
        if (strncmp(signal_name(n, name), "SIG", 3) == 0) /* two have no name */
            term_print("%2d %s\n", n, name);
}

/* Takes "9", "KILL" or "SIGKILL" after a dash, as kill(1) does; no option has such a
 * name. */
static bool take_short(const char *name, struct kill *k)
{
    return name[0] != '-' && (name[1] || isdigit((unsigned char)name[0])) &&
           take_signal(k, name) == 0;
}

/* Takes such words out of argv, anywhere before "--". Returns false, after an error
 * message, for a word that looks like a signal but is none. */
static bool take_shorts(struct ctl *ctl, struct kill *k)
{
    for (int i = 1; i < ctl->argc && strcmp(ctl->argv[i], "--") != 0;) {
        const char *word = ctl->argv[i], *before = ctl->argv[i - 1];
        bool value = strcmp(before, "-s") == 0 || strcmp(before, "--signal") == 0;
        if (value || word[0] != '-' || !take_short(word + 1, k)) {
            if (!value && word[0] == '-' && isupper((unsigned char)word[1])) {
                (void)ctl_usage(ctl, "%s is no signal (see `voltctl kill -l`)", word + 1);
                return false;
            }
            i++;
            continue;
        }
        memmove(ctl->argv + 1, ctl->argv, (size_t)i * sizeof(*ctl->argv));
        ctl->argv++;
        ctl->argc--;
    }
    return true;
}

static int parse(struct ctl *ctl, struct kill *k)
{
    int key;
    if (!take_shorts(ctl, k))
        return CTL_EXIT_USAGE;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        if (key == OPT_MAIN)
            k->whom = "main";
        if (key == 'l') {
            print_signals();
            return CTL_EXIT_OK;
        }
        if (ctl_filter_take(&k->filter, key, ctl->options.arg) < 0)
            return CTL_EXIT_USAGE;
        if (key == 's' && take_signal(k, ctl->options.arg) < 0)
            return ctl_usage(ctl, "--signal: %s is not a signal", ctl->options.arg);
    }
    return OPTION_END;
}

/* Signals the chosen jobs. A filter selects running jobs, and of arrays the elements. */
static int kill_chosen(struct ctl *ctl, struct kill *k)
{
    if (k->filter && !json_object_get(k->filter, "states"))
        (void)json_object_set_new(k->filter, "states", job_view_live(false));
    if (k->filter)
        (void)json_object_set_new(k->filter, "elements", json_true());
    return ctl_each_chosen(ctl, k->filter, one, k);
}

static int run(struct ctl *ctl)
{
    struct kill k = {.signal = "SIGTERM", .whom = "tree"};
    int code = parse(ctl, &k);
    if (code == OPTION_END)
        code = kill_chosen(ctl, &k);
    json_decref(k.filter);
    return code;
}

const struct verb verb_kill = {
    .name = "kill",
    .operands = "[ID...]",
    .summary = "Send a signal to running jobs",
    .text = "To end jobs use `voltctl cancel`: it also takes what still waits, and is\n"
            "recorded as cancelled, not as killed. Of an array name elements: one,\n"
            "ID_INDEX, or several, ID_FIRST-LAST. With a filter: those of the ids that\n"
            "match, or all that match, and run.\n"
            "\nExamples:\n  voltctl kill -s HUP 12\n  voltctl kill -9 --main 12\n"
            "  voltctl kill -9 12_1-40\n",
    .options = options,
    .run = run,
};
