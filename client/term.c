/* Terminals; see term.h. */
#include "client/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

bool term_has_color(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term_is_tty(fd) && !(term && strcmp(term, "dumb") == 0);
}

static bool stdout_has_color(void)
{
    static int known = -1;
    if (known < 0)
        known = term_has_color(STDOUT_FILENO);
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

void term_clean(const char *text, char *buf, size_t size)
{
    size_t n = 0;
    for (; *text && n + 1 < size; text++, n++) {
        unsigned char ch = (unsigned char)*text;
        buf[n] = ch < 0x20 || ch == 0x7f ? '?' : *text;
    }
    buf[n] = '\0';
}

size_t term_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
