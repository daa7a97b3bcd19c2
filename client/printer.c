/* See printer.h. */
#include "client/printer.h"
#include "client/streams.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)4 << 10)  /* bytes filtered at once */
#define ROOM  ((size_t)64 << 10) /* bytes written at once */

/* Collects lines with prefixes for one write(2). */
struct lines {
    struct printer *p;
    size_t len;
    char buf[ROOM];
};

static int write_all(struct printer *p, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = streams_write(p->out, data, len);
        if (n < 0) {
            p->failed = true;
            return -errno;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int flush(struct lines *l)
{
    int r = write_all(l->p, l->buf, l->len);
    l->len = 0;
    return r;
}

static int add(struct lines *l, const char *data, size_t len)
{
    int r = len > ROOM - l->len ? flush(l) : 0;
    if (r == 0 && len > ROOM)
        return write_all(l->p, data, len);
    memcpy(l->buf + l->len, data, len);
    l->len += len;
    return r;
}

static int put_lines(struct printer *p, const char *data, size_t len)
{
    struct lines l;
    const size_t prefix = strlen(p->prefix);
    int r = 0;
    l.p = p;
    l.len = 0;
    while (r == 0 && len > 0) {
        const char *nl = memchr(data, '\n', len);
        size_t n = nl ? (size_t)(nl - data) + 1 : len;
        if (!p->in_line)
            r = add(&l, p->prefix, prefix);
        if (r == 0)
            r = add(&l, data, n);
        p->in_line = !nl;
        data += n;
        len -= n;
    }
    return r < 0 ? r : flush(&l);
}

static int put(struct printer *p, const char *data, size_t len)
{
    int r = p->apart && len > 0 ? write_all(p, "\n", 1) : 0;
    if (r < 0)
        return r;
    p->apart = p->apart && len == 0;
    return p->prefix ? put_lines(p, data, len) : write_all(p, data, len);
}

int printer_put(struct printer *p, const char *data, size_t len, bool last)
{
    char clean[(PIECE + 4) * TERM_FILTER_GROWTH];
    int r = 0;
    if (!p->cleans)
        r = put(p, data, len);
    for (bool more = p->cleans; r == 0 && more; more = len > 0) {
        size_t n = len < PIECE ? len : PIECE;
        size_t m = term_filter(&p->filter, data, n, last && n == len, clean);
        r = put(p, clean, m);
        data += n;
        len -= n;
    }
    if (r == 0 && last && p->prefix && p->in_line)
        r = write_all(p, "\n", 1);
    if (last)
        p->in_line = false;
    return r;
}
