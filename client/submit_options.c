/* See submit.h: the command line of volt-submit. */
#include "wire/duration.h"
#include "daemon/job/account_path.def"
#include "client/check_command.h"
#include "client/check_paths.h"
#include "client/field_options.h"
#include "client/options.h"
#include "client/import.h"
#include "client/index_list.h"
#include "client/job_view.h"
#include "client/limit_options.h"
#include "client/list_advice.h"
#include "client/reconnect.h"
#include "client/script.h"
#include "client/say.h"
#include "client/slurm_advice.h"
#include "client/spec_build.h"
#include "client/submit.h"
#include "client/submit_conditions.h"
#include "client/submit_retry.h"
#include "client/submit_table.h"
#include "client/term.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- one option --------------------------------------------------------------------- */

static int set_text(struct submit_options *o, const char *name, const char *value)
{
    json_t *s = json_string(value);
    if (s && json_object_set_new(o->spec, name, s) == 0)
        return 0;
    say("%s: not UTF-8", field_option_of(name));
    return -EINVAL;
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

static int set_path(struct submit_options *o, const char *name, const char *path)
{
    struct volt_error err;
    int r = spec_build_path(o->spec, name, path, &err);
    if (strcmp(name, "output_path") == 0 || strcmp(name, "error_path") == 0)
        slurm_advice_path(field_option_of(name), path);
    if (r < 0)
        say("%s: %s", field_option_of(name), err.text);
    return r;
}

static int set_array(struct submit_options *o, const char *text)
{
    struct index_list list;
    int r = index_list_parse(text, &list);
    if (r == -E2BIG)
        say("--array: %s has more than %d elements, or %d ranges", text, INDEX_LIST_MOST,
            INDEX_LIST_RANGES);
    else if (r < 0)
        say("--array: %s is not a list of indexes like 1-1000, 1-9:2, 3,7,10-20, 001-200 or "
            "1-1000%%4",
            text);
    if (r < 0)
        return r;
    o->count = list.count;
    r = json_object_set_new(o->spec, "array", spec_build_array(&list));
    index_list_fini(&list);
    return r;
}

/* Returns whether the path is another file in each process. */
static bool is_of_process(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/", 11) == 0 ||
           strncmp(path, "/dev/std", 8) == 0;
}

/* Returns false, after an error message, for "-", which means standard output elsewhere,
 * and for its other names. */
static bool is_file(const char *option, const char *where)
{
    if (is_of_process(where)) {
        say("--%s: %s is another file in each process: --follow prints the output here",
            option, where);
        return false;
    }
    if (strcmp(where, "-") != 0)
        return true;
    say("--%s: - is no file: --follow prints the output here; a file of this name is ./-",
        option);
    return false;
}

/* Sets the output; the last option counts. */
static int set_output(struct submit_options *o, const char *where)
{
    (void)json_object_del(o->spec, "output_path");
    if (!is_file("output", where))
        return -EINVAL;
    if (strcmp(where, "file") == 0 || strcmp(where, "null") == 0)
        return set_text(o, "output", where);
    int r = set_text(o, "output", "path");
    return r < 0 ? r : set_path(o, "output_path", where);
}

static int set_error(struct submit_options *o, const char *where)
{
    (void)json_object_del(o->spec, "output_split");
    (void)json_object_del(o->spec, "error_path");
    if (!is_file("error", where))
        return -EINVAL;
    if (strcmp(where, "file") == 0)
        return json_object_set_new(o->spec, "output_split", json_true());
    if (strcmp(where, "null") == 0)
        return set_text(o, "error_path", "/dev/null");
    return set_path(o, "error_path", where);
}

/* Sets the standard input; "-" is read when all options are known. */
static int set_stdin(struct submit_options *o, const char *path)
{
    o->reads_stdin = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 ||
                     strcmp(path, "/dev/fd/0") == 0;
    if (!o->reads_stdin && is_of_process(path)) {
        say("--stdin: %s is another file in each process; --stdin=- reads the standard "
            "input of this one: COMMAND | volt-submit --stdin=-",
            path);
        return -EINVAL;
    }
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

/* Warns of a label given twice; the last value counts. */
static void note_second_label(const json_t *labels, const char *text)
{
    size_t len = strcspn(text, "=");
    char name[256];
    if (!text[len] || len >= sizeof(name))
        return;
    (void)snprintf(name, sizeof(name), "%.*s", (int)len, text);
    const char *before = json_string_value(json_object_get(labels, name));
    if (before && strcmp(before, text + len + 1) != 0)
        say("--label: %s is given twice: %s counts, and not %s", name, text + len + 1,
            before);
}

static int add_label(struct submit_options *o, const char *text)
{
    json_t *labels = json_object_get(o->spec, "labels");
    if (!labels) {
        labels = json_object();
        (void)json_object_set_new(o->spec, "labels", labels);
    }
    note_second_label(labels, text);
    return add_pair(labels, "label", text, false);
}

static int set_reconnect(struct submit_options *o, const char *text)
{
    if (duration_parse(text, &o->reconnect_usec) == 0)
        return 0;
    say("--reconnect: %s is not a time like 30s", text);
    return -EINVAL;
}

static int take_list(struct submit_options *o, bool each_line, const char *arg)
{
    if (o->file && o->each_line != each_line) {
        say("--file and --each-line are two lists of jobs; choose one");
        return -EINVAL;
    }
    o->file = arg;
    o->each_line = each_line;
    return 0;
}

/* Takes options for volt-submit itself. Returns 1 for others. */
static int take_mode(struct submit_options *o, int key, const char *arg)
{
    switch (key) {
    case 'f':
    case OPT_EACH_LINE:
        return take_list(o, key == OPT_EACH_LINE, arg);
    case 'w':
        o->wait = true;
        return 0;
    case 'F':
        o->wait = o->follow = true;
        return 0;
    case '0':
        o->null = true;
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
    case OPT_BY_PATH: /* merge_script() has read it */
        return 0;
    case OPT_SINGLETON:
        o->singleton = true;
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

/* Takes options that are fields of the spec. */
static int take_field(struct submit_options *o, int key, const char *arg)
{
    struct volt_error err;
    int r = field_option_take(o->spec, key, arg, false, &err);
    if (r < 0)
        say("%s", err.text);
    if (r <= 0)
        return r;
    switch (key) {
    case 'd':
        return slurm_advice_value(arg) ? -EINVAL : set_path(o, "cwd", arg);
    case OPT_SAME_DIR:
        return set_path(o, "cwd", ".");
    case OPT_STOP_SIGNAL:
        return set_signal(o, arg);
    case OPT_UMASK:
        return set_umask(o, arg);
    case OPT_STDIN:
        return set_stdin(o, arg);
    case OPT_OUTPUT:
        return set_output(o, arg);
    case OPT_ERROR:
        return set_error(o, arg);
    case OPT_LABEL:
        return add_label(o, arg);
    case OPT_ARRAY:
        return set_array(o, arg);
    default:
        return limit_option_take(o->spec, key, arg, false) == 0 ? 0 : -EINVAL;
    }
}

/* --- the whole ---------------------------------------------------------------------- */

static const char *kind_of(const struct submit_options *o)
{
    const char *kind = json_string_value(json_object_get(o->spec, "kind"));
    return kind ? kind : "exec";
}

/* Returns whether the kind runs a process; true for unknown kinds, which voltd judges. */
static bool runs_process(const struct submit_options *o)
{
    const char *kind = kind_of(o);

#define KIND(constant, name, is_process, ends_at_once, text)                             \
    if (strcmp(kind, #name) == 0)                                                        \
        return is_process;
#include "daemon/job/kinds.def"
    return true;
}

static int take_command(struct submit_options *o, int argc, char **argv)
{
    bool shell = json_object_get(o->spec, "shell") != NULL;
    bool file = o->file && !o->each_line;
    bool want = !file && !shell && runs_process(o);
    bool input = argc == 1 && strcmp(argv[0], "-") == 0; /* as for other programs */
    if (argc == 0 || (input && !want))
        return want ? list_advice_no_command(o) : 0;
    if (!want && !file && !shell) {
        say("kind %s runs no command, but there is one: %s", kind_of(o), argv[0]);
        return -EINVAL;
    }
    if (!want) {
        say("%s: a command besides %s", argv[0], file ? "--file" : "--shell");
        return -EINVAL;
    }
    if (o->script && json_object_set_new(o->spec, "script", json_string(o->script)) < 0)
        return -ENOMEM;
    json_t *list = json_array();
    (void)json_object_set_new(o->spec, "argv", list);
    for (int i = 0; i < argc; i++)
        if (json_array_append_new(list, json_string(argv[i])) < 0) {
            list_advice_bytes(i);
            return -EINVAL;
        }
    return 0;
}

/* Sets how the files of output are opened, as the script says. */
static void set_open_mode(struct submit_options *o, bool to_path)
{
    const char *mode = *o->open_mode ? o->open_mode : o->truncates ? "truncate" : "";
    if (*o->open_mode && !to_path)
        say("note: %s: --open-mode of Slurm is left out, as no option gives a path of "
            "output",
            o->script_name);
    if (*mode && to_path && !json_object_get(o->spec, "open_mode"))
        (void)json_object_set_new(o->spec, "open_mode", json_string(mode));
}

/* Adds to the spec what a process here would inherit. The environment follows when the
 * voltd is known. */
static int capture(struct submit_options *o)
{
    if (!runs_process(o))
        return 0;
    if (o->slurm)
        (void)json_object_set_new(o->spec, "slurm", json_true());
    if (!o->no_limits &&
        json_object_set_new(limits_in(o->spec), "rlimits", spec_build_rlimits()) < 0)
        return -ENOMEM;
    if (!o->has_umask)
        (void)json_object_set_new(o->spec, "umask",
                                  json_sprintf("%03o", spec_build_umask()));
    struct volt_error err;
    if (o->reads_stdin)
        say_if_terminal("standard input of the job");
    if (o->reads_stdin && spec_build_input(o->spec, STDIN_FILENO, &err) < 0) {
        say("--stdin: %s", err.text);
        return -EINVAL;
    }
    bool to_path =
        json_object_get(o->spec, "output_path") || json_object_get(o->spec, "error_path");
    set_open_mode(o, to_path);
    if (o->sum_line > 0 && json_object_get(o->spec, "array"))
        slurm_advice_sum(o->script_name, o->sum_line);
    return json_object_get(o->spec, "cwd") ? 0 : set_path(o, "cwd", ".");
}

void submit_say_instead(const struct submit_options *o, const char *before,
                        const char *instead)
{
    char line[2048], clean[4096];
    (void)snprintf(line, sizeof(line) / 2, "%svolt-submit", before);
    for (int i = 1; i < o->operands; i++)
        if (i + 1 < o->operands || strcmp(o->argv[i], "--") != 0)
            command_quote(line, sizeof(line), (char *const[]){o->argv[i], NULL});
    (void)snprintf(line + strlen(line), sizeof(line) - strlen(line), " %s%s",
                   *instead == '-' ? "" : "-- ", instead);
    term_clean(line, clean, sizeof(clean));
    say("try: %s", clean);
}

/* Refuses a command that cannot be found. Searches the account's PATH if the job gets
 * none. */
static int check_command(const struct submit_options *o, bool own_daemon)
{
    const char *of_account =
        own_daemon && geteuid() == 0 ? ACCOUNT_PATH_ROOT : ACCOUNT_PATH;
    json_t *env = json_object_get(o->spec, "env");
    const char *path = json_string_value(json_object_get(env, "PATH"));
    const char *cwd = json_string_value(json_object_get(o->spec, "cwd"));
    const char *command = o->argv[o->operands];
    struct command_advice advice;
    if (o->script && command_has_interpreter(o->script_name, o->script, &advice))
        return SUBMIT_GO;
    if (o->script) {
        say("%s", advice.problem);
        say("--no-check submits it all the same");
        return SUBMIT_EXIT_NOT_EXECUTABLE;
    }
    if (!json_object_get(o->spec, "argv") || !*command || !cwd ||
        (json_object_get(o->spec, "array") && strstr(command, "{i}")) ||
        (o->each_line && strstr(command, "{}")))
        return SUBMIT_GO;
    enum command_check found =
        command_check(o->argv + o->operands, cwd, path ? path : of_account, &advice);
    if (found == COMMAND_FOUND)
        return SUBMIT_GO;
    char problem[sizeof(advice.problem)];
    term_clean(advice.problem, problem, sizeof(problem));
    say("%s", problem);
    if (*advice.instead)
        submit_say_instead(o, "", advice.instead);
    else if (list_advice_number(command))
        ;
    else if (!path && !strchr(command, '/'))
        say("the job has the PATH of its account, %s: -E PATH passes on this one; "
            "--no-check submits it all the same",
            of_account);
    else
        say("--no-check submits it all the same");
    return found == COMMAND_NOT_FOUND ? SUBMIT_EXIT_NOT_FOUND
                                      : SUBMIT_EXIT_NOT_EXECUTABLE;
}

/* Explains ~ in a path, as a shell leaves --chdir=~/x as it is. */
static void say_tilde(const struct submit_options *o)
{
    static const char *const paths[][2] = {{"cwd", "chdir"},
                                           {"stdin", "stdin"},
                                           {"output_path", "output"},
                                           {"error_path", "error"}};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *path = job_view_string(o->spec, paths[i][0]);
        const char *tilde = strstr(path, "/~");
        char clean[256];
        if (!tilde)
            continue;
        term_clean(tilde + 1, clean, sizeof(clean));
        say("a shell expands ~ only where a word begins with it: --%s %s", paths[i][1],
            clean);
        return;
    }
}

/* Refuses a job that could not be started. */
static int check_job(const struct submit_options *o, bool own_daemon)
{
    char problem[512], clean[512];
    if (o->no_check || (o->file && !o->each_line))
        return SUBMIT_GO;
    if (!list_advice_check(o))
        return SUBMIT_EXIT_FAILED;
    if (check_paths(o->spec, problem, sizeof(problem)))
        return check_command(o, own_daemon);
    term_clean(problem, clean, sizeof(clean));
    say("%s", clean);
    say_tilde(o);
    list_advice_letter(o);
    if (o->dry_run && strstr(problem, strerror(ENOENT))) { /* it may be made before the
                                                            * submission */
        say("note: without it the job would be refused");
        return check_command(o, own_daemon);
    }
    say("--no-check submits it all the same");
    return SUBMIT_EXIT_FAILED;
}

/* Notes which variables came from -E; all others come from this environment. */
static int note_given_names(struct submit_options *o)
{
    if (!json_object_get(o->spec, "key") && !o->file) /* no key: nothing is compared */
        return 0;
    json_t *names = json_array(), *value;
    const char *name;
    int r = json_object_set_new(o->spec, "env_given", names);
    json_object_foreach(o->env, name, value)
    {
        if (r == 0)
            r = json_array_append_new(names, json_string(name));
    }
    return r;
}

/* Adds the environment. Without all of it the job has the variables of its account, and
 * those of -E. */
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
    if (note_given_names(o) < 0) {
        json_decref(env);
        return -ENOMEM;
    }
    if (!all && json_object_size(env) == 0) {
        json_decref(env);
        return 0;
    }
    if (!all && json_object_set_new(o->spec, "env_adds", json_true()) < 0) {
        json_decref(env);
        return -ENOMEM;
    }
    return json_object_set_new(o->spec, "env", env) < 0 ? -ENOMEM : 0;
}

/* Takes --mem of a script for Slurm, unless another one was given. A list of jobs is not
 * sent again without it, and one's own voltd mostly has no cgroups. */
static int take_slurm_mem(struct submit_options *o, bool own_daemon)
{
    if (json_object_get(json_object_get(o->spec, "limits"), "memory_max"))
        o->slurm_mem[0] = '\0';
    if (!*o->slurm_mem)
        return 0;
    if (!o->file || !own_daemon)
        return limit_option_take(o->spec, OPT_MEM, o->slurm_mem, false);
    slurm_advice_mem(o->slurm_mem);
    return 0;
}

int submit_environment(struct submit_options *o, bool own_daemon)
{
    if (!runs_process(o))
        return SUBMIT_GO;
    if (take_slurm_mem(o, own_daemon) < 0)
        return SUBMIT_EXIT_FAILED;
    if (pass_environment(o, own_daemon) == 0)
        return check_job(o, own_daemon);
    say("out of memory");
    return SUBMIT_EXIT_FAILED;
}

/* Returns false, after an error message, if a job that is no array is to start element to
 * element. */
static bool check_elements(const struct submit_options *o)
{
    const json_t *edge;
    size_t i;
    if (json_object_get(o->spec, "array") || (o->file && !o->each_line))
        return true;
    json_array_foreach(json_object_get(o->spec, "after"), i, edge)
    {
        const char *when = job_view_string(edge, "when");
        if (!job_view_bool(edge, "each"))
            continue;
        say("--after-%s-each: element to element is for arrays: give --array as well, or "
            "--after-%s, which waits for the whole job",
            when, when);
        return false;
    }
    return true;
}

static int check(const struct submit_options *o)
{
    const char *wrong = NULL;
    if (o->follow && o->json)
        wrong = "--follow prints the job's output, --json events; choose one";
    else if (o->null && !o->each_line)
        wrong = "--null is for the entries of --each-line";
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
    else if (o->singleton && o->file)
        wrong = "--singleton is for one command; give --lock=NAME";
    else if (o->each_line && !runs_process(o))
        wrong = "--each-line is for kind exec";
    else if (!o->file && !runs_process(o) && json_object_get(o->spec, "shell"))
        wrong = "--shell is for kind exec";
    if (wrong)
        say("%s", wrong);
    return wrong || !check_elements(o) ? -EINVAL : 0;
}

/* --- options that come twice -------------------------------------------------------- */

struct given {
    int key;
    const char *arg;
};

enum { GIVEN_MOST = 64 };

/* Warns of an option given twice with other values, as the last one counts; not if it may
 * be repeated. */
static void note_given(const struct options *opts, struct given given[GIVEN_MOST],
                       int key)
{
    size_t i = 0;
    if (!opts->arg || key == 'E' || key == OPT_LABEL || submit_conditions_add_up(key))
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

/* Returns whether all words are options and their values. */
static bool are_options(const struct script *script, const char *name)
{
    struct word_list words = {0};
    int r = word_list_add(&words, name), key = OPTION_END;
    for (size_t i = 0; r == 0 && i < script->options.n; i++)
        r = word_list_add(&words, script->options.at[i]);
    struct options opts = {.tables = submit_tables,
                           .argc = (int)words.n,
                           .argv = words.at,
                           .elsewhere = submit_elsewhere,
                           .stop_at_operand = true};
    while (r == 0 && (key = options_next(&opts)) >= 0)
        ;
    if (key == OPTION_BAD)
        say("%s: that option is in a #VOLT line of it", name);
    else if (r == 0 && (size_t)optind < words.n)
        say("%s: %s in a #VOLT line of it is no option", name, words.at[optind]);
    bool all = r == 0 && key == OPTION_END && (size_t)optind >= words.n;
    word_list_fini(&words);
    return all;
}

/* Merges the command line with the options of the script before its own, which override
 * them. */
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

/* Finds the script; "-": standard input. Returns as script_find(). */
static int find_script(const char *word, const char *directory, bool by_path, bool input,
                       struct script *ret)
{
    if (strcmp(word, "-") != 0)
        return script_find(word, directory, by_path, ret);
    if (!by_path && !input)
        return script_read(ret);
    say(by_path ? "--by-path: standard input has no path"
                : "- is the script from standard input, which something else reads too; "
                  "give the script by its name");
    return -EINVAL;
}

/* Merges the options of a script that is the command: o->merged is then the command line.
 * Returns 0, or negative after an error message. */
static int merge_script(struct submit_options *o, int argc, char **argv)
{
    struct options opts = {.tables = submit_tables,
                           .argc = argc,
                           .argv = argv,
                           .elsewhere = submit_elsewhere,
                           .explain = slurm_advice_option,
                           .stop_at_operand = true};
    const char *directory = ".", *value = NULL;
    struct given given[GIVEN_MOST] = {{0, NULL}};
    bool runs_it = true, by_path = false, input = false;
    struct script script;
    int key;
    while ((key = options_next(&opts)) != OPTION_END) {
        if (key == OPTION_BAD)
            return -EINVAL;
        note_given(&opts, given, key);
        value = opts.arg;
        directory = key == 'd' ? value : directory;
        runs_it &= key != 'f' && key != OPT_SHELL && key != 'h' && key != OPT_VERSION &&
                   (key != OPT_KIND || strcmp(value, "exec") == 0);
        by_path |= key == OPT_BY_PATH;
        input |= (key == OPT_STDIN || key == OPT_EACH_LINE) && strcmp(value, "-") == 0;
    }
    int operand = optind;
    if (!runs_it || operand >= argc)
        return 0;
    bool dashes = strcmp(argv[operand - 1], "--") == 0 && argv[operand - 1] != value;
    int r = find_script(argv[operand], directory, by_path, input, &script);
    if (r <= 0)
        return r;
    r = are_options(&script, argv[operand])
            ? merge(o, &script, argc, argv, operand, dashes)
            : -EINVAL;
    o->truncates = script.truncates;
    o->slurm = script.slurm;
    o->sum_line = script.sum_line;
    memcpy(o->open_mode, script.open_mode, sizeof(o->open_mode));
    memcpy(o->slurm_mem, script.mem, sizeof(o->slurm_mem));
    o->script = script.text;
    o->script_name = argv[operand];
    script.text = NULL;
    script_fini(&script);
    return r;
}

int submit_parse(struct submit_options *o, int argc, char **argv)
{
    o->spec = json_object();
    o->env = json_object();
    o->count = 1;
    o->reconnect_usec = RECONNECT_USEC;
    int merged = o->spec && o->env ? merge_script(o, argc, argv) : -ENOMEM;
    if (merged < 0)
        return merged == -ENOEXEC ? SUBMIT_EXIT_NOT_EXECUTABLE : SUBMIT_EXIT_FAILED;
    if (o->merged.n > 0) {
        argc = (int)o->merged.n;
        argv = o->merged.at;
    }
    struct options opts = {.tables = submit_tables,
                           .argc = argc,
                           .argv = argv,
                           .elsewhere = submit_elsewhere,
                           .stop_at_operand = true};
    int key;
    while ((key = options_next(&opts)) != OPTION_END) {
        if (key == 'h') {
            submit_help();
            return 0;
        }
        if (key == OPT_VERSION) {
            (void)puts("volt-submit " VOLT_VERSION);
            return 0;
        }
        int r = key == OPTION_BAD ? -EINVAL : take_mode(o, key, opts.arg);
        if (r == 1)
            r = submit_conditions_take(o->spec, key, opts.arg);
        if (r == 1)
            r = submit_retry_take(o->spec, key, opts.arg);
        if (r == 1)
            r = take_field(o, key, opts.arg);
        if (r < 0)
            return SUBMIT_EXIT_FAILED;
    }
    options_connection_finish(&o->choice);
    if (o->import && optind < argc) {
        say("--import prints what %s has, and takes no command: %s", o->import,
            argv[optind]);
        return SUBMIT_EXIT_FAILED;
    }
    if (o->import)
        return import_run(o->import);
    o->argv = argv;
    o->operands = optind;
    if (take_command(o, argc - optind, argv + optind) < 0 || check(o) < 0 ||
        submit_conditions_check(o->spec) < 0 ||
        (o->singleton && submit_conditions_own_lock(o->spec) < 0) || capture(o) < 0)
        return SUBMIT_EXIT_FAILED;
    return SUBMIT_GO;
}

void submit_options_fini(struct submit_options *o)
{
    json_decref(o->spec);
    json_decref(o->env);
    word_list_fini(&o->merged);
    free(o->script);
}
