/* Whether a command can be found, before it is submitted: a job that ends at once because
 * its first word names nothing is a mistake that its author mends best. */
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
    char problem[256]; /* what is wrong, a sentence without a full stop */
    char instead
        [1024]; /* what to give volt-submit instead, as typed in a shell; may be "" */
};

/* Looks for argv[0] as execvp(3) would: with a slash from the directory cwd, else in the
 * folders of path; NULL: in those of an account. argv is NULL-terminated; its first word
 * is not empty. Fills *ret unless the result is COMMAND_FOUND. What this process may not
 * look at counts as found: the job may be another user. */
enum command_check command_check(char *const argv[], const char *cwd, const char *path,
                                 struct command_advice *ret);

/* Whether a word behind the first one is an operator of a shell, and the program none
 * that takes such words itself: *ret says which, and has the line that is meant. */
bool command_has_operators(char *const argv[], struct command_advice *ret);

/* Whether a script whose text begins so was saved as other systems save texts, which no
 * shell takes: with CR LF at the ends of its lines, or with a byte order mark. *ret has
 * the reason; word is what the script is called. */
bool command_is_foreign_text(const char *word, const char *text,
                             struct command_advice *ret);
/* What names, in the first line of a script that is stored, what runs it: whether that is
 * there. *ret has the reason. */
bool command_has_interpreter(const char *word, const char *text,
                             struct command_advice *ret);

/* Appends the words to buf, quoted for a shell where they need it and cut at its size. */
void command_quote(char *buf, size_t size, char *const argv[]);

#endif
