/* See id_range.h. */
#include "client/id_range.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTION_BYTES 200000

/* Parses a whole number up to max in the protocol's form: no sign, space or leading
 * zeros. Returns its end, or NULL. */
static const char *number(const char *s, uint64_t max, uint64_t *ret)
{
    size_t len = strspn(s, "0123456789");
    if (len == 0 || (len > 1 && *s == '0'))
        return NULL;
    errno = 0;
    unsigned long long n = strtoull(s, NULL, 10);
    *ret = n;
    return errno || n > max ? NULL : s + len;
}

int id_range_parse(const char *text, struct id_range *ret)
{
    struct id_range r = {0};
    uint64_t max = UINT64_MAX;
    const char *s = number(text, max, &r.first);
    if (s && *s == '_') {
        r.with_array = 1;
        r.array = r.first;
        max = INT64_MAX;
        s = number(s + 1, max, &r.first);
    }
    r.last = r.first;
    if (s && *s == '-')
        s = number(s + 1, max, &r.last);
    if (!s || *s || r.last < r.first)
        return -EINVAL;
    if (r.last - r.first >= ID_RANGE_MOST)
        return -E2BIG;
    *ret = r;
    return 0;
}

void id_range_text(const struct id_range *range, uint64_t n, char *buf, size_t size)
{
    if (range->with_array)
        (void)snprintf(buf, size, "%" PRIu64 "_%" PRIu64, range->array, range->first + n);
    else
        (void)snprintf(buf, size, "%" PRIu64, range->first + n);
}

/* Returns whether b is the id after last. */
static int follows(const struct id_range *a, uint64_t last, const struct id_range *b)
{
    return a->with_array == b->with_array && a->array == b->array && b->first == last + 1;
}

/* Writes "17-20". Returns the number of bytes. */
static size_t put(const struct id_range *a, uint64_t last, char *buf, size_t size)
{
    char first[48];
    id_range_text(a, 0, first, sizeof(first));
    int n = last > a->first ? snprintf(buf, size, "%s-%" PRIu64, first, last)
                            : snprintf(buf, size, "%s", first);
    return n < 0 ? size : (size_t)n;
}

void id_range_format(char *const *ids, size_t n, char *buf, size_t size)
{
    size_t len = 0, i = 0;
    struct id_range a, b, z;
    buf[0] = '\0';
    while (i < n && len + 1 < size && id_range_parse(ids[i], &a) == 0) {
        uint64_t last = a.first;
        while (++i < n && id_range_parse(ids[i], &b) == 0 && follows(&a, last, &b))
            last++;
        if (len > 0)
            buf[len++] = ' ';
        len += put(&a, last, buf + len, size - len);
    }
    if (i == n && len < size)
        return;
    (void)id_range_parse(ids[0], &a);
    (void)id_range_parse(ids[n - 1], &z);
    if (a.with_array || z.with_array || z.first < a.first)
        (void)snprintf(buf, size, "%s ...", ids[0]);
    else
        (void)put(&a, z.first, buf, size);
}

size_t id_portion(char *const *ids, size_t n)
{
    size_t bytes = 0, i = 0;
    while (i < n && i < ID_PORTION_MOST && bytes <= PORTION_BYTES)
        bytes += strlen(ids[i++]) + 3; /* quotes and comma */
    return i;
}

json_t *id_list(char *const *ids, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, json_string(ids[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}
