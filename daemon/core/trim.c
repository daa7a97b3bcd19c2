/* See trim.h. */
#include <malloc.h>

#include "daemon/core/state.h"
#include "daemon/core/trim.h"

#define TRIM_GONE 65536 /* jobs, or eight elements each: at least 16 MB */
#define TRIM_LEFT 256   /* one job may be left for so many that left */

static enum volt_poll trim_poll(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    (void)malloc_trim(0);
    return VOLT_READY;
}

static const struct volt_task_type trim_type = {"trim", 0, trim_poll, NULL, NULL};

bool trim_due(struct core *core)
{
    if (core->gone < TRIM_GONE ||
        core->table.count > core->ended_weight + core->gone / TRIM_LEFT)
        return false;
    core->gone = 0;
    return true;
}

void trim_begin(struct core *core)
{
    void *t = volt_task_new(core->parts.rt, &trim_type);

    if (t)
        (void)volt_task_spawn_blocking(t, NULL); /* else after the next burst */
}
