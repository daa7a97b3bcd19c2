/* Prints the output of a job: all, its last lines, or following it to the end.
 *
 * Local clients get the output file as a descriptor and read it at memory speed; inotify
 * reports growth, and the daemon the end of the job. Without a descriptor or an inotify
 * instance, the daemon sends the bytes (org.voltd.logs.Read). */
#ifndef VOLT_CLIENT_FOLLOW_H
#define VOLT_CLIENT_FOLLOW_H

#include "client/client.h"
#include "client/job_files.h"
#include "client/printer.h"
#include "client/tail.h"

#include <sys/types.h>

struct retry_watch;

struct follow_request {
    const struct address_choice *choice; /* to reconnect: after waiting for a start, */
    uint64_t reconnect_usec; /* and for so long if the connection is lost while
                              * following */
    int interrupt;           /* see client_set_interrupt_fd(); or -1 */
    const char *id;
    const char *stream;      /* "stdout" or "stderr" */
    struct printer *printer; /* borrowed */
    struct tail tail;        /* prints only this part, and a notice if bytes limit it */
    off_t offset;            /* printed before; -1: nothing, begin with the tail */
    bool follow;             /* follows to the end of the job; waits for its start */
    const struct job_files *files; /* with follow: also a file of the user; or NULL */
    struct retry_watch *retries;   /* reports failed attempts; NULL: none are reported */
};

/* Returns whether an output was truncated below what was printed of it. Then prints a
 * notice, and sets *offset to its beginning. */
bool follow_is_cut(int fd, const char *id, off_t *offset);
/* Prints the output. *c may be replaced by another connection, and is NULL if there is
 * none. Returns:
 *   0
 *   1            an error reply, moved to *error
 *   -EINTR
 *   -EPIPE etc.  of writing; the printer has failed
 *   -ECONNRESET  reported if reconnecting was tried */
int follow_output(struct client **c, const struct follow_request *rq,
                  struct client_reply *error);

#endif
