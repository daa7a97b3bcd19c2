/* The account that jobs run as: the keeper's own.
 *
 * A job whose spec has no environment or no directory gets those of the account, as from
 * cron.
 *
 * The keeper takes them from its own environment. systemd puts the user database's values
 * there for a service with User=. voltd puts them there for a keeper that it starts. The
 * keeper does not ask the database itself. The keeper is static, and modules of the
 * database (nsswitch.conf) would be loaded into it. They bring other builds of libc, and
 * each fork of a shim would copy them. */
#ifndef DAEMON_KEEPER_ACCOUNT_H
#define DAEMON_KEEPER_ACCOUNT_H

#include <sys/types.h>

struct launch;

/* Reads the account once, at the keeper's start. Borrows the entries of the
 * environment. */
void account_init(char *const *environment, uid_t uid);
/* Returns the account's home; "/" if HOME names no directory. */
const char *account_home(void);
/* Puts HOME, LOGNAME, USER, SHELL, PATH and LANG in front of the environment of l, which
 * must have room for LAUNCH_ACCOUNT_MAX more entries. Skips variables that l names, and
 * those that the account does not have. */
void account_add(struct launch *l);

#endif
