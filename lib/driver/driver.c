/* The driver of one runtime: which worker is inside, what reaches it from outside, and
 * its timers. No system calls here (loop.c has them).
 *
 * The turn is a lock that no thread waits for. It orders all uses of the loop, and of the
 * fields that only its holder touches.
 *
 * A sleeping leader must notice four things. Only the word that the teller publishes
 * before its kick tells them apart, so a kick may come late or twice:
 *   a task for its worker, shutdown    leave := 1     (driver_kick)
 *   an earlier deadline                wheel.next
 *   a registration                     changes
 *   an event                           the kernel's
 * Only the first, and tasks to run, make driver_lead() return. For the others the leader
 * does the work and sleeps on.
 *
 * asleep_until: 0 without a sleeper; otherwise no later than the sleeper's next look; or
 * GATHERING while no timer would wake it earlier.
 *
 *   teller (driver_arm, driver_register)      leader (driver_lead)
 *   1 publish next, or push the change (rel)  1 asleep_until := NEVER
 *   2 full barrier                            2 full barrier
 *   3 asleep_until later than mine? kick      3 take the changes, read every next
 *                                             4 asleep_until := the earliest; sleep
 * Whichever barrier is first in their total order: either 3 of the leader sees 1 of the
 * teller, or 3 of the teller sees 1 of the leader. Without a sleeper no kick is needed: a
 * worker looks before it sleeps. (driver_kick needs none of this: its caller has read in
 * the worker's park word that the worker is in here.)
 *
 * Removing a registration kicks no worker. Its registration did, so the queue holds no
 * more than lived at once, and the next addition drains the queue before it adds. */
#include "driver/driver.h"
#include "driver/loop.h"
#include "driver/registration.h"
#include "driver/wheel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <volt/runtime.h>

/* Fires timers that are close together at once: after firing, the leader sleeps at least
 * this long, unless that would make a timer late by more than half of it. Wakes at most
 * 13,000 times a second instead of 16,000. */
#ifndef GATHER_USEC
#define GATHER_USEC 100
#endif
#define GATHERING 1

enum turn {
    TURN_FREE,
    TURN_HELD,
};

struct driver {
    _Alignas(VOLT_CACHE_LINE) vat_u32 turn; /* enter: acq, leave: rel */
    vat_u32 turns;        /* number of turns; holder stores, sentinels read, rlx */
    vat_u64 asleep_until; /* usec; holder stores, tellers read after a barrier */
    vat_u32 leave;        /* driver_kick rel; holder acq */
    struct loop *loop;    /* holder only, except loop_kick() */
    uint64_t fired_usec;  /* holder only; when timers were last fired */

    _Alignas(
        VOLT_CACHE_LINE) vat_ptr changes; /* stack of struct registration, newest first */

    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects reg, numbers and closed */
    bool closed;
    struct registration **reg; /* live registrations by descriptor number */
    size_t numbers;            /* length of reg */
    vat_u64 handles;           /* number of live registrations */

    unsigned workers;
    struct wheel wheel[];
};

int driver_new(unsigned workers, struct driver **ret)
{
    size_t size = sizeof(struct driver) + workers * sizeof(struct wheel);
    struct driver *d = aligned_alloc(VOLT_CACHE_LINE, size);
    uint64_t now = volt_now_usec();
    int r;

    if (!d)
        return -ENOMEM;
    *d = (struct driver){.workers = workers};
    vat_u32_init(&d->turn, TURN_FREE);
    vat_u32_init(&d->turns, 0);
    vat_u64_init(&d->asleep_until, 0);
    vat_u32_init(&d->leave, 0);
    vat_ptr_init(&d->changes, NULL);
    vat_u64_init(&d->handles, 0);
    for (unsigned i = 0; i < workers; i++)
        wheel_init(&d->wheel[i], now);
    r = loop_new(&d->loop);
    if (r < 0) {
        free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void driver_set_watched(struct driver *d)
{
    for (unsigned i = 0; i < d->workers; i++)
        d->wheel[i].watched = true;
}

bool driver_try_enter(struct driver *d)
{
    uint32_t expected = TURN_FREE;

    if (vat_u32_load(&d->turn, VAT_RLX) != TURN_FREE)
        return false;
    return vat_u32_cas(&d->turn, &expected, TURN_HELD, VAT_ACQ, VAT_RLX);
}

bool driver_unattended(const struct driver *d, uint32_t *ret_generation)
{
    *ret_generation = vat_u32_load(&d->turns, VAT_RLX);
    return vat_u32_load(&d->turn, VAT_RLX) == TURN_FREE;
}

void driver_leave(struct driver *d)
{
    vat_u32_store(&d->turns, vat_u32_load(&d->turns, VAT_RLX) + 1, VAT_RLX);
    vat_u32_store(&d->turn, TURN_FREE, VAT_REL);
}

void driver_kick(struct driver *d)
{
    vat_u32_store(&d->leave, 1, VAT_REL);
    loop_kick(d->loop);
}

/* Kicks the leader if it sleeps beyond `usec`. Call after publishing what is due then. */
static void tell_leader(struct driver *d, uint64_t usec)
{
    vat_u64_fence(&d->asleep_until);
    if (usec < vat_u64_load(&d->asleep_until, VAT_RLX))
        loop_kick(d->loop);
}

/* --- changes of registrations ------------------------------------------------------- */

static void push_change(struct driver *d, struct registration *r)
{
    void *first = vat_ptr_load(&d->changes, VAT_RLX);

    do {
        VAT_WR(&r->next_change);
        r->next_change = first;
    } while (!vat_ptr_cas(&d->changes, &first, r, VAT_REL, VAT_RLX));
}

/* Holder only. Applies a change that is out of the queue. */
static void apply_change(struct driver *d, struct registration *r,
                         struct task_chain *chain)
{
    int error = 0;
    bool gone;

    vlock_lock(&r->lock); /* keeps the owner from closing the descriptor:
                           * registration.h */
    gone = vat_u32_load(&r->state, VAT_RLX) == REG_GONE;
    if (!gone) {
        error = loop_add(d->loop, r);
        r->in_loop = error == 0;
        vat_u32_store(&r->state, error ? REG_FAILED : REG_ADDED, VAT_RLX);
    }
    vlock_unlock(&r->lock);
    if (gone) {
        if (r->in_loop)
            loop_del(d->loop, r);
        free(r);
    } else if (error) {
        registration_fail(r, -error, chain);
    }
}

/* Holder only. Applies the changes in the order of their pushes, which are made under the
 * lock: the removal of a number comes before its next addition. */
static void apply_changes(struct driver *d, struct task_chain *chain)
{
    struct registration *r, *fifo = NULL;

    if (!vat_ptr_load(&d->changes, VAT_RLX))
        return;
    r = vat_ptr_xchg(&d->changes, NULL, VAT_ACQ);
    while (r) {
        struct registration *next = r->next_change;

        VAT_WR(&r->next_change);
        r->next_change = fifo;
        fifo = r;
        r = next;
    }
    while (fifo) {
        r = fifo;
        fifo = r->next_change;
        apply_change(d, r, chain);
    }
}

/* Lock held. Makes room for the number; free *ret_old after unlocking. */
static int make_room(struct driver *d, size_t number, struct registration ***ret_old)
{
    size_t more = number < 64 ? 64 : number * 2;
    struct registration **all;

    if (number < d->numbers)
        return 0;
    all = calloc(more, sizeof(*all));
    if (!all)
        return -ENOMEM;
    if (d->reg)
        memcpy(all, d->reg, d->numbers * sizeof(*all));
    *ret_old = d->reg;
    d->reg = all;
    d->numbers = more;
    return 0;
}

/* Lock held. Enters a registration and queues its addition. */
static int enter(struct driver *d, struct registration *r, struct registration ***ret_old)
{
    int error = d->closed ? -ESHUTDOWN : make_room(d, (size_t)r->fd, ret_old);

    if (error < 0)
        return error;
    if (d->reg[r->fd])
        return -EEXIST; /* epoll has one interest per number: the other owner would lose
                         * its own */
    d->reg[r->fd] = r;
    vat_u64_add(&d->handles, 1, VAT_RLX);
    push_change(d, r);
    return 0;
}

int driver_register(struct driver *d, int fd, struct registration **ret)
{
    struct registration *r = calloc(1, sizeof(*r)), **old = NULL;
    int error;

    if (!r)
        return -ENOMEM;
    registration_init(r, d, fd);
    vlock_lock(&d->lock);
    error = enter(d, r, &old);
    vlock_unlock(&d->lock);
    free(old);
    if (error < 0) {
        free(r);
        return error;
    }
    *ret = r;
    tell_leader(d, 0);
    return 0;
}

void driver_unregister(struct registration *r)
{
    struct driver *d = r->driver;

    wheel_cancel(&r->backoff);
    vlock_lock(&d->lock);
    d->reg[r->fd] = NULL;
    vat_u64_sub(&d->handles, 1, VAT_RLX);
    if (registration_retire(r))
        push_change(d, r);
    vlock_unlock(&d->lock);
}

/* --- the turn ----------------------------------------------------------------------- */

uint64_t driver_next_deadline(const struct driver *d)
{
    uint64_t next = WHEEL_NEVER;

    for (unsigned i = 0; i < d->workers; i++) {
        uint64_t n = wheel_next(&d->wheel[i]);

        if (n < next)
            next = n;
    }
    return next;
}

static void fire_all(struct driver *d, struct task_chain *chain)
{
    uint64_t next = driver_next_deadline(d), now;
    unsigned before = chain->count;

    if (next == WHEEL_NEVER)
        return;
    now = volt_now_usec();
    if (next > now)
        return;
    for (unsigned i = 0; i < d->workers; i++)
        wheel_fire(&d->wheel[i], now, chain);
    if (chain->count != before) /* entries that only moved make no timer late */
        d->fired_usec = now;
}

/* Moves the newest event to the front. Its data is in the cache, and its sender, which
 * has just sent it, may get the answer before it sleeps. No event is delayed by more than
 * one poll. */
static void newest_first(struct task_chain *events)
{
    struct task_chain older = {0};

    while (events->count > 1)
        task_chain_push(&older, task_chain_pop(events));
    task_chain_append(events, &older);
}

/* Leader only. Sleeps at most once. */
static void sleep_once(struct driver *d, uint64_t until_usec, struct task_chain *chain)
{
    uint64_t until, gather = d->fired_usec + GATHER_USEC;

    vat_u64_store(&d->asleep_until, WHEEL_NEVER, VAT_RLX);
    vat_u64_fence(&d->asleep_until);
    apply_changes(d, chain);
    until = driver_next_deadline(d);
    if (until > until_usec)
        until = until_usec;
    vat_u64_store(&d->asleep_until, until < gather ? GATHERING : until, VAT_RLX);
    if (until < gather)
        until = gather - until < GATHER_USEC / 2 ? gather : until + GATHER_USEC / 2;
    if (!chain->head) {
        loop_sleep(d->loop, until, chain);
        newest_first(chain);
    }
    vat_u64_store(&d->asleep_until, 0, VAT_RLX);
}

void driver_poll(struct driver *d, struct task_chain *chain)
{
    apply_changes(d, chain);
    loop_poll(d->loop, chain);
    fire_all(d, chain);
}

void driver_lead(struct driver *d, uint64_t until_usec, struct task_chain *chain)
{
    while (!vat_u32_load(&d->leave, VAT_RLX)) {
        sleep_once(d, until_usec, chain);
        fire_all(d, chain);
        if (chain->head || (until_usec != UINT64_MAX && volt_now_usec() >= until_usec))
            return;
    }
    (void)vat_u32_xchg(&d->leave, 0, VAT_ACQ);
}

void driver_fire_own(struct driver *d, unsigned index, uint64_t now_usec,
                     struct task_chain *chain)
{
    wheel_fire(&d->wheel[index], now_usec, chain);
}

int driver_arm(struct driver *d, unsigned wheel, struct volt_sleep *s,
               struct volt_task *task, uint64_t now_usec)
{
    struct wheel *w = &d->wheel[wheel];
    int r = wheel_insert(w, s, task, now_usec);

    if (r > 0)
        tell_leader(d, wheel_next(w));
    return r < 0 ? r : 0;
}

/* --- queries, shutdown, end --------------------------------------------------------- */

bool driver_has_interest(const struct driver *d)
{
    return vat_u64_load(&d->handles, VAT_RLX) != 0 || vat_ptr_load(&d->changes, VAT_RLX);
}

uint64_t driver_timers(const struct driver *d)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < d->workers; i++)
        sum += vat_u64_load(&d->wheel[i].armed, VAT_RLX);
    return sum;
}

uint64_t driver_io_handles(const struct driver *d)
{
    return vat_u64_load(&d->handles, VAT_RLX);
}

void driver_shutdown(struct driver *d, struct task_chain *chain)
{
    vlock_lock(&d->lock);
    d->closed = true;
    for (size_t i = 0; i < d->numbers; i++)
        if (d->reg[i])
            registration_fail(d->reg[i], ESHUTDOWN, chain);
    vlock_unlock(&d->lock);
    for (unsigned i = 0; i < d->workers; i++)
        wheel_close(&d->wheel[i], chain);
}

void driver_free(struct driver *d)
{
    struct task_chain none = {0};

    if (!d)
        return;
    apply_changes(d, &none);
    loop_free(d->loop);
    free(d->reg);
    free(d);
}
