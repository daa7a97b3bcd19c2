/* Output of jobs on its way to a descriptor: as it is, or for a terminal, and with a
 * prefix before each line where several jobs print. */
#ifndef VOLT_CLIENT_PRINTER_H
#define VOLT_CLIENT_PRINTER_H

#include "client/term.h"

struct printer {
    int out;
    bool cleans;        /* what would steer a terminal is shown as escapes */
    const char *prefix; /* before each line; NULL: none */
    bool apart;         /* an empty line comes before the first byte */
    bool in_line;       /* what was printed last was no line end */
    bool failed;        /* writing; the error has been returned */
    struct term_filter filter;
};

/* Writes data. last: nothing follows of this job; an unfinished line is then ended where
 * there is a prefix, so that the next job begins one. 0, or -errno with p->failed. */
int printer_put(struct printer *p, const char *data, size_t len, bool last);

#endif
