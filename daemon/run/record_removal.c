/* Removes records by one task, which gathers them and ends when none is left. An attempt
 * that may be frozen has a task of its own before. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/run/state.h"
#include "daemon/observe/log.h"

#define REMOVAL_PAUSE UINT64_C(5000)
#define REMOVAL_LATER 11 /* doublings of it: ten seconds */
#define REMOVAL_MAX   64 /* records at a time */

struct removal_task {
    struct core *core;
    struct volt_sleep pause;
    struct removal_item items[REMOVAL_MAX];
    size_t n;        /* items that are being removed */
    int status;      /* first failure among them */
    unsigned failed; /* failures in a row */
    int at;
};

/* Lock held. Makes room for n more. Returns 0 or -ENOMEM. */
static int reserve(struct removal *s, size_t n)
{
    size_t capacity = s->capacity ? s->capacity : REMOVAL_MAX;

    while (capacity < s->n + n)
        capacity *= 2;
    if (capacity == s->capacity)
        return 0;
    struct removal_item *grown = reallocarray(s->items, capacity, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->items = grown;
    s->capacity = capacity;
    return 0;
}

/* Takes the latest records. Returns false if there are none: the task must end. */
static bool take(struct removal_task *t)
{
    struct removal *s = &parts_of(t->core)->run->removal;

    vlock_lock(&s->lock);
    for (t->n = 0; t->n < REMOVAL_MAX && s->n > 0;)
        t->items[t->n++] = s->items[--s->n];
    s->running = t->n > 0;
    vlock_unlock(&s->lock);
    return t->n > 0;
}

/* Puts records back behind the others, which must not wait for one that can never be
 * removed. */
static void put_back(struct removal_task *t)
{
    struct removal *s = &parts_of(t->core)->run->removal;

    vlock_lock(&s->lock);
    if (reserve(s, t->n) == 0) { /* otherwise the next voltd finds them */
        memmove(s->items + t->n, s->items, s->n * sizeof(*s->items));
        memcpy(s->items, t->items, t->n * sizeof(*s->items));
        s->n += t->n;
    }
    vlock_unlock(&s->lock);
    t->n = 0;
}

static int remove_one(struct run *run, const struct removal_item *item)
{
    CRASH_POINT("record-remove");
    int r = record_remove(run->record_fd, &run->spare, &item->key, run->boot_id);
    CRASH_POINT("record-removed");
    return r;
}

/* Tries all, even if one fails: a removed record may be removed again. */
static void remove_all(void *arg)
{
    struct removal_task *t = arg;

    t->status = 0;
    for (size_t i = 0; i < t->n; i++) {
        int r = remove_one(parts_of(t->core)->run, &t->items[i]);
        t->status = t->status ? t->status : r;
    }
}

/* Returns whether another try is due after a pause: descriptors or memory lacked, or the
 * disk failed. */
static bool has_failed(struct removal_task *t)
{
    if (t->status == 0) {
        t->failed = 0;
        return false;
    }
    put_back(t);
    if (t->failed == REMOVAL_LATER)
        log_warning("a record that is not needed cannot be removed: %s",
                    strerror(-t->status));
    volt_sleep_fini(&t->pause);
    volt_sleep_init(&t->pause,
                    REMOVAL_PAUSE
                        << (t->failed < REMOVAL_LATER ? t->failed : REMOVAL_LATER));
    t->failed++;
    return true;
}

/* --- attempts that may be frozen ---------------------------------------------------- */

struct thaw_task {
    struct core *core;
    struct removal_item item;
    struct keeper_call call;
    struct volt_sleep pause;
    int at;
};

static void call_keeper(struct thaw_task *t)
{
    keeper_call_fini(&t->call);
    keeper_call_init_signal(&t->call, run_link(t->core, t->item.owner), &t->item.key,
                            SIGCONT, KEEPER_SCOPE_TREE);
}

/* Returns whether SIGCONT is to be repeated: the connection broke, or the keeper had too
 * many requests. */
static bool was_in_vain(struct thaw_task *t)
{
    const int r = keeper_call_status(&t->call);

    volt_sleep_fini(&t->pause);
    volt_sleep_init(&t->pause, REMOVAL_PAUSE);
    return r == -ECONNRESET || r == -EAGAIN;
}

static enum volt_poll thaw_poll(struct volt_cx *cx, void *state)
{
    struct thaw_task *t = state;

    VOLT_BEGIN(t->at);
    for (;;) {
        call_keeper(t);
        VOLT_AWAIT(t->at, keeper_call_poll(cx, &t->call));
        if (!was_in_vain(t))
            break;
        VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
    }
    (void)removal_add(t->core, &t->item.key, t->item.owner, false);
    VOLT_END(t->at);
}

static void thaw_drop(void *state)
{
    struct thaw_task *t = state;

    keeper_call_fini(&t->call);
    volt_sleep_fini(&t->pause);
}

static const struct volt_task_type thaw_type = {"thaw", sizeof(struct thaw_task),
                                                thaw_poll, thaw_drop, NULL};

/* Moves items that need SIGCONT first to tasks of their own. Without memory the next
 * voltd does it. */
static void begin_thaws(struct removal_task *t)
{
    size_t left = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (!t->items[i].thaw) {
            t->items[left++] = t->items[i];
            continue;
        }
        struct thaw_task *thaw = volt_task_new(parts_of(t->core)->rt, &thaw_type);
        if (thaw) {
            thaw->core = t->core;
            thaw->item = t->items[i];
            (void)volt_task_spawn(thaw, NULL); /* dropped if the runtime ends */
        }
    }
    t->n = left;
}

/* --- the task ----------------------------------------------------------------------- */

static enum volt_poll removal_poll(struct volt_cx *cx, void *state)
{
    struct removal_task *t = state;

    VOLT_BEGIN(t->at);
    volt_sleep_init(&t->pause, REMOVAL_PAUSE);
    VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
    while (take(t)) {
        begin_thaws(t);
        volt_block_in_place(cx, remove_all, t);
        if (has_failed(t)) {
            VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->pause));
            continue;
        }
        t->n = 0;
    }
    VOLT_END(t->at);
}

/* Puts back unfinished records as the runtime closes. removal_fini() removes them. */
static void removal_drop(void *state)
{
    struct removal_task *t = state;

    volt_sleep_fini(&t->pause);
    if (t->n > 0)
        put_back(t);
}

static const struct volt_task_type removal_type = {
    "record removal", sizeof(struct removal_task), removal_poll, removal_drop, NULL};

static void begin(struct core *core)
{
    struct removal_task *t = volt_task_new(parts_of(core)->rt, &removal_type);

    if (t) {
        t->core = core;
        (void)volt_task_spawn(t, NULL); /* closing: the task is dropped */
        return;
    }
    vlock_lock(&parts_of(core)->run->removal.lock);
    parts_of(core)->run->removal.running = false; /* the next record tries again */
    vlock_unlock(&parts_of(core)->run->removal.lock);
}

/* Lock held. Adds a record. Returns 0 or -ENOMEM. */
static int push(struct removal *s, const struct job_key *key, uid_t owner, bool thaw)
{
    int r = reserve(s, 1);

    assert(key->attempt > 0); /* the keeper would close the connection each time */
    if (r == 0)
        s->items[s->n++] = (struct removal_item){*key, thaw, owner};
    return r;
}

int removal_add(struct core *core, const struct job_key *key, uid_t owner, bool thaw)
{
    struct removal *s = &parts_of(core)->run->removal;

    vlock_lock(&s->lock);
    int r = push(s, key, owner, thaw);
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
    struct run *run = parts_of(core)->run;

    /* If that fails, the next voltd does it. */
    for (size_t i = 0; i < run->removal.n; i++)
        if (!run->removal.items[i].thaw)
            (void)remove_one(run, &run->removal.items[i]);
    free(run->removal.items);
    run->removal = (struct removal){0};
}
