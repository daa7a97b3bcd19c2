/* The environment of jobs: "NAME=value" strings.
 *
 * Most jobs of a user have the same environment, larger than the rest of their specs. So
 * it is immutable and counted: specs share it, together with its packed form (pack.h),
 * which the store and waiting jobs have. */
#ifndef VOLTD_JOB_ENV_H
#define VOLTD_JOB_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/pack.h"

struct job_env;

/* Copies a NULL-terminated array. Returns new; NULL: out of memory. */
struct job_env *job_env_new(char *const *strings);
/* Reads what job_env_pack() wrote. Returns new; NULL: failed. */
struct job_env *job_env_unpack(struct unpack *u);
struct job_env *job_env_ref(struct job_env *env);
void job_env_unref(struct job_env *env); /* NULL allowed */

/* Returns the strings in order; ends with NULL. */
char *const *job_env_strings(const struct job_env *env);
/* Returns whether each string has a name and a "=". */
bool job_env_is_valid(const struct job_env *env);
/* NULL equals only NULL. */
bool job_env_equal(const struct job_env *a, const struct job_env *b);
void job_env_pack(const struct job_env *env, struct pack *to);
/* Packs the variables for comparing submissions, sorted by name. Leaves out `_`, SHLVL
 * and OLDPWD, which shells change from command to command. Leaves out PWD, which becomes
 * the job's directory (run/launch.h). */
void job_env_pack_compared(const struct job_env *env, struct pack *to);
/* Likewise, only variables with these sorted names. */
void job_env_pack_named(const struct job_env *env, char *const *names, struct pack *to);
/* Returns the bytes of heap it takes. */
size_t job_env_bytes(const struct job_env *env);

#endif
