/* Terminals: what they can show, and what may be written to them. */
#ifndef VOLT_CLIENT_TERM_H
#define VOLT_CLIENT_TERM_H

#include <stdbool.h>
#include <stddef.h>

bool term_is_tty(int fd);
/* Columns of the terminal fd (COLUMNS wins), 80 when it does not say. */
unsigned term_columns(int fd);
/* Colour only on a terminal that is not "dumb", and never with NO_COLOR. */
bool term_has_color(int fd);

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

/* Copies text with control characters as '?', so that a job's name cannot steer the
 * terminal. Cut at size, always NUL-terminated. */
void term_clean(const char *text, char *buf, size_t size);
/* Columns that a UTF-8 text takes, one per character. */
size_t term_width(const char *text);

#endif
