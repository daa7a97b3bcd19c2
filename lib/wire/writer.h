/* JSON written as text, piece by piece, into a buffer.
 *
 * For answers that tell of many things: a tree of values costs ten times the time of its
 * text, and several times its memory. The text is what wire_encode() would have made of
 * such a tree. Keys and brackets are the caller's business: keys are plain ASCII, each is
 * written once in its object, and what is opened is closed. */
#ifndef VOLT_WIRE_WRITER_H
#define VOLT_WIRE_WRITER_H

#include "wire/buffer.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct wire_writer {
    struct wire_buf *out;
    int error; /* 0; -ENOMEM: nothing is written after it; one check at the end does */
};

/* Each is a member of the object that is open, or with key NULL an entry of the array or
 * the whole text. bracket: '{' or '[', and '}' or ']'. */
void wire_open(struct wire_writer *w, const char *key, char bracket);
void wire_close(struct wire_writer *w, char bracket);
void wire_put_int(struct wire_writer *w, const char *key, int64_t value);
void wire_put_bool(struct wire_writer *w, const char *key, bool value);
/* As wire_text(): bytes that are not UTF-8 become question marks. */
void wire_put_text(struct wire_writer *w, const char *key, const char *text);
/* A value that is text already. */
void wire_put_raw(struct wire_writer *w, const char *key, const char *text, size_t len);
/* Takes value; NULL: there was no memory for it. */
void wire_put_json(struct wire_writer *w, const char *key, json_t *value);

#endif
