/* A keeper that systemd has started for a connection, by voltd-keeper@UID.socket and
 * .service. Without libsystemd, which each fork of a shim would copy. */
#ifndef DAEMON_KEEPER_ACTIVATED_H
#define DAEMON_KEEPER_ACTIVATED_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether descriptor 3, and no other, is from systemd for this process (LISTEN_PID,
 * LISTEN_FDS). */
bool activated_has_socket(void);
/* The owner of the socket's file, who alone can connect. 0 or -errno. */
int activated_peer(int listen_fd, uid_t *ret);
/* READY=1 to NOTIFY_SOCKET, if there is one. 0 or -errno. */
int activated_tell_ready(void);
/* Waits until systemd, which is asked to by ExecStartPost= of the service once it is
 * ready, has moved this process to the unit that its jobs are to live in:
 * ".../voltd-jobs@UID.service/keeper". What it started before would end with the
 * service. 0 or -errno. */
int activated_await_place(uid_t uid);

#endif
