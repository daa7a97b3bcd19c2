/* Output of several jobs and arrays: one after the other, or followed all at once. */
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
    uint64_t lines;                /* of each only the last so many; UINT64_MAX: all */
    bool follow;                   /* to the end of all */
    bool keep_order;               /* with follow: each whole before the next */
    const struct job_files *files; /* with follow: files of the user too; or NULL */
    struct retry_watch *retries; /* says which attempts have failed; NULL: nothing does */
    bool own; /* given out by this voltd just now: one without output is no mistake */
    /* Says it; returns a code. c: a connection without a stream, or NULL. */
    int (*refused)(struct client *c, const struct client_reply *error);
};

enum { OUTPUTS_FOLLOW_MOST = 15000 }; /* ids that one message holds */

/* With one id that is no array it is as follow_output(), and there is no prefix. *c may
 * be replaced, and is NULL when there is none any more. *ret_code: the largest of what
 * refused() returned. 0; -EINTR; -ECONNRESET and the like, which is to be said where *c
 * is there still; what writing said, with *ret_writing. */
int outputs_print(struct client **c, const struct outputs_request *rq, int *ret_code,
                  bool *ret_writing);

#endif
