#include "tests/support/managed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <sys/stat.h>

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
    config.backend = CONFIG_BACKEND_MEMORY;
    return config;
}

struct manager *managed_start(const struct config *config, struct volt_runtime *rt)
{
    const struct manager_options o = {.rt = rt,
                                      .config = config,
                                      .runtime_dir = managed_dir,
                                      .state_dir = managed_dir,
                                      .record_dir = records,
                                      .address = "unix:/x"};
    struct volt_error err = {{0}};
    struct manager *m;

    if (manager_new(&o, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

void managed_stop(struct manager *m, struct volt_runtime *rt)
{
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    manager_free(m);
    volt_runtime_free(rt);
}

int managed_list(struct manager *m, const struct job_owner *asker,
                 const struct manager_filter *f, uint64_t cursor, size_t limit,
                 int (*fn)(void *arg, const struct job_view *v), void *arg,
                 uint64_t *ret_cursor)
{
    struct manager_walk w = {.kept = true,
                             .specs = MANAGER_SPECS_WHOLE,
                             .cursor = cursor,
                             .limit = limit,
                             .looks = MANAGER_WALK_LOOKS,
                             .at_once = MANAGER_WALK_LOOKS,
                             .bytes = MANAGER_WALK_BYTES};
    int r;

    do
        r = manager_walk_step(NULL, m, asker, f, &w, fn, arg);
    while (r == 0 && !w.end);
    *ret_cursor = w.cursor;
    return r;
}
