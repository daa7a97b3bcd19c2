/* One task that gathers, sends, and ends when there is nothing left. */
#include <errno.h>
#include <stdlib.h>

#include "base/crash.h"
#include "daemon/exec/jobs.h"

#define SWEEP_PAUSE UINT64_C(5000)

struct sweep_task {
    struct manager *manager;
    struct volt_sleep pause;
    struct keeper_call call;
    struct keeper_key keys[KEEPER_REMOVE_MAX];
    size_t n; /* of keys, on their way */
    int at;
};

/* Takes the latest keys out. False: there are none, and the task is to end. */
static bool take(struct sweep_task *t)
{
    struct sweep *s = &t->manager->sweep;
    struct aftermath after = {0};

    manager_lock(t->manager);
    for (t->n = 0; t->n < KEEPER_REMOVE_MAX && s->n > 0;)
        t->keys[t->n++] = s->keys[--s->n];
    s->running = t->n > 0;
    manager_unlock(t->manager, &after);
    return t->n > 0;
}

static void send_keys(struct sweep_task *t)
{
    CRASH_POINT("record-remove");
    keeper_call_fini(&t->call);
    keeper_call_init_remove_many(&t->call, t->manager->link, t->keys, t->n);
}

/* Whatever the answer is, but that of a broken connection, which says nothing. */
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
        t->n = 0;
    }
    VOLT_END(t->at);
}

/* The runtime closes: what was on its way is sent again by sweep_fini(). */
static void sweep_drop(void *state)
{
    struct sweep_task *t = state;
    struct sweep *s = &t->manager->sweep;
    struct aftermath after = {0};

    keeper_call_fini(&t->call);
    volt_sleep_fini(&t->pause);
    if (!t->n)
        return;
    manager_lock(t->manager);
    while (t->n > 0 && s->n < s->capacity)
        s->keys[s->n++] = t->keys[--t->n];
    manager_unlock(t->manager, &after);
}

static const struct volt_task_type sweep_type = {"sweep", sizeof(struct sweep_task),
                                                 sweep_poll, sweep_drop, NULL};

static void begin(struct manager *m)
{
    struct sweep_task *t = volt_task_new(m->rt, &sweep_type);
    struct aftermath after = {0};

    if (t) {
        t->manager = m;
        (void)volt_task_spawn(t, NULL); /* closing: it is dropped */
        return;
    }
    manager_lock(m);
    m->sweep.running = false; /* the next one tries again */
    manager_unlock(m, &after);
}

/* Lock held. */
static int push(struct sweep *s, const struct job_key *key)
{
    if (s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : KEEPER_REMOVE_MAX;
        struct keeper_key *grown = reallocarray(s->keys, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->keys = grown;
        s->capacity = capacity;
    }
    s->keys[s->n++] = keeper_key_pack(key);
    return 0;
}

int sweep_add(struct manager *m, const struct job_key *key)
{
    struct sweep *s = &m->sweep;
    struct aftermath after = {0};

    manager_lock(m);
    int r = push(s, key);
    bool first = r == 0 && s->started && !s->running;
    s->running |= first;
    manager_unlock(m, &after);
    if (first)
        begin(m);
    return r;
}

void sweep_start(struct manager *m)
{
    struct sweep *s = &m->sweep;
    struct aftermath after = {0};

    manager_lock(m);
    s->started = true;
    s->running = s->n > 0;
    bool any = s->running;
    manager_unlock(m, &after);
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
