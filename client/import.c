/* See import.h. Each tool's own program gives its jobs:
 *
 *   crontab -l     lines "MIN HOUR DAY MONTH WEEKDAY COMMAND" or "@daily COMMAND", and
 *                  assignments, valid for later lines; % begins the standard input
 *   atq, at -c ID  the whole script that at would run
 *   tsp, -i ID     the table of jobs; the command of each queued job: words separated by
 *                  blanks, without their quotes */
#include "client/import.h"
#include "client/check_command.h"
#include "client/say.h"
#include "client/submit.h"
#include "client/term.h"
#include "wire/base64.h"
#include "wire/buffer.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct import {
    json_t *env; /* crontab's assignments */
    unsigned printed, timed, unquoted;
    bool failed;
};

/* Calls fn for each line that a command prints, except lines with a NUL byte, which would
 * be cut there. Returns 0, or -1 after an error message. */
static int each_line(const char *command, void (*fn)(struct import *, char *),
                     struct import *to)
{
    FILE *in = popen(command, "re");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    for (size_t n = 1; in && (len = getline(&line, &room, in)) >= 0; n++) {
        if (strlen(line) < (size_t)len) {
            say("line %zu of `%s` has a NUL byte, and is left out", n, command);
            to->failed = true;
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        fn(to, line);
    }
    free(line);
    bool whole = in && feof(in);
    int status = in ? pclose(in) : -1;
    if (!whole || status != 0)
        say("`%s` failed; nothing can be imported from it", command);
    return whole && status == 0 ? 0 : -1;
}

/* Reads all that a command prints. Returns 0 or -1. */
static int read_all(const char *command, struct wire_buf *to)
{
    char buf[4096];
    int r = 0;
    FILE *in = popen(command, "re");
    if (!in)
        return -1;
    for (size_t n; (n = fread(buf, 1, sizeof(buf), in)) > 0;)
        r |= wire_buf_append(to, buf, n);
    bool read = r == 0 && !ferror(in);
    return pclose(in) == 0 && read && wire_buf_len(to) > 0 ? 0 : -1;
}

static void print_spec(struct import *to, json_t *spec, const char *label,
                       const char *value)
{
    if (value)
        (void)json_object_set_new(spec, "labels", json_pack("{s:s}", label, value));
    if (!json_object_get(spec, "shell") && !json_object_get(spec, "argv")) {
        to->failed = true;
        say("a command is not UTF-8, and left out");
    } else {
        (void)term_put_json(spec);
        (void)putchar('\n');
        to->printed++;
        to->timed += value != NULL;
    }
    json_decref(spec);
}

/* --- crontab ------------------------------------------------------------------------ */

/* Takes a line "NAME = value", with or without quotes, as in crontab(5). */
static bool take_assignment(struct import *to, const char *line)
{
    size_t len = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_");
    const char *eq = line + len + strspn(line + len, " \t");
    if (len == 0 || *eq != '=' || isdigit((unsigned char)*line))
        return false;
    const char *value = eq + 1 + strspn(eq + 1, " \t");
    size_t n = strlen(value);
    while (n > 0 && isspace((unsigned char)value[n - 1]))
        n--;
    if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
        value++;
        n -= 2;
    }
    char *name = strndup(line, len);
    if (!name || json_object_set_new(to->env, name, json_stringn(value, n)) < 0) {
        say("the value of %.*s is not UTF-8, and left out", (int)len, line);
        to->failed = true;
        if (name)
            (void)json_object_del(to->env, name);
    }
    free(name);
    return true;
}

/* Ends the command at the first % without a backslash. The rest is its standard input,
 * with a newline for each other %. Returns 0 or -ENOMEM. */
static int split_percent(char *command, struct wire_buf *input, bool *ret_has_input)
{
    char *out = command;
    bool inside = false;
    int r = 0;
    *ret_has_input = false;
    for (const char *p = command; *p; p++) {
        char ch = *p;
        if (*p == '\\' && p[1] == '%')
            ch = *++p;
        else if (*p == '%' && inside)
            ch = '\n';
        else if (*p == '%') {
            *ret_has_input = inside = true;
            continue;
        }
        if (inside)
            r |= wire_buf_append(input, &ch, 1);
        else
            *out++ = ch;
    }
    *out = '\0';
    if (inside)
        r |= wire_buf_append(input, "\n", 1);
    return r == 0 ? 0 : -ENOMEM;
}

static json_t *base64_of(const struct wire_buf *bytes)
{
    size_t len = BASE64_SIZE(wire_buf_len(bytes));
    char *text = malloc(len + 1);
    if (!text)
        return NULL;
    base64_encode(wire_buf_at(bytes), wire_buf_len(bytes), text);
    json_t *string = json_stringn(text, len);
    free(text);
    return string;
}

/* Returns a spec that runs the command as cron does: with the crontab's shell, in the
 * home directory, with the crontab's variables and the account's. NULL: not UTF-8. */
static json_t *cron_spec(const struct import *to, const char *command)
{
    const char *shell = json_string_value(json_object_get(to->env, "SHELL"));
    const char *home = json_string_value(json_object_get(to->env, "HOME"));
    json_t *spec = shell ? json_pack("{s:[s,s,s]}", "argv", shell, "-c", command)
                         : json_pack("{s:s}", "shell", command);
    home = home ? home : getenv("HOME");
    if (home && json_object_set_new(spec, "cwd", json_string(home)) < 0)
        (void)json_object_clear(spec);
    (void)json_object_set(spec, "env", to->env);
    (void)json_object_set_new(spec, "env_adds", json_true());
    return spec;
}

static void take_cron_line(struct import *to, char *line)
{
    char *at = line + strspn(line, " \t");
    if (!*at || *at == '#' || take_assignment(to, at))
        return;
    char *command = at;
    for (int fields = *at == '@' ? 1 : 5; fields > 0; fields--) {
        command += strcspn(command, " \t");
        if (*command && fields == 1)
            *command++ = '\0'; /* after the time */
        command += strspn(command, " \t");
    }
    if (!*command) {
        say("not a line of crontab(5), and left out: %s", line);
        to->failed = true;
        return;
    }
    struct wire_buf input = {0};
    bool has_input;
    int r = split_percent(command, &input, &has_input);
    json_t *spec = cron_spec(to, command);
    if (r == 0 && has_input && spec)
        r = json_object_set_new(spec, "stdin_data", base64_of(&input));
    wire_buf_fini(&input);
    if (r == 0) {
        print_spec(to, spec, "crontab", at);
        return;
    }
    json_decref(spec);
    say("out of memory; left out: %s", command);
    to->failed = true;
}

/* --- at ----------------------------------------------------------------------------- */

/* Takes a line "12\tMon Nov 23 10:00:00 2026 a user"; queue "=" has running jobs. */
static void take_atq_line(struct import *to, char *line)
{
    char command[64], when[64] = "";
    struct wire_buf script = {0};
    unsigned long id = strtoul(line, NULL, 10);
    const char *time = line + strcspn(line, " \t");
    time += strspn(time, " \t");
    (void)snprintf(when, sizeof(when), "%.24s", time);
    (void)snprintf(command, sizeof(command), "at -c %lu", id);
    if (strlen(time) > 25 && time[25] == '=') {
        say("note: job %lu of at runs already, and is left out", id);
        return;
    }
    if (id == 0 || read_all(command, &script) < 0) {
        say("`%s` failed; job %lu of at is left out", command, id);
        to->failed = true;
    } else if (memchr(wire_buf_at(&script), '\0', wire_buf_len(&script))) {
        say("job %lu of at has a NUL byte, and is left out", id);
        to->failed = true;
    } else {
        json_t *shell = json_stringn(wire_buf_at(&script), wire_buf_len(&script));
        print_spec(to, json_pack("{s:o*}", "shell", shell), "at", when);
    }
    wire_buf_fini(&script);
}

/* --- task-spooler ------------------------------------------------------------------- */

/* Returns COMMAND of "Command: COMMAND", of one or several lines, before "Slots required:
 * 1". NULL: another form. */
static char *find_tsp_command(char *info)
{
    static const char head[] = "Command: ", next[] = "\nSlots required: ";
    char *end = NULL;
    for (char *at = info; (at = strstr(at, next)); at++)
        end = at;
    if (strncmp(info, head, strlen(head)) != 0 || !end)
        return NULL;
    *end = '\0';
    return info + strlen(head);
}

/* Returns whether the command is "[ID]&& COMMAND", which waits for that job. */
static bool has_dependency(const char *command)
{
    size_t digits = *command == '[' ? strspn(command + 1, "-0123456789") : 0;
    return digits > 0 && strncmp(command + 1 + digits, "]&& ", 4) == 0;
}

/* Takes a line "ID State Output E-Level Times(r/u/s) Command [run=0/1]". The command
 * there may have a label before it, so it is asked for without it. */
static void take_tsp_line(struct import *to, char *line)
{
    char state[16], command[64];
    unsigned id;
    struct wire_buf info = {0};
    if (sscanf(line, "%u %15s", &id, state) < 2 || strcmp(state, "queued") != 0)
        return;
    (void)snprintf(command, sizeof(command), "tsp -i %u", id);
    char *text = read_all(command, &info) < 0 || wire_buf_append(&info, "", 1) < 0
                     ? NULL
                     : find_tsp_command(info.data + info.start);
    if (!text) {
        say("`%s` failed; job %u of tsp is left out", command, id);
        to->failed = true;
    } else if (has_dependency(text)) {
        say("job %u of tsp waits for another one, and would start too early here; it is "
            "left out: %s",
            id, text);
        to->failed = true;
    } else {
        print_spec(to, json_pack("{s:s}", "shell", text), NULL, NULL);
        to->unquoted++;
    }
    wire_buf_fini(&info);
}

/* Returns whether the server of tsp runs, which the command would start otherwise. */
static bool tsp_runs(char *path, size_t size)
{
    const char *socket = getenv("TS_SOCKET"), *dir = getenv("TMPDIR");
    if (socket && *socket)
        (void)snprintf(path, size, "%s", socket);
    else
        (void)snprintf(path, size, "%s/socket-ts.%u", dir && *dir ? dir : "/tmp",
                       (unsigned)getuid());
    return access(path, F_OK) == 0;
}

/* Returns whether the program is in PATH, so that sh prints no error of its own. */
static bool is_installed(const char *program)
{
    struct command_advice advice;
    char name[16];
    char *const argv[] = {name, NULL};
    (void)snprintf(name, sizeof(name), "%s", program);
    return command_check(argv, "/", getenv("PATH"), &advice) == COMMAND_FOUND;
}

int import_run(const char *what)
{
    static const struct {
        const char *what, *program, *command;
        void (*take)(struct import *, char *);
    } tools[] = {{"crontab", "crontab", "crontab -l", take_cron_line},
                 {"at", "atq", "atq", take_atq_line},
                 {"tsp", "tsp", "tsp", take_tsp_line}};
    struct import to = {.env = json_object()};
    size_t i = 0;
    while (i < sizeof(tools) / sizeof(tools[0]) && strcmp(tools[i].what, what) != 0)
        i++;
    if (i == sizeof(tools) / sizeof(tools[0])) {
        say("--import: %s is neither crontab, at nor tsp", what);
        json_decref(to.env);
        return SUBMIT_EXIT_FAILED;
    }
    char path[PATH_MAX];
    bool installed = is_installed(tools[i].program);
    if (!installed)
        say("%s is not installed: there is no %s in PATH", what, tools[i].program);
    bool has_queue = strcmp(what, "tsp") != 0 || tsp_runs(path, sizeof(path));
    if (installed && !has_queue)
        say("tsp has no queue: there is no %s", path);
    if (!installed || !has_queue) {
        json_decref(to.env);
        return SUBMIT_EXIT_FAILED;
    }
    if (each_line(tools[i].command, tools[i].take, &to) < 0)
        to.failed = true;
    if (to.timed > 0)
        say("note: times are not taken over: a job runs once, when it is submitted; the "
            "label %s has its time",
            what);
    if (to.unquoted > 0)
        say("note: tsp does not keep the quotes of commands: look whether the shell reads "
            "each as it was meant");
    json_decref(to.env);
    return to.failed ? SUBMIT_EXIT_FAILED : 0;
}
