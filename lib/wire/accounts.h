/* Names of users and groups of this machine, from /etc/passwd and /etc/group themselves:
 * the programs are linked statically, and have no other sources. What is known elsewhere
 * (LDAP) has no name here. */
#ifndef VOLT_WIRE_ACCOUNTS_H
#define VOLT_WIRE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False: it has none, and buf is its number. */
bool accounts_user(uid_t uid, char *buf, size_t size);
/* The same. *ret_member: this user is named as a member of it. */
bool accounts_group(gid_t gid, const char *user, char *buf, size_t size,
                    bool *ret_member);

#endif
