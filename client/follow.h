/* Prints the output of one job: all, its last lines, or following it to the end.
 *
 * Local clients get the output file as a descriptor and read it at memory speed. Without
 * a descriptor, and where an output is followed here, the daemon sends the bytes
 * (org.voltd.logs.Read). outputs_watch.h follows faster, where inotify may be used. */
#ifndef VOLT_CLIENT_FOLLOW_H
#define VOLT_CLIENT_FOLLOW_H

#include "client/client.h"
#include "client/printer.h"
#include "client/tail.h"

#include <sys/types.h>

struct follow_request {
    const char *id;
    const char *stream;      /* "stdout" or "stderr" */
    struct printer *printer; /* borrowed */
    struct tail tail;        /* prints only this part, and a notice if bytes limit it */
    off_t *offset;           /* where to begin, -1: with the tail; then what is printed */
    bool follow;             /* follows to the end of the job; waits for its start */
};

/* Prints the bytes of a reply of Read. Returns 0, or negative. */
int follow_print_reply(struct printer *p, const struct client_reply *reply);
/* Prints the output. Returns:
 *   0
 *   1            an error reply, moved to *error
 *   -EINTR
 *   -EPIPE etc.  of writing; the printer has failed
 *   -ECONNRESET  while following it may go on, from *rq->offset */
int follow_output(struct client *c, const struct follow_request *rq,
                  struct client_reply *error);

#endif
