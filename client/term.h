/* Prints texts to a terminal safely, and knows what the terminal can show.
 *
 * Names, labels, commands, errors and output are texts of others. A control character or
 * an escape sequence in them would control the terminal. So all that the clients print
 * goes through this file (check-layers refuses printf and the like elsewhere in client/):
 *
 *   term_print(), term_put()     harmful characters as '?'
 *   term_put_escaped(), _json()  as escapes of JSON strings: they can be read back
 *   term_filter()                output of jobs for a terminal, as \x1b or \u202e
 *
 * A character is harmful if a reader does not see it as a character of its own: control
 * characters; characters that change the direction of text (bidi); characters that are
 * shown as nothing, as they make names look alike or hide a text: soft hyphen, zero-width
 * space, invisible operators, fillers of Hangul, tags (U+E0000 to U+E007F), variation
 * selectors of the supplement, annotations, noncharacters. Joiners (U+200C, U+200D) and
 * the variation selectors U+FE00 to U+FE0F stay, as scripts and emoji need them.
 *
 * In output of jobs a carriage return stays before a newline. Elsewhere it would let
 * later text overwrite earlier text, and is shown as ^M. So a progress bar shows its
 * steps one after the other; --raw lets it move. */
#ifndef VOLT_CLIENT_TERM_H
#define VOLT_CLIENT_TERM_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool term_is_tty(int fd);
/* Returns whether the locale of the environment is UTF-8; true if it names none. */
bool term_is_utf8(void);
/* Returns the sign for text that does not fit, one column wide. */
const char *term_ellipsis(void);
/* Returns the columns of the terminal fd; COLUMNS overrides it; default 80. */
unsigned term_columns(int fd);
/* Returns the lines of the terminal; LINES overrides it; default 24. */
unsigned term_lines(int fd);

enum term_style {
    TERM_PLAIN = 0,
    TERM_BOLD,
    TERM_RED,
    TERM_GREEN,
    TERM_YELLOW,
    TERM_DIM
};

/* Sets the style of later text on standard output; TERM_PLAIN ends it. Does nothing if
 * standard output has no colour. */
void term_set_style(enum term_style style);
/* Clears the terminal of standard output. */
void term_clear(void);

/* A character of a UTF-8 text. */
struct term_char {
    uint32_t code;
    unsigned len;   /* bytes */
    unsigned width; /* columns */
    bool harmful;   /* would control the terminal, or is not valid UTF-8 */
};

/* Returns the first character of a text that is not empty. */
struct term_char term_char(const char *text);
/* Copies text with harmful characters as '?'. Cut at size, then with an ellipsis; always
 * NUL-terminated. */
void term_clean(const char *text, char *buf, size_t size);
/* Prints text in this way on standard output, whole. */
void term_put(const char *text);
/* Prints text that term_clean() has made, without another check. */
void term_put_clean(const char *text, size_t len);
/* As printf() on standard output, with harmful characters except newlines and tabs as
 * '?'. A name could fake a line here: use term_put() for names. */
__attribute__((format(printf, 1, 2))) void term_print(const char *format, ...);
/* Likewise on another stream. */
__attribute__((format(printf, 2, 0))) void term_vprint(FILE *to, const char *format,
                                                       va_list ap);
/* Prints text with harmful characters as escapes of JSON strings, so that it stays on its
 * line; `also`: another character to escape, or 0. is_json: text is JSON already, so only
 * characters that JSON leaves as they are get an escape. */
void term_put_escaped(const char *text, bool is_json, char also);
/* Prints JSON, compact and without a newline; on a terminal in ASCII only. */
int term_put_json(const json_t *value);

/* State of term_filter() for output in pieces; zeroes at the beginning. */
struct term_filter {
    char held[4]; /* begin of a character, or "\r", until the next piece */
    unsigned count;
};
enum { TERM_FILTER_GROWTH = 4 }; /* most bytes that a byte becomes */
/* Copies output of a program: newlines and tabs as they are, a carriage return elsewhere
 * as ^M, other harmful characters as escapes. to: has room for (len + 4) *
 * TERM_FILTER_GROWTH bytes. last: no piece follows. Returns the bytes written. */
size_t term_filter(struct term_filter *f, const char *data, size_t len, bool last,
                   char *to);
/* Returns the columns that a UTF-8 text takes. */
size_t term_width(const char *text);
#endif
