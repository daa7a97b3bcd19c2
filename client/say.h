/* Talk of the command-line programs: always on standard error, never on
 * standard output. */
#ifndef VOLT_CLIENT_SAY_H
#define VOLT_CLIENT_SAY_H

#include "client/client.h"

/* First of all. Takes the places of standard descriptors that are closed: no socket shall
 * get them, or what is printed would go to voltd. Those that do not block are waited for:
 * streams.h. */
void say_init(void);

/* "volt-submit: TEXT" and a line end; what would steer a terminal is '?'. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Says that no voltd answered, every path tried, and what to do about it. */
void say_no_daemon(const struct client_tried *tried);
/* Says, once, that voltd answers nothing, and is waited for. */
void say_silence(void);
/* Says what an error reply means. */
void say_error(const struct client_reply *reply);
/* Says why the connection failed in the middle; r: a result of client_receive(). */
void say_lost(int r);
/* Flushes standard output. 0, or -errno of the first thing that could not be written,
 * then and ever after; said once. */
int say_flush(void);
/* The last of all: code, or `failed` where standard output did not take everything. */
int say_finish(int code, int failed);

#endif
