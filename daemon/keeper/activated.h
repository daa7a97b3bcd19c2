/* A keeper that systemd starts for a connection: voltd-keeper@UID.socket and .service.
 *
 * Does without libsystemd, which each fork of a shim would copy. */
#ifndef DAEMON_KEEPER_ACTIVATED_H
#define DAEMON_KEEPER_ACTIVATED_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns whether systemd passed exactly one descriptor, 3, to this process (LISTEN_PID,
 * LISTEN_FDS). */
bool activated_has_socket(void);
/* Sets *ret to the owner of the socket's file: only this user can connect. Returns 0 or
 * -errno. */
int activated_peer(int listen_fd, uid_t *ret);
/* Sends READY=1 to NOTIFY_SOCKET, if there is one. Returns 0 or -errno. */
int activated_tell_ready(void);
/* Waits until systemd has moved this process to the unit of its jobs,
 * ".../voltd-jobs@UID.service/keeper". ExecStartPost= of the service asks systemd for
 * that after READY=1. Processes started before the move would end with the service.
 * Returns 0 or -errno. */
int activated_await_place(uid_t uid);

#endif
