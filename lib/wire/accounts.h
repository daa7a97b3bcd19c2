/* Names of this machine's users and groups, read from /etc/passwd and /etc/group: the
 * programs are linked statically and have no other sources. Accounts of a directory
 * service (LDAP) have no name here. */
#ifndef VOLT_WIRE_ACCOUNTS_H
#define VOLT_WIRE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes the name of a user. Returns false, with the number in buf, if it has none. */
bool accounts_user(uid_t uid, char *buf, size_t size);
/* The same of a group. *ret_member: the group lists this user as a member. */
bool accounts_group(gid_t gid, const char *user, char *buf, size_t size,
                    bool *ret_member);

#endif
