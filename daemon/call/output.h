/* Output of a connection: bytes that the peer has yet to read, and their descriptors.
 *
 * A descriptor belongs to the first byte of a reply. A send never reaches over such a
 * byte: sendmsg() attaches descriptors to the first byte it sends. */
#ifndef VOLTD_CALL_OUTPUT_H
#define VOLTD_CALL_OUTPUT_H

#include "wire/buffer.h"
#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_FDS_MAX 16

struct output { /* zero-initialised is empty */
    struct wire_buf bytes;
    uint64_t sent; /* bytes sent in all */
    struct {
        uint64_t at; /* position of the byte, counted as `sent` */
        int fd;
    } fds[OUTPUT_FDS_MAX]; /* in order */
    unsigned nfds;
};

void output_fini(struct output *o); /* closes descriptors that were not sent */
/* Attaches fd to the next byte that is appended. Takes fd. -ENOBUFS: there are
 * OUTPUT_FDS_MAX already, and fd is closed. */
int output_push_fd(struct output *o, int fd);
/* Closes a descriptor whose byte was never appended. */
void output_drop_loose_fd(struct output *o);
/* Returns whether so much is unread that the peer gets nothing more for now. */
bool output_is_full(const struct output *o, uint64_t high_water);

/* Returns what to send next: bytes, and the descriptor of the first byte or -1. False:
 * nothing to send. */
bool output_next(const struct output *o, const char **ret_at, size_t *ret_len,
                 int *ret_fd);
/* Removes the first n > 0 bytes, which were sent with their descriptor. */
void output_sent(struct output *o, size_t n);

#endif
