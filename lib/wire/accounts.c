/* See accounts.h. */
#include "wire/accounts.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* Returns NULL if the file cannot be read. */
static FILE *open_table(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    return fd >= 0 ? fdopen(fd, "r") : NULL;
}

static void close_table(FILE *file)
{
    if (file)
        (void)fclose(file);
}

bool accounts_user(uid_t uid, char *buf, size_t size)
{
    FILE *file = open_table("/etc/passwd");
    const struct passwd *user = NULL;

    (void)snprintf(buf, size, "%u", (unsigned)uid);
    while (file && (user = fgetpwent(file)) && user->pw_uid != uid)
        ;
    if (user)
        (void)snprintf(buf, size, "%s", user->pw_name);
    close_table(file);
    return user != NULL;
}

bool accounts_group(gid_t gid, const char *user, char *buf, size_t size, bool *ret_member)
{
    FILE *file = open_table("/etc/group");
    const struct group *group = NULL;

    (void)snprintf(buf, size, "%u", (unsigned)gid);
    *ret_member = false;
    while (file && (group = fgetgrent(file)) && group->gr_gid != gid)
        ;
    if (group)
        (void)snprintf(buf, size, "%s", group->gr_name);
    for (char **m = group ? group->gr_mem : NULL; m && *m; m++)
        *ret_member |= strcmp(*m, user) == 0;
    close_table(file);
    return group != NULL;
}
