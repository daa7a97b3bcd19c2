/* Shows the progress of many jobs as one line:
 *
 *   [####....] 612/1000  3 failed  41.2 job/s  eta 00:09
 *
 * Formatting is pure. Showing redraws the line on a terminal, at most a few times a
 * second, and never writes elsewhere. */
#ifndef VOLT_CLIENT_PROGRESS_H
#define VOLT_CLIENT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    uint64_t total, done, failed;
    uint64_t elapsed_usec;
    uint64_t done_before; /* done when the clock started; not part of the rate */
};

/* Writes the line, shortened to `columns` if needed, the bar first. */
void progress_format(const struct progress *p, unsigned columns, char *buf, size_t size);

struct progress_line {
    bool enabled; /* standard error is a terminal, and not --quiet */
    bool shown;
    uint64_t started_usec, drawn_usec, done_before;
    bool counting;
};

void progress_line_init(struct progress_line *line, bool enabled);
/* Draws the line, unless it was drawn a moment ago and this is not the last state. */
void progress_line_update(struct progress_line *line, uint64_t total, uint64_t done,
                          uint64_t failed);
/* Draws "123 asked to end", for an unknown total. what: a text of the program. */
void progress_line_count(struct progress_line *line, uint64_t n, const char *what);
/* Clears the line, so that other text can be printed. */
void progress_line_clear(struct progress_line *line);

#endif
