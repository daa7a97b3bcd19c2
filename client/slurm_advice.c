/* See slurm_advice.h. */
#include "client/slurm_advice.h"
#include "client/sbatch.h"
#include "client/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
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
    struct volt_error why = {.text = ""};
    int r = sbatch_dependency(value, &words, &why);
    for (size_t i = 0; r == 0 && i < words.n && len < sizeof(line); i++)
        len += (size_t)snprintf(line + len, sizeof(line) - len, " %s", words.at[i]);
    if (r == 0)
        say("%s of Slurm is%s here", value, line);
    else if (r == -ENOENT)
        say("%s: the id of a job is a number, such as 17", value);
    else
        say("%s of Slurm has no equal here; %s", value, why.text);
    word_list_fini(&words);
}

bool slurm_advice_value(const char *value)
{
    if (!is_dependency(value) || access(value, F_OK) == 0)
        return false;
    say_ours(value);
    return true;
}

/* Adds the options of sbatch's equal; of a value that means none, ours. */
static int add_option(const char *option, const char *none, const char *value,
                      struct word_list *to)
{
    const size_t before = to->n;
    int r = *value ? sbatch_option(option, value, to) : 0;

    if (r == 0 && to->n == before)
        r = *none ? word_list_add(to, none) : -EINVAL;
    return r == 0 && strcmp(to->at[to->n - 1], "--singleton") == 0 ? -EINVAL : r;
}

int slurm_advice_update(const char *word, struct word_list *to)
{
    static const struct {
        const char *name;
        size_t least; /* letters of an abbreviation */
        const char *option, *none, *ours;
    } known[] = {{"StartTime", 2, "begin", "--now", NULL},
                 {"EligibleTime", 2, "begin", "--now", NULL},
                 {"Dependency", 3, "dependency", "--no-after", NULL},
                 {"Nice", 3, "nice", "", NULL},
                 {"TimeLimit", 5, "time", "--timeout=none", NULL},
                 {"Deadline", 3, "deadline", "--start-by=none", NULL},
                 {"Name", 2, "job-name", "", NULL},
                 {"JobName", 4, "job-name", "", NULL},
                 {"Priority", 2, NULL, NULL, "priority"},
                 {"Partition", 3, NULL, NULL, "queue"},
                 {"Licenses", 3, NULL, NULL, "sem"}};
    const char *equals = strchr(word, '=');
    const size_t len = equals ? (size_t)(equals - word) : 0;
    size_t i = 0;

    while (i < sizeof(known) / sizeof(known[0]) &&
           (len < known[i].least || len > strlen(known[i].name) ||
            strncasecmp(word, known[i].name, len) != 0))
        i++;
    if (i == sizeof(known) / sizeof(known[0]))
        return -EINVAL;
    if (known[i].option)
        return add_option(known[i].option, known[i].none, equals + 1, to);
    if (strcmp(known[i].ours, "priority") == 0 && strcmp(equals, "=0") == 0)
        return word_list_add(to, "hold");
    return equals[1] ? word_list_addf(to, "--%s=%s", known[i].ours, equals + 1) : -EINVAL;
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

/* Says which option of ours has the value of a property of a unit. */
static bool is_property(const char *option, const char *value)
{
    static const char *const known[][2] = {
        {"MemoryMax", "mem"},         {"MemoryHigh", "mem-high"},
        {"MemorySwapMax", "swap"},    {"TasksMax", "pids-max"},
        {"CPUQuota", "cpu-max"},      {"CPUWeight", "cpu-weight"},
        {"IOWeight", "io-weight"},    {"RuntimeMaxSec", "timeout"},
        {"UMask", "umask"},           {"WorkingDirectory", "chdir"},
        {"Environment", "env"},       {"TimeoutStopSec", "kill-after"},
        {"KillSignal", "stop-signal"}};
    const char *equals = value ? strchr(value, '=') : NULL;

    for (size_t i = 0; equals && i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i][0]) == (size_t)(equals - value) &&
            strncmp(value, known[i][0], strlen(known[i][0])) == 0) {
            say("unknown option %s; use --%s%s", option, known[i][1], equals);
            return true;
        }
    return false;
}

bool slurm_advice_option(const char *option, const char *value)
{
    if (strcmp(option, "--property") == 0)
        return is_property(option, value);
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

void slurm_advice_sum(const char *script, unsigned line)
{
    say("note: %s: line %u: $SLURM_JOB_ID of an element is no number here, but such as 17_3; "
        "$SLURM_ARRAY_JOB_ID and $SLURM_ARRAY_TASK_ID are numbers",
        script, line);
}
