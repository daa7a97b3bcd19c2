/* Stats and WatchStats of org.voltd.control. */
#include "daemon/method/methods.h"

#include "daemon/config/control.h"
#include "daemon/method/params.h"
#include "daemon/observe/malformed.h"
#include "daemon/call/turn.h"
#include "wire/json.h"
#include <unistd.h>

#define INTERVAL_MIN     100000
#define INTERVAL_DEFAULT 1000000
#define INTERVAL_MAX     15000000 /* longer silence would look like a dead connection */

/* A counter and its name in JSON. */
struct counter {
    const char *name;
    size_t offset;
    bool of_word; /* uint32_t; otherwise uint64_t */
};
#define U64(type_, member_) COUNTER(type_, member_, false)
#define U32(type_, member_) COUNTER(type_, member_, true)
#define COUNTER(type_, member_, of_word_)                                                \
    {                                                                                    \
        .name = #member_, .offset = offsetof(type_, member_), .of_word = of_word_        \
    }

/* Counters of each worker that are also summed up. */
static const struct counter summed[] = {
    U64(struct volt_worker_stats, polled),
    U64(struct volt_worker_stats, stolen),
    U64(struct volt_worker_stats, steal_ops),
    U64(struct volt_worker_stats, parked),
    U64(struct volt_worker_stats, lifo_hits),
    U64(struct volt_worker_stats, lifo_stolen),
    U64(struct volt_worker_stats, global_batch_fetches),
    U64(struct volt_worker_stats, overflows),
    U64(struct volt_worker_stats, budget_exhausted),
    U64(struct volt_worker_stats, wakeups),
    U64(struct volt_worker_stats, wakeups_skipped),
    U64(struct volt_worker_stats, spurious_wakes),
    U64(struct volt_worker_stats, busy_victims),
    U64(struct volt_worker_stats, rescues),
    U64(struct volt_worker_stats, longest_poll_usec),
    {NULL, 0, false},
};
/* Counters of each worker without a sum. */
static const struct counter single[] = {
    U64(struct volt_worker_stats, avg_task_ns),
    U32(struct volt_worker_stats, global_queue_interval),
    U32(struct volt_worker_stats, ring_depth),
    {NULL, 0, false},
};
/* Counters of the whole scheduler. */
static const struct counter whole[] = {
    U64(struct volt_stats, spawned),          U64(struct volt_stats, completed),
    U64(struct volt_stats, cancelled),        U64(struct volt_stats, live),
    U64(struct volt_stats, global_depth),     U64(struct volt_stats, timers),
    U64(struct volt_stats, io_handles),       U32(struct volt_stats, workers_parked),
    U32(struct volt_stats, blocking_threads), {NULL, 0, false},
};

static void set_counters(json_t **to, const struct counter *table, const void *from)
{
    for (const struct counter *c = table; c->name; c++) {
        const char *at = (const char *)from + c->offset;
        uint64_t v = c->of_word ? *(const uint32_t *)(const void *)at
                                : *(const uint64_t *)(const void *)at;
        wire_set(to, c->name, json_integer((json_int_t)v));
    }
}

static json_t *worker_to_json(const struct volt_runtime *rt, unsigned index)
{
    struct volt_worker_stats st;
    json_t *o = json_object();

    if (volt_worker_stats(rt, index, &st) < 0)
        st = (struct volt_worker_stats){.polled = 0};
    wire_set(&o, "index", json_integer(index));
    set_counters(&o, summed, &st);
    set_counters(&o, single, &st);
    wire_set(&o, "stuck", json_boolean(st.stuck != 0));
    return o;
}

static json_t *totals_to_json(const struct volt_stats *st)
{
    json_t *o = json_object();

    set_counters(&o, whole, st);
    set_counters(&o, summed, &st->total);
    if (st->total.longest_task)
        wire_set(&o, "longest_task", json_string(st->total.longest_task));
    return o;
}

static json_t *jobs_to_json(struct core *core)
{
    json_t *o = json_object(), *results = json_object();
    struct core_counts n;

    query_counts(core, &n);
    wire_set(&o, "submitted", json_integer((json_int_t)n.submitted));
    wire_set(&o, "ended", json_integer((json_int_t)n.ended));
    for (unsigned s = 0; s < JOB_DONE; s++)
        wire_set(&o, job_state_name(s), json_integer((json_int_t)n.by_state[s]));
    for (unsigned r = JOB_RESULT_NONE + 1; r < JOB_RESULT_COUNT; r++)
        wire_set(&results, job_result_name(r), json_integer((json_int_t)n.by_result[r]));
    wire_set(&o, "results", results);
    wire_set(&o, "orphans", json_integer((json_int_t)n.orphans));
    wire_set(&o, "recovered_waiting",
             json_integer((json_int_t)(n.recovered_queued + n.recovered_unstarted)));
    wire_set(&o, "recovered_running", json_integer((json_int_t)n.recovered_running));
    wire_set(&o, "recovered_ended", json_integer((json_int_t)n.recovered_ended));
    wire_set(&o, "recovered_lost", json_integer((json_int_t)n.recovered_lost));
    wire_set(&o, "slots", json_integer(n.slots));
    wire_set(&o, "slots_used", json_integer(n.slots_used));
    wire_set(&o, "slots_lent", json_integer(n.slots_lent));
    wire_set(&o, "slots_over", json_integer((json_int_t)n.slots_over));
    return o;
}

static json_t *turns_to_json(const struct service *service)
{
    const struct turn_counts *t = service->turns;
    const struct {
        const char *name;
        const vat_u64 *value;
    } counts[] = {
        {"malformed", &service->malformed->count},
        {"divided", &t->divided},
        {"aside", &t->aside},
        {"largest_entries", &t->largest_entries},
        {"largest_bytes", &t->largest_bytes},
        {"largest_facts", &t->largest_facts},
    };
    json_t *o = json_object();
    struct core_counts n;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        wire_set(&o, counts[i].name,
                 json_integer((json_int_t)vat_u64_load(counts[i].value, VAT_RLX)));
    query_counts(service->core, &n);
    wire_set(&o, "held_entries", json_integer((json_int_t)n.held.entries));
    wire_set(&o, "held_bytes", json_integer((json_int_t)n.held.bytes));
    wire_set(&o, "held_facts", json_integer((json_int_t)n.held.facts));
    wire_set(&o, "told_entries", json_integer((json_int_t)n.visited));
    wire_set(&o, "read_rows", json_integer((json_int_t)n.read_rows));
    wire_set(&o, "read_bytes", json_integer((json_int_t)n.read_bytes));
    return o;
}

static json_t *stats_to_json(const struct service *service)
{
    json_t *o = json_object(), *workers = json_array();
    struct volt_stats st;

    volt_runtime_stats(service->rt, &st);
    for (unsigned i = 0; i < volt_runtime_workers(service->rt); i++)
        wire_add(&workers, worker_to_json(service->rt, i));
    wire_set(&o, "workers", workers);
    wire_set(&o, "totals", totals_to_json(&st));
    wire_set(&o, "turns", turns_to_json(service));
    wire_set(&o, "jobs", jobs_to_json(service->core));
    wire_set(&o, "uptime_usec",
             json_integer(
                 (json_int_t)(volt_now_usec() - control_started_usec(service->control))));
    wire_set(&o, "pid", json_integer(getpid()));
    wire_set(&o, "version", json_string(VOLT_VERSION));
    wire_set(&o, "durable", json_boolean(query_durable(service->core)));
    return o;
}

static enum volt_poll stats_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field none[] = {{.name = NULL}};

    (void)cx;
    (void)state;
    if (params_read(call, none, NULL) < 0)
        return VOLT_READY;
    return call_reply(call, stats_to_json(call_service(call)));
}

const struct method method_stats = {METHOD_IS(control, Stats), .poll = stats_poll};

struct watch_stats {
    struct watch_stats_params {
        int64_t interval_usec;
    } in;
    struct volt_sleep tick;
    bool begun;
};

static enum volt_poll watch_stats_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        FIELD(struct watch_stats_params, interval_usec, FIELD_INT, .min = INTERVAL_MIN,
              .max = INTERVAL_MAX),
        {.name = NULL},
    };
    struct watch_stats *w = state;

    if (!w->begun) {
        w->in.interval_usec = INTERVAL_DEFAULT;
        if (params_read(call, fields, &w->in) < 0)
            return VOLT_READY;
        volt_sleep_init(&w->tick, 0);
        w->begun = true;
    }
    for (;;) {
        if (volt_sleep_poll(cx, &w->tick) == VOLT_PENDING ||
            call_drained_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        if (call_continue(call, stats_to_json(call_service(call))) < 0)
            return call_abort(call);
        volt_sleep_fini(&w->tick);
        volt_sleep_init(&w->tick, (uint64_t)w->in.interval_usec);
    }
}

static void watch_stats_drop(struct call *call, void *state)
{
    struct watch_stats *w = state;

    (void)call;
    if (w->begun)
        volt_sleep_fini(&w->tick);
}

const struct method method_watch_stats = {
    METHOD_IS(control, WatchStats),
    .flags = METHOD_MORE_REQUIRED | METHOD_READS,
    .state_size = sizeof(struct watch_stats),
    .poll = watch_stats_poll,
    .drop = watch_stats_drop,
};
