/* See check_command.h. Order: what is a file is taken as it is, whatever its name looks
 * like; then what people type by habit (an assignment, a builtin of the shell, a whole
 * line in quotes, a script of this folder), each with the words that work. */
#include "client/check_command.h"
#include "client/shell_words.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHELL_CHARS " \t;|&<>$`" /* a word with one of them looks like a whole line */

enum { FILE_ROOM = 3 * PATH_MAX }; /* what is too long for the kernel it says itself */

/* --- shell words */

static void append(char *buf, size_t size, const char *text)
{
    size_t len = strlen(buf), room = size - len - 1, n = strlen(text);

    if (n > room)
        n = room;
    memcpy(buf + len, text, n);
    buf[len + n] = '\0';
}

static void quote(char *buf, size_t size, const char *word)
{
    struct wire_buf text = {0};

    if (shell_word(&text, word) == 0 && wire_buf_append(&text, "", 1) == 0)
        append(buf, size, wire_buf_at(&text));
    wire_buf_fini(&text);
}

void command_quote(char *buf, size_t size, char *const argv[])
{
    for (; *argv; argv++) {
        if (*buf)
            append(buf, size, " ");
        quote(buf, size, *argv);
    }
}

/* "--shell 'WORDS'": a line for the shell, of which only words that it would not read as
 * one are quoted. One word is the line itself. */
static void advise_shell(struct command_advice *ret, char *const argv[])
{
    char line[sizeof(ret->instead) / 2] = "";

    if (argv[1])
        command_quote(line, sizeof(line), argv);
    else
        append(line, sizeof(line), argv[0]);
    append(ret->instead, sizeof(ret->instead), "--shell ");
    quote(ret->instead, sizeof(ret->instead), line);
}

/* --- files */

/* Whether a file could be executed: COMMAND_FOUND also where it cannot be looked at.
 * directory: what one counts as. */
static enum command_check look_at(const char *file, enum command_check directory)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? COMMAND_NOT_FOUND : COMMAND_FOUND;
    if (S_ISDIR(st.st_mode))
        return directory;
    return st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? COMMAND_FOUND
                                                      : COMMAND_NOT_EXECUTABLE;
}

static bool is_directory(const char *file)
{
    struct stat st;

    return stat(file, &st) == 0 && S_ISDIR(st.st_mode);
}

/* file, or DIR/file where it is relative. */
static const char *in_directory(char buf[FILE_ROOM], const char *dir, const char *file)
{
    if (file[0] == '/')
        return file;
    (void)snprintf(buf, FILE_ROOM, "%s/%s", dir, file);
    return buf;
}

static enum command_check search(const char *name, const char *cwd, const char *path)
{
    char folder[FILE_ROOM], file[2 * FILE_ROOM], system_path[256] = "";
    enum command_check best = COMMAND_NOT_FOUND;

    if (!path) {
        (void)confstr(_CS_PATH, system_path, sizeof(system_path));
        path = system_path;
    }
    for (const char *at = path;; at++) {
        size_t len = strcspn(at, ":");
        char dir[PATH_MAX];

        (void)snprintf(dir, sizeof(dir), "%.*s", (int)len, at);
        (void)snprintf(file, sizeof(file), "%s/%s",
                       in_directory(folder, cwd, *dir ? dir : "."), name);
        enum command_check here = look_at(file, COMMAND_NOT_FOUND);
        if (here == COMMAND_FOUND)
            return COMMAND_FOUND;
        if (here == COMMAND_NOT_EXECUTABLE)
            best = here;
        at += len;
        if (!*at)
            return best;
    }
}

/* The interpreter in the first line of a script, without its path; "sh" where none is
 * named. */
static void interpreter(const char *file, char name[64])
{
    char line[256] = "";
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    (void)snprintf(name, 64, "sh");
    if (fd < 0)
        return;
    ssize_t n = read(fd, line, sizeof(line) - 1);
    (void)close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return;
    line[strcspn(line, "\n")] = '\0';
    char *save, *word = strtok_r(line + 2, " \t", &save);
    if (word && strcmp(word, "/usr/bin/env") == 0)
        word = strtok_r(NULL, " \t", &save);
    if (word && strrchr(word, '/'))
        word = strrchr(word, '/') + 1;
    if (word && *word)
        (void)snprintf(name, 64, "%s", word);
}

/* --- what people type by habit */

static bool is_assignment(const char *word)
{
    size_t len = strcspn(word, "=");

    if (!word[len] || len == 0 || isdigit((unsigned char)word[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)word[i]) && word[i] != '_')
            return false;
    return true;
}

static bool is_builtin(const char *word)
{
    static const char *const builtins[] = {
        "cd",    "export", "source", ".",     "alias", "ulimit", "umask", "set", "unset",
        "eval",  "exec",   "if",     "for",   "while", "until",  "case",  "{",   "(",
        "shift", "trap",   "wait",   "local", "read",  "pushd",  "type",  "!",   NULL};

    for (const char *const *b = builtins; *b; b++)
        if (strcmp(*b, word) == 0)
            return true;
    return false;
}

static void advise_assignment(struct command_advice *ret, char *const argv[])
{
    (void)snprintf(ret->problem, sizeof(ret->problem),
                   "%.100s is an assignment of the shell, not a command", argv[0]);
    for (; *argv && is_assignment(*argv); argv++) {
        append(ret->instead, sizeof(ret->instead), *ret->instead ? " -E " : "-E ");
        quote(ret->instead, sizeof(ret->instead), *argv);
    }
    append(ret->instead, sizeof(ret->instead), " -- ");
    if (*argv) {
        char command[sizeof(ret->instead) / 2] = "";
        command_quote(command, sizeof(command), argv);
        append(ret->instead, sizeof(ret->instead), command);
    } else {
        append(ret->instead, sizeof(ret->instead), "COMMAND");
    }
}

static void advise_builtin(struct command_advice *ret, char *const argv[])
{
    (void)snprintf(ret->problem, sizeof(ret->problem),
                   "%.100s is a word of the shell, not a program", argv[0]);
    if (strcmp(argv[0], "cd") == 0 && argv[1] && !argv[2]) {
        append(ret->instead, sizeof(ret->instead), "--chdir=");
        quote(ret->instead, sizeof(ret->instead), argv[1]);
        append(ret->instead, sizeof(ret->instead), " -- COMMAND");
        return;
    }
    advise_shell(ret, argv);
}

/* A script of the folder where the job would run, by its name alone. */
static bool advise_script(struct command_advice *ret, char *const argv[], const char *cwd)
{
    char buf[FILE_ROOM], name[64], command[sizeof(ret->instead) / 2] = "";
    const char *file = in_directory(buf, cwd, argv[0]);
    enum command_check here = look_at(file, COMMAND_NOT_EXECUTABLE);

    if (here == COMMAND_NOT_FOUND || is_directory(file))
        return false;
    (void)snprintf(ret->problem, sizeof(ret->problem),
                   "%.100s is not in PATH, but a file of that name is in %.100s", argv[0],
                   cwd);
    if (here == COMMAND_NOT_EXECUTABLE) {
        interpreter(file, name);
        append(command, sizeof(command), name);
        append(command, sizeof(command), " ");
    }
    append(command, sizeof(command), "./");
    command_quote(ret->instead, sizeof(ret->instead), argv);
    append(command, sizeof(command), ret->instead);
    (void)snprintf(ret->instead, sizeof(ret->instead), "%s", command);
    return true;
}

static void advise_missing(struct command_advice *ret, char *const argv[],
                           const char *cwd, bool named)
{
    bool line = strpbrk(argv[0], SHELL_CHARS) != NULL;

    if (is_assignment(argv[0]) && (argv[1] || !line)) {
        advise_assignment(ret, argv);
    } else if (is_builtin(argv[0])) {
        advise_builtin(ret, argv);
    } else if (line) {
        (void)snprintf(
            ret->problem, sizeof(ret->problem),
            "no program is called \"%.100s\"; it looks like a line for the shell",
            argv[0]);
        advise_shell(ret, argv);
    } else if (named || !advise_script(ret, argv, cwd)) {
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       named ? "%.100s: no such file" : "%.100s: not found in PATH",
                       argv[0]);
    }
}

static void advise_not_executable(struct command_advice *ret, char *const argv[],
                                  const char *file)
{
    char name[64];

    if (is_directory(file)) {
        (void)snprintf(ret->problem, sizeof(ret->problem), "%.100s is a directory",
                       argv[0]);
        return;
    }
    (void)snprintf(ret->problem, sizeof(ret->problem),
                   "%.100s is not executable (chmod +x makes it so)", argv[0]);
    interpreter(file, name);
    append(ret->instead, sizeof(ret->instead), name);
    append(ret->instead, sizeof(ret->instead), " ");
    char command[sizeof(ret->instead) / 2] = "";
    command_quote(command, sizeof(command), argv);
    append(ret->instead, sizeof(ret->instead), command);
}

enum command_check command_check(char *const argv[], const char *cwd, const char *path,
                                 struct command_advice *ret)
{
    bool named = strchr(argv[0], '/') != NULL;
    char buf[FILE_ROOM];
    const char *file = in_directory(buf, cwd, argv[0]);
    enum command_check result =
        named ? look_at(file, COMMAND_NOT_EXECUTABLE) : search(argv[0], cwd, path);

    *ret = (struct command_advice){{0}, {0}};
    if (result == COMMAND_NOT_FOUND)
        advise_missing(ret, argv, cwd, named);
    else if (result == COMMAND_NOT_EXECUTABLE && named)
        advise_not_executable(ret, argv, file);
    else if (result == COMMAND_NOT_EXECUTABLE)
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s was found in PATH, but is not executable", argv[0]);
    return result;
}
