/* See replay.h. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/volt.h>

#include "daemon/keeper/record.h"
#include "daemon/life/recover.h"
#include "daemon/run/state.h"
#include "daemon/store/reader.h"
#include "daemon/store/sqlite.h"
#include "tests/support/replay.h"

char replay_dir[SCRATCH_MAX];
char replay_records[64];

int replay_setup(void **state)
{
    (void)state;
    if (scratch_make(replay_dir) < 0)
        return -1;
    (void)snprintf(replay_records, sizeof(replay_records), "%s/rec", replay_dir);
    return mkdir(replay_records, 0700);
}

int replay_teardown(void **state)
{
    (void)state;
    return scratch_remove(replay_dir);
}

static int nothing(void *arg, const struct store_loaded *loaded)
{
    (void)arg;
    (void)loaded;
    return 0;
}

struct store *replay_store(uint8_t boot)
{
    struct store_sqlite_options o = {.dir = replay_dir, .boot_id = {boot}};
    struct volt_error err = {{0}};
    struct store *s = NULL;

    if (!boot)
        assert_int_equal(record_boot_id(o.boot_id), 0);
    if (store_sqlite_open(&o, &s, &err) < 0 || store_load(s, nothing, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

void replay_load(struct core *core)
{
    struct store_sqlite_options o = {.dir = replay_dir};
    struct volt_error err = {{0}};
    struct volt_runtime *rt;
    uint64_t max;

    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 1}, &rt), 0);
    bare_core_init(core, rt, NULL, 2);
    assert_int_equal(record_boot_id(core->parts.run->boot_id), 0);
    core->parts.run->record_fd = open(replay_records, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memcpy(o.boot_id, core->parts.run->boot_id, sizeof(o.boot_id));
    assert_int_equal(store_sqlite_open(&o, &core->parts.store, &err), 0);
    if (recover_load(core, &max, &err) < 0)
        fail_msg("%s", err.text);
    core->closed = true;
}

void replay_unload(struct core *core)
{
    struct volt_runtime *rt = core->parts.rt;

    recover_discard(core);
    store_free(core->parts.store);
    (void)close(core->parts.run->record_fd);
    bare_core_fini(core);
    volt_runtime_free(rt);
}
