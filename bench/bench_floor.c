/* What the machine takes for the steps that a runtime is made of: the figures that the
 * limits of the other programs are composed of, and the distance of the two processors,
 * core_to_core, that bench/run looks at before and after each workload. Virtual machines
 * are moved, and with them all contended figures change. */
#include "bench/floor.h"
#include "bench/harness.h"

#define PROBE(probe)                                                                     \
    static void probe(const struct bench_workload *w, double *ret)                       \
    {                                                                                    \
        (void)w;                                                                         \
        *ret = floor_##probe();                                                          \
    }
#define ROW(probe, what_unit)                                                            \
    {                                                                                    \
        .name = #probe, .run = probe, .once = true,                                      \
        .metrics = {{.name = "time", .unit = what_unit}},                                \
    }

PROBE(rmw)
PROBE(cas_pair)
PROBE(call)
PROBE(touch)
PROBE(clock_read)
PROBE(eventfd_trip)
PROBE(shared_add)
PROBE(shared_pair)
PROBE(message)
PROBE(core_to_core)
PROBE(futex_trip)
PROBE(sleep_p50)
PROBE(sleep_p99)
PROBE(wake_p50)
PROBE(wake_p99)

static const struct bench_workload workloads[] = {
    ROW(core_to_core, "ns"), ROW(rmw, "ns"),        ROW(cas_pair, "ns"),
    ROW(call, "ns"),         ROW(touch, "ns"),      ROW(clock_read, "ns"),
    ROW(eventfd_trip, "ns"), ROW(shared_add, "ns"), ROW(shared_pair, "ns"),
    ROW(message, "ns"),      ROW(futex_trip, "ns"), ROW(sleep_p50, "us"),
    ROW(sleep_p99, "us"),    ROW(wake_p50, "us"),   ROW(wake_p99, "us"),
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "machine", workloads,
                      sizeof(workloads) / sizeof(workloads[0]));
}
