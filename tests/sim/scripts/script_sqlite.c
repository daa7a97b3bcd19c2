/* The script on SQLite, with its writer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/sqlite.h"
#include "tests/sim/scripts/power.h"
#include "tests/sim/scripts/script.h"
#include "tests/support/scratch.h"

static char dir[SCRATCH_MAX], before[SCRATCH_MAX]; /* before: of before the power cut */
static struct volt_runtime *rt;

void script_begin(void)
{
    if (scratch_make(dir) < 0 ||
        volt_runtime_new(&(struct volt_options){.workers = 1}, &rt) < 0)
        abort();
    power_begin(dir);
}

void script_end(void)
{
    volt_runtime_free(rt);
    power_end();
    (void)scratch_remove(dir);
}

void script_cut(void)
{
    (void)strcpy(before, dir);
    if (scratch_make(dir) < 0)
        abort();
    power_cut(dir);
}

struct store *script_open(uint8_t boot, uint8_t records)
{
    const struct store_sqlite_options o = {
        .dir = dir, .boot_id = {boot}, .generation = {records}};
    struct volt_error err = {.text = ""};
    struct store *s;

    if (before[0])
        (void)scratch_remove(before);
    before[0] = '\0';
    if (store_sqlite_open(&o, &s, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return s;
}

static enum volt_poll await_poll(struct volt_cx *cx, void *state)
{
    return store_commit_poll(cx, *(struct store_commit **)state);
}

static const struct volt_task_type await_type = {"await", sizeof(struct store_commit *),
                                                 await_poll, NULL, NULL};

int script_await(struct store_commit *c)
{
    struct store_commit **state = volt_task_new(rt, &await_type);
    struct volt_join join;

    *state = c;
    (void)volt_task_spawn(state, &join);
    (void)volt_join_wait(&join);
    volt_join_fini(&join);
    return c->status;
}
