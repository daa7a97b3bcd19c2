/* The account that jobs run as, which is the keeper's: what a job gets whose spec has no
 * environment, or no directory. As from cron, not what somebody was started with.
 *
 * It is taken from the keeper's environment, where systemd puts what the user database
 * says for a service with User=, and voltd for the keeper that it starts. The keeper does
 * not ask the database itself: it is static, and modules of that (nsswitch.conf) would be
 * loaded into it, other builds of libc with them, and copied by the fork of each shim. */
#ifndef DAEMON_KEEPER_ACCOUNT_H
#define DAEMON_KEEPER_ACCOUNT_H

#include <sys/types.h>

struct launch;

/* Looks once, at the keeper's start. Borrows the entries of the environment. */
void account_init(char *const *environment, uid_t uid);
/* Its home; "/" where that is no directory. */
const char *account_home(void);
/* Puts HOME, LOGNAME, USER, SHELL, PATH and LANG in front of the environment of l, but
 * for those that it names: LAUNCH_ACCOUNT_MAX entries more have room there. Those that
 * are not known are missing. */
void account_add(struct launch *l);

#endif
