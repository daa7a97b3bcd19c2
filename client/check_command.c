/* See check_command.h. Order: a file is taken as it is, whatever its name looks like.
 * Then come words that people type by habit, each with words that work: an assignment, a
 * builtin of the shell, a whole line in quotes, a script of this folder. */
#include "client/check_command.h"
#include "daemon/job/account_path.def"
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

#define SHELL_CHARS " \t;|&<>$`" /* a word with one of these looks like a command line */

enum { FILE_ROOM = 3 * PATH_MAX }; /* the kernel reports paths that are too long */

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

static bool is_operator(const char *word)
{
    static const char *const operators[] = {"&&", "||", ";", "|",    "&",
                                            ">",  ">>", "<", "2>&1", NULL};

    for (const char *const *o = operators; *o; o++)
        if (strcmp(*o, word) == 0)
            return true;
    return false;
}

/* Joins the words into a line for a shell; operators stay as they are. */
static void join(char *buf, size_t size, char *const argv[])
{
    for (; *argv; argv++) {
        if (*buf)
            append(buf, size, " ");
        if (is_operator(*argv))
            append(buf, size, *argv);
        else
            quote(buf, size, *argv);
    }
}

/* Writes "--shell 'WORDS'": a line for a shell, in which only words that need it are
 * quoted. A single word is the line itself. */
static void advise_shell(struct command_advice *ret, char *const argv[])
{
    char line[sizeof(ret->instead) / 2] = "";

    if (argv[1])
        join(line, sizeof(line), argv);
    else
        append(line, sizeof(line), argv[0]);
    append(ret->instead, sizeof(ret->instead), "--shell ");
    quote(ret->instead, sizeof(ret->instead), line);
}

/* --- files */

static bool is_among(const char *const *words, const char *word)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* Returns whether a file could be executed; COMMAND_FOUND also if that cannot be seen.
 * directory: the result for a directory. */
static enum command_check look_at(const char *file, enum command_check directory)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? COMMAND_NOT_FOUND : COMMAND_FOUND;
    if (S_ISDIR(st.st_mode))
        return directory;
    if (!S_ISREG(st.st_mode))
        return COMMAND_NOT_EXECUTABLE;
    return st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? COMMAND_FOUND
                                                      : COMMAND_NOT_EXECUTABLE;
}

static bool is_directory(const char *file)
{
    struct stat st;

    return stat(file, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns file, or DIR/file if it is relative. */
static const char *in_directory(char buf[FILE_ROOM], const char *dir, const char *file)
{
    if (file[0] == '/')
        return file;
    (void)snprintf(buf, FILE_ROOM, "%s/%s", dir, file);
    return buf;
}

static enum command_check search(const char *name, const char *cwd, const char *path)
{
    char folder[FILE_ROOM], file[2 * FILE_ROOM];
    enum command_check best = COMMAND_NOT_FOUND;

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

/* Reads the first line of a file, without its end; "": none, or no regular file. */
static void read_head(const char *file, char line[256])
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, line, 255) : 0;

    if (fd >= 0)
        (void)close(fd);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* Reads the first line of a script after #!. Returns false if there is none. */
static bool first_line(const char *file, char line[256])
{
    read_head(file, line);
    if (strncmp(line, "#!", 2) != 0 || !line[2])
        return false;
    memmove(line, line + 2, strlen(line + 2) + 1);
    return true;
}

bool command_is_foreign_text(const char *word, const char *line,
                             struct command_advice *ret)
{
    const size_t len = strcspn(line, "\n");

    *ret = (struct command_advice){{0}, {0}};
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0)
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s begins with a byte order mark, which hides its first line "
                       "(sed -i '1s/^\\xEF\\xBB\\xBF//' removes it)",
                       word);
    else if (len > 0 && line[len - 1] == '\r')
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s has lines that end with CR LF: each CR would be a part of "
                       "its last word (sed -i 's/\\r$//' removes them)",
                       word);
    return *ret->problem;
}

static bool is_foreign_text(struct command_advice *ret, const char *word,
                            const char *file)
{
    char line[256];

    read_head(file, line);
    return command_is_foreign_text(word, line, ret);
}

/* Returns FILE of `bash FILE ...`; NULL: not such a command. */
static char *file_of_shell(char *const argv[])
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", NULL};
    const char *slash = strrchr(argv[0], '/');

    if (!is_among(shells, slash ? slash + 1 : argv[0]))
        return NULL;
    for (argv++; *argv && (**argv == '-' || **argv == '+'); argv++)
        if ((*argv)[1] != '-' && strchr(*argv, 'c'))
            return NULL;
    return *argv;
}

/* Returns the interpreter for a file of this name without #!; NULL: any shell. */
static const char *language_of(const char *file)
{
    static const char *const languages[][2] = {
        {".py", "python3"}, {".pl", "perl"},   {".rb", "ruby"}, {".js", "node"},
        {".php", "php"},    {".R", "Rscript"}, {".lua", "lua"}, {".tcl", "tclsh"},
        {".jl", "julia"},   {".bash", "bash"}, {".zsh", "zsh"}, {NULL, NULL}};
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && languages[i][0]; i++)
        if (strcmp(dot, languages[i][0]) == 0)
            return languages[i][1];
    return NULL;
}

/* Writes the interpreter of a script without its path: from its first line, otherwise by
 * its name, otherwise "sh". */
static void interpreter(const char *file, char name[64])
{
    char line[256];
    const char *language = language_of(file);

    (void)snprintf(name, 64, "%s", language ? language : "sh");
    if (!first_line(file, line))
        return;
    line[strcspn(line, "\r")] = '\0';
    char *save, *word = strtok_r(line, " \t", &save);
    if (word && strcmp(word, "/usr/bin/env") == 0)
        word = strtok_r(NULL, " \t", &save);
    if (word && strrchr(word, '/'))
        word = strrchr(word, '/') + 1;
    if (word && *word)
        (void)snprintf(name, 64, "%s", word);
}

static bool is_missing(const char *path)
{
    return path[0] == '/' && access(path, F_OK) < 0 && errno == ENOENT;
}

static void say_missing(struct command_advice *ret, const char *word, const char *path)
{
    (void)snprintf(ret->problem, sizeof(ret->problem),
                   "%.100s: its first line names %.100s, which is not there", word, path);
}

bool command_has_interpreter(const char *word, const char *text,
                             struct command_advice *ret)
{
    char path[256];
    const char *begin = text + 2 + strspn(text + 2, " \t");

    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(begin, " \t\r\n"), begin);
    *ret = (struct command_advice){{0}, {0}};
    if (!is_missing(path))
        return true;
    say_missing(ret, word, path);
    return false;
}

/* Checks the interpreter of an executable script. Returns false, with the reason, if it
 * is missing. */
static bool has_interpreter(struct command_advice *ret, char *const argv[],
                            const char *file)
{
    char line[256];
    const char *language = language_of(file);
    bool named = first_line(file, line);

    if (!named && !language)
        return true;
    char *word = line + (named ? strspn(line, " \t") : 0);
    if (named)
        word[strcspn(word, " \t")] = '\0';
    if (named && !is_missing(word))
        return true;
    if (named)
        say_missing(ret, argv[0], word);
    else
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s has no first line like #!/usr/bin/env %s: sh would run it",
                       argv[0], language);
    if (!named) {
        append(ret->instead, sizeof(ret->instead), language);
        append(ret->instead, sizeof(ret->instead), " ");
        char command[sizeof(ret->instead) / 2] = "";
        command_quote(command, sizeof(command), argv);
        append(ret->instead, sizeof(ret->instead), command);
    }
    return false;
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

/* Returns whether the word changes only the shell itself, which does nothing for a
 * job. */
static bool is_setting(const char *word)
{
    static const char *const settings[] = {"export", "alias", "ulimit", "umask", "set",
                                           "unset",  "shift", "trap",   "local", NULL};
    return is_among(settings, word);
}

/* Returns whether the word begins a compound command, which the calling shell has taken
 * apart. */
static bool is_keyword(const char *word)
{
    static const char *const keywords[] = {"if", "for", "while",  "until", "case", "{",
                                           "(",  "[[",  "select", "do",    "then", NULL};
    return is_among(keywords, word);
}

static bool is_builtin(const char *word)
{
    static const char *const builtins[] = {
        "cd", "source", ".", "eval", "exec", "wait", "read", "pushd", "type", "!", NULL};
    return is_among(builtins, word) || is_setting(word) || is_keyword(word);
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

/* Advises for: cd DIR, with or without && COMMAND. */
static void advise_cd(struct command_advice *ret, char *const argv[])
{
    char command[sizeof(ret->instead) / 2] = "";
    char *const *rest = argv[2] && is_operator(argv[2]) ? argv + 3 : argv + 2;
    bool line = false;

    append(ret->instead, sizeof(ret->instead), "--chdir=");
    quote(ret->instead, sizeof(ret->instead), argv[1]);
    for (char *const *word = rest; *word; word++)
        line |= is_operator(*word);
    append(ret->instead, sizeof(ret->instead), line ? " " : " -- ");
    if (line)
        advise_shell(ret, rest);
    else if (*rest)
        command_quote(command, sizeof(command), rest);
    else
        append(command, sizeof(command), "COMMAND");
    append(ret->instead, sizeof(ret->instead), command);
}

/* Advises for: source FILE; sh searches a name without a slash in PATH. */
static void advise_source(struct command_advice *ret, char *const argv[])
{
    char line[sizeof(ret->instead) / 2] = ". ";

    if (!strchr(argv[1], '/'))
        append(line, sizeof(line), "./");
    quote(line, sizeof(line), argv[1]);
    for (char *const *word = argv + 2; *word; word++)
        join(line, sizeof(line), (char *const[]){*word, NULL});
    append(ret->instead, sizeof(ret->instead), "--shell ");
    quote(ret->instead, sizeof(ret->instead), line);
}

static void advise_setting(struct command_advice *ret, char *const argv[])
{
    char line[sizeof(ret->instead) / 2] = "";

    join(line, sizeof(line), argv);
    if (!strpbrk(line, ";&|"))
        append(line, sizeof(line), "; COMMAND");
    append(ret->instead, sizeof(ret->instead), "--shell ");
    quote(ret->instead, sizeof(ret->instead), line);
}

static void advise_builtin(struct command_advice *ret, char *const argv[])
{
    bool source = strcmp(argv[0], "source") == 0 || strcmp(argv[0], ".") == 0;

    (void)snprintf(
        ret->problem, sizeof(ret->problem),
        is_keyword(argv[0])
            ? "%.100s begins a line of the shell; the whole line goes into quotes"
            : "%.100s is a word of the shell, not a program",
        argv[0]);
    if (is_keyword(argv[0]))
        append(ret->instead, sizeof(ret->instead), "--shell 'LINE'");
    else if (strcmp(argv[0], "cd") == 0 && argv[1])
        advise_cd(ret, argv);
    else if (source && argv[1])
        advise_source(ret, argv);
    else if (is_setting(argv[0]))
        advise_setting(ret, argv);
    else
        advise_shell(ret, argv);
}

/* Advises for a script in the job's directory that was named without a slash. */
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

/* Advises python3 for python, if only that exists. */
static void advise_third(struct command_advice *ret, char *const argv[], const char *cwd,
                         const char *path)
{
    char name[64];
    int n = snprintf(name, sizeof(name), "%s3", argv[0]);
    if (n >= (int)sizeof(name) || search(name, cwd, path) != COMMAND_FOUND)
        return;
    append(ret->instead, sizeof(ret->instead), name);
    command_quote(ret->instead, sizeof(ret->instead), argv + 1);
}

static void advise_missing(struct command_advice *ret, char *const argv[],
                           const char *cwd, const char *path, bool named)
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
        if (!named)
            advise_third(ret, argv, cwd, path);
    }
}

static void advise_not_executable(struct command_advice *ret, char *const argv[],
                                  const char *file)
{
    char name[64];
    struct stat st;

    if (is_directory(file)) {
        (void)snprintf(ret->problem, sizeof(ret->problem), "%.100s is a directory",
                       argv[0]);
        return;
    }
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s is neither a program nor a script", argv[0]);
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
    if (!path)
        path = ACCOUNT_PATH;
    enum command_check result =
        named ? look_at(file, COMMAND_NOT_EXECUTABLE) : search(argv[0], cwd, path);

    *ret = (struct command_advice){{0}, {0}};
    if (result == COMMAND_FOUND && named &&
        (is_foreign_text(ret, argv[0], file) || !has_interpreter(ret, argv, file)))
        return COMMAND_NOT_EXECUTABLE;
    const char *script = result == COMMAND_FOUND ? file_of_shell(argv) : NULL;
    if (script && is_foreign_text(ret, script, in_directory(buf, cwd, script)))
        return COMMAND_NOT_EXECUTABLE;
    if (result == COMMAND_NOT_FOUND)
        advise_missing(ret, argv, cwd, path, named);
    else if (result == COMMAND_NOT_EXECUTABLE && named)
        advise_not_executable(ret, argv, file);
    else if (result == COMMAND_NOT_EXECUTABLE)
        (void)snprintf(ret->problem, sizeof(ret->problem),
                       "%.100s was found in PATH, but is not executable", argv[0]);
    return result;
}

bool command_has_operators(char *const argv[], struct command_advice *ret)
{
    static const char *const takers[] = {
        "grep", "egrep", "fgrep", "expr", "test",  "[",      "awk",  "sed", "find",
        "tr",   "cut",   "sort",  "join", "paste", "printf", "echo", "jq",  NULL};
    const char *slash = strrchr(argv[0], '/');
    char *const *at = argv + 1;

    *ret = (struct command_advice){{0}, {0}};
    if (is_among(takers, slash ? slash + 1 : argv[0]))
        return false;
    while (*at && !is_operator(*at))
        at++;
    if (!*at)
        return false;
    (void)snprintf(
        ret->problem, sizeof(ret->problem),
        "%s is an argument of the command, and does nothing else without a shell", *at);
    advise_shell(ret, argv);
    return true;
}
