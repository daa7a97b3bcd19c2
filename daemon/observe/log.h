/* The daemon's own log: lines on stderr, with the priority in front ("<6>...") where the
 * journal reads them (JOURNAL_STREAM says so), plain elsewhere. At most LOG_BURST lines
 * in LOG_INTERVAL_USEC, so that nothing a peer does fills a disk; what was left out is
 * counted in the next line. Control characters become \xNN: a text of others stays on its
 * line and steers no terminal. Any thread; one write(2) per line; never under a lock. */
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

/* Looks once whether stderr is the journal; before the first thread. */
void log_init(void);
bool log_is_journal(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level,
                                                    const char *format, ...);

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)

#endif
