/* One task that gathers, sends, and ends when there is nothing left. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/jobs.h"
#include "daemon/observe/log.h"

#define SWEEP_PAUSE UINT64_C(5000)
#define SWEEP_LATER 11 /* doublings of it: ten seconds */

struct sweep_task {
    struct manager *manager;
    struct volt_sleep pause;
    struct keeper_call call;
    struct keeper_key keys[KEEPER_REMOVE_MAX];
    size_t n;        /* of keys, on their way */
    unsigned failed; /* in a row */
    int at;
};

/* Lock held. Room for n more. */
static int reserve(struct sweep *s, size_t n)
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
static bool take(struct sweep_task *t)
{
    struct sweep *s = &t->manager->sweep;

    manager_lock(t->manager);
    for (t->n = 0; t->n < KEEPER_REMOVE_MAX && s->n > 0;)
        t->keys[t->n++] = s->keys[--s->n];
    s->running = t->n > 0;
    manager_unlock(t->manager);
    return t->n > 0;
}

/* Behind the others: one that can never be removed must not keep them. */
static void put_back(struct sweep_task *t)
{
    struct sweep *s = &t->manager->sweep;

    manager_lock(t->manager);
    if (reserve(s, t->n) == 0) { /* otherwise the next daemon finds them */
        memmove(s->keys + t->n, s->keys, s->n * sizeof(*s->keys));
        memcpy(s->keys, t->keys, t->n * sizeof(*s->keys));
        s->n += t->n;
    }
    manager_unlock(t->manager);
    t->n = 0;
}

/* Returns whether another try is due, after a pause: the keeper, or this process, had no
 * descriptor or no memory for it, or the disk failed. */
static bool has_failed(struct sweep_task *t)
{
    int r = keeper_call_status(&t->call);

    if (r == 0) {
        t->failed = t->n = 0;
        return false;
    }
    put_back(t);
    if (t->failed == SWEEP_LATER)
        log_warning("a record that is not needed cannot be removed: %s", strerror(-r));
    volt_sleep_fini(&t->pause);
    volt_sleep_init(&t->pause,
                    SWEEP_PAUSE << (t->failed < SWEEP_LATER ? t->failed : SWEEP_LATER));
    t->failed++;
    return true;
}

static void send_keys(struct sweep_task *t)
{
    CRASH_POINT("record-remove");
    keeper_call_fini(&t->call);
    keeper_call_init_remove_many(&t->call, t->manager->link, t->keys, t->n);
}

/* A broken connection says nothing; all that is removed already may be removed again. */
static enum volt_poll sweep_poll(struct volt_cx *cx, void *state)
{
    struct sweep_task *t = state;

    VOLT_BEGIN(t->at);
    volt_sleep_init(&t->pause, SWEEP_PAUSE);
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

/* The runtime closes: what was on its way is sent again by sweep_fini(). */
static void sweep_drop(void *state)
{
    struct sweep_task *t = state;

    keeper_call_fini(&t->call);
    volt_sleep_fini(&t->pause);
    if (t->n > 0)
        put_back(t);
}

static const struct volt_task_type sweep_type = {"sweep", sizeof(struct sweep_task),
                                                 sweep_poll, sweep_drop, NULL};

static void begin(struct manager *m)
{
    struct sweep_task *t = volt_task_new(m->rt, &sweep_type);

    if (t) {
        t->manager = m;
        (void)volt_task_spawn(t, NULL); /* closing: it is dropped */
        return;
    }
    manager_lock(m);
    m->sweep.running = false; /* the next one tries again */
    manager_unlock(m);
}

/* Lock held. */
static int push(struct sweep *s, const struct job_key *key)
{
    int r = reserve(s, 1);

    assert(key->attempt > 0); /* the keeper would end the connection, again and again */
    if (r == 0)
        s->keys[s->n++] = keeper_key_pack(key);
    return r;
}

int sweep_add(struct manager *m, const struct job_key *key)
{
    struct sweep *s = &m->sweep;

    manager_lock(m);
    int r = push(s, key);
    bool first = r == 0 && s->started && !s->running;
    s->running |= first;
    manager_unlock(m);
    if (first)
        begin(m);
    return r;
}

void sweep_start(struct manager *m)
{
    struct sweep *s = &m->sweep;

    manager_lock(m);
    s->started = true;
    s->running = s->n > 0;
    bool any = s->running;
    manager_unlock(m);
    if (any)
        begin(m);
}

void sweep_fini(struct manager *m)
{
    if (m->link)
        keeper_link_remove(m->link, m->sweep.keys, m->sweep.n);
    free(m->sweep.keys);
    m->sweep = (struct sweep){0};
}
