/* See list_advice.h. */
#include "client/list_advice.h"
#include "client/check_command.h"
#include "client/say.h"
#include "client/term.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int list_advice_no_command(const struct submit_options *o)
{
    struct stat st;
    bool input =
        fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode));
    say("a command is needed; try --help");
    if (o->each_line)
        say("where each line is a command: volt-submit --each-line %s -- sh -c {}",
            o->file);
    else if (input)
        say("a script, with a first line like #!/bin/sh: volt-submit -; "
            "what a shell is to read: volt-submit --stdin=- -- sh; commands, one a line: "
            "volt-submit --each-line - -- sh -c {}");
    list_advice_letter(o);
    return -EINVAL;
}

/* Whether a shell would run it. */
static bool is_program(char *word)
{
    struct command_advice unused;
    return command_check((char *const[]){word, NULL}, ".", getenv("PATH"), &unused) ==
           COMMAND_FOUND;
}

void list_advice_letter(const struct submit_options *o)
{
    const bool alone = !json_object_get(o->spec, "argv");
    static const char *const letters[][2] = {
        {"-d", "is the directory of -d here; behind the job before: volt-submit --after "
               "@last -- COMMAND"},
        {"-n", "is the name of -n here; without output: volt-submit --output=null -- "
               "COMMAND"},
    };
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        for (int at = 1; at + 1 < o->operands; at++)
            if (strcmp(o->argv[at], letters[i][0]) == 0 &&
                (alone || is_program(o->argv[at + 1]))) {
                char clean[128];
                term_clean(o->argv[at + 1], clean, sizeof(clean));
                say("%s %s", clean, letters[i][1]);
                return;
            }
}

bool list_advice_number(const char *command)
{
    if (command[strspn(command, "0123456789")])
        return false;
    say("is it the id of a job? several stand behind one option, as --after 17,18; "
        "`voltctl status %s` shows it",
        command);
    return true;
}

void list_advice_bytes(int argument)
{
    say("argument %d is not UTF-8, as all texts of a job have to be", argument);
    say("other bytes reach a command through its standard input: printf '%%s\\0' NAME... | "
        "volt-submit --stdin=- -- xargs -0 COMMAND");
}

bool list_advice_too_long(const struct submit_options *o)
{
    const json_t *argv = json_object_get(o->spec, "argv");
    const json_t *env = json_object_get(o->spec, "env");
    size_t bytes = json_dumpb(argv, NULL, 0, JSON_COMPACT);
    if (!argv || (bytes < json_dumpb(env, NULL, 0, JSON_COMPACT) &&
                  json_array_size(argv) < json_object_size(env)))
        return false;
    say("its command line has %zu words, %zu KiB: too much for a job",
        json_array_size(argv), (bytes + 1023) / 1024);
    say("a shell of the job can make the list: volt-submit --shell 'COMMAND *.txt'; or a "
        "job for each: ls | volt-submit --each-line - -- COMMAND");
    return true;
}

/* Returns TEXT of `sh -c TEXT`; NULL: not such a command. */
static const char *text_of_shell(char *const *argv)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(name, shells[i]) == 0)
            return argv[1] && strcmp(argv[1], "-c") == 0 ? argv[2] : NULL;
    return NULL;
}

/* Refuses {} inside a shell text, where the line would become words and commands. A text
 * that is only {} is meant so. */
static bool check_line_in_shell(const struct submit_options *o, char *const *argv)
{
    const char *text = text_of_shell(argv);
    char instead[768] = "--each-line";
    if (!text || !strstr(text, "{}") || strcmp(text, "{}") == 0)
        return true;
    command_quote(instead, sizeof(instead),
                  (char *const[]){(char *)(uintptr_t)o->file, (char *)"--shell",
                                  (char *)(uintptr_t)text, NULL});
    say("each line would be a part of what %s runs: a blank would end a word, and what "
        "looks like a command would be one",
        argv[0]);
    say("quoted for the shell: volt-submit %s", instead);
    return false;
}

static bool has_token(const char *word, const char *token)
{
    for (const char *at = word; (at = strstr(at, token)); at++)
        if (at == word || at[-1] != '$')
            return true;
    return false;
}

/* Notes a replacement of GNU parallel, which stays as it is. */
static void note_parallel(const struct submit_options *o)
{
    static const char *const tokens[] = {"{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"};
    const json_t *argv = json_object_get(o->spec, "argv"), *word;
    size_t at;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        const char *shell = json_string_value(json_object_get(o->spec, "shell"));
        bool found = shell && has_token(shell, tokens[i]);
        json_array_foreach(argv, at, word)
        {
            found |= has_token(json_string_value(word), tokens[i]);
        }
        if (!found)
            continue;
        say("note: %s is of GNU parallel, and stays as it is; {} is the line, and a shell "
            "cuts it: --shell 'f={}; echo \"${f%%.*}\" \"${f##*/}\"'",
            tokens[i]);
        return;
    }
}

bool list_advice_check(const struct submit_options *o)
{
    char *const *argv = o->argv + o->operands;
    char before[768] = "", instead[768] = "";
    size_t at = 0;
    if (o->each_line && !o->quiet)
        note_parallel(o);
    if (!json_object_get(o->spec, "argv"))
        return true;
    if (o->each_line)
        return check_line_in_shell(o, argv);
    while (argv[at] && strcmp(argv[at], ":::") != 0 && strcmp(argv[at], "::::") != 0)
        at++;
    if (!argv[at] || !argv[at + 1] || at == 0)
        return true;
    bool file = strcmp(argv[at], "::::") == 0;
    (void)snprintf(instead, sizeof(instead), "--each-line");
    command_quote(instead, sizeof(instead),
                  (char *const[]){file ? argv[at + 1] : (char *)"-", (char *)"--", NULL});
    for (size_t i = 0; i < at; i++)
        command_quote(instead, sizeof(instead), (char *const[]){argv[i], NULL});
    if (!file) {
        (void)snprintf(before, sizeof(before), "printf '%%s\\n'");
        command_quote(before, sizeof(before) - 4, argv + at + 1);
        strcat(before, " | ");
    }
    say("%s is of GNU parallel, and would be an argument of the command", argv[at]);
    submit_say_instead(o, before, instead);
    return false;
}

void list_advice_operators(const struct submit_options *o)
{
    struct command_advice advice;
    if (!json_object_get(o->spec, "argv") || o->file ||
        !command_has_operators(o->argv + o->operands, &advice))
        return;
    say("note: %s", advice.problem);
    submit_say_instead(o, "", advice.instead);
}
