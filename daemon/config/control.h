/* What the control endpoint can do to the daemon as a whole; implemented by main. */
#ifndef VOLTD_CONTROL_H
#define VOLTD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

struct control;

/* Reads the configuration again. Blocks on the disk. 0; -EINVAL with a text: nothing has
 * changed. ret_needs_restart: keys that changed without effect ("Daemon.Workers"), a
 * NULL-terminated array that the caller frees with free() (one allocation). */
int control_reload(struct control *c, char ***ret_needs_restart, struct volt_error *err);
/* Begins the end: listeners close, then with cancel all jobs are ended, then the process
 * exits. Idempotent; returns at once. */
void control_shutdown(struct control *c, bool cancel);
uint64_t control_started_usec(const struct control *c); /* volt_now_usec() clock */
/* The configuration files in force, main file first: a NULL-terminated array that the
 * caller frees with free() (one allocation); NULL when out of memory. Blocks on the
 * disk. */
char **control_config_files(struct control *c);

#endif
