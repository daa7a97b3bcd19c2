/* Walks the jobs that a List finds, page by page. */
#ifndef VOLT_CLIENT_EACH_JOB_H
#define VOLT_CLIENT_EACH_JOB_H

#include "client/client.h"

/* A negative result ends the walk. */
typedef int each_job_fn(void *arg, json_t *job);

/* Calls fn with each job that List finds with these parameters, which it takes. Returns:
 *   0
 *   1         an error reply, moved to *error unless that is NULL
 *   negative  the result of fn, or as client_call() */
int each_job(struct client *c, json_t *parameters, each_job_fn *fn, void *arg,
             struct client_reply *error);
/* Returns the parameters for the elements of an array, new; results: a list for a filter,
 * which it takes, or NULL: any. */
json_t *each_job_elements(const char *array, json_t *results);

#endif
