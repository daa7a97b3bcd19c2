/* See account.h. No allocation. */
#include "daemon/keeper/account.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include "daemon/job/account_path.def"
#include "daemon/keeper/protocol.h"

static struct {
    const char *home;
    size_t n;
    char *env[LAUNCH_ACCOUNT_MAX]; /* "NAME=value" */
} account;

/* Returns the entry of a variable, "NAME="; NULL: none. */
static char *find(char *const *env, const char *name)
{
    const size_t len = strlen(name);
    while (*env != NULL && strncmp(*env, name, len) != 0)
        env++;
    return *env;
}

static bool is_home(const char *entry)
{
    struct stat st;
    const char *path = entry != NULL ? entry + strlen("HOME=") : "";
    return path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Returns whether the shell can run commands: an account without login has one that
 * cannot. */
static bool is_shell(const char *entry)
{
    const char *name = entry != NULL ? strrchr(entry, '/') : NULL;
    return name != NULL && strcmp(name, "/nologin") != 0 && strcmp(name, "/false") != 0;
}

static void put(char *entry)
{
    if (entry != NULL)
        account.env[account.n++] = entry;
}

void account_init(char *const *environment, uid_t uid)
{
    static char root[] = "HOME=/", sh[] = "SHELL=/bin/sh", path[] = "PATH=" ACCOUNT_PATH,
                path_of_root[] = "PATH=" ACCOUNT_PATH_ROOT;
    char *home = find(environment, "HOME="), *shell = find(environment, "SHELL=");
    if (!is_home(home))
        home = root;
    account.home = home + strlen("HOME=");
    account.n = 0;
    put(home);
    put(find(environment, "LOGNAME="));
    put(find(environment, "USER="));
    put(is_shell(shell) ? shell : sh);
    put(uid == 0 ? path_of_root : path);
    put(find(environment, "LANG="));
}

const char *account_home(void)
{
    return account.home;
}

/* Returns whether env has the variable of this entry. */
static bool has_name_of(char *const *env, const char *entry)
{
    const size_t len = strcspn(entry, "=") + 1;
    while (*env != NULL && strncmp(*env, entry, len) != 0)
        env++;
    return *env != NULL;
}

void account_add(struct launch *l)
{
    char *missing[LAUNCH_ACCOUNT_MAX];
    size_t n = 0;
    for (size_t i = 0; i < account.n; i++)
        if (!has_name_of(l->env, account.env[i]))
            missing[n++] = account.env[i];
    memmove(l->env + n, l->env, (l->envc + 1) * sizeof(*l->env));
    memcpy(l->env, missing, n * sizeof(*missing));
    l->envc += n;
}
