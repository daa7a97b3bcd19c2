/* Formats a line, admits it by a count per interval, writes it with one write(). */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/runtime.h>

#include "daemon/observe/log.h"

#define LINE_MAX_TEXT 1024

static struct {
    pthread_mutex_t lock; /* guards the rest but plain, which log_init() sets */
    uint64_t interval_began;
    unsigned lines;
    uint64_t left_out;
    bool plain;
} log_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void log_init(void)
{
    const char *journal = getenv("JOURNAL_STREAM");
    unsigned long long dev, ino;
    struct stat st;

    log_state.plain = !journal || sscanf(journal, "%llu:%llu", &dev, &ino) != 2 ||
                      fstat(STDERR_FILENO, &st) < 0 || st.st_dev != dev ||
                      st.st_ino != ino;
}

bool log_is_journal(void)
{
    return !log_state.plain;
}

/* Returns whether the line may go out. *ret_left_out: lines dropped before it. */
static bool admit(uint64_t now, uint64_t *ret_left_out)
{
    pthread_mutex_lock(&log_state.lock);
    if (now - log_state.interval_began >= LOG_INTERVAL_USEC) {
        log_state.interval_began = now;
        log_state.lines = 0;
    }
    bool ok = log_state.lines < LOG_BURST;
    if (ok) {
        log_state.lines++;
        *ret_left_out = log_state.left_out;
        log_state.left_out = 0;
    } else {
        log_state.left_out++;
    }
    pthread_mutex_unlock(&log_state.lock);
    return ok;
}

/* Copies text with control characters (of C1 as well) as \xNN, so that names and paths
 * chosen by others begin no new line and control no terminal. to: room for 4 * len
 * bytes. */
static size_t escape(const char *text, size_t len, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool c1 = c == 0xc2 && i + 1 < len && ((unsigned char)text[i + 1] & 0xe0) == 0x80;
        if (c1)
            c = (unsigned char)text[++i];
        if (c1 || c < 0x20 || c == 0x7f)
            n += (size_t)sprintf(to + n, "\\x%02x", c);
        else
            to[n++] = (char)c;
    }
    return n;
}

static void put(enum log_level level, const char *text, size_t len)
{
    char line[16 + 4 * LINE_MAX_TEXT];
    int n =
        log_state.plain ? sprintf(line, "voltd: ") : sprintf(line, "<%d>", (int)level);
    size_t end = (size_t)n + escape(text, len, line + n);

    line[end++] = '\n';
    /* A failure of stderr cannot be reported. */
    (void)!TEMP_FAILURE_RETRY(write(STDERR_FILENO, line, end));
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[LINE_MAX_TEXT];
    uint64_t left_out = 0;
    va_list ap;

    if (!admit(volt_now_usec(), &left_out))
        return;
    va_start(ap, format);
    int len = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (left_out) {
        char gap[64];
        int n = snprintf(gap, sizeof(gap), "%llu lines left out here",
                         (unsigned long long)left_out);
        put(LOG_LEVEL_WARNING, gap, (size_t)n);
    }
    if (len >= 0)
        put(level, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}
