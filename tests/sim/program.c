/* What the program of each job does: the same in each attempt. */
#include "tests/sim/sim.h"

struct program oracle_program(uint32_t number, int64_t index)
{
    uint64_t h = sim_hash(number, (uint64_t)index, 17);
    struct program p = {.obeys = h % 5 != 0, .prints = h % 3 ? 0 : (h >> 8) % 3000};
    static const uint32_t lasts[] = {300, 2000, 20000, 200000};

    p.run_usec = 1 + (h >> 20) % lasts[sim.short_jobs ? 0 : (h >> 16) % 4];
    if (sim.timed || (!sim.short_jobs && (h >> 48) % 16 == 0))
        p.run_usec = 1 + (h >> 20) % 20000000; /* longer than what waits for it */
    if (h % 7 == 0)
        p.code = 1 + (int)((h >> 40) % 100);
    if (h % 11 == 0)
        p.signal = 9;
    p.has_cgroup = (h >> 36) % 2;
    p.is_oom = p.signal && p.has_cgroup && (h >> 37) % 2;
    p.is_not_there = h % 13 == 0;
    return p;
}
