/* The script: script.h. Jobs live their lives in random order, facts come in random
 * groups, and now and then the store is closed and read again, or the power fails. */
#include "tests/sim/scripts/script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "daemon/job/env.h"
#include "daemon/store/blobs.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"

#define JOBS_MAX  40
#define ITEMS_MAX 4
#define STEPS     160
#define FACTS_MAX 12
#define OWNER     11 /* retention goes by owners, and the simulated store has one history */

struct script_item {
    enum { WAITS, STARTS, RUNS, OVER } state;
    uint32_t attempt;
};

struct script_job {
    uint32_t items; /* of an array; 0: one job */
    struct script_item item[ITEMS_MAX];
    bool ended, forgotten;
};

static struct {
    struct rng chance;
    struct store *store;
    struct script_job jobs[JOBS_MAX + 1]; /* by id */
    uint64_t last, time;
    uint64_t first; /* the number before that of the first news */
    /* facts of the next append, and what they point to */
    struct store_fact facts[FACTS_MAX];
    struct job_event events[FACTS_MAX];
    struct job_spec *specs[FACTS_MAX];
    struct store_piece piece[STORE_STREAMS];
    size_t n;
    pthread_mutex_t lock; /* guards the news */
    struct job_news news[4096];
    size_t nnews;
} script;

static uint32_t below(uint32_t n)
{
    return rng_below(&script.chance, n);
}

/* Counted from the first: where numbers begin is each store's own. */
static unsigned long long number(uint64_t seq)
{
    return seq ? seq - script.first : 0;
}

/* --- what is told ------------------------------------------------------------------------ */

static void take_news(void *arg, const struct job_news *news, size_t n)
{
    (void)arg;
    pthread_mutex_lock(&script.lock);
    for (size_t i = 0; i < n && script.nnews < 4096; i++)
        script.news[script.nnews++] = news[i];
    pthread_mutex_unlock(&script.lock);
}

static void print_news(void)
{
    pthread_mutex_lock(&script.lock);
    for (size_t i = 0; i < script.nnews; i++) {
        const struct job_news *e = &script.news[i];

        printf("news %llu: %llu_%lld.%u %u state %u end %d %u %u owner %u at %llu\n",
               number(e->seq), (unsigned long long)e->key.id, (long long)e->key.index,
               e->key.attempt, e->type, e->state, e->end.code, e->end.result,
               e->end.exit_code, e->owner, (unsigned long long)e->at_usec);
    }
    script.nnews = 0;
    pthread_mutex_unlock(&script.lock);
}

static void print_job(const struct store_loaded *l)
{
    const struct job_spec *s = l->job.spec;

    printf("  job %llu seq %llu at %llu uid %u%s %s %llu, ended %llu, seq %llu\n",
           (unsigned long long)l->job.id, number(l->seq),
           (unsigned long long)l->job.submitted_usec, l->job.uid,
           l->job.ended ? " history" : "", s->argv ? s->argv[1] : "-",
           (unsigned long long)job_spec_count(s), (unsigned long long)l->job.ended_usec,
           number(l->job.end_seq));
    printf("    env %s, priority %d, kind %d\n",
           s->env ? job_env_strings(s->env)[0] : "-", s->priority, s->kind);
}

static int print_loaded(void *arg, const struct store_loaded *l)
{
    const struct job_event *e = l->event.event;

    (void)arg;
    if (l->type == STORE_LOADED_JOB) {
        print_job(l);
        return 0;
    }
    printf("  event %llu_%lld seq %llu: %s at %llu attempt %u pid %d result %d code %d "
           "step %s survivors %u kept %u%s\n",
           (unsigned long long)l->event.key.id, (long long)l->event.key.index,
           number(l->seq), job_event_name(e->type), (unsigned long long)e->at_usec,
           e->attempt, e->pid, e->result, e->code, e->step ? e->step : "-", e->survivors,
           e->kept, e->other_life ? " of another life" : "");
    return 0;
}

/* --- facts --------------------------------------------------------------------------------- */

static struct job_spec *new_spec(uint64_t id, uint32_t items)
{
    struct job_spec *s = job_spec_new();
    char text[64];

    (void)snprintf(text, sizeof(text), "number %llu", (unsigned long long)id);
    s->kind = below(5) ? JOB_KIND_EXEC : JOB_KIND_NOOP;
    s->priority = (int)below(7) - 3;
    if (s->kind == JOB_KIND_EXEC) {
        s->argv = calloc(3, sizeof(*s->argv));
        s->argv[0] = strdup("prog");
        s->argv[1] = strdup(text);
    }
    if (s->kind == JOB_KIND_EXEC && below(2)) {
        char variable[] = "A=1";
        char *const env[] = {variable, NULL};

        variable[0] = (char)('A' + below(3));
        s->env = job_env_new(env);
    }
    s->is_array = items > 0;
    s->array_first = 3;
    s->array_last = 2 + items;
    return s;
}

static void add_submit(void)
{
    uint64_t id = ++script.last;
    uint32_t items = below(4) ? 0 : 1 + below(ITEMS_MAX);

    script.jobs[id] = (struct script_job){.items = items};
    script.specs[script.n] = new_spec(id, items);
    script.facts[script.n] =
        (struct store_fact){.type = STORE_SUBMIT,
                            .submit = {.id = id,
                                       .at_usec = ++script.time,
                                       .spec = script.specs[script.n],
                                       .uid = OWNER,
                                       .gid = 5}};
    script.n++;
}

static struct job_event *add_event(uint64_t id, uint32_t item, enum job_event_type type)
{
    const struct script_job *j = &script.jobs[id];
    struct job_event *e = &script.events[script.n];

    *e = (struct job_event){.type = type, .at_usec = ++script.time};
    script.facts[script.n++] = (struct store_fact){
        .type = STORE_EVENT,
        .event = {.key = {.id = id,
                          .index = j->items ? 3 + (int64_t)item : JOB_NO_INDEX,
                          .attempt = j->item[item].attempt},
                  .event = e,
                  .after = {.owner = OWNER, .state = (uint8_t)below(JOB_STATE_COUNT)}}};
    return e;
}

static bool is_over(const struct script_job *j)
{
    for (uint32_t i = 0; i < (j->items ? j->items : 1); i++)
        if (j->item[i].state != OVER)
            return false;
    return true;
}

static void add_last(uint64_t id)
{
    struct script_job *j = &script.jobs[id];

    j->ended = true;
    if (j->items)
        script.facts[script.n++] =
            (struct store_fact){.type = STORE_ARRAY_END,
                                .array_end = {.id = id,
                                              .at_usec = ++script.time,
                                              .count = j->items,
                                              .after = {.owner = 11, .state = JOB_DONE}}};
    else
        script.facts[script.n++] = (struct store_fact){
            .type = STORE_LAST,
            .last = {.id = id, .at_usec = ++script.time, .uid = OWNER}};
}

static void add_exited(uint64_t id, uint32_t item)
{
    static const enum job_result results[] = {JOB_RESULT_SUCCESS, JOB_RESULT_EXIT,
                                              JOB_RESULT_SIGNAL,  JOB_RESULT_EXEC_FAILED,
                                              JOB_RESULT_LOST,    JOB_RESULT_OOM};
    struct script_job *j = &script.jobs[id];
    struct job_event *e = add_event(id, item, JOB_EV_EXITED);

    e->result = results[below(6)];
    e->code = (int32_t)below(200);
    e->step = e->result >= JOB_RESULT_EXEC_FAILED ? "exec" : NULL;
    e->survivors = below(8) ? 0 : 2;
    e->usage.user_usec = below(100000);
    e->usage.contained = below(3) & 3;
    if (e->usage.contained == JOB_CONTAINED_YES)
        e->usage.memory_peak_kib = below(1000000) & JOB_PEAK_KIB_MAX;
    j->item[item].state = OVER;
    if (below(3) == 0) {
        script.piece[0] = (struct store_piece){"some output", 4 + below(7)};
        script.facts[script.n] =
            (struct store_fact){.type = STORE_OUTPUT,
                                .output = {.key = script.facts[script.n - 1].event.key,
                                           .piece = script.piece}};
        e->kept = 1;
        script.n++;
    }
    if (is_over(j))
        add_last(id);
}

static void add_step(uint64_t id, uint32_t item)
{
    struct script_item *i = &script.jobs[id].item[item];

    switch (i->state) {
    case WAITS:
        if (!script.jobs[id].items && below(6) == 0) {
            add_event(id, item, JOB_EV_HOLD)->held = JOB_HELD_BY_USER;
            add_event(id, item, JOB_EV_RELEASE)->by = below(3);
        }
        i->attempt++;
        add_event(id, item, JOB_EV_STARTING)->attempt = i->attempt;
        i->state = STARTS;
        break;
    case STARTS:
        if (below(4)) {
            add_event(id, item, JOB_EV_STARTED)->pid = 100 + (int)below(1000);
            i->state = RUNS;
        } else {
            (void)add_event(id, item, JOB_EV_DEFERRED);
            i->attempt--;
            i->state = WAITS;
        }
        break;
    case RUNS:
        if (below(3))
            add_exited(id, item);
        else
            (void)add_event(id, item, below(2) ? JOB_EV_CANCEL : JOB_EV_TIMEOUT);
        break;
    case OVER:
        break;
    }
}

/* A job that has not ended; 0: none was found. */
static uint64_t choose(void)
{
    for (int tries = 0; tries < 8 && script.last; tries++) {
        uint64_t id = 1 + below((uint32_t)script.last);

        if (!script.jobs[id].ended && !script.jobs[id].forgotten)
            return id;
    }
    return 0;
}

/* --- appends ----------------------------------------------------------------------------------- */

static int append(struct store_commit *c)
{
    int r;

    if (below(4) || script.n < 2) {
        r = store_append(script.store, script.facts, script.n, c);
    } else { /* the same by a draft */
        struct store_draft *d = store_draft(script.store);

        store_draft_add(d, script.facts, 1);
        store_draft_add(d, script.facts + 1, script.n - 1);
        r = store_draft_append(d, c);
    }
    for (size_t i = 0; i < script.n; i++) {
        job_spec_unref(script.specs[i]);
        script.specs[i] = NULL;
    }
    script.n = 0;
    return r;
}

static void append_some(void)
{
    struct store_commit c;
    uint64_t id;
    uint32_t want = 1 + below(4);

    while (script.n < want) {
        if (script.last < JOBS_MAX && below(4) == 0)
            add_submit();
        else if ((id = choose()))
            add_step(id, script.jobs[id].items ? below(script.jobs[id].items) : 0);
        else
            break;
    }
    int r = append(&c);
    printf("append: %d\n", r);
    if (r == 0 && below(3))
        printf("commit: %d\n", script_await(&c));
    store_commit_fini(&c);
}

static void forget(void)
{
    uint64_t id = script.last ? 1 + below((uint32_t)script.last) : 1;
    struct store_commit c;

    printf("forget %llu: %d\n", (unsigned long long)id,
           store_forget(script.store, &id, 1, &c));
    script.jobs[id].forgotten |= script.jobs[id].ended;
    printf("commit: %d\n", script_await(&c));
    store_commit_fini(&c);
}

/* Everything so far is durable. */
static void settle(void)
{
    struct store_commit c;

    (void)store_append(script.store, NULL, 0, &c);
    printf("barrier: %d\n", script_await(&c));
    store_commit_fini(&c);
    print_news();
}

/* --- questions ----------------------------------------------------------------------------------- */

static void read_history(void)
{
    struct store_range range = {.first = 1,
                                .last = UINT64_MAX,
                                .newest_first = below(2),
                                .max = 1 + below(5),
                                .some_items = below(3) == 0,
                                .item = 3,
                                .item_last = 3 + below(3)};
    uint64_t at = 0;
    struct volt_error err;
    int r;

    do {
        r = store_history(script.store, &range, print_loaded, NULL, &at, &err);
        printf("history: %d up to %llu\n", r, (unsigned long long)at);
        if (range.newest_first)
            range.last = at - 1;
        else
            range.first = at + 1;
    } while (r > 0 && at > 1);
}

static void ask(void)
{
    const struct job_key key = {.id = 1 + below(JOBS_MAX),
                                .index = below(4) ? JOB_NO_INDEX : 3};
    void *bytes = NULL;
    size_t n = 0;

    printf("has %llu: %d\n", (unsigned long long)key.id, store_has(script.store, key.id));
    int r = store_output(script.store, &key, 0, &bytes, &n);
    printf("output: %d, %zu bytes %.*s\n", r, r ? 0 : n, r ? 0 : (int)n,
           r ? "" : (const char *)bytes);
    free(bytes);
}

static void open_again(void)
{
    static uint8_t boot = 1, records = 1;
    uint64_t first, last;
    struct volt_error err = {.text = ""};

    boot += below(3) == 0;
    records += below(4) == 0;
    script.store = script_open(boot, records);
    store_subscribe(script.store, take_news, NULL);
    store_numbers(script.store, &first, &last);
    script.first = first;
    printf("numbers up to %llu\n", number(last));
    int r = store_load(script.store, print_loaded, NULL, &err);
    printf("load: %d %s, last id %llu\n", r, err.text,
           (unsigned long long)store_last_id(script.store));
    store_retain(script.store,
                 &(struct store_retention){.jobs = UINT64_MAX, .usec = UINT64_MAX});
}

void script_run(uint64_t seed)
{
    pthread_mutex_init(&script.lock, NULL);
    rng_init(&script.chance, seed * RNG_GOLDEN + 1, 0);
    script_begin();
    open_again();
    for (int i = 0; i < STEPS; i++) {
        append_some();
        if (below(10) == 0)
            forget();
        if (below(12) == 0) {
            settle();
            read_history();
            ask();
        }
        if (below(25) == 0) {
            store_free(script.store);
            print_news();
            open_again();
        }
        if (below(25) == 0) {
            settle();
            script_cut();
            store_free(script.store);
            open_again();
        }
    }
    settle();
    store_free(script.store);
    script_end();
}

int main(int argc, char **argv)
{
    script_run(argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
    return 0;
}
