/* See auth.h. */
#include "daemon/auth/auth.h"

#include <stdio.h>
#include <unistd.h>

enum relation { OWNER, OTHER, ADMIN, ROOT, RELATIONS };

struct row {
    enum auth_verdict verdict[RELATIONS];
    const char *what;
};

#define YES    AUTH_YES
#define ABSENT AUTH_ABSENT
#define NO     AUTH_NO
static const struct row rows[AUTH_OPERATIONS] = {
#define OPERATION(name_, owner_, other_, admin_, root_, what_)                           \
    [AUTH_##name_] = {{owner_, other_, admin_, root_}, what_},
#include "daemon/auth/operations.def"
#undef OPERATION
};

enum auth_standing auth_standing(uid_t uid, bool control, bool user_mode, bool root_only)
{
    if (uid == 0 || (user_mode && uid == geteuid()))
        return AUTH_ROOT;
    if (root_only)
        return AUTH_UNSERVED;
    return control && !user_mode ? AUTH_ADMIN : AUTH_MEMBER;
}

static enum relation relation_to(const struct asker *asker, uid_t owner)
{
    if (asker->standing == AUTH_ROOT)
        return ROOT;
    if (asker->standing == AUTH_ADMIN)
        return ADMIN;
    return asker->who.uid == owner ? OWNER : OTHER;
}

enum auth_verdict auth_may(const struct asker *asker, enum auth_operation operation,
                           uid_t owner)
{
    return asker->standing == AUTH_UNSERVED
               ? AUTH_NO
               : rows[operation].verdict[relation_to(asker, owner)];
}

bool auth_sees(const struct asker *asker, uid_t owner)
{
    return auth_may(asker, AUTH_JOBS, owner) == AUTH_YES;
}

bool auth_sees_all(const struct asker *asker)
{
    return asker->standing >= AUTH_ADMIN;
}

bool auth_has(const struct asker *asker, enum auth_operation operation)
{
    return auth_may(asker, operation, asker->who.uid) == AUTH_YES;
}

void auth_refusal(const struct asker *asker, enum auth_operation operation,
                  char ret[AUTH_REFUSAL_BYTES])
{
    const struct row *row = &rows[operation];

    if (asker->standing == AUTH_UNSERVED)
        (void)snprintf(ret, AUTH_REFUSAL_BYTES,
                       "this voltd runs as root, would run every job as root, and serves "
                       "root alone");
    else
        (void)snprintf(ret, AUTH_REFUSAL_BYTES, "only root%s may %s",
                       row->verdict[ADMIN] == AUTH_YES
                           ? ", and administrators through control.sock,"
                           : "",
                       row->what);
}
