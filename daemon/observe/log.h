/* Log of the daemon: lines on stderr. The journal (see JOURNAL_STREAM) gets the priority
 * in front ("<6>..."), other readers plain lines. At most LOG_BURST lines go out per
 * LOG_INTERVAL_USEC, so that no peer fills a disk; the next line counts the dropped ones.
 * Control characters become \xNN, so that a text of others stays on its line and controls
 * no terminal. Any thread; one write(2) per line; never under a lock. */
#ifndef VOLTD_OBSERVE_LOG_H
#define VOLTD_OBSERVE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

#define LOG_BURST         200
#define LOG_INTERVAL_USEC UINT64_C(10000000)

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
};

/* Checks once whether stderr is the journal. Call before the first thread. */
void log_init(void);
bool log_is_journal(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level,
                                                    const char *format, ...);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)

#endif
