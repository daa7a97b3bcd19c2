/* See survivors.h. */
#include "daemon/run/survivors.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "daemon/keeper/tree.h"

/* Returns the latest tick at which a process that lived at that time can have begun. */
static uint64_t latest_start(uint64_t lived_usec)
{
    const uint64_t now = mono_usec(), tick = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

    return proc_tick() + 1 - (now > lived_usec ? (now - lived_usec) / tick : 0);
}

void survivors_note(struct job_named *named, uint64_t lived_usec)
{
    const uint64_t latest = named->pid[0] ? latest_start(lived_usec) : 0;

    for (size_t i = 0; i < JOB_NAMED_MAX && named->pid[i]; i++) {
        struct proc p;
        const int r = proc_read((pid_t)named->pid[i], &p);

        if (r < 0 && r != -ESRCH)
            named->start[i] = 0;
        else
            named->start[i] = (uint32_t)(r == 0 && p.start <= latest ? p.start : latest);
    }
}

bool survivor_lives(const struct job_named *named, size_t i)
{
    const pid_t pid = (pid_t)named->pid[i];
    struct proc p;

    if (proc_read(pid, &p) == 0)
        return !p.dead && (!named->start[i] || (uint32_t)p.start == named->start[i]);
    return kill(pid, 0) == 0 || errno != ESRCH;
}
