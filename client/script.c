/* See script.h. */
#include "client/script.h"
#include "client/check_command.h"
#include "client/say.h"
#include "client/sbatch.h"
#include "client/streams.h"
#include "wire/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VOLT_MARK   "#VOLT"
#define SBATCH_MARK "#SBATCH"
#define LINES_MOST  1000 /* so that no binary is read to its end */
#define LINE_BYTES  (64 << 10)
#define TEXT_MOST   ((size_t)8 << 20) /* as MaxStdin= may be */
#define BY_PATH     "; --by-path runs the file as it is then"

/* Returns the text after the mark of a line; NULL: another beginning. */
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
    char interpreter[256]; /* the first line after #!; "": none */
    bool found, is_slurm, said_foreign;
};

/* Prints once that options of another scheduler are ignored. */
static void note_foreign(struct reading *r, const char *line, unsigned number)
{
    static const char *const marks[] = {"#PBS",   "#$",      "#BSUB",   "#HQ",
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
    if (number == 1)
        sbatch_interpreter(&r->sbatch, r->interpreter);
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

/* Reads the options, which are before the first line that is no comment. Returns 0 with
 * r->found, or negative after an error message. */
static int read_lines(struct reading *r, FILE *in)
{
    char *line = malloc(LINE_BYTES);
    int result = line ? 0 : -ENOMEM;
    bool head = true;
    for (unsigned n = 1; result == 0 && n <= LINES_MOST; n++) {
        if (!fgets(line, LINE_BYTES, in) || (!strchr(line, '\n') && !feof(in)))
            break; /* the end, or a line too long for a script */
        const char *text = line + strspn(line, " \t\r\n");
        head &= !*text || *text == '#';
        if (!head && !r->is_slurm)
            break;
        result = head ? take_line(r, line, n) : sbatch_body(&r->sbatch, line, r->path, n);
    }
    if (result == 0 && r->is_slurm)
        result = sbatch_variables(&r->sbatch, &r->to->options);
    sbatch_fini(&r->sbatch);
    r->to->slurm = r->is_slurm;
    r->to->sum_line = r->sbatch.sum_line;
    memcpy(r->to->mem, r->sbatch.mem, sizeof(r->to->mem));
    memcpy(r->to->open_mode, r->sbatch.open_mode, sizeof(r->to->open_mode));
    r->to->truncates = r->sbatch.has_path;
    if (result == -ENOMEM)
        say("out of memory");
    free(line);
    return result;
}

/* Adds the interpreter as the kernel does: the rest of the line is one argument. */
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

static int say_no_interpreter(const struct reading *r, const char *more)
{
    say("%s has %s lines, but no first line like #!/bin/sh, which names what runs it%s",
        r->path, r->is_slurm ? SBATCH_MARK : VOLT_MARK, more);
    return -EINVAL;
}

static bool says_by_path(const struct script *s)
{
    for (size_t i = 0; i < s->options.n; i++)
        if (strcmp(s->options.at[i], "--by-path") == 0)
            return true;
    return false;
}

/* Refuses text that cannot be stored. Returns whether it printed an error. */
static bool refuse_text(const char *name, const char *text, size_t n, const char *way)
{
    json_t *string = strlen(text) == n ? json_stringn(text, n) : NULL;
    unsigned line = 1;
    json_decref(string);
    if (string)
        return false;
    for (size_t at = 0; at < n; line++) {
        const size_t len = strcspn(text + at, "\n");
        json_t *part =
            at + len < n && !text[at + len] ? NULL : json_stringn(text + at, len);
        json_decref(part);
        if (!part)
            break;
        at += len + 1;
    }
    say("%s: line %u is not text in UTF-8, as what is stored with a job has to be%s",
        name, line, way);
    return true;
}

/* Reads all into *ret, which is NUL-terminated and owned by the caller. Returns 0, or
 * -errno after an error message. */
static int read_text(int fd, const char *name, const char *way, char **ret, size_t *ret_n)
{
    struct wire_buf bytes = {0};
    ssize_t n = 1;
    int r = 0;
    while (r == 0 && n > 0) {
        r = wire_buf_reserve(&bytes, 65536);
        n = r == 0 ? streams_read(fd, bytes.data + bytes.end, bytes.cap - bytes.end) : 0;
        if (n < 0) {
            r = -errno;
            say("%s: %s", name, strerror(-r));
        }
        bytes.end += n > 0 ? (size_t)n : 0;
        if (wire_buf_len(&bytes) > TEXT_MOST) {
            say("%s: a script of more than %zu MiB is not stored%s", name,
                TEXT_MOST >> 20, way);
            r = -EFBIG;
        }
    }
    const size_t len = wire_buf_len(&bytes);
    char *text = r == 0 ? malloc(len + 1) : NULL;
    if (text) {
        memcpy(text, bytes.data + bytes.start, len);
        text[len] = '\0';
        *ret = text;
        *ret_n = len;
    } else if (r == 0 || r == -ENOMEM) {
        say("out of memory");
        r = -ENOMEM;
    }
    wire_buf_fini(&bytes);
    return r;
}

/* Reads the file into r->to->text. Returns 0, or negative after an error message. */
static int store(struct reading *r, int fd)
{
    struct command_advice advice;
    size_t n;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    int result = read_text(fd, r->path, BY_PATH, &r->to->text, &n);
    if (result < 0 || refuse_text(r->path, r->to->text, n, BY_PATH))
        return result < 0 ? result : -EINVAL;
    if (command_is_foreign_text(r->path, r->to->text, &advice)) {
        say("%s", advice.problem);
        return -ENOEXEC;
    }
    return strncmp(r->to->text, "#!", 2) == 0 ? 0 : say_no_interpreter(r, BY_PATH);
}

/* Makes the command, with an absolute path, as the script may set another directory. */
static int make_command(const struct reading *r, const char *path, bool executable)
{
    struct word_list *command = &r->to->command;
    if (r->to->text)
        return word_list_add(command, path);
    if (!executable && !r->interpreter[0])
        return say_no_interpreter(r, "");
    int result = executable ? 0 : add_interpreter(command, r->interpreter);
    return result < 0 ? result : word_list_add(command, path);
}

enum { PATH_ROOM = 3 * PATH_MAX }; /* a path too long for the kernel names no script */

/* Writes the path of word in the directory, which is relative to the current one. Returns
 * false if the current one has no name. */
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

int script_find(const char *word, const char *directory, bool by_path, struct script *ret)
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
    if (r == 0 && reading.found && !by_path && !says_by_path(ret))
        r = store(&reading, fd);
    (void)fclose(in);
    if (r == 0 && reading.found)
        r = make_command(&reading, path, st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
    if (r == 0 && reading.found)
        return 1;
    script_fini(ret);
    return r;
}

/* Refuses standard input that is no script, and prints alternatives. */
static int refuse_standard(const char *text)
{
    if (!*text) {
        say("no script comes through standard input: volt-submit - < SCRIPT");
        return -EINVAL;
    }
    say("what comes through standard input has no first line like #!/bin/sh, which names "
        "what runs it");
    say("what a shell is to read: volt-submit --stdin=- -- sh; commands, one a line: "
        "volt-submit --each-line - -- sh -c {}");
    return -EINVAL;
}

int script_read(struct script *ret)
{
    struct command_advice advice;
    size_t n;
    *ret = (struct script){0};
    struct reading reading = {.path = "standard input", .to = ret};
    say_if_terminal("script");
    int r = read_text(STDIN_FILENO, reading.path, "", &ret->text, &n);
    if (r == 0 && refuse_text(reading.path, ret->text, n, ""))
        r = -EINVAL;
    if (r == 0 && command_is_foreign_text(reading.path, ret->text, &advice)) {
        say("%s", advice.problem);
        r = -ENOEXEC;
    }
    if (r == 0 && strncmp(ret->text, "#!", 2) != 0)
        r = refuse_standard(ret->text);
    FILE *in = r == 0 ? fmemopen(ret->text, n, "r") : NULL;
    if (in) {
        r = read_lines(&reading, in);
        (void)fclose(in);
    } else if (r == 0) {
        r = -ENOMEM;
        say("out of memory");
    }
    if (r == 0 && says_by_path(ret)) {
        say("--by-path: standard input has no path");
        r = -EINVAL;
    }
    if (r == 0)
        r = word_list_add(&ret->command, "script");
    if (r == 0)
        return 1;
    script_fini(ret);
    return r;
}

/* Returns whether a line asks for its script's folder, in a shell's, Python's or Perl's
 * way. */
static bool asks_own_path(const char *line, size_t len)
{
    static const char *const words[] = {"BASH_SOURCE", "${0%", "__file__", "FindBin"};
    if (memmem(line, len, "dirname", 7) && memmem(line, len, "$0", 2))
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (memmem(line, len, words[i], strlen(words[i])))
            return true;
    return false;
}

void script_advise_path(const char *word, const char *text)
{
    unsigned number = 1;
    for (size_t len; *text; text += len + (text[len] == '\n'), number++) {
        len = strcspn(text, "\n");
        if (text[strspn(text, " \t")] == '#' || !asks_own_path(text, len))
            continue;
        say("note: %s: line %u: it is stored with the job and runs from another folder; "
            "the job begins in this one, and --by-path runs the file itself",
            word, number);
        return;
    }
}

void script_fini(struct script *s)
{
    free(s->text);
    s->text = NULL;
    word_list_fini(&s->options);
    word_list_fini(&s->command);
}
