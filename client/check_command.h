/* Checks a command before it is submitted, so that its author can correct it at once
 * instead of finding a job that failed. */
#ifndef VOLT_CLIENT_CHECK_COMMAND_H
#define VOLT_CLIENT_CHECK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum command_check {
    COMMAND_FOUND,
    COMMAND_NOT_FOUND,      /* exit code 127 */
    COMMAND_NOT_EXECUTABLE, /* exit code 126 */
};

struct command_advice {
    char problem[256]; /* the problem: a sentence without a full stop */
    char instead
        [1024]; /* words for volt-submit that would work, as typed in a shell; may be
                 * "" */
};

/* Looks for argv[0] as execvp(3) does: with a slash from cwd, otherwise in `path`; NULL:
 * in the usual folders of an account. argv is NULL-terminated and its first word not
 * empty. Fills in *ret unless it returns COMMAND_FOUND. A file that this process may not
 * look at counts as found, as the job may run as another user. */
enum command_check command_check(char *const argv[], const char *cwd, const char *path,
                                 struct command_advice *ret);

/* Returns whether a word after the first one is a shell operator, and the program takes
 * no such words itself. *ret names it, and has the line that was probably meant. */
bool command_has_operators(char *const argv[], struct command_advice *ret);

/* Returns whether a script was saved in a form that no shell takes: with CR LF line ends,
 * or with a byte order mark. *ret has the reason; word: the script's name. */
bool command_is_foreign_text(const char *word, const char *text,
                             struct command_advice *ret);
/* Returns whether the interpreter in a stored script's first line exists. If not, *ret
 * has the reason. */
bool command_has_interpreter(const char *word, const char *text,
                             struct command_advice *ret);

/* Appends the words to buf, quoted for a shell if needed, cut at its size. */
void command_quote(char *buf, size_t size, char *const argv[]);

#endif
