/* Who may do what. operations.def is the table: a row for each operation, a column for
 * each relation of the caller to the owner of the object. methods.def names the operation
 * of each method. Pure, except that
 * it asks for the account that voltd runs as.
 *
 *   relation   the caller is ...
 *   owner      the user whose job, lock or event it is
 *   other      another user whom the kernel lets connect to voltd.sock
 *   admin      connected to control.sock of the system's voltd: mode and group of that
 *              socket are the check, and voltd looks up no name
 *   root       root; for a user's own voltd, that user
 *
 * The uid is that of SO_PEERCRED; uid and standing are taken once, at accept. */
#ifndef VOLTD_AUTH_AUTH_H
#define VOLTD_AUTH_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "daemon/job/owner.h"

enum auth_standing {
    AUTH_UNSERVED = 0, /* voltd is root and would run this caller's jobs as root */
    AUTH_MEMBER,
    AUTH_ADMIN,
    AUTH_ROOT,
};

/* The caller. */
struct asker {
    struct job_owner who;
    enum auth_standing standing;
};

/* Returns a user with no more than its own rights. */
static inline struct asker auth_user(uid_t uid)
{
    return (struct asker){{.uid = uid}, AUTH_MEMBER};
}

/* Returns voltd itself as the caller. */
static inline struct asker auth_voltd(void)
{
    return (struct asker){{.uid = 0}, AUTH_ROOT};
}

enum auth_operation {
#define OPERATION(name_, owner_, other_, admin_, root_, what_) AUTH_##name_,
#include "daemon/auth/operations.def"
#undef OPERATION
    AUTH_OPERATIONS,

/* Operation of each method: AUTH_OF_jobs_Submit. */
#define METHOD(interface_, name_, operation_)                                            \
    AUTH_OF_##interface_##_##name_ = AUTH_##operation_,
#include "daemon/auth/methods.def"
#undef METHOD
};

enum auth_verdict {
    AUTH_NO = 0, /* refused, with auth_refusal() */
    AUTH_ABSENT, /* answered as if the object did not exist */
    AUTH_YES,
};

/* Returns the standing of a connection. control: it is on the control socket. root_only:
 * voltd is root. */
enum auth_standing auth_standing(uid_t uid, bool control, bool user_mode, bool root_only);

/* Returns whether the caller may do this to an object of owner. For an object without an
 * owner pass the caller's uid. */
enum auth_verdict auth_may(const struct asker *asker, enum auth_operation operation,
                           uid_t owner);
/* Returns whether the caller may see jobs, events and orphans of owner, and steer
 * them. */
bool auth_sees(const struct asker *asker, uid_t owner);
/* The same for all owners. */
bool auth_sees_all(const struct asker *asker);
/* Returns whether the caller may do an operation of admins and root. */
bool auth_has(const struct asker *asker, enum auth_operation operation);

/* Writes for the caller why the operation is refused. */
#define AUTH_REFUSAL_BYTES 160
void auth_refusal(const struct asker *asker, enum auth_operation operation,
                  char ret[AUTH_REFUSAL_BYTES]);

#endif
