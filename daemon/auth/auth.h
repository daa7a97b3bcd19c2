/* Who may do what. operations.def is the table: a row for each operation, a column for
 * each relation of the caller to what it asks about. methods.def says which operation a
 * method is. Pure but for the account that voltd runs as.
 *
 *   relation   the caller is ...
 *   owner      the user whose job, lock or event it is
 *   other      another user that the kernel lets through to voltd.sock
 *   admin      connected to control.sock of the system's voltd: mode and group of that
 *              socket are the check, and voltd looks up no name
 *   root       root; where voltd is a user's own, that user
 *
 * The uid is that of SO_PEERCRED, taken once at accept, and so is the standing. */
#ifndef VOLTD_AUTH_AUTH_H
#define VOLTD_AUTH_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "daemon/job/owner.h"

enum auth_standing {
    AUTH_UNSERVED = 0, /* voltd is root, and would run the jobs of this one as root */
    AUTH_MEMBER,
    AUTH_ADMIN,
    AUTH_ROOT,
};

/* Who asks. */
struct asker {
    struct job_owner who;
    enum auth_standing standing;
};

/* A user who has only what is its own. */
static inline struct asker auth_user(uid_t uid)
{
    return (struct asker){{.uid = uid}, AUTH_MEMBER};
}

/* voltd itself. */
static inline struct asker auth_voltd(void)
{
    return (struct asker){{.uid = 0}, AUTH_ROOT};
}

enum auth_operation {
#define OPERATION(name_, owner_, other_, admin_, root_, what_) AUTH_##name_,
#include "daemon/auth/operations.def"
#undef OPERATION
    AUTH_OPERATIONS,

/* Of a method: AUTH_OF_jobs_Submit. */
#define METHOD(interface_, name_, operation_)                                            \
    AUTH_OF_##interface_##_##name_ = AUTH_##operation_,
#include "daemon/auth/methods.def"
#undef METHOD
};

enum auth_verdict {
    AUTH_NO = 0, /* with auth_refusal() */
    AUTH_ABSENT, /* as if there were no such thing */
    AUTH_YES,
};

/* control: the connection is on the control socket. */
enum auth_standing auth_standing(uid_t uid, bool control, bool user_mode, bool root_only);

/* owner: of what is asked about; of what is nobody's the asker's own uid. */
enum auth_verdict auth_may(const struct asker *asker, enum auth_operation operation,
                           uid_t owner);
/* The jobs, events and orphans of this owner, and so it may steer them. */
bool auth_sees(const struct asker *asker, uid_t owner);
/* The same of every owner. */
bool auth_sees_all(const struct asker *asker);
/* What only admins and root may, or root alone. */
bool auth_has(const struct asker *asker, enum auth_operation operation);

/* Why not, for the caller. */
#define AUTH_REFUSAL_BYTES 160
void auth_refusal(const struct asker *asker, enum auth_operation operation,
                  char ret[AUTH_REFUSAL_BYTES]);

#endif
