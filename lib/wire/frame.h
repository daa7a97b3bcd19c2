/* The frame splitter: bytes in any pieces become messages, each ended by a NUL.
 *
 *     frame_space(&r, &at, &room);  n = read(fd, at, room);  frame_filled(&r, n);
 *     while (frame_next(&r, &message, &len) == SCAN_END) { ...; frame_done(&r); }
 *
 * One read is not one message: it may bring a piece of one, or many. Every byte is
 * scanned once (scan.h); a result that is neither MORE nor END is final: what follows
 * cannot be trusted to be in step, and the connection is to be closed. */
#ifndef VOLT_WIRE_FRAME_H
#define VOLT_WIRE_FRAME_H

#include "wire/buffer.h"
#include "wire/scan.h"

struct frame_reader { /* zero-initialised but for limits */
    struct scan_limits limits;
    struct scan scan;   /* of the message that is arriving or has just ended */
    struct wire_buf in; /* private, with the next two */
    size_t scanned;     /* bytes of `in` that the scan has seen */
    enum scan_result state;
};

void frame_fini(struct frame_reader *r);

/* Room to read into: at least 4 KiB, more when a long message is arriving.
 * 0 or -ENOMEM. */
int frame_space(struct frame_reader *r, char **ret_at, size_t *ret_room);
/* n bytes have been read into the room. */
void frame_filled(struct frame_reader *r, size_t n);

/* END: the next message, NUL-terminated, len bytes without the NUL; it stays until
 * frame_done(), and asking again gives it again. MORE: there is none yet. */
enum scan_result frame_next(struct frame_reader *r, char **ret_message, size_t *ret_len);
/* Gives the message of the last END back. */
void frame_done(struct frame_reader *r);

/* The last byte that has come is a line end. */
static inline bool frame_ends_line(const struct frame_reader *r)
{
    const size_t n = wire_buf_len(&r->in);

    return n > 0 && wire_buf_at(&r->in)[n - 1] == '\n';
}

/* Bytes received and not yet given back. After a MORE: of an unfinished message. */
static inline size_t frame_pending(const struct frame_reader *r)
{
    return wire_buf_len(&r->in);
}

#endif
