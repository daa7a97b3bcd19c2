/* Reload and shutdown of the whole daemon, for the methods of control; see
 * daemon/control.c. */
#ifndef VOLTD_CONTROL_H
#define VOLTD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/error.h>

struct control;
struct config_limits;

/* Reads the configuration again. Blocks on the disk. ret_needs_restart: the keys that
 * take effect at a restart ("Daemon.Workers"), a NULL-terminated array, to be freed with
 * one free(). Returns 0; -errno with the text in err, and nothing has changed. */
int control_reload(struct control *c, char ***ret_needs_restart, struct volt_error *err);
/* Begins the end: closes the listeners, with cancel ends all jobs, then the process
 * exits. Idempotent; returns at once. */
void control_shutdown(struct control *c, bool cancel);
uint64_t control_started_usec(const struct control *c); /* volt_now_usec() clock */
/* Lists the configuration files in force, main file first: a NULL-terminated array, to be
 * freed with one free(); NULL without memory. Blocks on the disk. */
char **control_config_files(struct control *c);
/* Returns the limits of users and groups in force, n of them, to be freed with one
 * free(); NULL without memory. */
struct config_limits *control_limits(struct control *c, size_t *ret_n);

#endif
