/* See tail.h: searches backwards. */
#include "client/tail.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BLOCK ((off_t)32 << 10)

/* Returns the offset after the lines-th newline from the end, searched down to `low`; 0:
 * there is none; or -errno. A newline at the very end ends a line and begins none. */
static off_t find_lines(uint64_t lines, off_t low, off_t end, tail_read *read,
                        void *source)
{
    char buf[BLOCK];
    for (off_t at = end - 1; at > low;) {
        off_t n = at - low < BLOCK ? at - low : BLOCK;
        ssize_t got = read(source, buf, (size_t)n, at - n);
        if (got != n)
            return got < 0 ? got : 0;
        const char *nl = buf + n;
        while ((nl = memrchr(buf, '\n', (size_t)(nl - buf))))
            if (--lines == 0)
                return at - n + (nl - buf) + 1;
        at -= n;
    }
    return 0;
}

off_t tail_begin(const struct tail *t, off_t end, tail_read *read, void *source,
                 bool *ret_cut)
{
    const off_t first = (uint64_t)end > t->bytes ? end - (off_t)t->bytes : 0;
    off_t found = 0;
    if (t->lines == 0)
        found = end;
    else if (t->lines !=
             UINT64_MAX) /* the newline before `first` makes it a begin of a line */
        found = find_lines(t->lines, first > 0 ? first - 1 : 0, end, read, source);
    *ret_cut = found == 0 && first > 0;
    return found == 0 ? first : found;
}

ssize_t tail_read_file(void *source, char *buf, size_t n, off_t at)
{
    const int *fd = source;
    ssize_t got;
    do
        got = pread(*fd, buf, n, at);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}
