/* See script.h. */
#include "client/script.h"
#include "client/check_command.h"
#include "client/say.h"
#include "client/sbatch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLT_MARK   "#VOLT"
#define SBATCH_MARK "#SBATCH"
#define LINES_MOST  1000 /* no binary is read to its end */
#define LINE_BYTES  (64 << 10)

/* What follows the mark of a line; NULL: it has another beginning. */
static const char *behind(const char *line, const char *mark)
{
    size_t len = strlen(mark);
    bool is = strncmp(line, mark, len) == 0 && strchr(" \t\r\n", line[len]);
    return is ? line + len : NULL;
}

struct reading {
    const char *path;
    struct script *to;
    struct sbatch sbatch;
    char interpreter[256]; /* the first line behind #!; "": it has none */
    bool found, is_slurm, said_foreign;
};

/* Says once that options of another scheduler are not read. */
static void note_foreign(struct reading *r, const char *line, unsigned number)
{
    static const char *const marks[] = {"#PBS",   "#$",  "#BSUB",   "#HQ",
                                        "#flux:", "# flux:", "#COBALT", "#OAR"};
    for (size_t i = 0; !r->said_foreign && i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *rest = behind(line, marks[i]);
        r->said_foreign = rest && rest[strspn(rest, " \t")] == '-';
        if (r->said_foreign)
            say("note: %s: line %u: lines with %s are of another scheduler, and are not "
                "read; #VOLT and #SBATCH lines are",
                r->path, number, marks[i]);
    }
}

static int take_line(struct reading *r, const char *line, unsigned number)
{
    const char *ours = behind(line, VOLT_MARK), *slurm = behind(line, SBATCH_MARK);
    int result = 0;
    if (number == 1 && strncmp(line, "#!", 2) == 0)
        (void)snprintf(r->interpreter, sizeof(r->interpreter), "%s", line + 2);
    if (ours)
        result = word_list_split(&r->to->options, ours);
    else if (slurm)
        result = sbatch_line(&r->sbatch, slurm, r->path, number, &r->to->options);
    if (!ours && !slurm)
        note_foreign(r, line, number);
    r->found |= ours || slurm;
    r->is_slurm |= slurm != NULL;
    if (result == -EINVAL && ours)
        say("%s: line %u: a quote is not closed", r->path, number);
    return result;
}

/* Options are in the head, in front of the first line that is no comment. 0 with
 * r->found; negative with the mistake said. */
static int read_lines(struct reading *r, FILE *in)
{
    char *line = malloc(LINE_BYTES);
    int result = line ? 0 : -ENOMEM;
    bool head = true;
    for (unsigned n = 1; result == 0 && n <= LINES_MOST; n++) {
        if (!fgets(line, LINE_BYTES, in) || (!strchr(line, '\n') && !feof(in)))
            break; /* the end, or a line that no script has */
        const char *text = line + strspn(line, " \t\r\n");
        head &= !*text || *text == '#';
        if (!head && !r->is_slurm)
            break;
        result = head ? take_line(r, line, n)
                      : sbatch_body(&r->sbatch, line, r->path, n);
    }
    if (result == 0 && r->is_slurm)
        result = sbatch_variables(&r->sbatch, &r->to->options);
    sbatch_fini(&r->sbatch);
    r->to->truncates = r->sbatch.has_path;
    r->to->slurm = r->is_slurm;
    if (result == -ENOMEM)
        say("out of memory");
    free(line);
    return result;
}

/* The kernel splits "#!" once: the rest is one argument. */
static int add_interpreter(struct word_list *command, const char *line)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "%s", line);
    text[strcspn(text, "\r\n")] = '\0';
    char *word = text + strspn(text, " \t");
    char *rest = word + strcspn(word, " \t");
    int r = 0;
    if (*rest) {
        *rest++ = '\0';
        rest += strspn(rest, " \t");
    }
    if (*word)
        r = word_list_add(command, word);
    if (r == 0 && *word && *rest)
        r = word_list_add(command, rest);
    return r;
}

/* By its absolute path, as the script may name another directory to run in. */
static int make_command(const struct reading *r, const char *path, bool executable)
{
    struct word_list *command = &r->to->command;
    if (!executable && !r->interpreter[0]) {
        say("%s has %s lines, but no first line like #!/bin/sh, which names what runs it",
            r->path, r->is_slurm ? SBATCH_MARK : VOLT_MARK);
        return -EINVAL;
    }
    int result = executable ? 0 : add_interpreter(command, r->interpreter);
    return result < 0 ? result : word_list_add(command, path);
}

enum { PATH_ROOM = 3 * PATH_MAX }; /* what is too long for the kernel is no script */

/* The path of word in the directory, which is relative to this one. False: this one has
 * no name. */
static bool make_path(char path[PATH_ROOM], const char *directory, const char *word)
{
    char here[PATH_MAX] = "";
    if (word[0] == '/')
        directory = "";
    else if (directory[0] != '/' && !getcwd(here, sizeof(here)))
        return false;
    if (strcmp(directory, ".") == 0)
        directory = "";
    while (strncmp(word, "./", 2) == 0)
        word += 2 + strspn(word + 2, "/");
    (void)snprintf(path, PATH_ROOM, "%s%s%s%s%s", strcmp(here, "/") == 0 ? "" : here,
                   *here && *directory ? "/" : "", directory, word[0] == '/' ? "" : "/",
                   word);
    return true;
}

int script_find(const char *word, const char *directory, struct script *ret)
{
    char path[PATH_ROOM];
    struct command_advice advice;
    struct stat st;
    bool named = strchr(word, '/');
    if (!named && command_check((char *const[]){(char *)(uintptr_t)word, NULL}, directory,
                                getenv("PATH"), &advice) == COMMAND_FOUND)
        return 0;
    if (!make_path(path, directory, word))
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            (void)close(fd);
        return 0;
    }
    FILE *in = fdopen(fd, "r");
    if (!in) {
        (void)close(fd);
        return 0;
    }
    *ret = (struct script){0};
    struct reading reading = {.path = word, .to = ret};
    int r = read_lines(&reading, in);
    (void)fclose(in);
    if (r == 0 && reading.found)
        r = make_command(&reading, path, st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
    if (r == 0 && reading.found)
        return 1;
    script_fini(ret);
    return r;
}

void script_fini(struct script *s)
{
    word_list_fini(&s->options);
    word_list_fini(&s->command);
}
