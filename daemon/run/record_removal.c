/* One task that gathers, sends, and ends when there is nothing left. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/run/state.h"
#include "daemon/observe/log.h"

#define REMOVAL_PAUSE UINT64_C(5000)
#define REMOVAL_LATER 11 /* doublings of it: ten seconds */

struct removal_task {
    struct core *core;
    struct volt_sleep pause;
    struct keeper_call call;
    struct keeper_key keys[KEEPER_REMOVE_MAX];
    size_t n;        /* of keys, on their way */
    unsigned failed; /* in a row */
    int at;
};

/* Lock held. Room for n more. */
static int reserve(struct removal *s, size_t n)
{
    size_t capacity = s->capacity ? s->capacity : KEEPER_REMOVE_MAX;

    while (capacity < s->n + n)
        capacity *= 2;
    if (capacity == s->capacity)
        return 0;
    struct keeper_key *grown = reallocarray(s->keys, capacity, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->keys = grown;
    s->capacity = capacity;
    return 0;
}

/* Takes the latest keys out. False: there are none, and the task is to end. */
static bool take(struct removal_task *t)
{
    struct removal *s = &parts_of(t->core)->run->removal;

    vlock_lock(&s->lock);
    for (t->n = 0; t->n < KEEPER_REMOVE_MAX && s->n > 0;)
        t->keys[t->n++] = s->keys[--s->n];
    s->running = t->n > 0;
    vlock_unlock(&s->lock);
    return t->n > 0;
}

/* Behind the others: one that can never be removed must not keep them. */
static void put_back(struct removal_task *t)
{
    struct removal *s = &parts_of(t->core)->run->removal;

    vlock_lock(&s->lock);
    if (reserve(s, t->n) == 0) { /* otherwise the next daemon finds them */
        memmove(s->keys + t->n, s->keys, s->n * sizeof(*s->keys));
        memcpy(s->keys, t->keys, t->n * sizeof(*s->keys));
        s->n += t->n;
    }
    vlock_unlock(&s->lock);
    t->n = 0;
}

/* Returns whether another try is due, after a pause: the keeper, or this process, had no
 * descriptor or no memory for it, or the disk failed. */
static bool has_failed(struct removal_task *t)
{
    int r = keeper_call_status(&t->call);

    if (r == 0) {
        t->failed = t->n = 0;
        return false;
    }
    put_back(t);
    if (t->failed == REMOVAL_LATER)
        log_warning("a record that is not needed cannot be removed: %s", strerror(-r));
    volt_sleep_fini(&t->pause);
    volt_sleep_init(&t->pause,
                    REMOVAL_PAUSE
                        << (t->failed < REMOVAL_LATER ? t->failed : REMOVAL_LATER));
    t->failed++;
    return true;
}

static void send_keys(struct removal_task *t)
{
    CRASH_POINT("record-remove");
    keeper_call_fini(&t->call);
    keeper_call_init_remove_many(&t->call, parts_of(t->core)->run->link, t->keys, t->n);
}

/* A broken connection says nothing; all that is removed already may be removed again. */
static enum volt_poll removal_poll(struct volt_cx *cx, void *state)
{
    struct removal_task *t = state;

    VOLT_BEGIN(t->at);
    volt_sleep_init(&t->pause, REMOVAL_PAUSE);
    VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
    while (take(t)) {
        do {
            send_keys(t);
            VOLT_AWAIT(t->at, keeper_call_poll(cx, &t->call));
        } while (keeper_call_status(&t->call) == -ECONNRESET);
        CRASH_POINT("record-removed");
        if (has_failed(t))
            VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
    }
    VOLT_END(t->at);
}

/* The runtime closes: what was on its way is sent again by removal_fini(). */
static void removal_drop(void *state)
{
    struct removal_task *t = state;

    keeper_call_fini(&t->call);
    volt_sleep_fini(&t->pause);
    if (t->n > 0)
        put_back(t);
}

static const struct volt_task_type removal_type = {"record removal", sizeof(struct removal_task),
                                                   removal_poll, removal_drop, NULL};

static void begin(struct core *core)
{
    struct removal_task *t = volt_task_new(parts_of(core)->rt, &removal_type);

    if (t) {
        t->core = core;
        (void)volt_task_spawn(t, NULL); /* closing: it is dropped */
        return;
    }
    vlock_lock(&parts_of(core)->run->removal.lock);
    parts_of(core)->run->removal.running = false; /* the next one tries again */
    vlock_unlock(&parts_of(core)->run->removal.lock);
}

/* Lock held. */
static int push(struct removal *s, const struct job_key *key)
{
    int r = reserve(s, 1);

    assert(key->attempt > 0); /* the keeper would end the connection, again and again */
    if (r == 0)
        s->keys[s->n++] = keeper_key_pack(key);
    return r;
}

int removal_add(struct core *core, const struct job_key *key)
{
    struct removal *s = &parts_of(core)->run->removal;

    vlock_lock(&s->lock);
    int r = push(s, key);
    bool first = r == 0 && s->started && !s->running;
    s->running |= first;
    vlock_unlock(&s->lock);
    if (first)
        begin(core);
    return r;
}

void removal_start(struct core *core)
{
    struct removal *s = &parts_of(core)->run->removal;

    vlock_lock(&s->lock);
    s->started = true;
    s->running = s->n > 0;
    bool any = s->running;
    vlock_unlock(&s->lock);
    if (any)
        begin(core);
}

void removal_fini(struct core *core)
{
    if (parts_of(core)->run->link)
        keeper_link_remove(parts_of(core)->run->link, parts_of(core)->run->removal.keys,
                           parts_of(core)->run->removal.n);
    free(parts_of(core)->run->removal.keys);
    parts_of(core)->run->removal = (struct removal){0};
}
