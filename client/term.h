/* Terminals: what they can show, and what may be written to them. */
#ifndef VOLT_CLIENT_TERM_H
#define VOLT_CLIENT_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool term_is_tty(int fd);
/* Columns of the terminal fd (COLUMNS wins), 80 when it does not say. */
unsigned term_columns(int fd);

enum term_style {
    TERM_PLAIN = 0,
    TERM_BOLD,
    TERM_RED,
    TERM_GREEN,
    TERM_YELLOW,
    TERM_DIM
};

/* Escape sequences, "" where standard output has no colour. */
const char *term_on(enum term_style style);
const char *term_off(enum term_style style);

/* One character of a UTF-8 text. */
struct term_char {
    uint32_t code;
    unsigned len;   /* bytes */
    unsigned width; /* columns */
    bool harmful;   /* would steer the terminal, or is no UTF-8 */
};

/* The first one of a text that is not empty. */
struct term_char term_char(const char *text);
/* Copies text with what is harmful as '?', so that a job's name cannot steer the
 * terminal. Cut at size, then with an ellipsis; always NUL-terminated. */
void term_clean(const char *text, char *buf, size_t size);
/* Prints text like that on standard output, all of it. */
void term_put(const char *text);
/* The same for what somebody's program has written, in place, with line ends and tabs
 * left alone. Returns how many bytes are left. */
size_t term_clean_bytes(char *data, size_t len);
/* Columns that a UTF-8 text takes. */
size_t term_width(const char *text);
/* For json_dump*() to standard output: compact, and on a terminal in ASCII only. */
size_t term_json_flags(void);

#endif
