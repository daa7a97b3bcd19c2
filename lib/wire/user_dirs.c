/* See user_dirs.h. */
#include "wire/user_dirs.h"
#include "base/error.h"
#include "wire/address.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool user_is_anothers(const char *dir)
{
    struct stat st;
    return geteuid() == 0 && stat(dir, &st) == 0 && st.st_uid != 0;
}

const char *user_home(void)
{
    const char *home = getenv("HOME");
    if (!home || home[0] != '/')
        return NULL;
    return user_is_anothers(home) ? "/root" : home;
}

int user_state_dir(const char *home, char *buf, size_t size, struct volt_error *err)
{
    const char *xdg = getenv("XDG_STATE_HOME");
    int n;
    if (xdg && xdg[0] == '/' && !user_is_anothers(xdg))
        n = snprintf(buf, size, "%s/voltd", xdg);
    else if (home && home[0] == '/')
        n = snprintf(buf, size, "%s/.local/state/voltd", home);
    else
        return error_set(err, -ENOENT,
                         "neither XDG_STATE_HOME nor HOME is set; use --state-dir");
    if (n < 0 || (size_t)n >= size)
        return error_set(err, -ENAMETOOLONG, "%.100s...: %s", buf,
                         strerror(ENAMETOOLONG));
    return 0;
}

static int link_path(const char *state_dir, const char *suffix, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/runtime%s", state_dir, suffix);
    return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int user_link_put(const char *state_dir, const char *runtime_dir)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    int r = link_path(state_dir, "", path);
    if (r == 0)
        r = link_path(state_dir, ".new", fresh);
    if (r < 0)
        return r;
    if (unlink(fresh) < 0 && errno != ENOENT) /* left by a voltd that died here */
        return -errno;
    if (symlink(runtime_dir, fresh) < 0)
        return -errno;
    if (rename(fresh, path) == 0)
        return 0;
    r = -errno;
    (void)unlink(fresh);
    return r;
}

void user_link_remove(const char *state_dir)
{
    char path[PATH_MAX];
    if (link_path(state_dir, "", path) == 0)
        (void)unlink(path);
}

int user_link_read(char *buf, size_t size)
{
    char dir[PATH_MAX];
    int r = user_state_dir(user_home(), dir, sizeof(dir), NULL);
    return r < 0 ? r : user_link_read_in(dir, buf, size);
}

int user_link_read_in(const char *state_dir, char *buf, size_t size)
{
    char path[PATH_MAX];
    struct stat st;
    int r = link_path(state_dir, "", path);
    if (r < 0)
        return r;
    if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode) || st.st_uid != geteuid())
        return -ENOENT;
    ssize_t n = readlink(path, buf, size);
    if (n < 0)
        return -errno;
    if ((size_t)n >= size)
        return -ENAMETOOLONG;
    buf[n] = '\0';
    return address_check_dir(buf, NULL) < 0 ? -ENOENT : 0;
}
