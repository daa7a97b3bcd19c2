/* Finds or starts a keeper: the steps of a connection. Only keeper_retire() waits. */
#ifndef DAEMON_LINK_KEEPER_DIAL_H
#define DAEMON_LINK_KEEPER_DIAL_H

#include <sys/types.h>
#include "daemon/keeper/protocol.h"

/* Connects to the keeper that listens on socket_path. Returns:
 *   a descriptor, non-blocking and CLOEXEC
 *   -ECONNREFUSED, -ENOENT  no keeper listens
 *   -errno */
int keeper_dial(const char *socket_path);

/* Sends SIGCONT to the keeper with this pid if it is stopped now. A running keeper gets
 * none: SIGCONT would cancel a SIGSTOP that is on its way. A debugger or leak checker
 * that attaches by SIGSTOP would then wait for ever (ptrace(2)). */
void keeper_continue(pid_t pid);
/* Does the same to the keeper that has accepted this connection, or will. */
void keeper_continue_behind(int fd);

/* Kills the keeper behind this connection if it is stopped now, in spite of SIGCONT. A
 * keeper that is stopped in a loop may never run, but it can be killed. Its jobs go on
 * with their shims, and another keeper follows. Returns its pid; 0: not killed. */
pid_t keeper_kill_stopped(int fd);

/* Binds socket_path and starts `program` on it. Replaces the socket of a keeper that has
 * ended. scripts_dir may be NULL (keeper.h). Only one process may do this for one path,
 * which voltd's locks ensure. Returns 0 and the new child's pid, or -errno. */
int keeper_spawn(const char *socket_path, const char *program, const char *scripts_dir,
                 pid_t *ret_pid);

/* Sends HELLO. Returns 0 or -errno. */
int keeper_say_hello(int fd, uint64_t serial);
/* Judges the answer: n bytes, or -errno of receiving. Returns:
 *   0
 *   -ECONNRESET
 *   -EPROTO   the keeper is of another version
 *   -EBADMSG
 *   the keeper's own -errno */
int keeper_take_welcome(const union keeper_message *m, ssize_t n);

/* Ends the keeper of another version with this pid, from its answer. Its jobs go on with
 * their shims. Blocks until the keeper has ended. Returns 0 or -errno. */
int keeper_retire(pid_t pid);

#endif
