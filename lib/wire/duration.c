/* Durations; see duration.h. */
#include "wire/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SEC          UINT64_C(1000000)
#define DURATION_MAX (SEC * 36500 * 86400) /* a hundred years */

static const struct {
    const char *name;
    uint64_t usec;
} units[] = {
    {"us", 1},
    {"usec", 1},
    {"ms", 1000},
    {"msec", 1000},
    {"s", SEC},
    {"sec", SEC},
    {"second", SEC},
    {"seconds", SEC},
    {"m", 60 * SEC},
    {"min", 60 * SEC},
    {"minute", 60 * SEC},
    {"minutes", 60 * SEC},
    {"h", 3600 * SEC},
    {"hr", 3600 * SEC},
    {"hour", 3600 * SEC},
    {"hours", 3600 * SEC},
    {"d", 86400 * SEC},
    {"day", 86400 * SEC},
    {"days", 86400 * SEC},
    {"w", 604800 * SEC},
    {"week", 604800 * SEC},
    {"weeks", 604800 * SEC},
    {"month", 2629800 * SEC}, /* systemd.time(7): 30.44 days */
    {"months", 2629800 * SEC},
    {"y", 31557600 * SEC}, /* 365.25 days */
    {"year", 31557600 * SEC},
    {"years", 31557600 * SEC},
};

static int unit_usec(const char *name, size_t len, uint64_t *ret)
{
    if (len == 0) {
        *ret = SEC;
        return 0;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i].name) == len && strncmp(units[i].name, name, len) == 0) {
            *ret = units[i].usec;
            return 0;
        }
    return -EINVAL;
}

/* Parses one term at *p: NUMBER[.FRACTION][UNIT]. */
static int parse_term(const char **p, uint64_t *ret)
{
    const char *s = *p;
    uint64_t whole = 0, fraction = 0, scale = 1;
    size_t digits = 0;
    for (; *s >= '0' && *s <= '9'; s++, digits++) {
        if (whole > DURATION_MAX)
            return -ERANGE;
        whole = whole * 10 + (uint64_t)(*s - '0');
    }
    if (digits > 0 && *s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++, digits++)
            if (scale < SEC) {
                fraction = fraction * 10 + (uint64_t)(*s - '0');
                scale *= 10;
            }
    }
    if (digits == 0)
        return -EINVAL;
    s += strspn(s, " ");
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    uint64_t unit;
    if (unit_usec(s, len, &unit) < 0 || (len == 0 && *s))
        return -EINVAL;
    uint64_t usec;
    if (__builtin_mul_overflow(whole, unit, &usec) || usec > DURATION_MAX)
        return -ERANGE;
    *ret = usec + fraction * unit / scale;
    *p = s + len;
    return 0;
}

int duration_parse(const char *text, uint64_t *ret)
{
    uint64_t sum = 0;
    const char *s = text + strspn(text, " ");
    if (!*s)
        return -EINVAL;
    while (*s) {
        uint64_t term;
        int r = parse_term(&s, &term);
        if (r < 0)
            return r;
        sum += term;
        if (sum > DURATION_MAX)
            return -ERANGE;
        s += strspn(s, " ");
    }
    *ret = sum;
    return 0;
}

void duration_format(uint64_t usec, char *buf, size_t size)
{
    uint64_t s = usec / SEC;
    if (usec < 1000)
        (void)snprintf(buf, size, "%" PRIu64 "us", usec);
    else if (usec < SEC)
        (void)snprintf(buf, size, "%" PRIu64 "ms", usec / 1000);
    else if (usec < 60 * SEC)
        (void)snprintf(buf, size, "%" PRIu64 ".%" PRIu64 "s", s, usec % SEC / 100000);
    else if (s < 3600)
        (void)snprintf(buf, size, "%" PRIu64 "min %" PRIu64 "s", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(buf, size, "%" PRIu64 "h %" PRIu64 "min", s / 3600, s % 3600 / 60);
    else
        (void)snprintf(buf, size, "%" PRIu64 "d %" PRIu64 "h", s / 86400,
                       s % 86400 / 3600);
}

void duration_format_clock(uint64_t s, char *buf, size_t size)
{
    if (s < 3600)
        (void)snprintf(buf, size, "%02" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
                       s % 3600 / 60, s % 60);
    else
        (void)snprintf(buf, size, "%" PRIu64 "d %02" PRIu64 "h", s / 86400,
                       s % 86400 / 3600);
}

uint64_t duration_now_usec(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec / 1000;
}
