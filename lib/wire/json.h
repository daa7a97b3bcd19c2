/* JSON text to values and back, with a bound on memory.
 *
 * Values cost far more than their text (a byte of "{}" becomes 80 bytes of heap), so a
 * parse has a budget of heap: once that is exceeded the text is cut off, at most a
 * kilobyte later, and the parse fails. The budget is counted per thread and only during a
 * parse, by allocation functions that are given to jansson once. */
#ifndef VOLT_WIRE_JSON_H
#define VOLT_WIRE_JSON_H

#include "wire/buffer.h"
#include <jansson.h>
#include <volt/error.h>

/* Parses one JSON object. 0 and a new reference; -EINVAL: not an object, not JSON, not
 * UTF-8, a duplicate key, nested deeper than jansson bears; -E2BIG: over the budget;
 * -ENOMEM. The text says what and where.
 *
 * Two things that jansson takes for syntax errors come through, so that code which checks
 * the fields can name the culprit: strings with a NUL inside, and integers beyond 64
 * bits, which become reals. */
int wire_parse(const char *text, size_t len, size_t budget, json_t **ret,
               struct volt_error *err);

/* The same of a text of some pieces. */
#define WIRE_PIECES 3
struct wire_piece {
    const char *bytes;
    size_t len;
};
int wire_parse_pieces(const struct wire_piece pieces[WIRE_PIECES], size_t budget,
                      json_t **ret, struct volt_error *err);

/* The next value in a text that is the inside of an array, at *at, which moves on behind
 * it: 1 and a new reference to a value of any kind; 0: there is no more; or as
 * wire_parse(). */
int wire_parse_entry(const char *text, size_t len, size_t *at, size_t budget,
                     json_t **ret, struct volt_error *err);

/* Appends the value as a message: compact text and a NUL. Borrows value. 0; -ENOMEM;
 * -EINVAL (not UTF-8). The buffer is unchanged on failure. */
int wire_encode(struct wire_buf *out, const json_t *value);

/* A JSON string, new. A byte that is not UTF-8 (of a name from outside) becomes a
 * question mark, and so does what is left of a character where a text was cut. NULL: out
 * of memory. */
json_t *wire_text(const char *text);

/* Builds objects and arrays step by step: takes value; when that is NULL or there is no
 * memory, *to is freed and becomes NULL, and stays it. One check at the end is enough. */
void wire_set(json_t **to, const char *key, json_t *value);
void wire_add(json_t **to, json_t *value);

#endif
