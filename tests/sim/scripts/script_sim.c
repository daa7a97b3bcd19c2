/* The script on the simulator's store, without the rest of the simulator. */
#include <stdlib.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/sqlite.h"
#include "tests/sim/scripts/script.h"
#include "tests/sim/sim.h"

/* Nobody asks for edits. */
void edits_submit(uint64_t id, const struct job_spec *spec, uid_t uid)
{
    (void)id, (void)spec, (void)uid;
}

bool edits_fact(const struct job_key *key, const struct job_event *ev)
{
    (void)key, (void)ev;
    return false;
}

void script_begin(void)
{
    rng_init(&sim.chance, 1, 0);
    sim.now = 1;
    sim.life = 1;
    disk_reset();
    sim.rt = executor_new();
}

void script_end(void)
{
    executor_free(sim.rt);
}

struct store *script_open(uint8_t boot, uint8_t records)
{
    const struct store_sqlite_options o = {.boot_id = {boot}, .generation = {records}};
    struct store *s;

    if (store_sqlite_open(&o, &s, NULL) < 0)
        abort();
    return s;
}

/* What is durable is in the image, and nothing else outlives a store. */
void script_cut(void)
{
}

struct awaiting {
    struct store_commit *commit;
    bool *over;
};

static enum volt_poll await_poll(struct volt_cx *cx, void *state)
{
    struct awaiting *a = state;

    if (store_commit_poll(cx, a->commit) == VOLT_PENDING)
        return VOLT_PENDING;
    *a->over = true;
    return VOLT_READY;
}

static const struct volt_task_type await_type = {"await", sizeof(struct awaiting),
                                                 await_poll, NULL, NULL};

int script_await(struct store_commit *c)
{
    struct awaiting *state = volt_task_new(sim.rt, &await_type);
    bool over = false;

    *state = (struct awaiting){c, &over};
    (void)volt_task_spawn(state, NULL);
    while (!over)
        if (!executor_step() && !sim_run_event())
            sim.now++;
    return c->status;
}

/* Nobody looks at the facts here. */
void oracle_fact_submit(uint64_t id, const struct job_spec *spec, uid_t uid)
{
    (void)id, (void)spec, (void)uid;
}

bool pauses_fact(const struct job_key *key, const struct job_event *ev)
{
    (void)key, (void)ev;
    return false;
}

void oracle_fact_event(const struct job_key *key, const struct job_event *ev)
{
    (void)key, (void)ev;
}

void oracle_fact_news(const struct job_news *n)
{
    (void)n;
}

void oracle_fact_output(const struct job_key *key, unsigned stream, const void *bytes,
                        size_t n)
{
    (void)key, (void)stream, (void)bytes, (void)n;
}

void oracle_fact_array_end(uint64_t id)
{
    (void)id;
}

void oracle_fact_forgotten(uint64_t id)
{
    (void)id;
}

void cover_note_fault(enum sim_fault f)
{
    (void)f;
}
