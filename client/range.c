/* Array ranges; see range.h. */
#include "client/range.h"

#include <errno.h>
#include <stddef.h>

/* Indexes travel as JSON integers. */
#define INDEX_MAX ((uint64_t)INT64_MAX)

static const char *number(const char *s, uint64_t *ret)
{
    uint64_t n = 0;
    const char *start = s;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (n > (INDEX_MAX - 9) / 10)
            return NULL;
        n = n * 10 + (uint64_t)(*s - '0');
    }
    *ret = n;
    return s == start ? NULL : s;
}

int range_parse(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    uint64_t first, last;
    const char *s = number(text, &first);
    if (!s)
        return -EINVAL;
    last = first;
    if (*s == '-')
        s = number(s + 1, &last);
    if (!s || *s || last < first)
        return -EINVAL;
    *ret_first = first;
    *ret_last = last;
    return 0;
}
