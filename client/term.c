/* See term.h. */
#include "client/term.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

bool term_is_tty(int fd)
{
    return isatty(fd) == 1;
}

/* Returns the number in a variable, if it is sensible; 0 otherwise. */
static unsigned said_by(const char *name, unsigned long least)
{
    const char *env = getenv(name);
    unsigned long n = env ? strtoul(env, NULL, 10) : 0;
    return n >= least && n <= 10000 ? (unsigned)n : 0;
}

unsigned term_columns(int fd)
{
    unsigned columns = said_by("COLUMNS", 20);
    struct winsize ws;
    if (!columns && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20)
        columns = ws.ws_col;
    return columns ? columns : 80;
}

unsigned term_lines(int fd)
{
    unsigned lines = said_by("LINES", 10);
    struct winsize ws;
    if (!lines && ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_row >= 10)
        lines = ws.ws_row;
    return lines ? lines : 24;
}

bool term_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return true;
}

const char *term_ellipsis(void)
{
    return term_is_utf8() ? "\u2026" : "~";
}

/* Returns whether standard output has colour: a terminal that is not "dumb", without
 * NO_COLOR. */
static bool stdout_has_color(void)
{
    static int known = -1;
    if (known < 0) {
        const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
        known = !(no && *no) && term_is_tty(STDOUT_FILENO) &&
                !(term && strcmp(term, "dumb") == 0);
    }
    return known;
}

void term_set_style(enum term_style style)
{
    static const char *const codes[] = {
        [TERM_PLAIN] = "\033[0m",  [TERM_BOLD] = "\033[1m",    [TERM_RED] = "\033[31m",
        [TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m", [TERM_DIM] = "\033[2m",
    };
    static enum term_style last = TERM_PLAIN;
    if (stdout_has_color() && style != last)
        (void)fputs(codes[style], stdout);
    last = style;
}

void term_clear(void)
{
    (void)fputs("\033[H\033[2J", stdout);
}

/* Harmful characters (term.h), in order. */
static const struct {
    uint32_t first, last;
} harmful[] = {
    {0, 0x1f},          /* control characters */
    {0x7f, 0x9f},       /* more control characters */
    {0xad, 0xad},       /* soft hyphen */
    {0x34f, 0x34f},     /* combining grapheme joiner */
    {0x61c, 0x61c},     /* bidi: Arabic letter mark */
    {0x115f, 0x1160},   /* fillers of Hangul */
    {0x17b4, 0x17b5},   /* vowels of Khmer that are not shown */
    {0x180e, 0x180e},   /* Mongolian vowel separator */
    {0x200b, 0x200b},   /* zero-width space */
    {0x200e, 0x200f},   /* bidi: marks */
    {0x2028, 0x202e},   /* line and paragraph separators; bidi: embeddings, overrides */
    {0x2060, 0x206f},   /* invisible operators; bidi: isolates */
    {0x3164, 0x3164},   /* filler of Hangul */
    {0xfdd0, 0xfdef},   /* noncharacters */
    {0xfeff, 0xfeff},   /* byte order mark, zero-width no-break space */
    {0xffa0, 0xffa0},   /* filler of Hangul */
    {0xfff0, 0xfffb},   /* annotations */
    {0xfffd, 0xffff},   /* no UTF-8, and noncharacters */
    {0x1bca0, 0x1bca3}, /* formats of shorthand */
    {0x1d173, 0x1d17a}, /* formats of music */
    {0xe0000, 0xe0fff}, /* tags, variation selectors of the supplement */
};

static bool is_harmful(uint32_t code)
{
    for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
        if (code <= harmful[i].last)
            return code >= harmful[i].first;
    return (code & 0xfffe) == 0xfffe; /* the last two of each plane are noncharacters */
}

/* Returns the columns of a character. Tables of the locale are loaded only for text that
 * is not ASCII: they cost 14 system calls, where a volt-submit takes 110. */
static unsigned columns_of(uint32_t code)
{
    static bool loaded;
    if (code < 0x80)
        return 1;
    if (!loaded)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    loaded = true;
    int width = wcwidth((wchar_t)code);
    return width < 0 ? 1 : (unsigned)width;
}

/* Decodes the first character of len bytes, at least one, by RFC 3629: no surrogates, and
 * no more bytes than needed. */
static struct term_char decode(const char *text, size_t len)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    struct term_char ch = {.code = s[0], .len = 1, .width = 1};
    const unsigned more = s[0] >= 0xf8   ? 0
                          : s[0] >= 0xf0 ? 3
                          : s[0] >= 0xe0 ? 2
                          : s[0] >= 0xc0 ? 1
                                         : 0;
    if (more > 0)
        ch.code = s[0] & (0x3fU >> more);
    else if (s[0] >= 0x80)
        ch.code = 0xfffd;
    for (; ch.len <= more; ch.len++) {
        if (ch.len == len || (s[ch.len] & 0xc0) != 0x80) {
            ch.code = 0xfffd;
            break;
        }
        ch.code = ch.code << 6 | (s[ch.len] & 0x3f);
    }
    if (ch.code < least[more] || ch.code > 0x10ffff ||
        (ch.code >= 0xd800 && ch.code <= 0xdfff))
        ch.code = 0xfffd;
    ch.harmful = is_harmful(ch.code);
    ch.width = ch.harmful ? 1 : columns_of(ch.code);
    return ch;
}

struct term_char term_char(const char *text)
{
    return decode(text, 4); /* a NUL ends it before that */
}

void term_clean(const char *text, char *buf, size_t size)
{
    const char *ellipsis = term_ellipsis();
    const size_t room = strlen(ellipsis) + 1;
    size_t n = 0, fits = 0; /* fits: length at which an ellipsis still fits */
    while (*text) {
        struct term_char ch = term_char(text);
        size_t len = ch.harmful ? 1 : ch.len;
        if (n + room <= size)
            fits = n;
        if (n + len + 1 > size)
            break;
        memcpy(buf + n, ch.harmful ? "?" : text, len);
        n += len;
        text += ch.len;
    }
    buf[n] = '\0';
    if (*text && fits + room <= size)
        memcpy(buf + fits, ellipsis, room);
}

/* Replaces harmful characters in data, except newlines and tabs, by '?'. Returns the new
 * length. */
static size_t clean(char *data, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len;) {
        struct term_char ch = decode(data + i, len - i);
        if (ch.harmful && ch.code != '\n' && ch.code != '\t') {
            data[kept++] = '?';
        } else {
            memmove(data + kept, data + i, ch.len);
            kept += ch.len;
        }
        i += ch.len;
    }
    return kept;
}

void term_put(const char *text)
{
    while (*text) {
        struct term_char ch = term_char(text);
        if (ch.harmful)
            (void)putchar('?');
        else
            (void)fwrite(text, 1, ch.len, stdout);
        text += ch.len;
    }
}

void term_put_clean(const char *text, size_t len)
{
    (void)fwrite(text, 1, len, stdout);
}

void term_vprint(FILE *to, const char *format, va_list ap)
{
    char some[512], *all = NULL;
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(some, sizeof(some), format, ap);
    if (len >= (int)sizeof(some)) {
        all = malloc((size_t)len + 1);
        if (all)
            (void)vsnprintf(all, (size_t)len + 1, format, again);
        else
            len = sizeof(some) - 1; /* as much as memory allows */
    }
    va_end(again);
    char *text = all ? all : some;
    if (len > 0) /* in one call, as standard error has no buffer */
        (void)fwrite(text, 1, clean(text, (size_t)len), to);
    free(all);
}

void term_print(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    term_vprint(stdout, format, ap);
    va_end(ap);
}

/* Returns how many bytes at the start of text are printed as they are. */
static size_t plain_length(const char *text, char also)
{
    size_t n = 0;
    while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '\\' && text[n] != also)
        n++;
    return n;
}

/* Prints the escape of a character, above 16 bits as two surrogates. */
static void put_json_escape(uint32_t code)
{
    if (code < 0x10000)
        (void)fprintf(stdout, "\\u%04x", (unsigned)code);
    else
        (void)fprintf(stdout, "\\u%04x\\u%04x", 0xd7c0U + (unsigned)(code >> 10),
                      0xdc00U + (unsigned)(code & 0x3ff));
}

void term_put_escaped(const char *text, bool is_json, char also)
{
    while (*text) {
        size_t plain = plain_length(text, also);
        (void)fwrite(text, 1, plain, stdout);
        text += plain;
        if (!*text)
            break;
        struct term_char ch = term_char(text);
        const char *short_form = ch.code == '\n'   ? "\\n"
                                 : ch.code == '\t' ? "\\t"
                                 : ch.code == '\r' ? "\\r"
                                 : ch.code == '\\' ? "\\\\"
                                                   : NULL;
        if (short_form && !is_json)
            (void)fputs(short_form, stdout);
        else if (ch.harmful || (also && *text == also))
            put_json_escape(ch.code);
        else
            (void)fwrite(text, 1, ch.len, stdout);
        text += ch.len;
    }
}

int term_put_json(const json_t *value)
{
    size_t ascii = term_is_tty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0;
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | ascii);
    if (!text)
        return -ENOMEM;
    term_put_escaped(text, true, '\0');
    free(text);
    return 0;
}

/* Returns the length of an incomplete but so far valid character at the start; otherwise
 * 0. A carriage return is incomplete too, as the next byte decides its form. */
static size_t unfinished(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] == '\r')
        return len == 1;
    size_t whole = s[0] >= 0xf8   ? 1
                   : s[0] >= 0xf0 ? 4
                   : s[0] >= 0xe0 ? 3
                   : s[0] >= 0xc0 ? 2
                                  : 1;
    if (len >= whole)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* Writes the first character of text to `to`. Returns its bytes; *n: bytes written. */
static size_t escape_one(const char *text, size_t len, char *to, size_t *n)
{
    struct term_char ch = decode(text, len);
    char form[16];
    int written;
    if (!ch.harmful || ch.code == '\n' || ch.code == '\t' ||
        (ch.code == '\r' && len > 1 && text[1] == '\n')) {
        memcpy(to, text, ch.len);
        *n = ch.len;
        return ch.len;
    }
    bool replacement = ch.len == 3 && memcmp(text, "\xef\xbf\xbd", 3) == 0;
    if (ch.code == '\r' && ch.len == 1) {
        written = snprintf(form, sizeof(form), "^M");
    } else if (ch.code < 0x80 || (ch.code == 0xfffd && !replacement)) {
        ch.len = 1; /* not UTF-8: byte by byte */
        written = snprintf(form, sizeof(form), "\\x%02x", (unsigned char)text[0]);
    } else {
        written = snprintf(form, sizeof(form), ch.code < 0x10000 ? "\\u%04x" : "\\U%08x",
                           (unsigned)ch.code);
    }
    *n = (size_t)written;
    memcpy(to, form, *n);
    return ch.len;
}

size_t term_filter(struct term_filter *f, const char *data, size_t len, bool last,
                   char *to)
{
    size_t written = 0, n;
    while (f->count > 0) {
        bool more = unfinished(f->held, f->count) > 0;
        if (more && len > 0) {
            f->held[f->count++] = *data++;
            len--;
            continue;
        }
        if (more && !last)
            return written;
        size_t used = escape_one(f->held, f->count, to + written, &n);
        written += n;
        f->count -= (unsigned)used;
        memmove(f->held, f->held + used, f->count);
    }
    for (size_t i = 0; i < len;) {
        size_t rest = unfinished(data + i, len - i);
        if (rest > 0 && !last) {
            memcpy(f->held, data + i, rest);
            f->count = (unsigned)rest;
            break;
        }
        i += escape_one(data + i, len - i, to + written, &n);
        written += n;
    }
    return written;
}

size_t term_width(const char *text)
{
    size_t n = 0;
    while (*text) {
        struct term_char ch = term_char(text);
        n += ch.width;
        text += ch.len;
    }
    return n;
}
