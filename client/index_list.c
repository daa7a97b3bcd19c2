/* See index_list.h. A list of several parts becomes single numbers, which are sorted and
 * joined into ranges in one pass. */
#include "client/index_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Indexes are JSON integers in the protocol. */
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

/* Parses an index, and notes its width if it has a leading zero: 007 has 3. */
static const char *wide_number(const char *s, uint64_t *ret, uint64_t *width)
{
    const char *end = number(s, ret);
    uint64_t digits = end && *s == '0' ? (uint64_t)(end - s) : 0;
    if (digits > 1 && digits > *width)
        *width = digits;
    return end;
}

/* Parses "A", "A-B" or "A-B:STEP". Returns the text after it, or NULL. */
static const char *part(const char *s, struct index_range *ret, uint64_t *width)
{
    *ret = (struct index_range){.step = 1};
    s = wide_number(s, &ret->first, width);
    ret->last = ret->first;
    if (s && *s == '-')
        s = wide_number(s + 1, &ret->last, width);
    if (s && *s == ':')
        s = number(s + 1, &ret->step);
    if (!s || ret->last < ret->first || ret->step == 0)
        return NULL;
    ret->last -= (ret->last - ret->first) % ret->step;
    return s;
}

static uint64_t size_of(const struct index_range *r)
{
    return (r->last - r->first) / r->step + 1;
}

struct numbers {
    uint64_t *at;
    size_t n;
};

static int add(struct numbers *to, const struct index_range *r)
{
    uint64_t count = size_of(r);
    if (count > INDEX_LIST_MOST - to->n)
        return -E2BIG;
    uint64_t *grown = realloc(to->at, (to->n + count) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    to->at = grown;
    for (uint64_t i = 0; i < count; i++)
        to->at[to->n++] = r->first + i * r->step;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void sort(struct numbers *l)
{
    size_t kept = 0;
    qsort(l->at, l->n, sizeof(*l->at), compare);
    for (size_t i = 0; i < l->n; i++)
        if (kept == 0 || l->at[i] != l->at[kept - 1])
            l->at[kept++] = l->at[i];
    l->n = kept;
}

/* Returns the range that begins at number i. Two numbers with a gap are two ranges, as
 * the second may begin a longer one. */
static struct index_range range_at(const struct numbers *l, size_t i)
{
    struct index_range r = {.first = l->at[i], .last = l->at[i], .step = 1};
    uint64_t step = i + 1 < l->n ? l->at[i + 1] - l->at[i] : 1;
    size_t end = i + 1;
    while (end < l->n && l->at[end] - l->at[end - 1] == step)
        end++;
    if (end - i > 2 || step == 1) {
        r.last = l->at[end - 1];
        r.step = end - i > 1 ? step : 1;
    }
    return r;
}

static int join(const struct numbers *l, struct index_list *ret)
{
    for (size_t i = 0; i < l->n; i += size_of(&ret->ranges[ret->n++])) {
        if (ret->n == INDEX_LIST_RANGES)
            return -E2BIG;
        struct index_range *grown =
            reallocarray(ret->ranges, ret->n + 1, sizeof(*ret->ranges));
        if (!grown)
            return -ENOMEM;
        ret->ranges = grown;
        ret->ranges[ret->n] = range_at(l, i);
    }
    ret->count = l->n;
    return 0;
}

/* Takes a single range with all of its indexes, of any number. */
static int take_whole(const struct index_range *r, struct index_list *ret)
{
    ret->ranges = malloc(sizeof(*r));
    if (!ret->ranges)
        return -ENOMEM;
    ret->ranges[0] = *r;
    ret->n = 1;
    ret->count = size_of(r);
    return 0;
}

/* Parses the text after the indexes: "", or "%N". */
static int limit(const char *s, uint64_t *ret)
{
    *ret = 0;
    if (!*s)
        return 0;
    if (*s != '%')
        return -EINVAL;
    s = number(s + 1, ret);
    if (!s || *s || *ret == 0)
        return -EINVAL;
    return *ret > INDEX_LIST_MOST ? -E2BIG : 0;
}

/* Takes several parts, or one with a step; s: the text after the first part. */
static int take_parts(const char *s, struct index_range r, struct index_list *ret)
{
    struct numbers numbers = {0};
    int result = 0;
    while (result == 0 && *s == ',') {
        result = add(&numbers, &r);
        s = part(s + 1, &r, &ret->width);
        if (result == 0 && !s)
            result = -EINVAL;
    }
    if (result == 0)
        result = limit(s, &ret->at_once);
    if (result == 0)
        result = add(&numbers, &r);
    if (result == 0) {
        sort(&numbers);
        result = join(&numbers, ret);
    }
    free(numbers.at);
    return result;
}

int index_list_parse(const char *text, struct index_list *ret)
{
    struct index_list l = {0};
    struct index_range r;
    const char *s = part(text, &r, &l.width);
    int result = s ? 0 : -EINVAL;
    if (s && (!*s || *s == '%') && r.step == 1) {
        result = limit(s, &l.at_once);
        if (result == 0)
            result = take_whole(&r, &l);
    } else if (s) {
        result = take_parts(s, r, &l);
    }
    if (result == 0 && l.width > INDEX_LIST_WIDTH)
        result = -EINVAL;
    if (result == 0)
        *ret = l;
    else
        index_list_fini(&l);
    return result;
}

void index_list_fini(struct index_list *l)
{
    free(l->ranges);
    *l = (struct index_list){0};
}
