/* See bare_core.h. */
#include "tests/support/bare_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/dispatch/dispatch.h"
#include "daemon/life/state.h"
#include "daemon/run/state.h"

void bare_core_init(struct core *core, struct volt_runtime *rt, struct store *store,
                    uint32_t slots)
{
    static const struct siphash_key no_secret;

    memset(core, 0, sizeof(*core));
    core_init(core, rt, &kinds_all, &no_secret);
    core->limits.max_bytes_per_user = UINT64_MAX;
    core->parts.store = store;
    core->parts.admit = admission_new(&no_secret, slots);
    assert_non_null(core->parts.admit);
    core->parts.log = event_log_new();
    core->parts.dispatch = dispatch_new();
    core->parts.life = calloc(1, sizeof(*core->parts.life));
    core->parts.run = calloc(1, sizeof(*core->parts.run));
    assert_non_null(core->parts.log);
    assert_non_null(core->parts.dispatch);
    assert_non_null(core->parts.life);
    assert_non_null(core->parts.run);
    core->parts.life->state_fd = core->parts.run->record_fd = -1;
}

void bare_core_fini(struct core *core)
{
    core_forget_all(core);
    free(core->parts.dispatch);
    free(core->parts.life);
    free(core->parts.run);
    core_fini(core);
}
