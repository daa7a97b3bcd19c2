/* See buffer.h. */
#include "wire/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void wire_buf_fini(struct wire_buf *b)
{
    free(b->data);
    *b = (struct wire_buf){0};
}

int wire_buf_reserve(struct wire_buf *b, size_t more)
{
    size_t len = wire_buf_len(b);

    if (b->cap - b->end >= more)
        return 0;
    if (more > SIZE_MAX / 4 - len)
        return -ENOMEM;
    /* Moving must free at least half of the buffer: otherwise a nearly full one would be
     * moved once per message. */
    if (b->cap >= 2 * (len + more)) {
        memmove(b->data, b->data + b->start, len);
    } else {
        size_t cap = b->cap ? b->cap : 4096;
        char *data;

        while (cap < len + more)
            cap *= 2;
        /* The system moves the pages of large memory: no byte of it is copied. */
        data = b->start == 0 ? realloc(b->data, cap) : malloc(cap);
        if (!data)
            return -ENOMEM;
        if (b->start > 0) {
            memcpy(data, b->data + b->start, len);
            free(b->data);
        }
        b->data = data;
        b->cap = cap;
    }
    b->start = 0;
    b->end = len;
    return 0;
}

int wire_buf_append(struct wire_buf *b, const void *bytes, size_t len)
{
    int r = wire_buf_reserve(b, len);

    if (r < 0)
        return r;
    if (len > 0)
        memcpy(b->data + b->end, bytes, len);
    b->end += len;
    return 0;
}

int wire_buf_wrap(struct wire_buf *b, const char *head, struct wire_buf *text,
                  const char *tail, size_t tail_len)
{
    size_t head_len = strlen(head), len = wire_buf_len(text);
    bool swap = wire_buf_len(b) == 0 && len > b->cap;
    int r = wire_buf_reserve(swap ? text : b, head_len + len * !swap + tail_len);

    if (r < 0)
        return r;
    if (swap) {
        struct wire_buf old = *b;

        memmove(wire_buf_at(text) + head_len, wire_buf_at(text), len);
        memcpy(wire_buf_at(text), head, head_len);
        text->end += head_len;
        *b = *text;
        *text = old;
    } else {
        (void)wire_buf_append(b, head, head_len);
        (void)wire_buf_append(b, wire_buf_at(text), len);
    }
    return wire_buf_append(b, tail, tail_len);
}

void wire_buf_consume(struct wire_buf *b, size_t len)
{
    assert(len <= wire_buf_len(b));
    b->start += len;
    if (b->start < b->end)
        return;
    b->start = b->end = 0;
    if (b->cap > WIRE_BUF_KEEP)
        wire_buf_fini(b);
}
