/* See age.h. */
#include "daemon/store/age.h"

void age_start(struct age *a, uint64_t elapsed_usec)
{
    *a = (struct age){.since = elapsed_usec, .patience = AGE_AFTER_START};
}

static uint64_t at_most(uint64_t v, uint64_t most)
{
    return v < most ? v : most;
}

uint64_t age_limit(struct age *a, uint64_t wall_usec, uint64_t elapsed_usec,
                   uint64_t keep_usec, bool *ret_jumped)
{
    const uint64_t right = a->wall + (elapsed_usec - a->elapsed);
    const bool ahead = wall_usec > right && wall_usec - right > keep_usec / 2;
    const bool back = right > wall_usec && right - wall_usec > keep_usec / 2;

    *ret_jumped = a->wall && ahead;
    if (*ret_jumped) {
        a->since = elapsed_usec;
        a->patience = AGE_AFTER_JUMP;
    } else if (a->wall && back) {
        a->patience = 0;
    }
    a->wall = wall_usec;
    a->elapsed = elapsed_usec;
    if (elapsed_usec - a->since < at_most(a->patience, keep_usec))
        return 0;
    return keep_usec < wall_usec ? wall_usec - keep_usec : 0;
}
