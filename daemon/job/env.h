/* The environment of jobs: "NAME=value" strings.
 *
 * Most jobs of a user have the same one, which is larger than all else in their specs. So
 * it is immutable and counted: specs share it, and it has its packed form (pack.h) with
 * it, which the store and waiting jobs keep. */
#ifndef VOLTD_JOB_ENV_H
#define VOLTD_JOB_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/pack.h"

struct job_env;

/* Copies an array that ends with NULL. Returns new; NULL: out of memory. */
struct job_env *job_env_new(char *const *strings);
/* What job_env_pack() has written. Returns new; NULL: failed. */
struct job_env *job_env_unpack(struct unpack *u);
struct job_env *job_env_ref(struct job_env *env);
void job_env_unref(struct job_env *env); /* NULL allowed */

/* The strings, in their order; ends with NULL. */
char *const *job_env_strings(const struct job_env *env);
/* Each string has a name and a "=". */
bool job_env_is_valid(const struct job_env *env);
/* Both may be NULL, which only NULL equals. */
bool job_env_equal(const struct job_env *a, const struct job_env *b);
void job_env_pack(const struct job_env *env, struct pack *to);
/* Packs what counts when two submissions are compared: the variables, in whatever order
 * they came. Shells move `_` about, and change it, SHLVL and OLDPWD from one command to
 * the next; PWD is the job's directory, whatever it was (launch.h). */
void job_env_pack_compared(const struct job_env *env, struct pack *to);
/* The same of those alone that have one of these names, which are sorted. */
void job_env_pack_named(const struct job_env *env, char *const *names, struct pack *to);
/* Bytes of heap that it takes. */
size_t job_env_bytes(const struct job_env *env);

#endif
