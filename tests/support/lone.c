#include "lone.h"

#include "base/futex.h"
#include <stdio.h>
#include <stdlib.h>

static void must(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "lone: %s failed\n", what);
        abort();
    }
}

struct volt_runtime *lone_runtime(void)
{
    struct volt_options opt = {.workers = 1, .seed = 1};
    struct volt_runtime *rt = NULL;

    must(volt_runtime_new(&opt, &rt) == 0, "volt_runtime_new");
    return rt;
}

void lone_spawn(void *state, struct volt_join *ret_join)
{
    must(state && volt_task_spawn(state, ret_join) == 0, "volt_task_spawn");
}

int lone_join(struct volt_join *join)
{
    int r = volt_join_wait(join);

    volt_join_fini(join);
    return r;
}

struct settle {
    struct volt_runtime *rt;
    uint64_t polled; /* at the last turn; 0: there was none */
};

/* Each turn goes behind all that is ready, and is over when nothing else was polled since
 * the last one: then nothing was ready. What came from outside before this task did comes
 * before it from the queue. */
static enum volt_poll settle_poll(struct volt_cx *cx, void *state)
{
    struct settle *s = state;
    struct volt_stats stats;
    uint64_t before = s->polled;

    volt_runtime_stats(s->rt, &stats);
    s->polled = stats.total.polled;
    if (before > 0 && s->polled == before + 1)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void lone_settle(struct volt_runtime *rt)
{
    static const struct volt_task_type type = {
        .name = "settle",
        .size = sizeof(struct settle),
        .poll = settle_poll,
    };
    struct settle *state = volt_task_new(rt, &type);
    struct volt_join join;

    must(state != NULL, "volt_task_new");
    state->rt = rt;
    lone_spawn(state, &join);
    (void)lone_join(&join);
}

static vat_u32 *cell(uint32_t *word)
{
    return (vat_u32 *)(void *)word;
}

static void await(uint32_t *word)
{
    while (!vat_u32_load(cell(word), VAT_ACQ))
        (void)vfutex_wait(cell(word), 0, UINT64_MAX);
}

static void signal_word(uint32_t *word)
{
    vat_u32_store(cell(word), 1, VAT_REL);
    vfutex_wake(cell(word), 1);
}

static enum volt_poll hold_poll(struct volt_cx *cx, void *state)
{
    struct lone_hold *h = *(struct lone_hold **)state;

    (void)cx;
    signal_word(&h->running);
    await(&h->release);
    return VOLT_READY;
}

void lone_hold_begin(struct volt_runtime *rt, struct lone_hold *h)
{
    static const struct volt_task_type type = {
        .name = "hold",
        .size = sizeof(struct lone_hold *),
        .poll = hold_poll,
    };
    struct lone_hold **state = volt_task_new(rt, &type);

    *h = (struct lone_hold){0};
    must(state != NULL, "volt_task_new");
    *state = h;
    lone_spawn(state, &h->join);
    await(&h->running);
}

void lone_hold_end(struct lone_hold *h)
{
    signal_word(&h->release);
    (void)lone_join(&h->join);
}
