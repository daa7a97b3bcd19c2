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

/* What comes from outside may pass what is ready: each turn lets all of that go first,
 * and the next one what that has woken. */
static enum volt_poll settle_poll(struct volt_cx *cx, void *state)
{
    int *turns = state;

    if (++*turns > 8)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void lone_settle(struct volt_runtime *rt)
{
    static const struct volt_task_type type = {
        .name = "settle",
        .size = sizeof(int),
        .poll = settle_poll,
    };
    struct volt_join join;

    lone_spawn(volt_task_new(rt, &type), &join);
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
