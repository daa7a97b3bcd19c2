/* See leases.h. */
#include "daemon/core/leases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/core/claims.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/phase.h"
#include "daemon/core/state.h"

/* --- made and freed ----------------------------------------------------------------- */

static struct lease *lease_new(const struct lease_ask *ask)
{
    const size_t length = strnlen(ask->command, LEASE_COMMAND);
    struct lease *l = calloc(1, sizeof(*l) + length + 1);

    if (!l)
        return NULL;
    l->id = ask->id;
    l->uid = ask->uid;
    l->mode = ask->claim.mode;
    l->permits = ask->claim.permits;
    l->pid = ask->pid;
    l->since_usec = ask->since_usec;
    l->in_job = ask->in_job;
    l->in_lease = ask->in_lease;
    memcpy(l->command, ask->command, length);
    return l;
}

/* Makes room for one more lease of this user. */
static int find_room(struct core *core, uid_t uid, bool fresh, struct volt_error *err)
{
    const struct user *u = users_get(&core->users, uid);

    if (!u || hash_table_reserve(&core->leases.all) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    if (fresh && u->nleases >= LEASES_MOST)
        return error_set(err, -EINVAL, "more than %d leases of locks", LEASES_MOST);
    return 0;
}

/* Clears in_job and in_lease if they do not exist or are not the user's. */
static void find_outer(struct core *core, struct lease *l)
{
    const struct job *job = table_get(&core->table, l->in_job.id);
    const struct lease *outer = leases_find(core, l->in_lease);

    if (!job || job->owner.uid != l->uid)
        l->in_job = (struct job_key){0};
    if (!outer || outer->uid != l->uid || outer->state != LEASE_HELD)
        l->in_lease = 0;
}

/* Returns ADMISSION_FIRST for a lease inside a holder: others may wait for that
 * holder. */
static int32_t priority_of(const struct core *core, const struct lease *l)
{
    const struct job *job = table_get(&core->table, l->in_job.id);

    return l->in_lease || (job && job->claims) ? ADMISSION_FIRST : 0;
}

/* Makes a lease with its class, in the tables; it does not wait and has nothing yet. */
static int make(struct core *core, const struct lease_ask *ask, bool fresh,
                struct lease **ret, struct volt_error *err)
{
    struct job_claim claim = ask->claim;
    int r = find_room(core, ask->uid, fresh, err);

    if (r < 0)
        return r;
    struct lease *l = lease_new(ask);
    if (!l)
        return error_set(err, -ENOMEM, "out of memory");
    if (fresh)
        find_outer(core, l);
    const struct admission_ask wants = {.uid = l->uid, .priority = priority_of(core, l)};
    r = claims_assign_one(core, &wants, &l->waiter, WAITING_RANK(ask->id), &claim, fresh,
                          err);
    if (r < 0) {
        free(l);
        return r;
    }
    l->waiter.is_lease = 1;
    l->capacity = claim.had;
    leases_add(core, l);
    *ret = l;
    return 0;
}

static void put_in(struct core *core, struct lease *l, struct list *in)
{
    l->in = in;
    list_add_last(in, &l->node);
    core->leases.nlisted++;
}

static void take_out(struct core *core, struct lease *l)
{
    list_remove(l->in, &l->node);
    l->in = NULL;
    core->leases.nlisted--;
}

static void unmake(struct core *core, struct lease *l)
{
    if (l->in)
        take_out(core, l);
    leases_remove(core, l);
    volt_waker_fini(&l->waker);
    free(l);
}

/* --- life --------------------------------------------------------------------------- */

/* Grants the lease or makes it wait; returns as leases_ask(). */
static int enter(struct core *core, struct lease *l, bool waits, struct volt_error *err)
{
    const uint64_t now = waiting_now(core);

    if (admission_try_named(core->parts.admit, &l->waiter, now)) {
        l->state = LEASE_GIVEN;
        return 0;
    }
    if (!waits)
        return -EAGAIN;
    if (deadlock_of_lease(core, l, err))
        return -EDEADLK;
    admission_enter(core->parts.admit, &l->waiter, now);
    return 0;
}

int leases_ask(struct tx *tx, const struct lease_ask *ask, bool waits, struct lease **ret,
               struct volt_error *err)
{
    struct core *core = tx->core;
    struct lease *l;

    if (phase_is_closed(core))
        return error_set(err, -ESHUTDOWN, "voltd is ending");
    int r = make(core, ask, true, &l, err);
    if (r < 0)
        return r;
    r = enter(core, l, waits, err);
    if (r < 0) {
        admission_forget(core->parts.admit, &l->waiter);
        unmake(core, l);
        return r;
    }
    *ret = l;
    return 0;
}

int leases_recover(struct core *core, const struct lease_ask *ask, bool waits)
{
    struct lease *l;
    int r = make(core, ask, false, &l, NULL);

    if (r < 0)
        return r;
    if (waits) {
        admission_enter(core->parts.admit, &l->waiter, waiting_now(core));
        put_in(core, l, &core->leases.quiet);
        return 0;
    }
    admission_recover(core->parts.admit, &l->waiter, waiting_now(core));
    leases_hold(core, l);
    return 0;
}

void leases_give(struct tx *tx, struct lease *l)
{
    admission_take(tx->core->parts.admit, &l->waiter, false, waiting_now(tx->core));
    l->state = LEASE_GIVEN;
    l->since_usec = jobs_now_usec();
    tx_wake(tx, &l->waker);
}

void leases_hold(struct core *core, struct lease *l)
{
    l->state = LEASE_HELD;
    put_in(core, l, &core->leases.quiet);
}

void leases_detach(struct tx *tx, struct lease *l)
{
    struct leases *all = &tx->core->leases;

    volt_waker_fini(&l->waker);
    l->waker = (struct volt_waker){0};
    l->looks = 0;
    put_in(tx->core, l, &all->due);
    tx_wake(tx, &all->waker);
}

void leases_attach(struct core *core, struct lease *l)
{
    take_out(core, l);
}

void leases_end(struct tx *tx, struct lease *l)
{
    struct core *core = tx->core;
    const uint64_t now = waiting_now(core);

    if (l->state != LEASE_WAITS) {
        admission_ended(core->parts.admit, &l->waiter, 1, 0, now);
        admission_release_locks(core->parts.admit, &l->waiter, 1, now);
    }
    admission_forget(core->parts.admit, &l->waiter);
    unmake(core, l);
}

void leases_fini(struct core *core)
{
    struct hash_cursor at = {0};

    for (struct hash_node *n; (n = hash_table_each(&core->leases.all, &at));)
        free(list_thing(n, struct lease, hash));
    hash_table_fini(&core->leases.all);
}

/* --- leases to look at -------------------------------------------------------------- */

static void move(struct lease *l, struct list *to)
{
    list_remove(l->in, &l->node);
    list_add_last(to, &l->node);
    l->in = to;
}

static void note(struct tx *tx, struct lease *l, bool once)
{
    struct leases *all = &tx->core->leases;

    move(l, &all->due);
    l->looks = once ? LEASE_LOOKS : 0;
    tx_wake(tx, &all->waker);
}

void leases_note(struct tx *tx, uint64_t id)
{
    struct lease *l = leases_find(tx->core, id);

    if (l && l->in)
        note(tx, l, false);
}

void leases_note_some(struct tx *tx, size_t n, bool once)
{
    struct list_node *first;

    while (n-- > 0 && (first = tx->core->leases.quiet.first))
        note(tx, list_thing(first, struct lease, node), once);
}

static struct lease *first_of(const struct list *list)
{
    return list->first ? list_thing(list->first, struct lease, node) : NULL;
}

/* Makes the first lease of each list due whose time has come. Returns the time of the
 * next one. */
static uint64_t again_due(struct leases *all, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < LEASE_LOOKS - 1; i++) {
        struct lease *l = first_of(&all->again[i]);

        if (l && l->look_at_usec <= now) {
            move(l, &all->due);
            l = first_of(&all->again[i]);
        }
        if (l && l->look_at_usec < next)
            next = l->look_at_usec;
    }
    return next;
}

struct lease *leases_take_due(struct core *core, uint64_t now, uint64_t *ret_next)
{
    struct leases *all = &core->leases;

    *ret_next = again_due(all, now);
    struct lease *l = first_of(&all->due);
    if (l)
        move(l, &all->quiet);
    return l;
}

void leases_look_again(struct core *core, struct lease *l, uint64_t now)
{
    if (l->in != &core->leases.quiet || l->looks >= LEASE_LOOKS - 1)
        return;
    l->look_at_usec = now + (UINT64_C(1000) << l->looks);
    move(l, &core->leases.again[l->looks++]);
}
