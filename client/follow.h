/* Output of a job: printing it, its last lines, following it to the end.
 *
 * Local clients get the output file as a descriptor and read it at memory speed; growth
 * is told by inotify, the end of the job by the daemon. Where no descriptor comes, or no
 * inotify instance is to be had, the daemon sends the bytes (org.voltd.logs.Read). */
#ifndef VOLT_CLIENT_FOLLOW_H
#define VOLT_CLIENT_FOLLOW_H

#include "client/client.h"
#include "client/job_files.h"
#include "client/printer.h"
#include "client/tail.h"

#include <sys/types.h>

struct retry_watch;

struct follow_request {
    const struct address_choice
        *choice;             /* to connect again: after waiting for a start, */
    uint64_t reconnect_usec; /* and for so long when following lost it */
    int interrupt;           /* see client_set_interrupt_fd(); or -1 */
    const char *id;
    const char *stream;      /* "stdout" or "stderr" */
    struct printer *printer; /* borrowed */
    struct tail tail;        /* only this; a line says when bytes limit it */
    off_t offset;            /* printed before; -1: nothing yet, begin by the tail */
    bool follow;             /* to the end of the job; waits for its start */
    const struct job_files *files; /* with follow: a file of the user too; or NULL */
    struct retry_watch *retries; /* says which attempts have failed; NULL: nothing does */
};

/* Whether an output is shorter than what was printed of it: it was truncated, which is
 * said, and *offset is its beginning. */
bool follow_is_cut(int fd, const char *id, off_t *offset);
/* *c may be replaced by another connection, and is NULL when there is none any more. 0;
 * 1: an error reply, moved to *error;
 * -EINTR; -EPIPE and the like of writing (the printer has then failed); -ECONNRESET,
 * which has been said where it was tried again. */
int follow_output(struct client **c, const struct follow_request *rq,
                  struct client_reply *error);

#endif
