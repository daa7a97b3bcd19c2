/* Reads files of the user that jobs print to (--output=PATH) while the jobs run: voltd
 * does not store them.
 *
 * The contents of such a file from before the submission are not output of the job, so
 * their size is noted. A job counts as running a moment before it opens its files. If a
 * file will be made or truncated, the reader waits for that. */
#ifndef VOLT_CLIENT_JOB_FILES_H
#define VOLT_CLIENT_JOB_FILES_H

#include "client/client.h"

#include <sys/types.h>

struct job_files {
    json_t *before; /* by path: size of files that were not empty; if truncated, time of
                     * last change */
    bool truncates;
};

/* Notes the files that jobs of this spec will print to. Returns 0 or -ENOMEM. */
int job_files_note(struct job_files *f, const json_t *spec);
void job_files_fini(struct job_files *f);
/* Returns whether each of the spec's several jobs has a file of its own. */
bool job_files_apart(const json_t *spec);

/* Opens the file of a job that has started, as if org.voltd.logs.Open had answered:
 * replaces *ret, with its descriptor and "ended". *ret_from: where the output of the job
 * begins. Returns:
 *   1
 *   0      no readable file; *ret is unchanged
 *   other  as client_call() */
int job_files_open(const struct job_files *f, struct client *c, const char *id,
                   const char *stream, struct client_reply *ret, off_t *ret_from);

#endif
