/* See phase.h. */
#include "daemon/core/phase.h"

#include "daemon/core/state.h"

void phase_close(struct core *core)
{
    core->closed = true;
    phase_wake_drain(core);
}

bool phase_is_closed(const struct core *core)
{
    return core->closed;
}

void phase_end(struct core *core)
{
    core->ending = true;
}

bool phase_is_ending(const struct core *core)
{
    return core->ending;
}

void phase_enter(struct core *core)
{
    core->entering++;
    phase_wake_drain(core);
}

void phase_entered(struct core *core)
{
    core->entering--;
    core->entered = true;
    phase_wake_drain(core);
}

uint32_t phase_entering(const struct core *core)
{
    return core->entering;
}

void phase_wake_drain(struct core *core)
{
    core->news_due |= core->closed;
}
