/* Exit records, voltd's half: finds all of them, and names steps. A separate file keeps
 * it out of the privileged program. */
#include "daemon/keeper/names.h"
#include "daemon/keeper/record.h"

struct scan {
    int (*fn)(const struct job_key *key, void *arg);
    void *arg;
};

static int scan_one(const char *name, void *arg)
{
    struct scan *s = arg;
    struct job_key key;
    return job_key_parse(name, &key) == 0 && key.attempt > 0 ? s->fn(&key, s->arg) : 0;
}

int record_scan(int dir_fd, int (*fn)(const struct job_key *key, void *arg), void *arg)
{
    struct scan s = {fn, arg};
    return each_name(dir_fd, ".", scan_one, &s);
}

const char *child_step_name(uint32_t step)
{
    static const char *const names[CHILD_STEP_COUNT] = {
        [CHILD_STEP_NONE] = "none",         [CHILD_STEP_FORK] = "fork",
        [CHILD_STEP_SESSION] = "session",   [CHILD_STEP_OOM_SCORE] = "oom_score_adj",
        [CHILD_STEP_SIGNALS] = "signals",   [CHILD_STEP_LAUNCH] = "launch block",
        [CHILD_STEP_CWD] = "cwd",           [CHILD_STEP_STDIN] = "stdin",
        [CHILD_STEP_STDOUT] = "stdout",     [CHILD_STEP_STDERR] = "stderr",
        [CHILD_STEP_CLOSE] = "close_range", [CHILD_STEP_EXEC] = "exec",
        [CHILD_STEP_LIMITS] = "limits",     [CHILD_STEP_SCRIPT] = "script",
        [CHILD_STEP_CGROUP] = "cgroup",
    };
    return step < CHILD_STEP_COUNT ? names[step] : "?";
}
