/* Command line of volt-submit; see submit.h. */
#include "wire/duration.h"
#include "client/check_command.h"
#include "client/options.h"
#include "client/range.h"
#include "client/reconnect.h"
#include "client/say.h"
#include "client/size.h"
#include "client/spec_build.h"
#include "client/submit.h"
#include "client/term.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_TIMEOUT = OPTION_LONG,
    OPT_KILL_AFTER,
    OPT_STOP_SIGNAL,
    OPT_KILL_MODE,
    OPT_ON_LOST,
    OPT_KEY,
    OPT_IF_EXISTS,
    OPT_KIND,
    OPT_DURATION,
    OPT_SAME_DIR,
    OPT_NO_ENV,
    OPT_ALL_ENV,
    OPT_NO_LIMITS,
    OPT_UMASK,
    OPT_STDIN,
    OPT_OUTPUT,
    OPT_SPLIT_OUTPUT,
    OPT_OUTPUT_LIMIT,
    OPT_LABEL,
    OPT_ARRAY,
    OPT_SHELL,
    OPT_RAW,
    OPT_RECONNECT,
    OPT_JSON,
    OPT_QUIET,
    OPT_DRY_RUN,
    OPT_NO_CHECK,
    OPT_VERSION,
};

static const struct option_entry job_options[] = {
    {"name", 'n', "NAME", "a name to show and to filter by"},
    {"label", OPT_LABEL, "KEY=VALUE", "a label to filter by; may be given many times"},
    {"queue", 'q', "QUEUE", "the queue (default: default)"},
    {"priority", 'p', "N",
     "-1000 to 1000; higher starts first (default 0);\nin system mode one above 0 is for root alone"},
    {"array", OPT_ARRAY, "FIRST-LAST",
     "one job per index; {i} in arguments and\nVOLT_ARRAY_INDEX are the index"},
    {"shell", OPT_SHELL, "TEXT", "run TEXT with /bin/sh -c instead of COMMAND"},
    {"key", OPT_KEY, "KEY",
     "submit once: with the same key and job the id is that\nof the first submission"},
    {"if-exists", OPT_IF_EXISTS, "WHAT",
     "when there was a job with the key: reject; coalesce,\n"
     "take that one's id while it is not done; replace,\n"
     "cancel it and follow it"},
    {"kind", OPT_KIND, "KIND", "exec (default), sleep or noop"},
    {"duration", OPT_DURATION, "TIME", "how long a job of kind sleep takes"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry run_options[] = {
    {"chdir", 'd', "DIR", "the directory it runs in (default: this one)"},
    {"same-dir", OPT_SAME_DIR, NULL, "run it in this directory (the default)"},
    {"env", 'E', "VAR[=VALUE]",
     "set a variable, or pass on this one; may be given\nmany times"},
    {"no-env", OPT_NO_ENV, NULL,
     "pass on no variables but those of -E: the default with\nthe voltd of the system, or "
     "of another user"},
    {"all-env", OPT_ALL_ENV, NULL,
     "pass on all variables: the default with a voltd of\nyour own"},
    {"no-limits", OPT_NO_LIMITS, NULL,
     "do not pass on the resource limits (ulimit) of this\nprocess: the job gets those "
     "voltd was started with"},
    {"umask", OPT_UMASK, "MODE", "octal file mode mask (default: this one)"},
    {"stdin", OPT_STDIN, "FILE", "standard input (default: /dev/null; never a pipe)"},
    {"output", OPT_OUTPUT, "WHERE",
     "file (default; for `voltctl logs`), null, or a PATH,\n"
     "which is appended to; {id}, {i} and {name} in it are\nthose of the job"},
    {"split-output", OPT_SPLIT_OUTPUT, NULL, "keep standard error in a file of its own"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry end_options[] = {
    {"timeout", OPT_TIMEOUT, "TIME", "end it after TIME of running: exit code 124"},
    {"kill-after", OPT_KILL_AFTER, "TIME",
     "from the stop signal to SIGKILL (default: KillAfterSec=\nof voltd, 10s)"},
    {"output-limit", OPT_OUTPUT_LIMIT, "SIZE",
     "kill it when it has printed more: exit code 125\n"
     "(default: OutputLimit= of voltd, none)"},
    {"stop-signal", OPT_STOP_SIGNAL, "SIGNAL", "how it is asked to end (default TERM)"},
    {"kill-mode", OPT_KILL_MODE, "MODE", "what signals reach: tree (default) or main"},
    {"on-lost", OPT_ON_LOST, "WHAT",
     "when its exit status cannot be known (a reboot while it\n"
     "ran): fail (default), or retry, another attempt"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry submit_options_table[] = {
    {"file", 'f', "FILE",
     "many jobs: NDJSON (one spec a line) or a JSON array of\n"
     "specs; - is standard input. Other options are defaults\n"
     "for what a spec does not say"},
    {"wait", 'w', NULL, "wait for the end, and exit as the job does"},
    {"follow", 'F', NULL,
     "print the output while it runs, then exit as --wait;\n"
     "of several jobs each line behind the id of its job;\n"
     "with --split-output the standard output; on a terminal\nas `voltctl logs` shows it"},
    {"raw", OPT_RAW, NULL,
     "with --follow, on a terminal too: every byte as it was\nwritten"},
    {"reconnect", OPT_RECONNECT, "TIME",
     "how long a waiting client retries a lost connection\n(default 30s)"},
    {"json", OPT_JSON, NULL, "events as JSON, one a line, on standard output"},
    {"quiet", OPT_QUIET, NULL, "no progress and no remarks, errors only"},
    {"no-check", OPT_NO_CHECK, NULL, "submit also a command that cannot be found here"},
    {"dry-run", OPT_DRY_RUN, NULL, "print the specs and submit nothing"},
    {"help", 'h', NULL, "this text"},
    {"version", OPT_VERSION, NULL, "the version"},
    {NULL, 0, NULL, NULL},
};

static const struct option_entry *const tables[] = {
    job_options, run_options, end_options, submit_options_table, options_connection, NULL,
};

static void help(void)
{
    (void)fputs(
        "Usage: volt-submit [OPTIONS] [--] COMMAND [ARG...]\n"
        "       volt-submit [OPTIONS] --shell 'TEXT'\n"
        "       volt-submit [OPTIONS] -f jobs.ndjson\n"
        "Hand a command to voltd, which runs it when its turn comes.\n"
        "The id of the job is printed; `voltctl status ID` tells what became of it.\n",
        stdout);
    (void)puts("\nThe job:");
    options_print(job_options);
    (void)puts("\nHow it runs (directory, umask and resource limits are passed on):");
    options_print(run_options);
    (void)puts("\nHow it ends:");
    options_print(end_options);
    (void)puts("\nSubmitting and waiting:");
    options_print(submit_options_table);
    (void)puts("\nThe daemon (tried: the user's, then the system's):");
    options_print(options_connection);
    (void)fputs(
        "\nTimes: 30s, 10m, 1h30m, 250ms, 2d; a number alone is seconds.\n"
        "\nExamples:\n"
        "  volt-submit make -j4\n"
        "  volt-submit --wait --timeout=10m -- ./backup.sh /srv\n"
        "  volt-submit --array 1-1000 --wait -- ./step {i}\n"
        "  seq 1 9 | jq -c '{argv: [\"./step\", tostring]}' | volt-submit -f - --wait\n\n"
        "Exit codes with --wait: the job's own; 128+N killed by signal N; 124 its\n"
        "timeout; 126 found but not executable; 127 not found; 125 voltd failed, or the\n"
        "job was cancelled or lost, or printed too much; of several jobs the largest.\n"
        "130: interrupted (the jobs go on).\n"
        "Without --wait: 0, or 125. A COMMAND that cannot be found or executed here is\n"
        "refused with 127 or 126, before it is submitted; --no-check submits it.\n",
        stdout);
}

const char *submit_option_of(const char *member, size_t len)
{
    static const struct {
        const char *member, *option;
    } names[] = {
        {"argv", "command"},
        {"array", "--array"},
        {"cwd", "--chdir"},
        {"duration_usec", "--duration"},
        {"env", "--env"},
        {"key", "--key"},
        {"kill_after_usec", "--kill-after"},
        {"kill_mode", "--kill-mode"},
        {"kind", "--kind"},
        {"labels", "--label"},
        {"limits", "--output-limit"},
        {"name", "--name"},
        {"on_exists", "--if-exists"},
        {"on_lost", "--on-lost"},
        {"output", "--output"},
        {"output_path", "--output"},
        {"output_split", "--split-output"},
        {"priority", "--priority"},
        {"queue", "--queue"},
        {"shell", "--shell"},
        {"stdin", "--stdin"},
        {"stop_signal", "--stop-signal"},
        {"timeout_usec", "--timeout"},
        {"umask", "--umask"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i].member) == len && memcmp(names[i].member, member, len) == 0)
            return names[i].option;
    return NULL;
}

/* --- one option --------------------------------------------------------------------- */

static int set_text(struct submit_options *o, const char *name, const char *value)
{
    json_t *s = json_string(value);
    if (s && json_object_set_new(o->spec, name, s) == 0)
        return 0;
    say("%s: not UTF-8", submit_option_of(name, strlen(name)));
    return -EINVAL;
}

static int set_priority(struct submit_options *o, const char *text)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end) {
        say("--priority: %s is not a number from -1000 to 1000", text);
        return -EINVAL;
    }
    return json_object_set_new(o->spec, "priority", json_integer(n));
}

static int set_umask(struct submit_options *o, const char *text)
{
    size_t len = strlen(text);
    long mask = strtol(text, NULL, 8);
    if (len == 0 || strspn(text, "01234567") != len || mask > 0777) {
        say("--umask: %s is not an octal number from 0 to 777", text);
        return -EINVAL;
    }
    o->has_umask = true;
    return json_object_set_new(o->spec, "umask", json_integer(mask));
}

static int set_time(struct submit_options *o, const char *name, const char *option,
                    const char *text)
{
    uint64_t usec;
    if (duration_parse(text, &usec) < 0) {
        say("--%s: %s is not a time like 30s, 10m or 1h30m", option, text);
        return -EINVAL;
    }
    return json_object_set_new(o->spec, name, json_integer((json_int_t)usec));
}

/* A member of the object `limits`; takes value. 0, or negative. */
static int put_limit(struct submit_options *o, const char *name, json_t *value)
{
    json_t *limits = json_object_get(o->spec, "limits");

    if (!limits) {
        limits = json_object();
        (void)json_object_set_new(o->spec, "limits", limits);
    }
    return json_object_set_new(limits, name, value);
}

static int set_limit(struct submit_options *o, const char *name, const char *option,
                     const char *text)
{
    uint64_t bytes;

    if (size_parse(text, &bytes) < 0 || bytes == 0) {
        say("--%s: %s is not a size like 64K, 10M or 1G", option, text);
        return -EINVAL;
    }
    return put_limit(o, name, json_integer((json_int_t)bytes));
}

static int set_path(struct submit_options *o, const char *name, const char *path)
{
    struct volt_error err;
    int r = spec_build_path(o->spec, name, path, &err);
    if (r < 0)
        say("%s: %s", submit_option_of(name, strlen(name)), err.text);
    return r;
}

static int set_array(struct submit_options *o, const char *text)
{
    uint64_t first, last;
    if (range_parse(text, &first, &last) < 0) {
        say("--array: %s is not a range like 1-1000", text);
        return -EINVAL;
    }
    o->count = last - first + 1;
    json_t *range =
        json_pack("{s:I, s:I}", "first", (json_int_t)first, "last", (json_int_t)last);
    return json_object_set_new(o->spec, "array", range);
}

static int set_output(struct submit_options *o, const char *where)
{
    if (strcmp(where, "file") == 0 || strcmp(where, "null") == 0)
        return set_text(o, "output", where);
    int r = set_text(o, "output", "path");
    return r < 0 ? r : set_path(o, "output_path", where);
}

static int set_signal(struct submit_options *o, const char *text)
{
    char name[32];
    if (spec_build_signal(text, name, sizeof(name)) < 0) {
        say("--stop-signal: %s is not a signal", text);
        return -EINVAL;
    }
    return set_text(o, "stop_signal", name);
}

static int add_pair(json_t *object, const char *option, const char *text, bool from_env)
{
    struct volt_error err;
    int r = spec_build_pair(object, text, from_env, &err);
    if (r < 0)
        say("--%s: %s", option, err.text);
    return r;
}

static int add_label(struct submit_options *o, const char *text)
{
    json_t *labels = json_object_get(o->spec, "labels");
    if (!labels) {
        labels = json_object();
        (void)json_object_set_new(o->spec, "labels", labels);
    }
    return add_pair(labels, "label", text, false);
}

static int set_reconnect(struct submit_options *o, const char *text)
{
    if (duration_parse(text, &o->reconnect_usec) == 0)
        return 0;
    say("--reconnect: %s is not a time like 30s", text);
    return -EINVAL;
}

/* Options that only say what volt-submit itself does. 1: it was none of them. */
static int take_mode(struct submit_options *o, int key, const char *arg)
{
    switch (key) {
    case 'f':
        o->file = arg;
        return 0;
    case 'w':
        o->wait = true;
        return 0;
    case 'F':
        o->wait = o->follow = true;
        return 0;
    case OPT_RAW:
        o->raw = true;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_QUIET:
        o->quiet = true;
        return 0;
    case OPT_DRY_RUN:
        o->dry_run = true;
        return 0;
    case OPT_NO_ENV:
        o->no_env = true;
        o->all_env = false;
        return 0;
    case OPT_ALL_ENV:
        o->all_env = true;
        o->no_env = false;
        return 0;
    case OPT_NO_LIMITS:
        o->no_limits = true;
        return 0;
    case OPT_NO_CHECK:
        o->no_check = true;
        return 0;
    case OPT_RECONNECT:
        return set_reconnect(o, arg);
    case 'E':
        return add_pair(o->env, "env", arg, true);
    default:
        return options_connection_take(&o->choice, key, arg) ? 0 : 1;
    }
}

/* Options that are fields of the spec. */
static int take_field(struct submit_options *o, int key, const char *arg)
{
    switch (key) {
    case 'n':
        return set_text(o, "name", arg);
    case 'q':
        return set_text(o, "queue", arg);
    case 'p':
        return set_priority(o, arg);
    case 'd':
        return set_path(o, "cwd", arg);
    case OPT_SAME_DIR:
        return set_path(o, "cwd", ".");
    case OPT_TIMEOUT:
        return set_time(o, "timeout_usec", "timeout", arg);
    case OPT_KILL_AFTER:
        return set_time(o, "kill_after_usec", "kill-after", arg);
    case OPT_OUTPUT_LIMIT:
        return set_limit(o, "output_bytes", "output-limit", arg);
    case OPT_STOP_SIGNAL:
        return set_signal(o, arg);
    case OPT_KILL_MODE:
        return set_text(o, "kill_mode", arg);
    case OPT_ON_LOST:
        return set_text(o, "on_lost", arg);
    case OPT_KEY:
        return set_text(o, "key", arg);
    case OPT_IF_EXISTS:
        return set_text(o, "on_exists", arg);
    case OPT_KIND:
        return set_text(o, "kind", arg);
    case OPT_DURATION:
        return set_time(o, "duration_usec", "duration", arg);
    case OPT_UMASK:
        return set_umask(o, arg);
    case OPT_STDIN:
        return set_path(o, "stdin", arg);
    case OPT_OUTPUT:
        return set_output(o, arg);
    case OPT_SPLIT_OUTPUT:
        return json_object_set_new(o->spec, "output_split", json_true());
    case OPT_LABEL:
        return add_label(o, arg);
    case OPT_ARRAY:
        return set_array(o, arg);
    case OPT_SHELL:
        return set_text(o, "shell", arg);
    default:
        return -EINVAL;
    }
}

/* --- the whole ---------------------------------------------------------------------- */

static const char *kind_of(const struct submit_options *o)
{
    const char *kind = json_string_value(json_object_get(o->spec, "kind"));
    return kind ? kind : "exec";
}

/* Kinds that we do not know may; voltd says what it knows. */
static bool runs_process(const struct submit_options *o)
{
    return strcmp(kind_of(o), "sleep") != 0 && strcmp(kind_of(o), "noop") != 0;
}

static int take_command(struct submit_options *o, int argc, char **argv)
{
    bool shell = json_object_get(o->spec, "shell") != NULL;
    bool want = !o->file && !shell && runs_process(o);
    if (argc == 0)
        return want ? (say("a command is needed; try --help"), -EINVAL) : 0;
    if (!want && !o->file && !shell) {
        say("kind %s runs no command, but there is one: %s", kind_of(o), argv[0]);
        return -EINVAL;
    }
    if (!want) {
        say("%s: a command besides %s", argv[0], o->file ? "--file" : "--shell");
        return -EINVAL;
    }
    json_t *list = json_array();
    (void)json_object_set_new(o->spec, "argv", list);
    for (int i = 0; i < argc; i++)
        if (json_array_append_new(list, json_string(argv[i])) < 0) {
            say("argument %d is not UTF-8", i);
            return -EINVAL;
        }
    return 0;
}

/* What a process inherits here it shall find there; the environment is put in when it is
 * known whose voltd gets it. */
static int capture(struct submit_options *o)
{
    if (!runs_process(o))
        return 0;
    if (!o->no_limits && put_limit(o, "rlimits", spec_build_rlimits()) < 0)
        return -ENOMEM;
    if (!o->has_umask)
        (void)json_object_set_new(o->spec, "umask", json_integer(spec_build_umask()));
    return json_object_get(o->spec, "cwd") ? 0 : set_path(o, "cwd", ".");
}

/* The command line again, with `instead` in the place of the command. */
static void say_instead(char *const argv[], int operands, const char *instead)
{
    char line[2048] = "volt-submit", clean[4096];
    for (int i = 1; i < operands; i++)
        if (i + 1 < operands || strcmp(argv[i], "--") != 0)
            command_quote(line, sizeof(line), (char *const[]){argv[i], NULL});
    (void)snprintf(line + strlen(line), sizeof(line) - strlen(line), " %s%s",
                   *instead == '-' ? "" : "-- ", instead);
    term_clean(line, clean, sizeof(clean));
    say("try: %s", clean);
}

/* Refuses a command that cannot be found: in the default of the system where no PATH goes
 * with the job. */
static int check_command(const struct submit_options *o)
{
    json_t *env = json_object_get(o->spec, "env");
    const char *path = json_string_value(json_object_get(env, "PATH"));
    const char *cwd = json_string_value(json_object_get(o->spec, "cwd"));
    const char *command = o->argv[o->operands];
    struct command_advice advice;
    if (o->no_check || !json_object_get(o->spec, "argv") || !*command || !cwd ||
        (json_object_get(o->spec, "array") && strstr(command, "{i}")))
        return SUBMIT_GO;
    enum command_check found = command_check(o->argv + o->operands, cwd, path, &advice);
    if (found == COMMAND_FOUND)
        return SUBMIT_GO;
    char problem[sizeof(advice.problem)];
    term_clean(advice.problem, problem, sizeof(problem));
    say("%s", problem);
    if (*advice.instead)
        say_instead(o->argv, o->operands, advice.instead);
    else if (!path && !strchr(command, '/'))
        say("no PATH goes with the job: -E PATH passes on this one; --no-check submits it "
            "all the same");
    else
        say("--no-check submits it all the same");
    return found == COMMAND_NOT_FOUND ? SUBMIT_EXIT_NOT_FOUND
                                      : SUBMIT_EXIT_NOT_EXECUTABLE;
}

static int pass_environment(struct submit_options *o, bool own_daemon)
{
    bool all = o->all_env || (own_daemon && !o->no_env);
    unsigned skipped = 0;
    json_t *env = json_object();
    if (!env || (all && spec_build_environment(env, environ, &skipped) < 0)) {
        json_decref(env);
        return -ENOMEM;
    }
    if (skipped && !o->quiet)
        say("%u variable%s not UTF-8, and not passed on", skipped,
            skipped == 1 ? " is" : "s are");
    o->passes_env = all;
    (void)json_object_update(env, o->env);
    return json_object_set_new(o->spec, "env", env) < 0 ? -ENOMEM : 0;
}

int submit_environment(struct submit_options *o, bool own_daemon)
{
    if (!runs_process(o))
        return SUBMIT_GO;
    if (pass_environment(o, own_daemon) == 0)
        return check_command(o);
    say("out of memory");
    return SUBMIT_EXIT_FAILED;
}

static int check(const struct submit_options *o)
{
    const char *wrong = NULL;
    if (o->follow && o->json)
        wrong = "--follow prints the job's output, --json events; choose one";
    else if (o->raw && !o->follow)
        wrong = "--raw is for the output that --follow prints";
    else if (!o->file && !runs_process(o) && json_object_get(o->spec, "shell"))
        wrong = "--shell is for kind exec";
    if (wrong)
        say("%s", wrong);
    return wrong ? -EINVAL : 0;
}

int submit_parse(struct submit_options *o, int argc, char **argv)
{
    o->spec = json_object();
    o->env = json_object();
    o->count = 1;
    o->reconnect_usec = RECONNECT_USEC;
    if (!o->spec || !o->env)
        return SUBMIT_EXIT_FAILED;
    struct options opts = {
        .tables = tables, .argc = argc, .argv = argv, .stop_at_operand = true};
    int key;
    while ((key = options_next(&opts)) != OPTION_END) {
        if (key == 'h') {
            help();
            return 0;
        }
        if (key == OPT_VERSION) {
            (void)puts("volt-submit " VOLT_VERSION);
            return 0;
        }
        int r = key == OPTION_BAD ? -EINVAL : take_mode(o, key, opts.arg);
        if (r == 1)
            r = take_field(o, key, opts.arg);
        if (r < 0)
            return SUBMIT_EXIT_FAILED;
    }
    options_connection_finish(&o->choice);
    if (take_command(o, argc - optind, argv + optind) < 0 || check(o) < 0 ||
        capture(o) < 0)
        return SUBMIT_EXIT_FAILED;
    o->argv = argv;
    o->operands = optind;
    return SUBMIT_GO;
}

void submit_options_fini(struct submit_options *o)
{
    json_decref(o->spec);
    json_decref(o->env);
}
