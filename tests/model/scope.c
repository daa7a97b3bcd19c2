/* Model of lib/sched/scope.c and forks.h: parents and children on real workers, as in
 * sched.c; no event loop.
 *
 * Oracle: each child is polled and dropped by one worker at a time, dropped once, and
 * before its parent goes on, which sees what it has left; nobody touches a scope's memory
 * once the parent has freed it; a child that nobody runs is announced (INV-1); a parent
 * that is cancelled ends, its children first. */
#include <string.h>
#include "base/clock.h"
#include "mcx.h"
#include "sched/local.h"
#include <volt/scope.h>

enum { NODES = 7, ROOT = 0, CHILD_LOCKED = 2 };

enum kind {
    LEAF,   /* ends at once */
    PAIRED, /* waits inside its poll until both are in theirs */
    WAITS,  /* for a waker, that another thread ends */
    NEVER,  /* waits for nothing */
    BRANCH, /* has children of its own */
    QUEUES, /* queues a task, and waits inside its poll until that has run */
    AWAITS, /* waits inside its poll for the task that the root has queued */
};

/* What a node is to do, by its number; its children follow each other. */
static const struct plan {
    enum kind kind;
    int first, children;
} * plan;

struct node {
    int at, number;
    int busy, output; /* annotated */
    struct volt_scope scope;
};

static struct sched *sched;
static struct volt_join handle;
static struct volt_waker waker, prod;
static vat_u32 data, handed; /* handed: orders what is passed to wakers */
static bool armed, prodded, root_ended;
static int prodded_node; /* who hands out prod */
static int polls[NODES], drops[NODES], cancelled_leaves, started, objects;
static struct volt_task *beside; /* a task that is no child of anybody; or NULL */
static bool root_queues, beside_ran;
static bool counted;
static unsigned locked; /* if counted: operations, from the root's first poll to its drop;
                         * else 0, as states that are alike have different histories */

uint64_t clock_ns(void)
{
    return 0;
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static bool both_started(void *arg)
{
    (void)arg;
    return started >= 2;
}

static bool has_run(void *arg)
{
    const bool *ran = arg;

    return *ran;
}

static enum volt_poll poll_beside(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    beside_ran = true;
    return VOLT_READY;
}

static const struct volt_task_type beside_type = {
    .name = "beside",
    .size = 1,
    .poll = poll_beside,
};

/* To the ring, not the slot. */
static void queue_beside(void)
{
    struct worker *w = &sched->worker[mcx_self()];

    worker_push(w, beside);
}

static void drop_node(void *state)
{
    struct node *n = state;
    const struct plan *p = &plan[n->number];

    VAT_WR(&n->busy);
    drops[n->number]++;
    if (p->kind == BRANCH && polls[n->number] > 0)
        for (int i = 0; i < p->children; i++)
            MCX_CHECK(drops[p->first + i] == 1);
    volt_scope_fini(&n->scope);
    if (n->number == ROOT) {
        root_ended = true;
        locked = counted ? mcx_locked_ops() - locked : 0;
    }
}

static enum volt_poll poll_branch(struct volt_cx *cx, struct node *n);

static enum volt_poll poll_node(struct volt_cx *cx, void *state)
{
    struct node *n = state;

    VAT_WR(&n->busy);
    MCX_CHECK(drops[n->number] == 0);
    polls[n->number]++;
    switch (plan[n->number].kind) {
    case BRANCH:
        return poll_branch(cx, n);
    case PAIRED:
        mcx_block_until_any(always, NULL); /* what others wait for changes */
        started++;
        mcx_block_until(both_started, NULL);
        break;
    case WAITS:
        if (!n->at) {
            n->at = 1;
            waker = volt_waker_new(cx);
            (void)vat_u32_add(&handed, 1, VAT_AR);
            armed = true;
        }
        if (!vat_u32_load(&data, VAT_RLX))
            return VOLT_PENDING;
        break;
    case NEVER:
        return VOLT_PENDING;
    case QUEUES:
        queue_beside();
        mcx_block_until(has_run, &beside_ran);
        break;
    case AWAITS:
        mcx_block_until(has_run, &beside_ran);
        break;
    case LEAF:
        break;
    }
    VAT_WR(&n->output);
    n->output = 1;
    return VOLT_READY;
}

static const struct volt_task_type node_type = {
    .name = "node",
    .size = sizeof(struct node),
    .poll = poll_node,
    .drop = drop_node,
};

static void check_children(const struct node *n)
{
    const struct plan *p = &plan[n->number];

    for (int i = 0; i < p->children; i++) {
        struct node *c = volt_scope_child(&n->scope, (size_t)i);

        MCX_CHECK(drops[p->first + i] == 1);
        if (volt_scope_status(&n->scope, (size_t)i) < 0) {
            cancelled_leaves++;
            continue;
        }
        VAT_RD(&c->output);
        MCX_CHECK(c->output == 1);
    }
}

static enum volt_poll poll_branch(struct volt_cx *cx, struct node *n)
{
    const struct plan *p = &plan[n->number];

    if (!n->at) {
        n->at = 1;
        if (n->number == ROOT && counted)
            locked = mcx_locked_ops();
        MCX_CHECK(volt_scope_init(cx, &n->scope, &node_type, (size_t)p->children) == 0);
        for (int i = 0; i < p->children; i++) {
            struct node *c = volt_scope_child(&n->scope, (size_t)i);

            VAT_WR(&c->busy);
            c->number = p->first + i;
        }
        if (root_queues && n->number == ROOT)
            queue_beside();
        if (n->number == prodded_node) {
            prod = volt_waker_new(cx);
            (void)vat_u32_add(&handed, 1, VAT_AR);
            prodded = true;
        }
    }
    if (volt_scope_poll(cx, &n->scope) == VOLT_PENDING)
        return VOLT_PENDING;
    check_children(n);
    VAT_WR(&n->output);
    n->output = 1;
    return VOLT_READY;
}

static void start_with(const struct plan *what, uint32_t workers)
{
    static const char *const forks[] = {"forks 0", "forks 1", "forks 2"};
    struct worker *w = mcx_malloc(workers * sizeof(*w));

    mcx_group_size = 48;
    plan = what;
    sched = mcx_malloc(sizeof(*sched));
    sched_init(sched, w, workers, true, 1);
    for (uint32_t i = 0; i < workers; i++) {
        if (!mcx_random())
            w[i].rng = (struct rng){0};
        mcx_quiet(&w[i].count, sizeof(w[i].count));
        mcx_name(&w[i].forks, sizeof(w[i].forks), forks[i]);
    }
    mcx_quiet(&sched->spawned, 3 * sizeof(sched->spawned));
    vat_u32_init(&data, 0);
    vat_u32_init(&handed, 0);
    memset(polls, 0, sizeof(polls));
    memset(drops, 0, sizeof(drops));
    waker.task = prod.task = NULL;
    armed = prodded = root_ended = false;
    started = cancelled_leaves = 0;
    beside = NULL;
    root_queues = beside_ran = false;
    prodded_node = ROOT;
    objects = mcx_live_objects();
    struct node *n = volt_task_new((struct volt_runtime *)(void *)sched, &node_type);
    task_begin(task_of(n), true);
    handle.task = task_of(n);
}

static void start(const struct plan *what)
{
    start_with(what, 2);
}

/* Two children that have two each; nobody steals. */
static void setup_cost(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2}, {BRANCH, 3, 2}, {BRANCH, 5, 2},
                                    {.kind = LEAF}, {.kind = LEAF}, {.kind = LEAF},
                                    {.kind = LEAF}};

    counted = true;
    start_with(p, 1);
}

static void setup_two(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2}, {.kind = LEAF}, {.kind = LEAF}};

    start(p);
}

/* More than the forks hold. */
static void setup_four(void)
{
    static const struct plan p[] = {
        {BRANCH, 1, 4}, {.kind = LEAF}, {.kind = LEAF}, {.kind = LEAF}, {.kind = LEAF}};

    start(p);
}

static void setup_pair(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2}, {.kind = PAIRED}, {.kind = PAIRED}};

    start(p);
}

/* The second of the pair is the child of a child. */
static void setup_nested(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2},
                                    {BRANCH, 3, 2},
                                    {.kind = LEAF},
                                    {.kind = PAIRED},
                                    {.kind = PAIRED}};

    start(p);
}

static void setup_tree(void)
{
    static const struct plan p[] = {
        {BRANCH, 1, 2}, {BRANCH, 3, 2}, {.kind = LEAF}, {.kind = LEAF}, {.kind = LEAF}};

    start(p);
}

/* The parent that is prodded is a child, whose memory goes with its parent's scope. */
static void setup_waits_nested(void)
{
    static const struct plan p[] = {{BRANCH, 1, 1}, {BRANCH, 2, 1}, {.kind = WAITS}};

    start(p);
    prodded_node = 1;
}

/* Deeper than polls go in place. */
static void setup_deep(void)
{
    static const struct plan p[] = {
        {BRANCH, 1, 1}, {BRANCH, 2, 1}, {BRANCH, 3, 2}, {.kind = LEAF}, {.kind = LEAF}};

    start(p);
}

static void setup_waits(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2}, {.kind = WAITS}, {.kind = LEAF}};

    start(p);
}

static void setup_cancel(void)
{
    static const struct plan p[] = {{BRANCH, 1, 2}, {.kind = NEVER}, {.kind = LEAF}};

    start(p);
}

static void setup_cancel_nested(void)
{
    static const struct plan p[] = {
        {BRANCH, 1, 1}, {BRANCH, 2, 2}, {.kind = NEVER}, {.kind = LEAF}};

    start(p);
}

/* All polls have been short, so that a wake is held back; a sentinel is said to be
 * there. */
static void hold(const struct plan *what)
{
    start(what);
    sched->hold_ns = 1000;
    for (uint32_t i = 0; i < sched->workers; i++) {
        hold_learn(&sched->worker[i], &node_type, 300);
        hold_learn(&sched->worker[i], &beside_type, 300);
    }
    vat_u32_init(&sched->sentinels, 1);
    beside = task_of(volt_task_new((struct volt_runtime *)(void *)sched, &beside_type));
    task_begin(beside, false);
}

static void setup_hold_before(void)
{
    static const struct plan p[] = {{BRANCH, 1, 1}, {.kind = AWAITS}};

    hold(p);
    root_queues = true;
}

static void setup_hold_inside(void)
{
    static const struct plan p[] = {{BRANCH, 1, 1}, {.kind = QUEUES}};

    hold(p);
}

static void worker(void)
{
    mcx_daemon();
    worker_main(&sched->worker[mcx_self()]);
}

/* Awake, with the root. */
static void worker_root(void)
{
    struct worker *w = &sched->worker[mcx_self()];

    mcx_daemon();
    worker_set_current(w);
    worker_push(w, handle.task);
    worker_main(w);
}

static bool is_armed(void *arg)
{
    (void)arg;
    return armed;
}

static void wakes(void)
{
    mcx_block_until(is_armed, NULL);
    (void)vat_u32_add(&handed, 1, VAT_AR);
    vat_u32_store(&data, 1, VAT_RLX);
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
}

static bool is_prodded(void *arg)
{
    (void)arg;
    return prodded;
}

/* Has the root polled for no reason. */
static void prods(void)
{
    mcx_block_until(is_prodded, NULL);
    (void)vat_u32_add(&handed, 1, VAT_AR);
    volt_waker_wake(&prod);
    volt_waker_fini(&prod);
}

static void cancels(void)
{
    volt_join_cancel(&handle);
}

static void finish(void)
{
    MCX_CHECK(drops[ROOT] == 1);
    for (int i = 0; i < NODES; i++)
        MCX_CHECK(drops[i] <= 1);
    for (uint32_t i = 0; i < sched->workers; i++)
        MCX_CHECK(!forks_visible(&sched->worker[i].forks));
    MCX_CHECK(sched_parked(sched) == sched->workers);
    volt_waker_fini(&prod);
    volt_join_fini(&handle);
    MCX_CHECK(mcx_live_objects() == objects);
}

static void finish_all(void)
{
    int last = 0;

    for (int i = 0; i <= last; i++) {
        MCX_CHECK(drops[i] == 1);
        if (plan[i].children)
            last = plan[i].first + plan[i].children - 1;
    }
    MCX_CHECK(cancelled_leaves == 0);
    finish();
}

static void finish_cost(void)
{
    mcx_note("%u locked operations for 6 children", locked);
    MCX_CHECK(locked <= 6 * CHILD_LOCKED);
    finish_all();
}

static void finish_held(void)
{
    vat_u32_init(&sched->sentinels, 0);
    MCX_CHECK(beside_ran);
    finish_all();
}

/* --- forks alone -------------------------------------------------------------------- */

enum { ENTRIES = 3 };
static struct forks *forks;
static struct volt_task entry[ENTRIES];
static int payload[ENTRIES], taken[ENTRIES]; /* payload: annotated */

static void setup_forks(void)
{
    forks = mcx_malloc(sizeof(*forks));
    forks_init(forks);
    memset(taken, 0, sizeof(taken));
    memset(payload, 0, sizeof(payload));
}

static bool got(struct volt_task *t)
{
    if (!t)
        return false;
    int i = (int)(t - entry);
    VAT_WR(&payload[i]);
    taken[i]++;
    return true;
}

/* Two, one of them again; then a third, for which there is room if a thief came. */
static void owner(void)
{
    for (int i = 0; i < ENTRIES; i++) {
        VAT_WR(&payload[i]);
        if (!forks_push(forks, &entry[i])) {
            (void)got(forks_take(forks));
            MCX_CHECK(forks_push(forks, &entry[i]));
        }
    }
    while (got(forks_take(forks)))
        ;
}

static void thief(void)
{
    (void)got(forks_steal(forks));
}

static void finish_forks(void)
{
    for (int i = 0; i < ENTRIES; i++)
        MCX_CHECK(taken[i] == 1);
}

#define SCOPE(NAME, PROMISE, SETUP, FINISH, ...)                                         \
    {                                                                                    \
        .name = NAME, .promise = PROMISE, .setup = SETUP, .finish = FINISH,              \
        .threads = {{"worker 0", worker_root}, {"worker 1", worker}, __VA_ARGS__},       \
        .preempt = 2, .stale = 1, .dfs = 20000,                                          \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "forks",
        .promise = "each entry goes to one, with what was written before it was pushed",
        .setup = setup_forks,
        .finish = finish_forks,
        .threads = {{"owner", owner}, {"thief", thief}, {"thief 2", thief}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "cost",
        .promise = "a child that runs in place takes two locked operations at most",
        .setup = setup_cost,
        .finish = finish_cost,
        .threads = {{"worker 0", worker_root}},
    },
    SCOPE("two", "children run once, and end before their parent goes on", setup_two,
          finish_all, {0}),
    SCOPE("four", "also more of them than forks hold", setup_four, finish_all, {0}),
    SCOPE("pair", "a child whose sibling waits for it in its poll is found by others",
          setup_pair, finish_all, {0}),
    SCOPE("nested", "also if it is a grandchild", setup_nested, finish_all, {0}),
    SCOPE("tree", "each scope takes back what it has laid out, and no more", setup_tree,
          finish_all, {0}),
    SCOPE("deep", "beyond the depth of polls in place children are queued", setup_deep,
          finish_all, {0}),
    SCOPE("waits", "a child that waits, and its waker, end before the parent goes on",
          setup_waits, finish_all, {"wakes", wakes}),
    SCOPE("prodded", "a parent polled for no reason neither goes on early nor sleeps on",
          setup_waits, finish_all, {"wakes", wakes}, {"prods", prods}),
    SCOPE("prodded-nested", "also one whose memory is freed when it has gone on",
          setup_waits_nested, finish_all, {"wakes", wakes}, {"prods", prods}),
    SCOPE("cancel", "a parent that is cancelled ends, after its children", setup_cancel,
          finish, {"cancels", cancels}),
    SCOPE("cancel-nested", "also children of children", setup_cancel_nested, finish,
          {"cancels", cancels}),
    SCOPE("hold-before", "what a parent has queued is not held back behind its children",
          setup_hold_before, finish_held, {0}),
    SCOPE("hold-inside", "nor is what a child that runs in place has queued",
          setup_hold_inside, finish_held, {0}),
    {0},
};

const struct mcx_model mcx_model = {
    .name = "scope",
    .about = "children of scopes: in place, stolen, waiting, cancelled",
    .scenarios = scenarios,
};
