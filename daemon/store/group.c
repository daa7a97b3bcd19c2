/* See group.h. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/store/group.h"

#define WAKES_PER_ROUND 64
#define GROUP_PACE      UINT64_C(4000)
#define FOR_EVER        (UINT64_C(1) << 62) /* microseconds */

int groups_init(struct groups *g)
{
    pthread_condattr_t attr;
    int r = -pthread_mutex_init(&g->lock, NULL);

    if (r < 0)
        return r;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    r = -pthread_cond_init(&g->cond, &attr);
    (void)pthread_condattr_destroy(&attr);
    g->tail = &g->head;
    g->filling = 1;
    g->retention = (struct store_retention){.jobs = UINT64_MAX, .usec = UINT64_MAX};
    return r;
}

void groups_fini(struct groups *g)
{
    while (g->head) {
        struct group_entry *e = g->head;
        g->head = e->next;
        free(e);
    }
    pthread_cond_destroy(&g->cond);
    pthread_mutex_destroy(&g->lock);
}

static struct store_commit *commit_of(struct list_node *n)
{
    return n ? list_thing(n, struct store_commit, node) : NULL;
}

static void unlink_commit(struct groups *g, struct store_commit *c)
{
    list_remove(&g->commits, &c->node);
    c->group = 0;
}

int groups_append(struct groups *g, struct group_entry *entry, struct store_commit *c)
{
    int r = 0;

    pthread_mutex_lock(&g->lock);
    if (entry && entry->submits)
        r = g->refusing;
    if (r == 0 && entry) {
        entry->next = NULL;
        *g->tail = entry;
        g->tail = &entry->next;
    }
    if (r == 0 && c && (g->head || g->writing)) {
        c->submits = entry && entry->submits;
        c->group = g->head ? g->filling : g->filling - 1;
        list_add_last(&g->commits, &c->node);
    }
    pthread_mutex_unlock(&g->lock);
    return r;
}

/* Notes a kick. Lock held. Returns whether the caller must signal after unlock: a writer
 * woken under the lock would wait for it. */
static bool kick_locked(struct groups *g, bool patient)
{
    if (!g->head)
        return false;
    g->hurry |= !patient;
    if (!g->asleep || (g->pacing && patient))
        return false;
    g->asleep = false;
    return true;
}

void groups_kick(struct groups *g, bool patient)
{
    pthread_mutex_lock(&g->lock);
    bool wake = kick_locked(g, patient);
    pthread_mutex_unlock(&g->lock);
    if (wake)
        pthread_cond_signal(&g->cond);
}

/* Frees the old waker after unlock, as it may hold the last reference to a task. */
enum volt_poll groups_commit_poll(struct volt_cx *cx, struct groups *g,
                                  struct store_commit *c)
{
    struct volt_waker old = {NULL};
    bool wake = false;

    pthread_mutex_lock(&g->lock);
    bool over = c->group == 0;
    if (!over) {
        old = c->waker;
        c->waker = volt_waker_new(cx);
        wake = kick_locked(g, c->patient);
    }
    pthread_mutex_unlock(&g->lock);
    if (wake)
        pthread_cond_signal(&g->cond);
    volt_waker_fini(&old);
    return over ? VOLT_READY : VOLT_PENDING;
}

void groups_commit_fini(struct groups *g, struct store_commit *c)
{
    pthread_mutex_lock(&g->lock);
    struct volt_waker waker = c->waker;
    c->waker = (struct volt_waker){NULL};
    if (c->group)
        unlink_commit(g, c);
    pthread_mutex_unlock(&g->lock);
    volt_waker_fini(&waker);
}

static uint64_t now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Lock held. Sleeps until it is kicked, or until `usec`, when it returns false. */
static bool sleep_until(struct groups *g, uint64_t usec)
{
    struct timespec at = {(time_t)(usec / 1000000), (long)(usec % 1000000) * 1000};

    g->asleep = true;
    int r = pthread_cond_timedwait(&g->cond, &g->lock, &at);
    g->asleep = false;
    return r != ETIMEDOUT;
}

/* Lock held. Waits until GROUP_PACE is over. The pace comes before the wait for entries,
 * so a patient append never wakes the writer only to sleep again. */
static void keep_pace(struct groups *g)
{
    g->pacing = true;
    while (!g->hurry && !g->stop && now_usec() < g->begun_usec + GROUP_PACE)
        (void)sleep_until(g, g->begun_usec + GROUP_PACE);
    g->pacing = false;
}

struct group_entry *groups_take(struct groups *g, uint64_t wait_usec)
{
    uint64_t limit = wait_usec == UINT64_MAX ? FOR_EVER : now_usec() + wait_usec;

    pthread_mutex_lock(&g->lock);
    keep_pace(g);
    while (!g->head && !g->stop && sleep_until(g, limit))
        continue;
    struct group_entry *taken = g->head;
    if (taken) {
        g->hurry = false;
        g->begun_usec = now_usec();
        g->head = NULL;
        g->tail = &g->head;
        g->filling++;
        g->writing = true;
        groups_step(g, false);
    }
    pthread_mutex_unlock(&g->lock);
    return taken;
}

/* Ends the commit. Returns whether it has a waker, which the caller then owns. */
static bool end_commit_locked(struct groups *g, struct store_commit *c, int status,
                              struct volt_waker *ret)
{
    c->status = status;
    unlink_commit(g, c);
    *ret = c->waker;
    c->waker = (struct volt_waker){NULL};
    return ret->task;
}

static void wake_all(struct volt_waker *wakers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        volt_waker_wake(&wakers[i]);
        volt_waker_fini(&wakers[i]);
    }
}

/* Ends commits of the group taken: its submissions; with `others` all. */
static void end_taken(struct groups *g, int submit_status, bool others, int status)
{
    struct volt_waker wakers[WAKES_PER_ROUND];
    size_t n = WAKES_PER_ROUND;

    while (n == WAKES_PER_ROUND) {
        n = 0;
        pthread_mutex_lock(&g->lock);
        if (others)
            g->writing = false;
        for (struct store_commit *c = commit_of(g->commits.first), *next;
             c && c->group < g->filling && n < WAKES_PER_ROUND; c = next) {
            next = commit_of(c->node.next);
            if (c->submits || others)
                n += end_commit_locked(g, c, c->submits ? submit_status : status,
                                       &wakers[n]);
        }
        pthread_mutex_unlock(&g->lock);
        wake_all(wakers, n);
    }
}

void groups_done(struct groups *g, int submit_status, int status)
{
    end_taken(g, submit_status, true, status);
}

void groups_refuse_taken(struct groups *g, int error)
{
    end_taken(g, error, false, 0);
}

void groups_refuse(struct groups *g, int error)
{
    pthread_mutex_lock(&g->lock);
    g->refusing = error;
    g->health.full = error == -ENOSPC;
    g->health.failing = error == -EIO;
    pthread_mutex_unlock(&g->lock);
}

void groups_pause(struct groups *g, uint64_t usec)
{
    uint64_t limit = now_usec() + usec;

    pthread_mutex_lock(&g->lock);
    while (!g->stop && sleep_until(g, limit))
        continue;
    pthread_mutex_unlock(&g->lock);
}

void groups_step(struct groups *g, bool to_disk)
{
    const uint64_t steps = vat_u64_load(&g->steps, VAT_RLX) / 2 + 1;

    vat_u64_store(&g->steps, steps * 2 + to_disk, VAT_RLX);
}

void groups_retain(struct groups *g, const struct store_retention *retention)
{
    pthread_mutex_lock(&g->lock);
    g->retention = *retention;
    pthread_mutex_unlock(&g->lock);
}

bool groups_busy(struct groups *g)
{
    pthread_mutex_lock(&g->lock);
    bool busy = g->head != NULL;
    pthread_mutex_unlock(&g->lock);
    return busy;
}

struct store_retention groups_retention(struct groups *g)
{
    pthread_mutex_lock(&g->lock);
    struct store_retention r = g->retention;
    pthread_mutex_unlock(&g->lock);
    return r;
}

void groups_stop(struct groups *g)
{
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_signal(&g->cond);
    pthread_mutex_unlock(&g->lock);
}

bool groups_stopping(struct groups *g)
{
    pthread_mutex_lock(&g->lock);
    bool stop = g->stop;
    pthread_mutex_unlock(&g->lock);
    return stop;
}

void groups_health(struct groups *g, struct store_health *ret)
{
    pthread_mutex_lock(&g->lock);
    *ret = g->health;
    ret->steps = vat_u64_load(&g->steps, VAT_RLX);
    ret->waits = g->asleep || ret->steps & 1;
    pthread_mutex_unlock(&g->lock);
}
