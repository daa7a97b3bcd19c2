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

/* Names some of the jobs that match the filter and have not ended, and what each of them
 * does: "12 (running), 13 (stopping, waiting for ...), ...". stuck: only those that
 * something keeps from going on: voltd-keeper, or processes that SIGKILL does not end.
 * Takes filter. False: there is none, or voltd does not say. */
bool patience_name(struct client *c, json_t *filter, bool stuck, char *buf, size_t size);

#endif
