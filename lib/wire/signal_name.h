/* Signals by name: "SIGTERM", "TERM", "SIGRTMIN+3", "RTMIN+3", or a number. */
#ifndef VOLT_WIRE_SIGNAL_NAME_H
#define VOLT_WIRE_SIGNAL_NAME_H

#define SIGNAL_NAME_MAX 16

/* Returns the number of a signal; -EINVAL if there is none. */
int signal_from_name(const char *name);
/* Writes "SIGTERM", "SIGRTMIN+3", or a decimal number for a signal without a name.
 * Returns buf. */
const char *signal_name(int signal, char buf[SIGNAL_NAME_MAX]);

#endif
