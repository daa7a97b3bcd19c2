#include "tests/support/managed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "tests/support/lone.h"
#include "tests/support/memory_store.h"

char managed_dir[SCRATCH_MAX];
static char records[SCRATCH_MAX + 8];

int managed_make(void **state)
{
    (void)state;
    if (scratch_make(managed_dir) < 0)
        return -1;
    (void)snprintf(records, sizeof(records), "%s/rec", managed_dir);
    return mkdir(records, 0700);
}

int managed_remove(void **state)
{
    (void)state;
    return scratch_remove(managed_dir);
}

struct config managed_config(void)
{
    struct config config;

    config_defaults(&config);
    config.fold_output = 0; /* the store keeps none */
    return config;
}

struct core *managed_start(const struct config *config, struct volt_runtime *rt)
{
    return managed_start_with(config, rt, store_memory_new());
}

struct core *managed_start_with(const struct config *config, struct volt_runtime *rt,
                                struct store *store)
{
    const struct life_options o = {.rt = rt,
                                   .store = store,
                                   .config = config,
                                   .runtime_dir = managed_dir,
                                   .state_dir = managed_dir,
                                   .record_dir = records,
                                   .socket = "/x"};
    struct volt_error err = {{0}};
    struct core *core;

    if (life_new(&o, &core, &err) < 0)
        fail_msg("%s", err.text);
    return core;
}

void managed_stop(struct core *core, struct volt_runtime *rt)
{
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    life_free(core);
    volt_runtime_free(rt);
}

static int up_with(const struct config *config, struct store *store,
                   struct volt_runtime **ret_rt, struct core **ret_core)
{
    if (managed_make(NULL) < 0)
        return -1;
    *ret_rt = lone_runtime();
    *ret_core = managed_start_with(config, *ret_rt, store);
    return 0;
}

int managed_up(const struct config *config, struct volt_runtime **ret_rt,
               struct core **ret_core)
{
    return up_with(config, store_memory_new(), ret_rt, ret_core);
}

int managed_up_on_disk(uint64_t keep, struct volt_runtime **ret_rt,
                       struct core **ret_core)
{
    struct config config = managed_config();

    config.keep_ended_jobs = keep;
    return up_with(&config, NULL, ret_rt, ret_core);
}

int managed_down(struct core *core, struct volt_runtime *rt)
{
    managed_stop(core, rt);
    return managed_remove(NULL);
}

bool managed_has(struct core *core, const struct asker *asker, uint64_t id)
{
    struct job_view v;

    if (query_get(core, asker, id, JOB_NO_INDEX, &v) < 0)
        return false;
    job_view_fini(&v);
    return true;
}

int managed_list(struct core *core, const struct asker *asker, const struct job_filter *f,
                 uint64_t cursor, size_t limit,
                 int (*fn)(void *arg, const struct job_view *v), void *arg,
                 uint64_t *ret_cursor)
{
    struct query_walk w = {
        .kept = true, .specs = QUERY_SPECS_WHOLE, .cursor = cursor, .limit = limit};
    int r;

    do
        r = query_walk_step(NULL, core, asker, f, &w, fn, arg);
    while (r == 0 && !w.end);
    *ret_cursor = w.cursor;
    return r;
}
