/* voltctl logs: the output of a job. */
#include "client/job_view.h"
#include "client/outputs.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/shell_words.h"
#include "client/term.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_STDERR = OPTION_LONG, OPT_STDOUT, OPT_RAW, OPT_NO_PREFIX };

static const struct option_entry options[] = {
    {"follow", 'f', NULL, "go on until the jobs have ended"},
    {"keep-order", 'k', NULL, "with -f of several: each whole before the next"},
    {"lines", 'n', "N", "begin with the last N lines of each"},
    {"stdout", OPT_STDOUT, NULL, "standard output (the default)"},
    {"stderr", OPT_STDERR, NULL, "standard error of a job with --error=file"},
    {"no-prefix", OPT_NO_PREFIX, NULL, "of several: do not begin each line with its id"},
    {"raw", OPT_RAW, NULL, "on a terminal too: every byte as it was written"},
    CTL_RECONNECT_OPTION,
    CTL_OPTIONS_END,
};

/* Where a job prints that has no output here, if that is a file of its user. */
static bool say_path(struct client *c, const struct client_reply *error,
                     const char *field)
{
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    const char *id = job_view_string(error->parameters, "id");
    char *path = NULL;
    if (c && client_error_is(error, "NoOutput") &&
        client_call(c, "org.voltd.jobs.Get",
                    json_pack("{s:s, s:b}", "id", id, "with_spec", 1), &reply) == 0)
        path = job_view_path(json_object_get(reply.parameters, "job"), field);
    struct wire_buf word = {0}; /* as a shell takes it */
    bool is_file = path && strcmp(path, "/dev/null") != 0;
    if (is_file && shell_word(&word, path) == 0 && wire_buf_append(&word, "", 1) == 0)
        say("job %s prints to a file that voltd does not keep: tail -f %s", id,
            wire_buf_at(&word));
    wire_buf_fini(&word);
    client_reply_fini(&reply);
    free(path);
    return is_file;
}

static int refused(struct client *c, const struct client_reply *error)
{
    return say_path(c, error, "output_path") ? CTL_EXIT_FAILED : ctl_refused(error);
}

static int refused_stderr(struct client *c, const struct client_reply *error)
{
    if (say_path(c, error, "error_path"))
        return CTL_EXIT_FAILED;
    int code = ctl_refused(error);
    if (client_error_is(error, "NoOutput"))
        say("standard error is part of the output, except with --error=file (kept for "
            "this command) and --error=PATH (a file of yours)");
    return code;
}

static int print(struct ctl *ctl, struct outputs_request *rq)
{
    char **ids;
    bool writing;
    int n = ctl_ids(ctl, 1, &ids), code = CTL_EXIT_OK;
    if (n < 0)
        return ctl->code;
    if (rq->follow && n > OUTPUTS_FOLLOW_MOST)
        return ctl_usage(ctl, "--follow: at most %d ids", OUTPUTS_FOLLOW_MOST);
    rq->ids = ids;
    rq->nids = (size_t)n;
    rq->refused = strcmp(rq->stream, "stderr") == 0 ? refused_stderr : refused;
    int opened = ctl_open(ctl, ADDRESS_JOBS);
    if (opened != CTL_EXIT_OK)
        return opened;
    int r = outputs_print(&ctl->client, rq, &code, &writing);
    if (writing) {
        if (r != -EPIPE)
            say("writing the output: %s", strerror(-r));
        return CTL_EXIT_FAILED;
    }
    if (r < 0 && !ctl->client)
        return CTL_EXIT_NO_DAEMON; /* said */
    return r < 0 ? ctl_lost(r) : code;
}

static int run(struct ctl *ctl)
{
    struct outputs_request rq = {.choice = &ctl->choice,
                                 .reconnect_usec = RECONNECT_USEC,
                                 .interrupt = -1,
                                 .stream = "stdout",
                                 .out = STDOUT_FILENO,
                                 .cleans = term_is_tty(STDOUT_FILENO),
                                 .lines = UINT64_MAX};
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        rq.follow |= key == 'f';
        rq.keep_order |= key == 'k';
        rq.no_prefix |= key == OPT_NO_PREFIX;
        rq.cleans &= key != OPT_RAW;
        if (key == OPT_STDERR || key == OPT_STDOUT)
            rq.stream = key == OPT_STDERR ? "stderr" : "stdout";
        if (!ctl_reconnect_take(ctl, key, &rq.reconnect_usec))
            return CTL_EXIT_USAGE;
        if (key == 'n' && !ctl_number("--lines", ctl->options.arg, &rq.lines))
            return CTL_EXIT_USAGE;
    }
    return print(ctl, &rq);
}

const struct verb verb_logs = {
    .name = "logs",
    .operands = "ID...",
    .summary = "Print the output of jobs",
    .text =
        "Standard output and standard error together, as they were written, unless\n"
        "the job was submitted with --error=file. Of an array all elements that have\n"
        "begun; of several jobs one after the other, each line behind the id of its job.\n"
        "With -f what has ended comes first, in order, then lines of all as they are\n"
        "written, or with -k each whole before the next; a job that still waits is waited\n"
        "for, and a lost connection is tried again; output goes on where it was. Of a job\n"
        "that prints to a file of yours (--output=PATH) the path is told.\n"
        "On a terminal, characters that would steer it or that it would not show are\n"
        "printed as \\x1b or \\u202e, line ends and tabs aside, and a carriage return that is\n"
        "not before a line end as ^M; with --raw, and to a file or pipe, nothing is changed.\n"
        "\nExamples:\n  voltctl logs 12\n  voltctl logs -f -n 20 12_7\n"
        "  voltctl logs -fk --no-prefix 12   all elements of an array, in order\n",
    .options = options,
    .run = run,
};
