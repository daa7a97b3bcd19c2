/* Frame splitter: bytes in pieces of any size become messages, each ended by a NUL.
 *
 *     frame_space(&r, &at, &room);  n = read(fd, at, room);  frame_filled(&r, n);
 *     while (frame_next(&r, &message, &len) == SCAN_END) { ...; frame_done(&r); }
 *
 * A read may bring a part of a message, or many. Every byte is scanned once (scan.h). A
 * result other than MORE and END is final: the start of the next message is unknown, so
 * the caller must close the connection. */
#ifndef VOLT_WIRE_FRAME_H
#define VOLT_WIRE_FRAME_H

#include "wire/buffer.h"
#include "wire/scan.h"

struct frame_reader { /* zero-initialised but for limits */
    struct scan_limits limits;
    struct scan scan;   /* of the message that arrives or has just ended */
    struct wire_buf in; /* private, with the next two */
    size_t scanned;     /* bytes of `in` that the scan has seen */
    enum scan_result state;
};

void frame_fini(struct frame_reader *r);

/* Makes room to read into: at least 4 KiB, more for a long message. Returns 0 or
 * -ENOMEM. */
int frame_space(struct frame_reader *r, char **ret_at, size_t *ret_room);
/* Notes that n bytes were read into the room. */
void frame_filled(struct frame_reader *r, size_t n);

/* Returns END with the next message, NUL-terminated, len bytes without the NUL. It stays
 * until frame_done(); until then each call returns it again. Returns MORE without one. */
enum scan_result frame_next(struct frame_reader *r, char **ret_message, size_t *ret_len);
/* Frees the message of the last END. */
void frame_done(struct frame_reader *r);

/* Returns whether the last byte received is a line end. */
static inline bool frame_ends_line(const struct frame_reader *r)
{
    const size_t n = wire_buf_len(&r->in);

    return n > 0 && wire_buf_at(&r->in)[n - 1] == '\n';
}

/* Returns the bytes received and not yet freed. After MORE: those of an unfinished
 * message. */
static inline size_t frame_pending(const struct frame_reader *r)
{
    return wire_buf_len(&r->in);
}

#endif
