/* See size.h. */
#include "client/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int size_parse(const char *text, uint64_t *ret)
{
    static const char units[] = "KMGT";
    uint64_t factor = 1;
    char *end;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        factor <<= 10 * (unit - units + 1);
        end++;
    }
    if (*end == 'B')
        end++;
    if (*end)
        return -EINVAL;
    uint64_t bytes;
    if (errno || __builtin_mul_overflow((uint64_t)n, factor, &bytes) || bytes > INT64_MAX)
        return -ERANGE;
    *ret = bytes;
    return 0;
}
