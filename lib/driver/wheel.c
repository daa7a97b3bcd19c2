/* The timer wheel; wheel.h has the design. No system calls here. */
#include "driver/wheel.h"

#include <assert.h>
#include <errno.h>

#define SLOT_BITS 5 /* half the slots of a level are one slot of the next */
#define TOP       (WHEEL_LEVELS - 1)
#define FARTHEST  (WHEEL_SLOTS - 1)

_Static_assert(sizeof(vat_u32) == sizeof(uint32_t), "struct volt_sleep.fired is a cell");
_Static_assert(WHEEL_SLOTS == 2 << SLOT_BITS, "finer slots reach to a coarse one's end");
_Static_assert(WHEEL_LEVELS <= 8, "struct wheel.occupied has a bit for each");

static vat_u32 *fired_cell(struct volt_sleep *s)
{
    return (vat_u32 *)&s->fired;
}

/* Rounds deadlines up: a timer must not fire early. */
static uint64_t due_tick(const struct volt_sleep *s)
{
    return s->deadline_usec / WHEEL_TICK_USEC + (s->deadline_usec % WHEEL_TICK_USEC != 0);
}

/* Returns the number of the slot of `level` that holds the tick. */
static uint64_t slot_number(uint64_t tick, unsigned level)
{
    return tick >> (SLOT_BITS * level);
}

/* Returns the finest level whose slots reach from elapsed to *when. Beyond the wheel,
 * returns its last level, and sets *when to the begin of its last slot. */
static unsigned level_for(uint64_t elapsed, uint64_t *when)
{
    for (unsigned l = 0; l < WHEEL_LEVELS; l++)
        if (slot_number(*when, l) - slot_number(elapsed, l) <= FARTHEST)
            return l;
    *when = (slot_number(elapsed, TOP) + FARTHEST) << (SLOT_BITS * TOP);
    return TOP;
}

/* Returns the first occupied slot at or after the current one; entries never lie before
 * it. */
static unsigned first_slot(const struct wheel *w, unsigned level)
{
    unsigned at = slot_number(w->elapsed, level) % WHEEL_SLOTS;
    uint64_t bits = w->level[level].occupied;
    uint64_t turned = at ? bits >> at | bits << (WHEEL_SLOTS - at) : bits;

    return (at + (unsigned)__builtin_ctzll(turned)) % WHEEL_SLOTS;
}

/* Returns the first tick of an occupied slot. */
static uint64_t slot_begin(const struct wheel_slot *slot, unsigned level)
{
    return slot_number(slot->earliest, level) << (SLOT_BITS * level);
}

/* Returns the tick at which an occupied slot must be looked at. */
static uint64_t slot_due(const struct wheel *w, unsigned level, unsigned index)
{
    const struct wheel_slot *slot = &w->level[level].slot[index];
    uint64_t from, portion = w->level[level].portion;

    if (level == 0 || slot->count <= WHEEL_PORTION)
        return slot->earliest;
    from = slot_begin(slot, level) - (UINT64_C(1) << (SLOT_BITS * level));
    return portion > from ? portion : from; /* an earlier portion is of the slot before */
}

/* Lock held. Returns whether the entry is where it says and its neighbours link to it.
 * False if the owner has initialised or freed an armed entry: the lists and counts would
 * break later, in an unrelated worker. */
static bool is_linked(const struct wheel *w, const struct volt_sleep *s, unsigned level,
                      unsigned index)
{
    const struct wheel_slot *slot = &w->level[level].slot[index];

    return s->wheel == w && s->slot == level * WHEEL_SLOTS + index &&
           (s->prev ? s->prev->next : slot->head) == s &&
           (s->next ? s->next->prev : slot->tail) == s;
}

static void append(struct wheel_slot *slot, struct volt_sleep *s)
{
    s->next = NULL;
    s->prev = slot->tail;
    if (slot->tail)
        slot->tail->next = s;
    else
        slot->head = s;
    slot->tail = s;
    slot->count++;
}

/* Lock held. Puts an entry into its slot. */
static void place(struct wheel *w, struct volt_sleep *s)
{
    uint64_t when = due_tick(s);
    struct wheel_slot *slot;
    unsigned level, index;

    if (when < w->elapsed)
        when = w->elapsed;
    level = level_for(w->elapsed, &when);
    index = slot_number(when, level) % WHEEL_SLOTS;
    slot = &w->level[level].slot[index];
    VAT_WR(&s->slot);
    s->slot = level * WHEEL_SLOTS + index;
    if (!slot->head || when < slot->earliest)
        slot->earliest = when;
    append(slot, s);
    w->level[level].occupied |= UINT64_C(1) << index;
    w->occupied |= (uint8_t)(1 << level);
}

/* Lock held. Publishes the tick and the slot that is due next. */
static void set_next(struct wheel *w, uint64_t tick, unsigned slot)
{
    w->next_tick = tick;
    w->next_slot = slot;
    vat_u64_store(&w->next, tick == WHEEL_NEVER ? tick : tick * WHEEL_TICK_USEC, VAT_RLX);
}

/* Lock held. Looks at two slots per level: the first may wait for its earliest entry
 * while portions of the second are due. Later slots are due after the first has ended. */
static void publish_next(struct wheel *w)
{
    uint64_t next = WHEEL_NEVER;
    unsigned slot = 0;

    for (unsigned levels = w->occupied; levels; levels &= levels - 1) {
        unsigned l = (unsigned)__builtin_ctz(levels), i = first_slot(w, l);

        for (int n = 0; n < 2; n++, i = (i + 1) % WHEEL_SLOTS) {
            uint64_t due;

            if (!(w->level[l].occupied >> i & 1))
                break;
            due = slot_due(w, l, i);
            if (due < next) {
                next = due;
                slot = l * WHEEL_SLOTS + i;
            }
        }
    }
    set_next(w, next, slot);
}

/* Lock held. The lock excludes other writers, so no RMW is needed. */
static void count_armed(struct wheel *w, uint64_t change)
{
    vat_u64_store(&w->armed, vat_u64_load(&w->armed, VAT_RLX) + change, VAT_RLX);
}

/* Lock held. Notes that the slot is empty. */
static void slot_emptied(struct wheel *w, unsigned level, unsigned index)
{
    w->level[level].occupied &= ~(UINT64_C(1) << index);
    if (!w->level[level].occupied)
        w->occupied &= (uint8_t) ~(1U << level);
}

void wheel_init(struct wheel *w, uint64_t now_usec)
{
    *w = (struct wheel){.elapsed = now_usec / WHEEL_TICK_USEC, .next_tick = WHEEL_NEVER};
    vat_u64_init(&w->armed, 0);
    vat_u64_init(&w->next, WHEEL_NEVER);
}

int wheel_insert(struct wheel *w, struct volt_sleep *s, struct volt_task *task,
                 uint64_t now_usec)
{
    uint64_t now = now_usec / WHEEL_TICK_USEC, due;
    bool earlier;

    vlock_lock(&w->lock);
    if (w->closed) {
        vlock_unlock(&w->lock);
        return -ESHUTDOWN;
    }
    if (w->next_tick > now && now > w->elapsed)
        w->elapsed = now; /* nothing is due, so a finer level is possible */
    VAT_WR(&s->slot);
    s->wheel = w;
    s->task = task;
    vat_u32_store(fired_cell(s), 0, VAT_RLX);
    place(w, s);
    count_armed(w, 1);
    due = slot_due(w, s->slot / WHEEL_SLOTS, s->slot % WHEEL_SLOTS);
    earlier = due < w->next_tick;
    if (earlier)
        set_next(w, due, s->slot);
    vlock_unlock(&w->lock);
    return earlier;
}

bool wheel_fired(struct volt_sleep *s)
{
    struct wheel *w = s->wheel;
    bool fired;

    if (vat_u32_load(fired_cell(s), VAT_ACQ))
        return true;
    vlock_lock(&w->lock);
    fired = vat_u32_load(fired_cell(s), VAT_RLX) != 0;
    vlock_unlock(&w->lock);
    return fired;
}

/* Lock held. Removes an entry from its slot. */
static void unlink_entry(struct wheel *w, struct volt_sleep *s)
{
    unsigned level = s->slot / WHEEL_SLOTS, index = s->slot % WHEEL_SLOTS;
    struct wheel_slot *slot = &w->level[level].slot[index];
    bool next = slot_due(w, level, index) <= w->next_tick;

    VAT_WR(&s->slot);
    assert(is_linked(w, s, level, index) && "initialised or freed without its _fini");
    if (s->prev)
        s->prev->next = s->next;
    else
        slot->head = s->next;
    if (s->next)
        s->next->prev = s->prev;
    else
        slot->tail = s->prev;
    slot->count--;
    count_armed(w, (uint64_t)-1);
    if (slot->count == 0)
        slot_emptied(w, level, index);
    if (next && (slot->count == 0 || slot->count == WHEEL_PORTION))
        publish_next(w); /* otherwise the leader would wake for nothing */
}

void wheel_cancel(struct volt_sleep *s)
{
    struct wheel *w = s->wheel;

    if (!w)
        return;
    if (!vat_u32_load(fired_cell(s), VAT_ACQ)) {
        vlock_lock(&w->lock);
        if (!vat_u32_load(fired_cell(s), VAT_RLX))
            unlink_entry(w, s);
        vlock_unlock(&w->lock);
    }
    VAT_WR(&s->slot); /* the entry is the owner's again */
    s->wheel = NULL;
}

/* Lock held. Fires s, which is in no list. */
static void fire(struct wheel *w, struct volt_sleep *s, struct task_chain *chain)
{
    struct volt_task *task = s->task;

    count_armed(w, (uint64_t)-1);
    if (task_notify(task))
        task_chain_push(chain, task);
    vat_u32_store(fired_cell(s), 1, VAT_REL); /* last touch of s */
}

/* Lock held. Takes the oldest entry of an occupied slot. */
static struct volt_sleep *take_oldest(struct wheel *w, unsigned level, unsigned index)
{
    struct wheel_slot *slot = &w->level[level].slot[index];
    struct volt_sleep *s = slot->head;

    VAT_WR(&s->slot);
    assert(!s->prev && is_linked(w, s, level, index) &&
           "initialised or freed without its _fini");
    slot->head = s->next;
    if (slot->head)
        slot->head->prev = NULL;
    else
        slot->tail = NULL;
    slot->count--;
    return s;
}

/* Lock held. Plans the next portion of a slot with more than one left: at equal
 * intervals, so that all but the last are moved when the slot begins. */
static void plan_portion(struct wheel *w, unsigned level, const struct wheel_slot *slot)
{
    uint64_t left = slot_begin(slot, level) - w->elapsed;
    uint32_t portions = (slot->count + WHEEL_PORTION - 1) / WHEEL_PORTION;

    w->level[level].portion = w->elapsed + left / portions;
}

/* Lock held. Fires or moves up to `most` entries of the next slot, if it is due at `now`.
 * Returns their number, 0 if nothing was due. */
static uint32_t advance(struct wheel *w, uint64_t now, uint32_t most,
                        struct task_chain *chain)
{
    unsigned level = w->next_slot / WHEEL_SLOTS, index = w->next_slot % WHEEL_SLOTS;
    struct wheel_slot *slot = &w->level[level].slot[index];
    uint32_t n;

    if (w->next_tick > now) {
        if (now > w->elapsed)
            w->elapsed = now;
        return 0;
    }
    if (w->next_tick > w->elapsed)
        w->elapsed = w->next_tick;
    for (n = 0; slot->head && n < most; n++) {
        struct volt_sleep *s = take_oldest(w, level, index);

        if (due_tick(s) <= now) {
            fire(w, s, chain);
        } else {
            place(w, s);
            w->moved++;
        }
    }
    if (!slot->head)
        slot_emptied(w, level, index);
    else if (level > 0 && slot->count > WHEEL_PORTION)
        plan_portion(w, level, slot);
    publish_next(w);
    return n;
}

static void lock_for_portion(struct wheel *w)
{
    vlock_lock(&w->lock);
    w->held = 0;
}

/* Lock held. Releases it for a moment after each portion. n: entries since the last
 * call. */
static void yield_lock(struct wheel *w, uint32_t n)
{
    w->held += n;
    if (w->held > w->longest)
        w->longest = w->held;
    if (w->held < WHEEL_PORTION)
        return;
    vlock_unlock(&w->lock);
    lock_for_portion(w);
}

void wheel_fire(struct wheel *w, uint64_t now_usec, struct task_chain *chain)
{
    uint64_t now = now_usec / WHEEL_TICK_USEC;
    uint32_t n;

    if (wheel_next(w) > now_usec)
        return;
    lock_for_portion(w);
    while ((n = advance(w, now, WHEEL_PORTION - w->held, chain)) > 0)
        yield_lock(w, n);
    vlock_unlock(&w->lock);
}

void wheel_close(struct wheel *w, struct task_chain *chain)
{
    lock_for_portion(w);
    w->closed = true;
    while (w->occupied) {
        unsigned l = (unsigned)__builtin_ctz(w->occupied);
        unsigned i = (unsigned)__builtin_ctzll(w->level[l].occupied);
        struct wheel_slot *slot = &w->level[l].slot[i];

        fire(w, take_oldest(w, l, i), chain);
        if (!slot->head)
            slot_emptied(w, l, i);
        yield_lock(w, 1);
    }
    set_next(w, WHEEL_NEVER, 0);
    vlock_unlock(&w->lock);
}
