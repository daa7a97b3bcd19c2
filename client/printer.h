/* Prints output of jobs to a descriptor: as it is or cleaned for a terminal, with a
 * prefix before each line if several jobs print. */
#ifndef VOLT_CLIENT_PRINTER_H
#define VOLT_CLIENT_PRINTER_H

#include "client/term.h"

struct printer {
    int out;
    bool cleans;        /* shows as escapes what would control a terminal */
    const char *prefix; /* before each line; NULL: none */
    bool apart;         /* puts an empty line before the first byte */
    bool in_line;       /* the last byte printed was no newline */
    bool failed;        /* writing failed; the error was returned */
    struct term_filter filter;
};

/* Prints data. last: the job has no more output; with a prefix, an unfinished line is
 * then ended, so that the next job begins a line. Returns 0, or -errno with p->failed. */
int printer_put(struct printer *p, const char *data, size_t len, bool last);

#endif
