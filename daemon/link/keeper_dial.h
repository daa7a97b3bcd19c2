/* Finding or starting a keeper: the blocking-free steps of a connection to it. */
#ifndef DAEMON_LINK_KEEPER_DIAL_H
#define DAEMON_LINK_KEEPER_DIAL_H

#include <sys/types.h>
#include "daemon/keeper/protocol.h"

/* Connects to the keeper that listens on socket_path. Returns a non-blocking, CLOEXEC
 * descriptor; -ECONNREFUSED, -ENOENT: nobody there; -errno. */
int keeper_dial(const char *socket_path);

/* Sends SIGCONT to the keeper with this pid if it is stopped now: somebody may have
 * stopped it. One that runs gets none: SIGCONT takes back a SIGSTOP that is on its way,
 * and a debugger or a leak checker that attaches with one would wait for ever
 * (ptrace(2)). */
void keeper_continue(pid_t pid);
/* The same to the keeper that has accepted this connection, or is to. */
void keeper_continue_behind(int fd);

/* Kills the keeper behind this connection if it is stopped now, in spite of SIGCONT: what
 * somebody stops in a loop may never get to run, but it can be ended. Its jobs go on with
 * their shims, and another keeper follows. Returns its pid; 0: it was not killed. */
pid_t keeper_kill_stopped(int fd);

/* Binds socket_path, replacing what a keeper that has gone left there, and starts
 * `program` on it; scripts_dir may be NULL (keeper.h). Only one process may do this for
 * one path: voltd's locks see to it. 0 and the new child's pid; -errno. */
int keeper_spawn(const char *socket_path, const char *program, const char *scripts_dir,
                 pid_t *ret_pid);

/* Sends HELLO. 0 or -errno. */
int keeper_say_hello(int fd, uint64_t serial);
/* Judges what came back, n bytes or -errno of receiving. 0; -ECONNRESET; -EPROTO: another
 * version; -EBADMSG; the keeper's own -errno. */
int keeper_take_welcome(const union keeper_message *m, ssize_t n);

/* Ends the keeper of another version that has answered with this pid; its jobs go on with
 * their shims. Blocks until it has gone. 0 or -errno. */
int keeper_retire(pid_t pid);

#endif
