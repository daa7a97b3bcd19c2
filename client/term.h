/* Terminals: what they can show, and what may be written to them.
 *
 * Names, labels, commands, errors and output are texts of others: a control character or
 * an escape sequence in them would steer the terminal. So all that the clients print goes
 * through here (check-layers refuses printf and the like elsewhere in client/):
 *
 *   term_print(), term_put()     what is harmful as '?'
 *   term_put_escaped(), _json()  as the escapes of JSON strings: it can be read back
 *   term_filter()                output of jobs for a terminal, as \x1b or \u202e
 *
 * Harmful is what a reader does not see as a character of its own: control characters;
 * what turns the direction of text (bidi); and what is shown as nothing at all, so that
 * two names that look alike are not, or a text carries another one: soft hyphen,
 * zero-width space, invisible operators, fillers of Hangul, tags (U+E0000 to U+E007F),
 * variation selectors of the supplement, annotations, noncharacters. Joiners (U+200C,
 * U+200D) and the variation selectors U+FE00 to U+FE0F stay: scripts and emoji need them.
 *
 * In output of jobs a carriage return stays before a line end; elsewhere it would let
 * what follows overwrite what a reader should see, and is shown as ^M. The steps of a
 * progress bar stand one behind the other then; --raw lets it move. */
#ifndef VOLT_CLIENT_TERM_H
#define VOLT_CLIENT_TERM_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

bool term_is_tty(int fd);
/* Whether the locale of the environment has UTF-8: where it names none it does. */
bool term_is_utf8(void);
/* One column, in the place of what does not fit. */
const char *term_ellipsis(void);
/* Columns of the terminal fd (COLUMNS wins), 80 when it does not say. */
unsigned term_columns(int fd);
/* Lines of it (LINES wins), 24 when it does not say. */
unsigned term_lines(int fd);

enum term_style {
    TERM_PLAIN = 0,
    TERM_BOLD,
    TERM_RED,
    TERM_GREEN,
    TERM_YELLOW,
    TERM_DIM
};

/* From here on standard output looks so; TERM_PLAIN ends it. Nothing happens where
 * standard output has no colour. */
void term_set_style(enum term_style style);
/* Clears the terminal that standard output is. */
void term_clear(void);

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
/* Prints what term_clean() has made of it, which is not looked at again. */
void term_put_clean(const char *text, size_t len);
/* printf() on standard output with what is harmful as '?', line ends and tabs aside: a
 * name in it could fake a line; names are for term_put(). */
__attribute__((format(printf, 1, 2))) void term_print(const char *format, ...);
/* The same on another stream. */
__attribute__((format(printf, 2, 0))) void term_vprint(FILE *to, const char *format,
                                                       va_list ap);
/* Prints text, and `also` in it if not 0, by the escapes of JSON strings, so that it
 * stays on its line; is_json: text is JSON, only what JSON leaves as it is needs
 * an escape. */
void term_put_escaped(const char *text, bool is_json, char also);
/* Prints JSON, compact and without a line end; on a terminal in ASCII only. */
int term_put_json(const json_t *value);

/* For output that comes in pieces; zeroed at its beginning. */
struct term_filter {
    char held[4]; /* the beginning of a character, or "\r", until the next piece comes */
    unsigned count;
};
enum { TERM_FILTER_GROWTH = 4 }; /* a byte becomes so many at most */
/* Copies what somebody's program has written with line ends and tabs as they are, a
 * carriage return elsewhere as ^M, and what else is harmful as an escape. to: room for
 * (len + 4) * TERM_FILTER_GROWTH bytes. last: nothing comes after this. Returns how many
 * bytes it has written there. */
size_t term_filter(struct term_filter *f, const char *data, size_t len, bool last,
                   char *to);
/* Columns that a UTF-8 text takes. */
size_t term_width(const char *text);
#endif
