/* See auth.h. */
#include "daemon/auth/auth.h"

#include <unistd.h>

bool auth_is_root(uid_t uid)
{
    return uid == 0;
}

bool auth_sees(uid_t uid, uid_t owner)
{
    return auth_is_root(uid) || uid == owner;
}

bool auth_runs_voltd(uid_t uid)
{
    return auth_is_root(uid) || uid == geteuid();
}

bool auth_is_admin(uid_t uid, bool user_mode)
{
    return auth_is_root(uid) || (user_mode && auth_runs_voltd(uid));
}

bool auth_is_served(uid_t uid, bool root_only)
{
    return !root_only || auth_is_root(uid);
}
