/* See frame.h. */
#include "wire/frame.h"

#include <assert.h>
#include <stdint.h>

#define ROOM_MIN 4096
#define ROOM_MAX (256 * 1024)

void frame_fini(struct frame_reader *r)
{
    wire_buf_fini(&r->in);
}

int frame_space(struct frame_reader *r, char **ret_at, size_t *ret_room)
{
    /* As many bytes as have arrived: few reads for a long message, little memory for a
     * short one. */
    size_t room = wire_buf_len(&r->in);
    int status;

    room = room < ROOM_MIN ? ROOM_MIN : room > ROOM_MAX ? ROOM_MAX : room;
    status = wire_buf_reserve(&r->in, room);
    if (status < 0)
        return status;
    *ret_at = r->in.data + r->in.end;
    *ret_room = r->in.cap - r->in.end;
    return 0;
}

void frame_filled(struct frame_reader *r, size_t n)
{
    assert(n <= r->in.cap - r->in.end);
    r->in.end += n;
}

enum scan_result frame_next(struct frame_reader *r, char **ret_message, size_t *ret_len)
{
    if (r->state == SCAN_MORE) {
        size_t used = 0, fresh = wire_buf_len(&r->in) - r->scanned;

        if (fresh == 0)
            return SCAN_MORE;
        r->state = scan_feed(&r->scan, &r->limits, wire_buf_at(&r->in) + r->scanned,
                             fresh, &used);
        r->scanned += used;
    }
    if (r->state == SCAN_END) {
        *ret_message = wire_buf_at(&r->in);
        *ret_len = r->scan.bytes;
    }
    return r->state;
}

void frame_done(struct frame_reader *r)
{
    assert(r->state == SCAN_END);
    wire_buf_consume(&r->in, r->scanned);
    r->scanned = 0;
    r->scan = (struct scan){0};
    r->state = SCAN_MORE;
}
