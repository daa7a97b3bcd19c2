/* JSON text to values and back, with a bound on memory.
 *
 * Values need far more memory than their text (a byte of "{}" becomes 80 bytes of heap),
 * so a parse has a budget of heap. A parse that exceeds its budget fails: its text is cut
 * off, at most a kilobyte later. jansson's allocation functions count the budget per
 * thread, during a parse only. */
#ifndef VOLT_WIRE_JSON_H
#define VOLT_WIRE_JSON_H

#include "wire/buffer.h"
#include <jansson.h>
#include <volt/error.h>

/* Parses one JSON object. Returns:
 *   0        *ret is a new reference
 *   -EINVAL  not an object, JSON or UTF-8; a duplicate key; nested too deeply for jansson
 *   -E2BIG   over the budget
 *   -ENOMEM
 * err says what is wrong and where. Two errors of jansson pass, so that the check of the
 * fields can name the field: strings with a NUL inside, and integers beyond 64 bits,
 * which become reals. */
int wire_parse(const char *text, size_t len, size_t budget, json_t **ret,
               struct volt_error *err);

/* The same for a text in pieces. */
#define WIRE_PIECES 3
struct wire_piece {
    const char *bytes;
    size_t len;
};
int wire_parse_pieces(const struct wire_piece pieces[WIRE_PIECES], size_t budget,
                      json_t **ret, struct volt_error *err);

/* Parses the next value of a text that is the inside of an array, and moves *at behind
 * it. Returns 1 with a new reference to a value of any kind; 0 at the end; or as
 * wire_parse(). */
int wire_parse_entry(const char *text, size_t len, size_t *at, size_t budget,
                     json_t **ret, struct volt_error *err);

/* Appends the value as a message: compact text and a NUL. Borrows value. Returns 0;
 * -ENOMEM or -EINVAL (not UTF-8), and the buffer is unchanged. */
int wire_encode(struct wire_buf *out, const json_t *value);

/* Returns a new JSON string; NULL without memory. A byte that is not UTF-8, or the rest
 * of a character that was cut, becomes a question mark. */
json_t *wire_text(const char *text);

/* Add a member or entry; they take value. If value is NULL or memory is short, *to is
 * freed and stays NULL, so one check at the end is enough. */
void wire_set(json_t **to, const char *key, json_t *value);
void wire_add(json_t **to, json_t *value);

#endif
