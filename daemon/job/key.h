/* The name of one attempt of one job, and its text.
 *
 * A job's text: "17", or "17_3" for element 3 of array 17; VOLT_JOB_ID has it, and
 * volt-submit prints it. An attempt's text: the same with ".<attempt>"; its exit record
 * is named so. The forms are canonical (no sign, no leading zero): each key has one
 * text. */
#ifndef DAEMON_JOB_KEY_H
#define DAEMON_JOB_KEY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_NO_INDEX     INT64_C(-1)
#define JOB_KEY_TEXT_MAX 56 /* of the longest attempt text, with its NUL */

struct job_key {
    uint64_t id;
    int64_t index;    /* JOB_NO_INDEX: not an array element */
    uint32_t attempt; /* from 1; 0: the job as such */
};

static inline bool job_key_equal(const struct job_key *a, const struct job_key *b)
{
    return a->id == b->id && a->index == b->index && a->attempt == b->attempt;
}

/* Orders jobs by id, an array before its elements, these by index. Ignores attempts. For
 * qsort() and bsearch(). */
static inline int job_key_compare(const void *a, const void *b)
{
    const struct job_key *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Writes a number and a NUL; returns where the NUL is. Fast: answers name thousands of
 * jobs. */
static inline char *job_key_put(char *at, uint64_t n)
{
    size_t len = 1;

    for (uint64_t rest = n; rest >= 10; rest /= 10)
        len++;
    at[len] = '\0';
    for (size_t i = len; i > 0; n /= 10)
        at[--i] = (char)('0' + n % 10);
    return at + len;
}

/* Writes "17" or "17_3"; returns its length. */
static inline int job_key_format_job(const struct job_key *key,
                                     char buf[JOB_KEY_TEXT_MAX])
{
    char *end = job_key_put(buf, key->id);

    if (key->index >= 0) {
        *end++ = '_';
        end = job_key_put(end, (uint64_t)key->index);
    }
    return (int)(end - buf);
}

/* Writes "17.1" or "17_3.1"; returns its length. */
static inline int job_key_format(const struct job_key *key, char buf[JOB_KEY_TEXT_MAX])
{
    char *end = buf + job_key_format_job(key, buf);

    *end++ = '.';
    return (int)(job_key_put(end, key->attempt) - buf);
}

/* Reads a canonical decimal number of at most `max` at *at; advances *at. */
static inline int job_key_digits(const char **at, uint64_t max, uint64_t *ret)
{
    const char *p = *at;
    uint64_t n = 0;
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (max - digit) / 10)
            return -ERANGE;
        n = n * 10 + digit;
    }
    *at = p;
    *ret = n;
    return 0;
}

/* Parses "17", "17_3" (attempt 0) and "17.1", "17_3.1". Returns 0, -EINVAL or -ERANGE. */
static inline int job_key_parse(const char *text, struct job_key *ret)
{
    struct job_key key = {.index = JOB_NO_INDEX};
    uint64_t n = 0;
    int r = job_key_digits(&text, UINT64_MAX, &key.id);
    if (r == 0 && *text == '_') {
        text++;
        r = job_key_digits(&text, INT64_MAX, &n);
        key.index = (int64_t)n;
    }
    if (r == 0 && *text == '.') {
        text++;
        r = job_key_digits(&text, UINT32_MAX, &n);
        key.attempt = (uint32_t)n;
    }
    if (r < 0 || *text != '\0')
        return r < 0 ? r : -EINVAL;
    *ret = key;
    return 0;
}

#endif
