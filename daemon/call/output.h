/* What a peer has yet to read: bytes, and the descriptors that go with some of them.
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
    uint64_t sent; /* bytes ever */
    struct {
        uint64_t at; /* position of the byte, counted as `sent` */
        int fd;
    } fds[OUTPUT_FDS_MAX]; /* in order */
    unsigned nfds;
};

void output_fini(struct output *o); /* closes what was not sent */
/* The next byte that is appended gets this descriptor. Takes fd; -ENOBUFS when there are
 * OUTPUT_FDS_MAX already (then it is closed). */
int output_push_fd(struct output *o, int fd);
/* Forgets (and closes) a descriptor whose byte was never appended. */
void output_drop_loose_fd(struct output *o);
/* True when a peer has so much to read that it gets nothing more for now. */
bool output_is_full(const struct output *o, uint64_t high_water);

/* What to send next: bytes, and a descriptor for the first of them or -1.
 * False: nothing. */
bool output_next(const struct output *o, const char **ret_at, size_t *ret_len,
                 int *ret_fd);
/* n > 0 of these bytes were sent, the descriptor with them. */
void output_sent(struct output *o, size_t n);

#endif
