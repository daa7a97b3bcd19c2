/* See slurm_advice.h. */
#include "client/slurm_advice.h"
#include "client/sbatch.h"
#include "client/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_dependency(const char *value)
{
    return strcmp(value, "singleton") == 0 ||
           (strncmp(value, "after", 5) == 0 && strchr(value, ':'));
}

static void say_ours(const char *value)
{
    struct word_list words = {0};
    char line[512] = "";
    size_t len = 0;
    int r = sbatch_dependency(value, &words);
    for (size_t i = 0; r == 0 && i < words.n && len < sizeof(line); i++)
        len += (size_t)snprintf(line + len, sizeof(line) - len, " %s", words.at[i]);
    if (r == 0)
        say("%s of Slurm is%s here", value, line);
    else if (r == -ENOENT)
        say("%s: the id of a job is a number, such as 17", value);
    else
        say("%s of Slurm has no equal here; use --after=ID, or --after-any=ID", value);
    word_list_fini(&words);
}

bool slurm_advice_value(const char *value)
{
    if (!is_dependency(value) || access(value, F_OK) == 0)
        return false;
    say_ours(value);
    return true;
}

void slurm_advice_path(const char *option, const char *path)
{
    const char *at = strchr(path, '%');
    while (at && (!at[1] || !strchr("jJAaxuN", at[1])))
        at = strchr(at + 1, '%');
    if (at)
        say("note: %s: %.2s stays as it is; {id} is the id of the job, {i} the index, {name} "
            "the name",
            option, at);
}

bool slurm_advice_option(const char *option, const char *value)
{
    if (strcmp(option, "--dependency") != 0 || !value || !is_dependency(value))
        return false;
    say_ours(value);
    return true;
}

void slurm_advice_mem(const char *size)
{
    say("note: --mem=%s of Slurm has no equal with this voltd, which has no cgroup for a "
        "job, and is left out",
        size);
}
