/* Formatting, a token count per interval, one write. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/runtime.h>

#include "daemon/observe/log.h"

static struct {
    pthread_mutex_t lock; /* guards the rest but plain, which is set before threads */
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

/* True: the line may go out; *ret_left_out lines before it did not. */
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

static void put(enum log_level level, const char *text, int len)
{
    char line[1200];
    int n = log_state.plain
                ? snprintf(line, sizeof(line), "voltd: %.*s\n", len, text)
                : snprintf(line, sizeof(line), "<%d>%.*s\n", (int)level, len, text);
    /* Nobody is left to be told when stderr fails. */
    (void)!TEMP_FAILURE_RETRY(write(STDERR_FILENO, line, (size_t)n));
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[1024];
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
        put(LOG_LEVEL_WARNING, gap, n);
    }
    put(level, text, len < (int)sizeof(text) ? len : (int)sizeof(text) - 1);
}
