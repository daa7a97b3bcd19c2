/* Writes JSON as text, piece by piece, into a buffer.
 *
 * For long answers: a tree of values takes ten times the time of the text and several
 * times its memory. The text is the same that wire_encode() makes of such a tree. The
 * caller keeps it valid: keys are plain ASCII and occur once in their object, and every
 * bracket is closed. */
#ifndef VOLT_WIRE_WRITER_H
#define VOLT_WIRE_WRITER_H

#include "wire/buffer.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct wire_writer {
    struct wire_buf *out;
    int error; /* 0; -ENOMEM: nothing is written after it, so one check at the end is
                * enough */
};

/* Write a member of the open object; with key NULL an entry of the array, or the whole
 * text. bracket: '{' or '[', and '}' or ']'. */
void wire_open(struct wire_writer *w, const char *key, char bracket);
void wire_close(struct wire_writer *w, char bracket);
void wire_put_int(struct wire_writer *w, const char *key, int64_t value);
void wire_put_bool(struct wire_writer *w, const char *key, bool value);
/* Bytes that are not UTF-8 become question marks, as in wire_text(). */
void wire_put_text(struct wire_writer *w, const char *key, const char *text);
/* Writes a value that is JSON text already. */
void wire_put_raw(struct wire_writer *w, const char *key, const char *text, size_t len);
/* Takes value; NULL sets error to -ENOMEM. */
void wire_put_json(struct wire_writer *w, const char *key, json_t *value);

#endif
