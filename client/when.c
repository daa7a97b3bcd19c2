/* See when.h. */
#include "client/when.h"
#include "wire/duration.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define SEC      INT64_C(1000000)
#define TEXT_MAX 64

static bool is_word(const char *text, const char *word)
{
    return strcasecmp(text, word) == 0;
}

static bool begins_with(const char *text, const char *word)
{
    const size_t len = strlen(word);
    return strncasecmp(text, word, len) == 0 && (!text[len] || text[len] == ' ');
}

/* Cuts the word, and blanks before it, off the end of text. Returns whether it was
 * there. */
static bool cut_end(char *text, const char *word)
{
    size_t len = strlen(text), n = strlen(word);
    if (n == 0 || len <= n || strcasecmp(text + len - n, word) != 0)
        return false;
    len -= n;
    if (text[len - 1] != ' ')
        return false;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    text[len] = '\0';
    return true;
}

/* --- relative to now ---------------------------------------------------------------- */

static int shift(const char *duration, int sign, uint64_t now, int64_t *ret)
{
    uint64_t usec;
    int r = duration_parse(duration, &usec);
    if (r < 0)
        return r;
    *ret = (int64_t)now + sign * (int64_t)usec;
    return 0;
}

/* Parses a relative time. Returns -ENOENT if it is not relative. */
static int parse_relative(char *text, uint64_t now, int64_t *ret)
{
    if (is_word(text, "now")) {
        *ret = (int64_t)now;
        return 0;
    }
    if (strncasecmp(text, "now", 3) == 0) /* now+1h, as for sbatch and at */
        text += 3 + strspn(text + 3, " ");
    if (*text == '+' || *text == '-')
        return shift(text + 1, *text == '+' ? 1 : -1, now, ret);
    if (cut_end(text, "ago"))
        return shift(text, -1, now, ret);
    if (cut_end(text, "left"))
        return shift(text, 1, now, ret);
    return -ENOENT;
}

/* --- by the calendar ---------------------------------------------------------------- */

struct calendar {
    struct tm tm;
    int64_t usec; /* beside tm */
    int weekday;  /* -1: not given */
    bool utc;
};

/* Parses from `least` to `most` digits; -1: no such number. */
static int read_digits(const char **s, size_t least, size_t most)
{
    size_t n = strspn(*s, "0123456789");
    int value = 0;
    if (n < least || n > most)
        return -1;
    for (; n > 0; n--)
        value = value * 10 + (*(*s)++ - '0');
    return value;
}

static bool take(const char **s, char c)
{
    if (**s != c)
        return false;
    (*s)++;
    return true;
}

static int read_fraction(const char **s, int64_t *ret)
{
    int64_t unit = SEC / 10;
    if (**s < '0' || **s > '9')
        return -EINVAL;
    for (*ret = 0; **s >= '0' && **s <= '9'; (*s)++, unit /= 10)
        *ret += (**s - '0') * unit;
    return 0;
}

/* Makes an hour of the day of one from 1 to 12 with am or pm at *s, and skips that.
 * Returns whether it was there; other hours become -1 then. */
static bool read_half(const char **s, int *hour)
{
    const char *half = *s + strspn(*s, " ");
    const bool pm = is_word(half, "pm");
    if (!pm && !is_word(half, "am"))
        return false;
    *s = half + strlen(half);
    *hour = *hour < 1 || *hour > 12 ? -1 : *hour % 12 + (pm ? 12 : 0);
    return true;
}

/* Parses H:MM[:SS[.FRACTION]], with or without am or pm, Ham, Hpm, noon or midnight, up
 * to the end. */
static int read_time(const char *s, struct calendar *c)
{
    s = is_word(s, "noon") ? "12:00" : is_word(s, "midnight") ? "0:00" : s;
    int hour = read_digits(&s, 1, 2);
    const bool has_minute = take(&s, ':');
    int minute = has_minute ? read_digits(&s, 2, 2) : 0;
    int second = has_minute && take(&s, ':') ? read_digits(&s, 2, 2) : 0;
    if (take(&s, '.') && read_fraction(&s, &c->usec) < 0)
        return -EINVAL;
    const bool has_half = read_half(&s, &hour);
    if (*s || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 59 || (!has_minute && !has_half))
        return -EINVAL;
    c->tm.tm_hour = hour;
    c->tm.tm_min = minute;
    c->tm.tm_sec = second;
    return 0;
}

/* Parses YYYY-MM-DD, and advances *s. */
static int read_date(const char **s, struct calendar *c)
{
    int year = read_digits(s, 4, 4), month = take(s, '-') ? read_digits(s, 1, 2) : -1;
    int day = take(s, '-') ? read_digits(s, 1, 2) : -1;
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > 31)
        return -EINVAL;
    c->tm.tm_year = year - 1900;
    c->tm.tm_mon = month - 1;
    c->tm.tm_mday = day;
    return 0;
}

/* Parses a date, a time, or both separated by a blank or a T. */
static int read_date_and_time(const char *s, struct calendar *c)
{
    const char *dash = strchr(s, '-');
    if (!dash)
        return read_time(s, c);
    if (read_date(&s, c) < 0)
        return -EINVAL;
    if (!*s)
        return 0;
    if (!take(&s, 'T') && !take(&s, ' '))
        return -EINVAL;
    return read_time(s + strspn(s, " "), c);
}

/* Parses and skips "Sat" or "Saturday" at the beginning. Returns -1: none. */
static int read_weekday(const char **s)
{
    static const char *const names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
    size_t len = strcspn(*s, " ");
    for (int i = 0; i < 7; i++)
        if ((len == 3 || len == strlen(names[i])) &&
            strncasecmp(*s, names[i], len) == 0 && (*s)[len]) {
            *s += len + strspn(*s + len, " ");
            return i;
        }
    return -1;
}

static bool cut_zone(char *text)
{
    size_t len = strlen(text);
    if (len > 1 && text[len - 1] == 'Z' && strchr("0123456789", text[len - 2])) {
        text[len - 1] = '\0';
        return true;
    }
    if (cut_end(text, "UTC"))
        return true;
    tzset();
    (void)(cut_end(text, tzname[0]) || cut_end(text, tzname[1]));
    return false;
}

/* Returns the seconds since 1970, and -EINVAL for a day that does not exist: the C
 * library makes March of the 30th of February. */
static int seconds_of(struct calendar *c, int64_t *ret)
{
    const struct tm asked = c->tm;
    c->tm.tm_isdst = -1;
    time_t t = c->utc ? timegm(&c->tm) : mktime(&c->tm);
    if (c->tm.tm_year != asked.tm_year || c->tm.tm_mon != asked.tm_mon ||
        c->tm.tm_mday != asked.tm_mday)
        return -EINVAL;
    if (c->weekday >= 0 && c->tm.tm_wday != c->weekday)
        return -EINVAL;
    *ret = t;
    return 0;
}

static int parse_calendar(char *text, uint64_t now, int64_t *ret)
{
    static const struct {
        const char *name;
        int days;
    } days[] = {{"yesterday", -1}, {"today", 0}, {"tomorrow", 1}};
    struct calendar c = {.utc = cut_zone(text)};
    time_t t = (time_t)(now / (uint64_t)SEC);
    const char *s = text;
    int r = -ENOENT;
    if (!(c.utc ? gmtime_r(&t, &c.tm) : localtime_r(&t, &c.tm)))
        return -EINVAL;
    c.tm.tm_hour = c.tm.tm_min = c.tm.tm_sec = 0;
    c.weekday = read_weekday(&s);
    for (size_t i = 0; i < sizeof(days) / sizeof(days[0]); i++)
        if (c.weekday < 0 && begins_with(s, days[i].name)) {
            c.tm.tm_mday += days[i].days;
            c.tm.tm_isdst = -1;
            (void)(c.utc ? timegm(&c.tm) : mktime(&c.tm)); /* corrects the end of a
                                                            * month */
            s += strlen(days[i].name);
            r = *s ? read_time(s + strspn(s, " "), &c) : 0;
        }
    if (r == -ENOENT)
        r = read_date_and_time(s, &c);
    if (r == 0)
        r = seconds_of(&c, ret);
    if (r == 0)
        *ret = *ret * SEC + c.usec;
    return r;
}

/* --- all of it ---------------------------------------------------------------------- */

/* Parses @SECONDS[.FRACTION]. */
static int parse_epoch(const char *s, int64_t *ret)
{
    int64_t fraction = 0;
    char *end;
    errno = 0;
    long long seconds = *s >= '0' && *s <= '9' ? strtoll(s, &end, 10) : -1;
    if (seconds < 0)
        return -EINVAL;
    s = end;
    if ((take(&s, '.') && read_fraction(&s, &fraction) < 0) || *s)
        return -EINVAL;
    if (errno || seconds > INT64_MAX / SEC - 1)
        return -ERANGE;
    *ret = seconds * SEC + fraction;
    return 0;
}

bool when_has_clock(const char *text)
{
    static const char *const words[] = {"noon", "midnight", "am", "pm"};
    const size_t len = strlen(text);
    bool has = strchr(text, ':');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !has; i++)
        has = len >= strlen(words[i]) && is_word(text + len - strlen(words[i]), words[i]);
    return has;
}

int when_parse(const char *text, uint64_t now_usec, uint64_t *ret)
{
    char copy[TEXT_MAX];
    int64_t at = 0;
    text += strspn(text, " ");
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len == 0 || len >= sizeof(copy))
        return -EINVAL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    int r =
        *copy == '@' ? parse_epoch(copy + 1, &at) : parse_relative(copy, now_usec, &at);
    if (r == -ENOENT)
        r = parse_calendar(copy, now_usec, &at);
    if (r == 0 && at <= 0)
        r = -ERANGE;
    if (r < 0)
        return r;
    *ret = (uint64_t)at;
    return 0;
}
