/* systemd, as far as voltd knows it: readiness, status, watchdog, sockets handed over,
 * entries of the journal. The only place that includes <systemd/...>. Without systemd
 * every call does nothing and succeeds. No function here allocates for long or keeps
 * state. */
#ifndef VOLTD_SYSD_H
#define VOLTD_SYSD_H

#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>

/* Takes the listening sockets that systemd passed. names[i] ("varlink", "control": the
 * FileDescriptorName= of the socket unit) goes to fds[i], -1 where none came; the caller
 * owns them, they are CLOEXEC. Cleans the environment, so it must come before the first
 * thread. Returns the number taken; -EINVAL with the text in err for a descriptor with an
 * unknown or repeated name or one that is no listening Unix stream socket. */
int sysd_take_sockets(const char *const names[], int fds[], size_t count,
                      struct volt_error *err);

/* Notifications to the service manager; 0 or a negative errno, which most callers may
 * ignore by (void). Any thread. */
int sysd_notify_ready(void);
int sysd_notify_stopping(void);
int sysd_notify_reloading(void); /* sysd_notify_ready() ends it */
int sysd_notify_watchdog(void);
__attribute__((format(printf, 1, 2))) int sysd_notify_status(const char *format, ...);

/* An entry of the journal: n fields "NAME=value", of which MESSAGE= is one. Waits for the
 * journal, as writing a log line does. */
int sysd_journal_send(const char *const fields[], size_t n);

/* How often at most the watchdog wants to hear from us: its period in microseconds, 0
 * when there is none. Notify at half of it. */
uint64_t sysd_watchdog_usec(void);

#endif
