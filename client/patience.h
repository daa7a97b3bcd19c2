/* Tells when to report what a waiting program waits for: after a while, then ever less
 * often, on standard error, terminal or not. */
#ifndef VOLT_CLIENT_PATIENCE_H
#define VOLT_CLIENT_PATIENCE_H

#include "client/client.h"

struct patience {
    uint64_t due_usec, gap_usec;
};

void patience_init(struct patience *p);
/* Returns the time until the next report, in us, for client_receive(). */
uint64_t patience_left(const struct patience *p);
/* Likewise in ms, for poll(). */
int patience_left_ms(const struct patience *p);
/* Returns whether the report is due; the next one is then twice as far away. */
bool patience_is_over(struct patience *p);

/* Which jobs to name. */
enum patience_which {
    PATIENCE_ALL,     /* jobs that have not ended */
    PATIENCE_WAITING, /* jobs of these that wait or are paused; no arrays */
    PATIENCE_STUCK,   /* jobs of these that cannot go on, because of voltd-keeper or of
                       * processes that SIGKILL does not end */
};

/* Writes some of the jobs that match the filter, with their states: "12 (running), 13
 * (stopping, waiting for ...), ...". Takes filter. Returns false if there is none, or
 * voltd does not answer. */
bool patience_name(struct client *c, json_t *filter, enum patience_which which, char *buf,
                   size_t size);

#endif
