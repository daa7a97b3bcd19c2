/* Terminals; see term.h. */
#include "client/term.h"

#include <jansson.h>
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

unsigned term_columns(int fd)
{
    const char *env = getenv("COLUMNS");
    if (env) {
        unsigned long n = strtoul(env, NULL, 10);
        if (n >= 20 && n <= 10000)
            return (unsigned)n;
    }
    struct winsize ws;
    if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20)
        return ws.ws_col;
    return 80;
}

/* Only on a terminal that is not "dumb", and never with NO_COLOR. */
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

const char *term_on(enum term_style style)
{
    static const char *const codes[] = {
        [TERM_PLAIN] = "",         [TERM_BOLD] = "\033[1m",    [TERM_RED] = "\033[31m",
        [TERM_GREEN] = "\033[32m", [TERM_YELLOW] = "\033[33m", [TERM_DIM] = "\033[2m",
    };
    return stdout_has_color() ? codes[style] : "";
}

const char *term_off(enum term_style style)
{
    return style != TERM_PLAIN && stdout_has_color() ? "\033[0m" : "";
}

/* Control characters, and those that turn the direction of what follows: nothing that
 * somebody else has written may use them here. */
static bool is_harmful(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfffd;
}

/* The character at the start of len bytes, one at least. */
static struct term_char decode(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    struct term_char ch = {.code = s[0], .len = 1, .width = 1};
    unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    if (more > 0)
        ch.code = s[0] & (0x3fU >> more);
    else if (s[0] >= 0x80)
        ch.code = 0xfffd;
    for (; more > 0; more--, ch.len++) {
        if (ch.len == len || (s[ch.len] & 0xc0) != 0x80) {
            ch.code = 0xfffd;
            break;
        }
        ch.code = ch.code << 6 | (s[ch.len] & 0x3f);
    }
    ch.harmful = is_harmful(ch.code);
    int width = ch.harmful ? 1 : wcwidth((wchar_t)ch.code);
    ch.width = width < 0 ? 1 : (unsigned)width;
    return ch;
}

struct term_char term_char(const char *text)
{
    return decode(text, 4); /* its NUL ends it before that */
}

void term_clean(const char *text, char *buf, size_t size)
{
    static const char ellipsis[] = "\u2026";
    size_t n = 0, fits = 0; /* fits: the ellipsis still has room behind it */
    while (*text) {
        struct term_char ch = term_char(text);
        size_t len = ch.harmful ? 1 : ch.len;
        if (n + sizeof(ellipsis) <= size)
            fits = n;
        if (n + len + 1 > size)
            break;
        memcpy(buf + n, ch.harmful ? "?" : text, len);
        n += len;
        text += ch.len;
    }
    buf[n] = '\0';
    if (*text && fits + sizeof(ellipsis) <= size)
        memcpy(buf + fits, ellipsis, sizeof(ellipsis));
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

size_t term_clean_bytes(char *data, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len;) {
        struct term_char ch = decode(data + i, len - i);
        bool space = ch.code == '\n' || ch.code == '\t' || ch.code == '\r';
        if (ch.harmful && !space) {
            data[kept++] = '?';
        } else {
            memmove(data + kept, data + i, ch.len);
            kept += ch.len;
        }
        i += ch.len;
    }
    return kept;
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

size_t term_json_flags(void)
{
    return JSON_COMPACT | (term_is_tty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0);
}
