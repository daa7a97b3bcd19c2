/* A growable run of bytes, filled at its end and emptied at its start.
 *
 * The bytes are data[start..end). Emptying moves nothing; growing moves the rest to the
 * front first. An emptied buffer frees memory beyond WIRE_BUF_KEEP, so that an idle peer
 * does not keep the memory of one large message. */
#ifndef VOLT_WIRE_BUFFER_H
#define VOLT_WIRE_BUFFER_H

#include <stddef.h>

#define WIRE_BUF_KEEP 16384

struct wire_buf { /* empty if zero-initialised */
    char *data;
    size_t start, end, cap;
};

void wire_buf_fini(struct wire_buf *b);
static inline size_t wire_buf_len(const struct wire_buf *b)
{
    return b->end - b->start;
}
static inline char *wire_buf_at(const struct wire_buf *b)
{
    return b->data + b->start;
}
/* Makes room for `more` bytes behind the end; may move the bytes. Returns 0 or
 * -ENOMEM. */
int wire_buf_reserve(struct wire_buf *b, size_t more);
/* Appends len bytes; bytes may be NULL if len is 0. Returns 0, or -ENOMEM and b is
 * unchanged. */
int wire_buf_append(struct wire_buf *b, const void *bytes, size_t len);
/* Appends head (a string), the bytes of `text`, and tail. If b is empty and `text` large,
 * the two swap their memory instead of a copy. Returns 0, or -ENOMEM and b is
 * unchanged. */
int wire_buf_wrap(struct wire_buf *b, const char *head, struct wire_buf *text,
                  const char *tail, size_t tail_len);
/* Drops len bytes from the start; len <= wire_buf_len(). */
void wire_buf_consume(struct wire_buf *b, size_t len);

#endif
