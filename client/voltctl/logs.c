/* voltctl logs: the output of a job. */
#include "client/follow.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { OPT_STDERR = OPTION_LONG };

static const struct option_entry options[] = {
    {"follow", 'f', NULL, "go on until the job has ended"},
    {"lines", 'n', "N", "begin with the last N lines"},
    {"stderr", OPT_STDERR, NULL, "standard error of a job with --split-output"},
    CTL_RECONNECT_OPTION,
    CTL_OPTIONS_END,
};

static int one(struct ctl *ctl, const char *id, void *arg)
{
    struct follow_request *rq = arg;
    struct client_reply error = CLIENT_REPLY_EMPTY;
    bool writing;
    rq->id = id;
    int r = follow_output(&ctl->client, rq, &error, &writing);
    int code = CTL_EXIT_OK;
    if (writing) {
        if (r != -EPIPE)
            say("writing the output: %s", strerror(-r));
        code = CTL_EXIT_FAILED;
    } else if (r == 1) {
        code = ctl_refused(&error);
        if (client_error_is(&error, "NoOutput") && strcmp(rq->stream, "stderr") == 0)
            say("standard error is part of the output, except with --split-output");
    } else if (!ctl->client) {
        code = CTL_EXIT_NO_DAEMON; /* said */
    } else if (r < 0) {
        code = ctl_lost(r);
    }
    client_reply_fini(&error);
    return code;
}

static int run(struct ctl *ctl)
{
    struct follow_request rq = {.choice = &ctl->choice,
                                .reconnect_usec = RECONNECT_USEC,
                                .interrupt = -1,
                                .stream = "stdout",
                                .out = STDOUT_FILENO,
                                .lines = UINT64_MAX};
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        rq.follow |= key == 'f';
        if (key == OPT_STDERR)
            rq.stream = "stderr";
        if (!ctl_reconnect_take(ctl, key, &rq.reconnect_usec))
            return CTL_EXIT_USAGE;
        if (key == 'n' && !ctl_number("--lines", ctl->options.arg, &rq.lines))
            return CTL_EXIT_USAGE;
    }
    if (rq.follow && ctl->argc - optind > 1)
        return ctl_usage(ctl, "--follow is for one job");
    return ctl_each_id(ctl, one, &rq);
}

const struct verb verb_logs = {
    .name = "logs",
    .operands = "ID...",
    .summary = "Print the output of jobs",
    .text =
        "Standard output and standard error together, as they were written, unless\n"
        "the job was submitted with --split-output. Output of one element of an array:\n"
        "ID_INDEX. With -f a job that still waits is waited for, and a lost\n"
        "connection is tried again; output goes on where it was.\n"
        "\nExamples:\n  voltctl logs 12\n  voltctl logs -f -n 20 12_7\n",
    .options = options,
    .run = run,
};
