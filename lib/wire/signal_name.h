/* Signals by name: "SIGTERM", "TERM", "SIGRTMIN+3", "RTMIN+3", or a number. */
#ifndef VOLT_WIRE_SIGNAL_NAME_H
#define VOLT_WIRE_SIGNAL_NAME_H

#define SIGNAL_NAME_MAX 16

/* The number; -EINVAL: no such signal. */
int signal_from_name(const char *name);
/* "SIGTERM", "SIGRTMIN+3"; what has no name is a decimal number. Returns buf. */
const char *signal_name(int signal, char buf[SIGNAL_NAME_MAX]);

#endif
