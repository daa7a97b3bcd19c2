/* See tasks.h. */
#include "bench/tasks.h"

static struct volt_runtime *runtime;

static struct {
    _Alignas(VOLT_CACHE_LINE) vat_u32 left;
    _Alignas(VOLT_CACHE_LINE) char end[1]; /* nothing else beside it */
} count;

void bench_runtime_end(void)
{
    volt_runtime_free(runtime);
    runtime = NULL;
}

struct volt_runtime *bench_runtime(unsigned workers)
{
    struct volt_options opt = {.workers = workers};

    if (runtime && volt_runtime_workers(runtime) != workers)
        bench_runtime_end();
    if (!runtime && volt_runtime_new(&opt, &runtime) < 0)
        bench_die("cannot start a runtime");
    return runtime;
}

void *bench_task(struct volt_runtime *rt, const struct volt_task_type *type)
{
    void *state = volt_task_new(rt, type);

    if (!state)
        bench_die("out of memory");
    return state;
}

void bench_spawn(void *state)
{
    if (volt_task_spawn(state, NULL) < 0)
        bench_die("cannot spawn");
}

void bench_tasks_expect(uint32_t n)
{
    vat_u32_store(&count.left, n, VAT_REL);
}

void bench_task_done(void)
{
    if (vat_u32_sub(&count.left, 1, VAT_AR) == 1)
        bench_gate_open();
}
