/* Prints messages of the command-line programs: always on standard error, never on
 * standard output. */
#ifndef VOLT_CLIENT_SAY_H
#define VOLT_CLIENT_SAY_H

#include "client/client.h"

/* Prepares the standard descriptors; call it first. Opens those that are closed, so that
 * no socket gets their numbers and printed text does not go to voltd. For non-blocking
 * ones see streams.h. */
void say_init(void);

/* Prints "volt-submit: TEXT" and a newline; characters that would control a terminal
 * become '?'. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
/* Prints, if standard input is a terminal, that `what` is read from it. */
void say_if_terminal(const char *what);
/* Prints that no voltd answered, with every path tried, and what to do. */
void say_no_daemon(const struct client_tried *tried);
/* Prints, once, that voltd does not answer and that the program waits. */
void say_silence(unsigned sec);
/* Prints what an error reply means. */
void say_error(const struct client_reply *reply);
/* Prints why the connection was lost; r: a result of client_receive(). */
void say_lost(int r);
/* Flushes standard output. Returns 0, or the -errno of the first failed write, now and in
 * all later calls; prints it once. */
int say_flush(void);
/* Returns the exit code: `code`, or `failed` if standard output did not take everything.
 * Call it last. */
int say_finish(int code, int failed);

#endif
