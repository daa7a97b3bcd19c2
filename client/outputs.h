/* Prints the output of several jobs and arrays: one after the other, or following all at
 * once. */
#ifndef VOLT_CLIENT_OUTPUTS_H
#define VOLT_CLIENT_OUTPUTS_H

#include "client/client.h"
#include "client/job_files.h"
#include "client/printer.h"

struct retry_watch;

struct outputs_request {
    const struct address_choice *choice;
    uint64_t reconnect_usec;
    int interrupt;    /* see client_set_interrupt_fd(); or -1 */
    char *const *ids; /* jobs, arrays, elements */
    size_t nids;
    const char *stream; /* "stdout" or "stderr" */
    int out;
    bool cleans; /* see struct printer */
    bool no_prefix;
    uint64_t lines;                /* last lines of each; UINT64_MAX: all */
    bool follow;                   /* follows to the end of all */
    bool keep_order;               /* with follow: each whole before the next */
    const struct job_files *files; /* with follow: also files of the user; or NULL */
    struct retry_watch *retries;   /* reports failed attempts; NULL: none are reported */
    bool own; /* this voltd has just given out the ids: a job without output is no
               * error */
    bool direct; /* with own: the only id is no array, and voltd has its output, which is
                  * opened before anything is asked */
    /* Reports an error reply, and returns an exit code. c: a connection without a stream,
     * or NULL. */
    int (*refused)(struct client *c, const struct client_reply *error);
};

enum { OUTPUTS_FOLLOW_MOST = 15000 }; /* ids that fit into a message */

/* Prints the outputs. A single id that is no array is printed without a prefix. *c may be
 * replaced, and is NULL if there is no connection. *ret_code: the largest code that
 * refused() returned. Returns:
 *   0
 *   -EINTR
 *   -ECONNRESET etc.  which the caller reports if *c is not NULL
 *   other             error of writing, with *ret_writing */
int outputs_print(struct client **c, const struct outputs_request *rq, int *ret_code,
                  bool *ret_writing);

#endif
