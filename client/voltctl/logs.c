/* voltctl logs: prints the output of jobs. */
#include "client/job_view.h"
#include "client/outputs.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/shell_words.h"
#include "client/term.h"
#include "client/voltctl/logs_attempt.h"
#include "client/voltctl/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_STDERR = OPTION_LONG, OPT_STDOUT, OPT_RAW, OPT_NO_PREFIX, OPT_ATTEMPT };

static const struct option_entry options[] = {
    {"follow", 'f', NULL, "go on until the jobs have ended"},
    {"keep-order", 'k', NULL, "with -f: one job after the other"},
    {"lines", 'n', "N", "begin with the last N lines of each"},
    {"attempt", OPT_ATTEMPT, "N", "what its attempt N printed, of one job"},
    {"stdout", OPT_STDOUT, NULL, "standard output (the default)"},
    {"stderr", OPT_STDERR, NULL, "standard error of a job with --error=file"},
    {"no-prefix", OPT_NO_PREFIX, NULL, "do not begin lines with the id of their job"},
    {"raw", OPT_RAW, NULL, "on a terminal: print every byte unchanged"},
    CTL_FILTER_OPTIONS,
    CTL_TIME_OPTIONS,
    CTL_RECONNECT_OPTION,
    CTL_OPTIONS_END,
};

static const struct option_elsewhere elsewhere[] = {
    CTL_ELSEWHERE,
    {" --tail -t ", "--lines=N (-n)"},
    {" --all -a ", "a filter, such as --since=today"},
    {" -F ", "--follow (-f)"},
    {" -e -r --reverse -x --no-pager ",
     "nothing: there is no pager; -n N is the end of it"},
    {" -u --unit ", "the ids alone: voltctl logs ID..."},
    {NULL, NULL},
};

/* Prints the path of a job without output here, if it prints to a file of its user. */
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
    struct wire_buf word = {0}; /* quoted for a shell */
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

/* The request of the command line. */
struct logs {
    struct outputs_request rq;
    uint64_t attempt; /* 0: all */
    json_t *filter;   /* NULL: none */
};

static int print(struct ctl *ctl, struct logs *l)
{
    struct outputs_request *rq = &l->rq;
    char **ids;
    bool writing;
    int n = ctl_ids(ctl, l->filter ? 0 : 1, &ids), code = CTL_EXIT_OK;
    if (n < 0)
        return ctl->code;
    if (rq->follow && n > OUTPUTS_FOLLOW_MOST)
        return ctl_usage(ctl, "--follow: at most %d ids", OUTPUTS_FOLLOW_MOST);
    int chosen = ctl_choose(ctl, l->filter);
    if (chosen != CTL_EXIT_OK || ctl->nids == 0)
        return chosen;
    if (rq->follow && ctl->nids > OUTPUTS_FOLLOW_MOST)
        return ctl_usage(ctl, "--follow: more than %d jobs match", OUTPUTS_FOLLOW_MOST);
    rq->ids = ctl->ids;
    rq->nids = ctl->nids;
    rq->refused = strcmp(rq->stream, "stderr") == 0 ? refused_stderr : refused;
    int r = outputs_print(&ctl->client, rq, &code, &writing);
    if (writing) {
        if (r != -EPIPE)
            say("writing the output: %s", strerror(-r));
        return CTL_EXIT_FAILED;
    }
    if (r < 0 && !ctl->client)
        return CTL_EXIT_NO_DAEMON; /* after an error message */
    return r < 0 ? ctl_lost(r) : code;
}

static int print_attempt(struct ctl *ctl, const struct logs *l)
{
    const struct outputs_request *rq = &l->rq;
    struct printer p = {.out = rq->out, .cleans = rq->cleans};
    char **ids;
    int n = ctl_ids(ctl, 1, &ids);
    if (n < 0)
        return ctl->code;
    if (n > 1 || rq->follow || rq->lines != UINT64_MAX || l->filter)
        return ctl_usage(ctl, "--attempt: of one job, without --follow and --lines");
    int code = ctl_open(ctl, ADDRESS_JOBS);
    return code == CTL_EXIT_OK
               ? logs_attempt_print(ctl, ids[0], l->attempt, rq->stream, &p)
               : code;
}

/* Takes an option whose value is checked. */
static int take_value(struct ctl *ctl, struct logs *l, int key)
{
    const char *arg = ctl->options.arg;
    if (ctl_filter_take(&l->filter, key, arg) < 0 ||
        !ctl_reconnect_take(ctl, key, &l->rq.reconnect_usec) ||
        (key == OPT_ATTEMPT && !ctl_number("--attempt", arg, &l->attempt)) ||
        (key == 'n' && !ctl_number("--lines", arg, &l->rq.lines)))
        return CTL_EXIT_USAGE;
    return key == OPT_ATTEMPT && l->attempt == 0
               ? ctl_usage(ctl, "--attempt: the first one is 1")
               : CTL_EXIT_OK;
}

static int parse(struct ctl *ctl, struct logs *l)
{
    struct outputs_request *rq = &l->rq;
    int key, code = CTL_EXIT_OK;
    while (code == CTL_EXIT_OK && (key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        rq->follow |= key == 'f';
        rq->keep_order |= key == 'k';
        rq->no_prefix |= key == OPT_NO_PREFIX;
        rq->cleans &= key != OPT_RAW;
        if (key == OPT_STDERR || key == OPT_STDOUT)
            rq->stream = key == OPT_STDERR ? "stderr" : "stdout";
        code = take_value(ctl, l, key);
    }
    return code == CTL_EXIT_OK ? OPTION_END : code;
}

static int run(struct ctl *ctl)
{
    struct logs l = {.rq = {.choice = &ctl->choice,
                            .reconnect_usec = RECONNECT_USEC,
                            .interrupt = -1,
                            .stream = "stdout",
                            .out = STDOUT_FILENO,
                            .cleans = term_is_tty(STDOUT_FILENO),
                            .lines = UINT64_MAX}};
    int code = parse(ctl, &l);
    if (code == OPTION_END)
        code = l.attempt ? print_attempt(ctl, &l) : print(ctl, &l);
    json_decref(l.filter);
    return code;
}

const struct verb verb_logs = {
    .name = "logs",
    .operands = "[ID...]",
    .summary = "Print the output of jobs",
    .text =
        "Of those that are named; of these those that match, or of all that match.\n"
        "--since and --until are about when a job was submitted: lines have no times\n"
        "here.\n\n"
        "Standard output and standard error come together, as they were written, unless\n"
        "the job was submitted with --error=file. Of an array every element that has\n"
        "begun is printed. Of several jobs each line begins with the id of its job.\n"
        "\n"
        "With -f it goes on until the jobs have ended, and waits for those that have not\n"
        "begun. Jobs that have ended come first, in order; then lines of all others as\n"
        "they are written, or with -k one job after the other. A lost connection is tried\n"
        "again, and output goes on where it was.\n"
        "\n"
        "All attempts of a job print one behind the other.\n"
        "\n"
        "Of a job that prints to a file of yours (--output=PATH) the path is told.\n"
        "\n"
        "On a terminal, characters that would steer it, or that it would not show, are\n"
        "printed as \\x1b or \\u202e, and a carriage return inside a line as ^M. A file, a\n"
        "pipe and --raw get every byte unchanged.\n"
        "\n"
        "Examples:\n"
        "  voltctl logs 12\n"
        "  voltctl logs -f -n 20 12_7\n"
        "  voltctl logs -fk --no-prefix 12   all elements of an array, in order\n"
        "  voltctl logs --failed --since=today -n 5\n",
    .options = options,
    .elsewhere = elsewhere,
    .run = run,
};
