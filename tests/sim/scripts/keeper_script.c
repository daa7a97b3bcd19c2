/* The script: keeper_script.h. */
#include "tests/sim/scripts/keeper_script.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

#define JOBS_MAX 48
#define STEPS    40

struct job {
    enum does does;
    bool runs; /* as the script has it */
};

static struct {
    struct rng chance;
    struct job jobs[JOBS_MAX + 1]; /* by id */
    uint64_t last;
} script;

static uint32_t below(uint32_t n)
{
    return rng_below(&script.chance, n);
}

static void print_record(uint64_t id)
{
    struct record r = script_look(id);

    printf("    %llu: verdict %d, started %d, end %u, status %d\n",
           (unsigned long long)id, r.verdict, r.has_started, r.exited.end,
           r.exited.status);
}

static struct {
    uint64_t ids[JOBS_MAX];
    unsigned n;
} scan;

static int note(const struct job_key *key, void *arg)
{
    (void)arg;
    if (scan.n < JOBS_MAX)
        scan.ids[scan.n++] = key->id;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void print_all(void)
{
    scan.n = 0;
    if (record_scan(script_records(), note, NULL) < 0)
        abort();
    qsort(scan.ids, scan.n, sizeof(scan.ids[0]), by_id);
    for (unsigned i = 0; i < scan.n; i++)
        print_record(scan.ids[i]);
}

/* A job that runs; 0: none was found. */
static uint64_t a_running(void)
{
    for (int tries = 0; tries < 20 && script.last; tries++) {
        uint64_t id = 1 + below((uint32_t)script.last);

        if (script.jobs[id].runs)
            return id;
    }
    return 0;
}

static uint64_t any(void)
{
    return 1 + below((uint32_t)script.last + 1);
}

static uint64_t next_id(void)
{
    return script.last < JOBS_MAX ? ++script.last : 0;
}

/* What is over may be held for a moment. */
static void remove_record(uint64_t id)
{
    int r;

    do
        r = script_remove(id);
    while (r == -EBUSY && script_look(id).verdict != RECORD_RUNNING);
    printf("remove %llu: %d\n", (unsigned long long)id, r);
}

/* --- steps ------------------------------------------------------------------------------- */

static void start(void)
{
    uint64_t id = next_id();
    struct job *j = &script.jobs[id];

    if (!id)
        return;
    *j = (struct job){.does = (enum does)below(3)};
    int r = script_start(id, j->does);
    printf("start %llu: %d\n", (unsigned long long)id, r);
    if (j->does == EXITS) {
        script_await_over(id);
    } else {
        script_await_ready(id);
        j->runs = true;
    }
}

/* Of a job whose record may still be there. */
static void start_again(void)
{
    uint64_t id = any();

    if (id <= script.last && script_look(id).verdict != RECORD_ABSENT)
        printf("start %llu again: %d\n", (unsigned long long)id, script_start(id, EXITS));
}

static void is_over(uint64_t id)
{
    script.jobs[id].runs = false;
    script_await_over(id);
}

static void send(uint64_t id, int sig)
{
    bool unknown = false, tree = below(2);

    int r = script_signal(id, sig, tree, &unknown);
    printf("signal %d to %llu: %d%s\n", sig, (unsigned long long)id, r,
           unknown ? ", what is left is not known" : "");
    if (id <= script.last && script.jobs[id].runs &&
        (sig == SIGKILL || script.jobs[id].does == WAITS))
        is_over(id);
}

static void signal_any(void)
{
    uint64_t id = below(3) ? a_running() : any();

    if (id)
        send(id, below(2) ? SIGTERM : SIGKILL);
}

static void remove_any(void)
{
    remove_record(any());
}

static void kill_shim(void)
{
    uint64_t id = a_running();
    bool unknown = false;

    if (!id)
        return;
    printf("the shim of %llu is killed\n", (unsigned long long)id);
    script_kill_shim(id);
    is_over(id);
    print_record(id);
    int r = script_signal(id, SIGKILL, true, &unknown);
    printf("signal to what it left: %d%s\n", r, unknown ? ", not known" : "");
    remove_record(id);
}

static void reconnect(void)
{
    printf("another connection\n");
    script_reconnect();
}

static void kill_keeper(void)
{
    printf("another keeper\n");
    script_kill_keeper();
}

static void step(void)
{
    static void (*const steps[])(void) = {
        start,      start,      start,      start,     start,     start_again, signal_any,
        signal_any, remove_any, remove_any, kill_shim, reconnect, kill_keeper};

    steps[below(sizeof(steps) / sizeof(steps[0]))]();
    print_all();
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

    rng_init(&script.chance, seed * RNG_GOLDEN + 1, 0);
    script_begin();
    for (int i = 0; i < STEPS; i++)
        step();
    for (uint64_t id = 1; id <= script.last; id++)
        if (script.jobs[id].runs)
            send(id, SIGKILL);
    print_all();
    script_end();
    return 0;
}
