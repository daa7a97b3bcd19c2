/* Interface to systemd: readiness, status, watchdog, passed sockets, journal entries. No
 * other file includes <systemd/...>. Without systemd every call does nothing and
 * succeeds. No function keeps memory or state. */
#ifndef VOLTD_SYSD_H
#define VOLTD_SYSD_H

#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>

/* Takes the listening sockets that systemd passed. names[i] ("varlink", "control": the
 * FileDescriptorName= of the socket unit) goes to fds[i], which is -1 if there is none.
 * The caller owns the descriptors, which are CLOEXEC. Changes the environment: call
 * before the first thread. Returns the number of sockets. Returns -EINVAL with the text
 * in err for an unknown or repeated name, or a descriptor that is no listening Unix
 * stream socket. */
int sysd_take_sockets(const char *const names[], int fds[], size_t count,
                      struct volt_error *err);

/* Notify the service manager. Return 0 or -errno, which most callers may ignore by
 * (void). Any thread. */
int sysd_notify_ready(void);
int sysd_notify_stopping(void);
int sysd_notify_reloading(void); /* until sysd_notify_ready() */
int sysd_notify_watchdog(void);
__attribute__((format(printf, 1, 2))) int sysd_notify_status(const char *format, ...);

/* Sends an entry to the journal: n fields "NAME=value", MESSAGE= among them. Waits for
 * the journal, as a log line does. */
int sysd_journal_send(const char *const fields[], size_t n);

/* Returns the watchdog period in microseconds, 0 without a watchdog. Notify twice per
 * period. */
uint64_t sysd_watchdog_usec(void);

#endif
