/* What a program that waits tells of what it waits for: after a while, then ever more
 * rarely, and on standard error, terminal or not. */
#ifndef VOLT_CLIENT_PATIENCE_H
#define VOLT_CLIENT_PATIENCE_H

#include "client/client.h"

struct patience {
    uint64_t due_usec, gap_usec;
};

void patience_init(struct patience *p);
/* Until something is to be said, for client_receive(). */
uint64_t patience_left(const struct patience *p);
/* The same in milliseconds, for poll(). */
int patience_left_ms(const struct patience *p);
/* Whether that time has come; the next one is then twice as far away. */
bool patience_is_over(struct patience *p);

/* Which jobs are named. */
enum patience_which {
    PATIENCE_ALL,     /* that have not ended */
    PATIENCE_WAITING, /* those of them that wait or are paused, and are no arrays */
    PATIENCE_STUCK,   /* those that something keeps from going on: voltd-keeper, or
                       * processes that SIGKILL does not end */
};

/* Names some of the jobs that match the filter, and what each of them does:
 * "12 (running), 13 (stopping, waiting for ...), ...". Takes filter. False: there is
 * none, or voltd does not say. */
bool patience_name(struct client *c, json_t *filter, enum patience_which which, char *buf,
                   size_t size);

#endif
