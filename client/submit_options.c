/* Command line of volt-submit; see submit.h. */
#include "wire/duration.h"
#include "client/check_command.h"
#include "client/options.h"
#include "client/import.h"
#include "client/index_list.h"
#include "client/reconnect.h"
#include "client/script.h"
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
    OPT_ERROR,
    OPT_OPEN_MODE,
    OPT_OUTPUT_LIMIT,
    OPT_LABEL,
    OPT_ARRAY,
    OPT_EACH_LINE,
    OPT_SHELL,
    OPT_RAW,
    OPT_RECONNECT,
    OPT_JSON,
    OPT_QUIET,
    OPT_DRY_RUN,
    OPT_NO_CHECK,
    OPT_NO_AUTOSTART,
    OPT_IMPORT,
    OPT_VERSION,
};

static const struct option_entry job_options[] = {
    {"name", 'n', "NAME", "a name to show and to filter by"},
    {"label", OPT_LABEL, "KEY=VALUE", "a label to filter by; may be given many times"},
    {"queue", 'q', "QUEUE", "the queue (default: default)"},
    {"priority", 'p', "N",
     "-1000 to 1000; higher starts first (default 0);\nin system mode one above 0 is for root alone"},
    {"array", OPT_ARRAY, "INDEXES",
     "one job per index: 1-1000, 1-9:2 (each second), 3,7,10-20;\n"
     "{i} in arguments and VOLT_ARRAY_INDEX are the index"},
    {"each-line", OPT_EACH_LINE, "FILE",
     "one job per line that is not empty; {} in COMMAND, TEXT,\n"
     "NAME and KEY is the line, which otherwise becomes the\n"
     "last argument; - is standard input"},
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
    {"stdin", OPT_STDIN, "FILE",
     "standard input (default: /dev/null); - is what comes to\n"
     "volt-submit's: it is read here, and kept with the job"},
    {"output", OPT_OUTPUT, "WHERE",
     "file (default; for `voltctl logs`), null, or a PATH,\n"
     "in which {id}, {i} and {name} are those of the job"},
    {"error", OPT_ERROR, "WHERE",
     "standard error (default: with standard output): file\n"
     "(one of its own for `voltctl logs --stderr`), null, or\na PATH as above"},
    {"open-mode", OPT_OPEN_MODE, "MODE",
     "what is in a file at PATH when the job starts: append\n"
     "keeps it (default), truncate empties it"},
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
    {"import", OPT_IMPORT, "TOOL",
     "print what crontab, at or tsp has of yours as specs for\n"
     "-f, and submit nothing"},
    {"wait", 'w', NULL, "wait for the end, and exit as the job does"},
    {"follow", 'F', NULL,
     "print the output while it runs, then exit as --wait;\n"
     "of several jobs each line behind the id of its job;\n"
     "with --error the standard output; on a terminal\nas `voltctl logs` shows it"},
    {"raw", OPT_RAW, NULL,
     "with --follow, on a terminal too: every byte as it was\nwritten"},
    {"reconnect", OPT_RECONNECT, "TIME",
     "how long a waiting client retries a lost connection\n(default 30s)"},
    {"json", OPT_JSON, NULL, "events as JSON, one a line, on standard output"},
    {"quiet", OPT_QUIET, NULL, "no progress and no remarks, errors only"},
    {"no-check", OPT_NO_CHECK, NULL, "submit also a command that cannot be found here"},
    {"no-autostart", OPT_NO_AUTOSTART, NULL,
     "where no voltd runs, do not start one for this user"},
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
        "       volt-submit [OPTIONS] [--] script.sh [ARG...]\n"
        "       volt-submit [OPTIONS] --shell 'TEXT'\n"
        "       volt-submit [OPTIONS] -f jobs.ndjson\n"
        "       volt-submit [OPTIONS] --each-line FILE [--] COMMAND [ARG...]\n"
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
        "\nA script may bring options in its first lines, as #VOLT --timeout=2h; those given\n"
        "here win. #SBATCH lines are understood where Slurm's options have an equal.\n"
        "\nLetters that mean something else in systemd-run (s) or Slurm's sbatch (S): -d (s\n"
        "--same-dir, S --dependency), -F (S --nodefile), -n (S --ntasks), -p (s --property,\n"
        "S --partition), -q (s --quiet, S --qos), -w (S --nodelist).\n"
        "\nTimes: 30s, 10m, 1h30m, 250ms, 2d; a number alone is seconds.\n"
        "\nExamples:\n"
        "  volt-submit make -j4\n"
        "  volt-submit --wait --timeout=10m -- ./backup.sh /srv\n"
        "  volt-submit --array 1-1000 --wait -- ./step {i}\n"
        "  ls *.wav | volt-submit --each-line - --wait -- flac {}\n"
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
        {"error_path", "--error"},
        {"key", "--key"},
        {"kill_after_usec", "--kill-after"},
        {"kill_mode", "--kill-mode"},
        {"kind", "--kind"},
        {"labels", "--label"},
        {"limits", "--output-limit"},
        {"name", "--name"},
        {"on_exists", "--if-exists"},
        {"on_lost", "--on-lost"},
        {"open_mode", "--open-mode"},
        {"output", "--output"},
        {"output_path", "--output"},
        {"output_split", "--error=file"},
        {"priority", "--priority"},
        {"queue", "--queue"},
        {"shell", "--shell"},
        {"stdin", "--stdin"},
        {"stdin_data", "--stdin"},
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
    if (len == 0 || len > 4 || strspn(text, "01234567") != len ||
        strtol(text, NULL, 8) > 0777) {
        say("--umask: %s is not an octal number from 0 to 777", text);
        return -EINVAL;
    }
    o->has_umask = true;
    return set_text(o, "umask", text);
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

static json_t *json_range(const struct index_range *r)
{
    json_t *range = json_pack("{s:I, s:I}", "first", (json_int_t)r->first, "last",
                              (json_int_t)r->last);
    if (range && r->step != 1)
        (void)json_object_set_new(range, "step", json_integer((json_int_t)r->step));
    return range;
}

/* Bounds, and the ranges between them where not all indexes are meant. */
static json_t *json_array_of(const struct index_list *l)
{
    const struct index_range all = {l->ranges[0].first, l->ranges[l->n - 1].last, 1};
    json_t *array = json_range(&all), *ranges = NULL;
    if (array && (l->n > 1 || l->ranges[0].step != 1))
        (void)json_object_set_new(array, "ranges", ranges = json_array());
    for (size_t i = 0; ranges && i < l->n; i++)
        (void)json_array_append_new(ranges, json_range(&l->ranges[i]));
    return array;
}

static int set_array(struct submit_options *o, const char *text)
{
    struct index_list list;
    int r = index_list_parse(text, &list);
    if (r == -E2BIG)
        say("--array: %s has more than %d elements, or %d ranges", text, INDEX_LIST_MOST,
            INDEX_LIST_RANGES);
    else if (r == -EOPNOTSUPP)
        say("--array: %s: an array has no limit of its own; how many jobs run at a time is "
            "Slots= in voltd.conf",
            text);
    else if (r < 0)
        say("--array: %s is not a list of indexes like 1-1000, 1-9:2 or 3,7,10-20", text);
    if (r < 0)
        return r;
    o->count = list.count;
    r = json_object_set_new(o->spec, "array", json_array_of(&list));
    index_list_fini(&list);
    return r;
}

/* The last of several wins. */
static int set_output(struct submit_options *o, const char *where)
{
    (void)json_object_del(o->spec, "output_path");
    if (strcmp(where, "file") == 0 || strcmp(where, "null") == 0)
        return set_text(o, "output", where);
    int r = set_text(o, "output", "path");
    return r < 0 ? r : set_path(o, "output_path", where);
}

static int set_error(struct submit_options *o, const char *where)
{
    (void)json_object_del(o->spec, "output_split");
    (void)json_object_del(o->spec, "error_path");
    if (strcmp(where, "file") == 0)
        return json_object_set_new(o->spec, "output_split", json_true());
    if (strcmp(where, "null") == 0)
        return set_text(o, "error_path", "/dev/null");
    return set_path(o, "error_path", where);
}

/* "-": what comes to us is read when all options are known. */
static int set_stdin(struct submit_options *o, const char *path)
{
    o->reads_stdin = strcmp(path, "-") == 0;
    (void)json_object_del(o->spec, "stdin");
    return o->reads_stdin ? 0 : set_path(o, "stdin", path);
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
    case OPT_EACH_LINE:
        if (o->file && o->each_line != (key == OPT_EACH_LINE)) {
            say("--file and --each-line are two lists of jobs; choose one");
            return -EINVAL;
        }
        o->file = arg;
        o->each_line = key == OPT_EACH_LINE;
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
    case OPT_NO_AUTOSTART:
        o->no_autostart = true;
        return 0;
    case OPT_IMPORT:
        o->import = arg;
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
        return set_stdin(o, arg);
    case OPT_OUTPUT:
        return set_output(o, arg);
    case OPT_ERROR:
        return set_error(o, arg);
    case OPT_OPEN_MODE:
        return set_text(o, "open_mode", arg);
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
    bool file = o->file && !o->each_line;
    bool want = !file && !shell && runs_process(o);
    if (argc == 0)
        return want ? (say("a command is needed; try --help"), -EINVAL) : 0;
    if (!want && !file && !shell) {
        say("kind %s runs no command, but there is one: %s", kind_of(o), argv[0]);
        return -EINVAL;
    }
    if (!want) {
        say("%s: a command besides %s", argv[0], file ? "--file" : "--shell");
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
        (void)json_object_set_new(o->spec, "umask",
                                  json_sprintf("%03o", spec_build_umask()));
    struct volt_error err;
    if (o->reads_stdin && spec_build_input(o->spec, STDIN_FILENO, &err) < 0) {
        say("--stdin: %s", err.text);
        return -EINVAL;
    }
    bool to_path =
        json_object_get(o->spec, "output_path") || json_object_get(o->spec, "error_path");
    if (o->truncates && to_path && !json_object_get(o->spec, "open_mode"))
        (void)json_object_set_new(o->spec, "open_mode", json_string("truncate"));
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
        (json_object_get(o->spec, "array") && strstr(command, "{i}")) ||
        (o->each_line && strstr(command, "{}")))
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
    else if (o->reads_stdin && o->each_line && strcmp(o->file, "-") == 0)
        wrong = "--stdin=- and --each-line=- both read standard input; choose one";
    else if (o->reads_stdin && o->file && !o->each_line)
        wrong =
            "--stdin=- is for one command; in a file a job brings its standard input as "
            "stdin_data, in base64";
    else if (o->reads_stdin && !runs_process(o))
        wrong = "--stdin is for kind exec";
    else if (o->each_line && !runs_process(o))
        wrong = "--each-line is for kind exec";
    else if (!o->file && !runs_process(o) && json_object_get(o->spec, "shell"))
        wrong = "--shell is for kind exec";
    if (wrong)
        say("%s", wrong);
    return wrong ? -EINVAL : 0;
}

/* --- options that come twice -------------------------------------------------------- */

struct given {
    int key;
    const char *arg;
};

enum { GIVEN_MOST = 64 };

/* Of an option with a value the last one counts, unless there may be several: said where
 * it is another value. */
static void note_given(const struct options *opts, struct given given[GIVEN_MOST],
                       int key)
{
    size_t i = 0;
    if (!opts->arg || key == 'E' || key == OPT_LABEL)
        return;
    while (i < GIVEN_MOST && given[i].arg && given[i].key != key)
        i++;
    if (i == GIVEN_MOST)
        return;
    if (given[i].arg && strcmp(given[i].arg, opts->arg) != 0)
        say("--%s is given twice: %s counts, and not %s", options_find(opts, key)->name,
            opts->arg, given[i].arg);
    given[i] = (struct given){key, opts->arg};
}

/* --- scripts ------------------------------------------------------------------------ */

/* Whether all words are options, and values of options. */
static bool are_options(const struct script *script, const char *name)
{
    struct word_list words = {0};
    int r = word_list_add(&words, name), key = OPTION_END;
    for (size_t i = 0; r == 0 && i < script->options.n; i++)
        r = word_list_add(&words, script->options.at[i]);
    struct options opts = {.tables = tables,
                           .argc = (int)words.n,
                           .argv = words.at,
                           .stop_at_operand = true};
    while (r == 0 && (key = options_next(&opts)) >= 0)
        ;
    if (key == OPTION_BAD)
        say("%s: so it is in a #VOLT line of it", name);
    else if (r == 0 && (size_t)optind < words.n)
        say("%s: %s in a #VOLT line of it is no option", name, words.at[optind]);
    bool all = r == 0 && key == OPTION_END && (size_t)optind >= words.n;
    word_list_fini(&words);
    return all;
}

/* The command line with the options of the script before its own, which win. */
static int merge(struct submit_options *o, const struct script *script, int argc,
                 char **argv, int operand, bool dashes)
{
    int r = word_list_add(&o->merged, argv[0]);
    for (size_t i = 0; r == 0 && i < script->options.n; i++)
        r = word_list_add(&o->merged, script->options.at[i]);
    for (int i = 1; r == 0 && i < operand; i++)
        r = word_list_add(&o->merged, argv[i]);
    if (r == 0 && !dashes)
        r = word_list_add(&o->merged, "--");
    for (size_t i = 0; r == 0 && i < script->command.n; i++)
        r = word_list_add(&o->merged, script->command.at[i]);
    for (int i = operand + 1; r == 0 && i < argc; i++)
        r = word_list_add(&o->merged, argv[i]);
    return r;
}

/* A command that is a script with options of its own: o->merged is the command line then.
 * 0; negative, and said. */
static int merge_script(struct submit_options *o, int argc, char **argv)
{
    struct options opts = {
        .tables = tables, .argc = argc, .argv = argv, .stop_at_operand = true};
    const char *directory = ".", *value = NULL;
    struct given given[GIVEN_MOST] = {{0, NULL}};
    bool runs_it = true;
    struct script script;
    int key;
    while ((key = options_next(&opts)) != OPTION_END) {
        if (key == OPTION_BAD)
            return -EINVAL;
        note_given(&opts, given, key);
        value = opts.arg;
        directory = key == 'd' ? value : directory;
        runs_it &= key != 'f' && key != OPT_SHELL && key != 'h' && key != OPT_VERSION;
    }
    int operand = optind;
    if (!runs_it || operand >= argc)
        return 0;
    bool dashes = strcmp(argv[operand - 1], "--") == 0 && argv[operand - 1] != value;
    int r = script_find(argv[operand], directory, &script);
    if (r <= 0)
        return r;
    r = are_options(&script, argv[operand])
            ? merge(o, &script, argc, argv, operand, dashes)
            : -EINVAL;
    o->truncates = script.truncates;
    script_fini(&script);
    return r;
}

int submit_parse(struct submit_options *o, int argc, char **argv)
{
    o->spec = json_object();
    o->env = json_object();
    o->count = 1;
    o->reconnect_usec = RECONNECT_USEC;
    if (!o->spec || !o->env || merge_script(o, argc, argv) < 0)
        return SUBMIT_EXIT_FAILED;
    if (o->merged.n > 0) {
        argc = (int)o->merged.n;
        argv = o->merged.at;
    }
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
    if (o->import)
        return import_run(o->import);
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
    word_list_fini(&o->merged);
}
