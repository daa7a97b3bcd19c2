/* Builds the JSON of a job spec from options of volt-submit. */
#ifndef VOLT_CLIENT_SPEC_BUILD_H
#define VOLT_CLIENT_SPEC_BUILD_H

#include "client/index_list.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>

/* Adds NAME=VALUE, or NAME with its value in our environment, to an object of strings
 * (env, labels). Returns 0, or -EINVAL with the reason. */
int spec_build_pair(json_t *object, const char *text, bool from_environment,
                    struct volt_error *err);
/* Adds our environment to the object. ret_skipped: number of variables that are not
 * UTF-8, which the protocol cannot carry. Returns 0 or -ENOMEM. */
int spec_build_environment(json_t *object, char *const *environ_list,
                           unsigned *ret_skipped);
/* Adds a string member with a path, made absolute against the current directory. */
int spec_build_path(json_t *spec, const char *name, const char *path,
                    struct volt_error *err);
/* Adds a member in us from a time like 30s, 10m or 1h30m. Returns 0, or negative with the
 * reason. */
int spec_build_time(json_t *spec, const char *name, const char *text,
                    struct volt_error *err);
/* Returns the object of an array, new: bounds, and ranges if not all indexes between them
 * are meant. */
json_t *spec_build_array(const struct index_list *l);
/* Writes the full name of a signal: "TERM", "SIGTERM", "term" or "15" become "SIGTERM",
 * "RTMAX-1" becomes "SIGRTMIN+29". Returns 0 or -EINVAL. */
int spec_build_signal(const char *text, char *buf, size_t size);
/* Reads fd to its end as the job's standard input. Returns 0, or negative with the
 * reason. */
int spec_build_input(json_t *spec, int fd, struct volt_error *err);
/* Returns a new descriptor of a file with the standard input, if it is too long to go
 * with the call; -ENOENT: it is short, or there is none; or another -errno. */
int spec_build_input_file(const json_t *spec);
/* Returns our resource limits for a spec (limits.rlimits), new; NULL: no memory. */
json_t *spec_build_rlimits(void);
/* Returns this process's umask. */
mode_t spec_build_umask(void);

#endif
