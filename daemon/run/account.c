/* See account.h. */
#include "daemon/run/account.h"
#include "daemon/job/account_path.def"

#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLES 6

struct account {
    char *home;
    char *env[VARIABLES + 1];
};

/* An account that nobody logs in with has a shell that runs nothing. */
static const char *shell_of(const struct passwd *entry)
{
    const char *shell = entry ? entry->pw_shell : "";
    const char *name = strrchr(shell, '/');

    if (!name || strcmp(name, "/nologin") == 0 || strcmp(name, "/false") == 0)
        return "/bin/sh";
    return shell;
}

/* The system's voltd has its state in its account's home: a job that removes what is in
 * its working directory would remove that. */
static bool is_home(const char *path, const char *state_dir)
{
    struct stat st, state;

    if (!path || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return false;
    return !state_dir || stat(state_dir, &state) < 0 || st.st_dev != state.st_dev ||
           st.st_ino != state.st_ino;
}

/* value NULL: there is none. False: out of memory. */
static bool put(struct account *a, const char *name, const char *value)
{
    size_t n = 0;

    while (a->env[n])
        n++;
    if (value && asprintf(&a->env[n], "%s=%s", name, value) < 0) {
        a->env[n] = NULL;
        return false;
    }
    return true;
}

struct account *account_open(const char *home, const char *state_dir)
{
    char memory[4096];
    struct passwd found, *entry = NULL;
    struct account *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    (void)getpwuid_r(geteuid(), &found, memory, sizeof(memory), &entry);
    const char *name = entry ? entry->pw_name : NULL;
    a->home = strdup(is_home(home, state_dir) ? home : "/");
    if (a->home && put(a, "HOME", a->home) && put(a, "LOGNAME", name) &&
        put(a, "USER", name) && put(a, "SHELL", shell_of(entry)) &&
        put(a, "PATH", geteuid() == 0 ? ACCOUNT_PATH_ROOT : ACCOUNT_PATH) &&
        put(a, "LANG", getenv("LANG")))
        return a;
    account_free(a);
    return NULL;
}

void account_free(struct account *a)
{
    if (!a)
        return;
    for (size_t i = 0; a->env[i]; i++)
        free(a->env[i]);
    free(a->home);
    free(a);
}

const char *account_home(const struct account *a)
{
    return a->home;
}

char *const *account_env(const struct account *a)
{
    return a->env;
}
