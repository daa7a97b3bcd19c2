/* Parts of what the keeper runs for a job: hook_launch.c. */
#ifndef VOLTD_RUN_LAUNCH_H
#define VOLTD_RUN_LAUNCH_H

#include "daemon/job/key.h"
#include "daemon/job/spec.h"

/* Returns new: a word of a command, with the index in place of each "{i}". Leaves "{i}"
 * after a "$". Leaves words with blanks, which are mostly programs with braces of their
 * own. NULL: no memory. */
char *launch_expand(const char *word, const char *index);
/* Returns new, one allocation for free(): the environment. `more` replaces variables of
 * `given` with the same names. The VOLT_* variables of the job replace both. PWD, if
 * given, becomes cwd: the submitter may have been in another directory, and programs
 * trust it. cwd NULL: only the keeper knows it, so PWD is dropped. NULL: no memory. */
char **launch_env(char *const *given, char *const *more, const char *cwd,
                  const struct job_key *key, const char *socket);

#endif
