/* See sbatch.h: what the body of a script uses and that is not here. Lines are read by
 * themselves, roughly as a shell reads them: a note may be missing, or too much. */
#include "client/check_command.h"
#include "client/sbatch.h"
#include "client/say.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sbatch_interpreter(struct sbatch *s, const char *line)
{
    for (const char *word = line + strspn(line, " \t\r\n"); *word;
         word += strspn(word, " \t\r\n")) {
        const size_t len = strcspn(word, " \t\r\n");
        s->shell |= len >= 2 && strncmp(word + len - 2, "sh", 2) == 0;
        s->login |= strncmp(word, "-l", 2) == 0 || strncmp(word, "--login", 7) == 0;
        word += len;
    }
}

/* Returns whether it is the first note of this name, or -ENOMEM. */
static int is_first(struct sbatch *s, const char *name)
{
    for (size_t i = 0; i < s->noted.n; i++)
        if (strcmp(s->noted.at[i], name) == 0)
            return 0;
    const int r = word_list_add(&s->noted, name);
    return r < 0 ? r : 1;
}

/* --- variables ---------------------------------------------------------------------- */

/* Variables that are set here: by voltd those of the job, others by an option. */
static const char *const variables[] = {
    "JOB_ID",        "JOBID",          "JOB_NAME",       "ARRAY_JOB_ID",
    "ARRAY_TASK_ID", "ARRAY_TASK_MIN", "ARRAY_TASK_MAX", "ARRAY_TASK_COUNT",
    "SUBMIT_DIR",    "SUBMIT_HOST",    "JOB_NODELIST",   "NODELIST",
    "JOB_NUM_NODES", "NNODES",         "NTASKS",         "NPROCS",
    "CPUS_ON_NODE",  "CPUS_PER_TASK",  "PROCID",         "LOCALID",
    "NODEID"};

static bool is_set(const struct sbatch *s, const char *name)
{
    if (strcmp(name, "CPUS_PER_TASK") == 0) /* as in Slurm, only if it was requested */
        return *s->cpus;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (strcmp(variables[i], name) == 0)
            return true;
    return false;
}

static int note_variable(struct sbatch *s, const char *name)
{
    const int r = is_set(s, name + strlen("SLURM_")) ? 0 : is_first(s, name);
    if (r == 1)
        say("note: %s: line %u: $%s of Slurm is not set here", s->path, s->line, name);
    return r < 0 ? r : 0;
}

static int look_at_variables(struct sbatch *s, const char *line)
{
    int r = 0;
    for (const char *p = line; r == 0 && (p = strstr(p, "SLURM_"));) {
        size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)len, p);
        /* Only where the variable is read. */
        if (p > line && (p[-1] == '$' || (p[-1] == '{' && p - 1 > line && p[-2] == '$')))
            r = note_variable(s, name);
        p += len;
    }
    return r;
}

/* Notes the first line with $((...)) of the id, which is no number in an array. */
static void look_at_sums(struct sbatch *s, const char *line)
{
    for (const char *p = line; s->sum_line == 0 && (p = strstr(p, "((")); p += 2) {
        const char *end = strstr(p, "))");
        const char *id = strstr(p, "SLURM_JOB");
        if (id && (!end || id < end) &&
            (strncmp(id, "SLURM_JOB_ID", 12) == 0 || strncmp(id, "SLURM_JOBID", 11) == 0))
            s->sum_line = s->line;
    }
}

/* --- commands ----------------------------------------------------------------------- */

static const char *instead_of(const char *name)
{
    static const char *const known[][2] = {
        {"srun", "a job is one command, so write it without srun"},
        {"salloc", "a job is one command, so write it without salloc"},
        {"sbatch", "`volt-submit` submits"},
        {"scancel", "`voltctl cancel` does this"},
        {"scontrol", "`voltctl status`, hold, release and edit do this"},
        {"squeue", "`voltctl list` does this"},
        {"sacct", "`voltctl list --all` does this"},
        {"sstat", "`voltctl status` does this"},
        {"sinfo", "`voltctl queues` does this"},
        {"sprio", "`voltctl why` does this"},
        {"sattach", "`voltctl logs -f` does this"},
        {"sbcast", "a job runs on this machine, so cp does this"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i][0], name) == 0)
            return known[i][1];
    return NULL;
}

static bool is_here(const char *name)
{
    struct command_advice advice;
    char *const argv[] = {(char *)(uintptr_t)name, NULL};
    return command_check(argv, ".", getenv("PATH"), &advice) == COMMAND_FOUND;
}

/* Notes a command that is not here; defined: the script makes a function of this name. */
static int note_command(struct sbatch *s, const char *name, bool defined)
{
    const char *instead = instead_of(name);
    const bool module = strcmp(name, "module") == 0 || strcmp(name, "ml") == 0;
    /* A login shell, or a file that is read, may define module. */
    s->login |= strcmp(name, ".") == 0 || strcmp(name, "source") == 0;
    if (!instead && !module)
        return 0;
    const int r = is_first(s, name);
    if (r != 1 || defined || (module ? s->login : is_here(name)))
        return r < 0 ? r : 0;
    if (module)
        say("note: %s: line %u: %s is a function of a shell, which the job has only where "
            "its environment or its script brings it, as by #!/bin/bash -l",
            s->path, s->line, name);
    else
        say("note: %s: line %u: there is no %s here; %s", s->path, s->line, name,
            instead);
    return 0;
}

/* Returns whether a command may follow this word, as `then` or A=1. */
static bool leads(const char *word)
{
    static const char *const words[] = {"then",  "do",    "else",    "elif", "if",
                                        "while", "until", "!",       "{",    "time",
                                        "exec",  "env",   "command", "eval", "nohup"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return (isalpha((unsigned char)*word) || *word == '_') && strchr(word, '=');
}

/* Takes the word at the beginning of a command. Returns its length; *first: a command may
 * begin behind it. */
static int take_word(struct sbatch *s, const char *p, bool *first, size_t *ret_len)
{
    char word[64];
    *ret_len = strcspn(p, " \t\r\n;|&()<>`\"'$\\");
    (void)snprintf(word, sizeof(word), "%.*s", (int)*ret_len, p);
    *first = *ret_len > 0 && leads(word);
    return *first ? 0 : note_command(s, word, strncmp(p + *ret_len, "()", 2) == 0);
}

/* Returns how many bytes at p separate commands; 0: none do. */
static size_t separates(const char *p, char quote)
{
    if (strncmp(p, "$(", 2) == 0 && p[2] != '(')
        return 2;
    return *p == '`' || (!quote && strchr(";|&(", *p)) ? 1 : 0;
}

static int look_at_commands(struct sbatch *s, const char *text)
{
    const char *line = text;
    bool first = true; /* a command may begin here */
    char quote = 0;
    int r = 0;
    for (size_t len; *line && r == 0; line += len) {
        const size_t separator = quote == '\'' ? 0 : separates(line, quote);
        len = separator ? separator : *line == '\\' && line[1] ? 2 : 1;
        if (separator) {
            first = true;
        } else if (*line == quote || (!quote && (*line == '"' || *line == '\''))) {
            quote = quote ? 0 : *line;
            first = false;
        } else if (!quote && *line == '#' &&
                   (line == text || isspace((unsigned char)line[-1]))) {
            break;
        } else if (first && quote != '\'' && !isspace((unsigned char)*line)) {
            r = take_word(s, line, &first, &len);
            len += len == 0;
        }
    }
    return r;
}

int sbatch_body(struct sbatch *s, const char *line, const char *path, unsigned number)
{
    s->path = path;
    s->line = number;
    look_at_sums(s, line);
    const int r = look_at_variables(s, line);
    return r == 0 && s->shell ? look_at_commands(s, line) : r;
}
