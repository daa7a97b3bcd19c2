/* Files of the user that jobs print to (--output=PATH), read here while the jobs run:
 * voltd does not keep them.
 *
 * What such a file held before the submission is not output of the job, so it is noted.
 * A job is told to run a moment before it opens its files: one that is to be made, or
 * emptied, is waited for. */
#ifndef VOLT_CLIENT_JOB_FILES_H
#define VOLT_CLIENT_JOB_FILES_H

#include "client/client.h"

#include <sys/types.h>

struct job_files {
    json_t *before; /* by path, of those that had something in them: their size, or the
                       time of their last change where they are emptied */
    bool truncates;
};

/* Notes the files that jobs of this spec will print to. 0; -ENOMEM. */
int job_files_note(struct job_files *f, const json_t *spec);
void job_files_fini(struct job_files *f);
/* Whether each job of the spec, of which there are several, has a file of its own. */
bool job_files_apart(const json_t *spec);

/* Opens the file of a job that has started, as if org.voltd.logs.Open had answered: *ret,
 * which is replaced, gets its descriptor and "ended". *ret_from: where the output of the
 * job begins. 1; 0: there is none that can be read, *ret is as it was; or as
 * client_call(). */
int job_files_open(const struct job_files *f, struct client *c, const char *id,
                   const char *stream, struct client_reply *ret, off_t *ret_from);

#endif
