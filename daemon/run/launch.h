/* Parts of what the keeper is told to run: hook_launch.c. */
#ifndef VOLTD_RUN_LAUNCH_H
#define VOLTD_RUN_LAUNCH_H

#include "daemon/job/key.h"
#include "daemon/job/spec.h"

/* Returns new: a word of a command with the index in the place of each "{i}". It stays
 * where "$" stands in front of it, and in a word with blanks, which is mostly a program
 * that has braces of its own. NULL: no memory. */
char *launch_expand(const char *word, const char *index);
/* Returns new, one allocation to be freed with free(): the variables that are given, more
 * instead of the same names and beside them, and our VOLT_* variables instead of all.
 * PWD, where it is given, becomes cwd: the submitter was perhaps in another directory,
 * and programs believe it. cwd NULL: the keeper knows it, and PWD is dropped. NULL: no
 * memory. */
char **launch_env(char *const *given, char *const *more, const char *cwd,
                  const struct job_key *key, const char *socket);

#endif
