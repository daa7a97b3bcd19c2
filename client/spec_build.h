/* From what volt-submit was told to the JSON of a job spec. */
#ifndef VOLT_CLIENT_SPEC_BUILD_H
#define VOLT_CLIENT_SPEC_BUILD_H

#include "client/index_list.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>

/* Adds NAME=VALUE, or NAME with the value of our own environment, to an object of
 * strings (env, labels). 0; -EINVAL with the reason. */
int spec_build_pair(json_t *object, const char *text, bool from_environment,
                    struct volt_error *err);
/* Fills object with our environment; ret_skipped: variables that are not UTF-8, which the
 * protocol cannot carry. 0; -ENOMEM. */
int spec_build_environment(json_t *object, char *const *environ_list,
                           unsigned *ret_skipped);
/* A string member from a path, made absolute against the current directory. */
int spec_build_path(json_t *spec, const char *name, const char *path,
                    struct volt_error *err);
/* A member in microseconds from a time like 30s, 10m or 1h30m. 0; negative with the
 * reason. */
int spec_build_time(json_t *spec, const char *name, const char *text,
                    struct volt_error *err);
/* Bounds, and the ranges between them where not all indexes are meant. New. */
json_t *spec_build_array(const struct index_list *l);
/* "TERM", "SIGTERM", "term" or "15" to "SIGTERM"; "RTMAX-1" to "SIGRTMIN+29". 0;
 * -EINVAL. */
int spec_build_signal(const char *text, char *buf, size_t size);
/* Reads fd to its end: what the job is to find on its standard input. 0; negative with
 * the reason. */
int spec_build_input(json_t *spec, int fd, struct volt_error *err);
/* A file with that, where it is too long to go with the call. Returns a descriptor of the
 * caller's own; -ENOENT: it is short, or there is none; -ENOMEM ... */
int spec_build_input_file(const json_t *spec);
/* Our resource limits, as a spec has them (limits.rlimits). Returns new; NULL:
 * no memory. */
json_t *spec_build_rlimits(void);
/* This process's umask. */
mode_t spec_build_umask(void);

#endif
