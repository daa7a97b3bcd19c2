/* The timer wheel; wheel.h has the design. No system calls here. */
#include "driver/wheel.h"

#include <errno.h>

#define SLOT_BITS 6
#define TOP       (WHEEL_LEVELS - 1)
/* The farthest a top-level slot can be without being mistaken for the current one. */
#define SPAN ((uint64_t)(WHEEL_SLOTS - 1) << (SLOT_BITS * TOP))

_Static_assert(sizeof(vat_u32) == sizeof(uint32_t), "struct volt_sleep.fired is a cell");

static vat_u32 *fired_cell(struct volt_sleep *s)
{
    return (vat_u32 *)&s->fired;
}

/* Deadlines round up: a timer must not fire early. */
static uint64_t due_tick(const struct volt_sleep *s)
{
    return s->deadline_usec / WHEEL_TICK_USEC + (s->deadline_usec % WHEEL_TICK_USEC != 0);
}

static unsigned digit(uint64_t tick, unsigned level)
{
    return (tick >> (SLOT_BITS * level)) & (WHEEL_SLOTS - 1);
}

static unsigned level_for(uint64_t elapsed, uint64_t when)
{
    uint64_t differ = elapsed ^ when;
    unsigned level;

    if (differ == 0)
        return 0;
    level = (63 - (unsigned)__builtin_clzll(differ)) / SLOT_BITS;
    return level < TOP ? level : TOP;
}

/* The first occupied slot at or after the current one; entries never lie behind it. */
static unsigned first_slot(const struct wheel *w, unsigned level)
{
    unsigned at = digit(w->elapsed, level);
    uint64_t bits = w->level[level].occupied;
    uint64_t turned = at ? bits >> at | bits << (WHEEL_SLOTS - at) : bits;

    return (at + (unsigned)__builtin_ctzll(turned)) & (WHEEL_SLOTS - 1);
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
}

/* Lock held. Returns the tick at which the entry is due. */
static uint64_t place(struct wheel *w, struct volt_sleep *s)
{
    uint64_t when = due_tick(s);
    struct wheel_slot *slot;
    unsigned level, index;

    if (when < w->elapsed)
        when = w->elapsed;
    else if (when - w->elapsed > SPAN)
        when = w->elapsed + SPAN; /* placed again when that time has come */
    level = level_for(w->elapsed, when);
    index = digit(when, level);
    slot = &w->level[level].slot[index];
    VAT_WR(&s->slot);
    s->slot = level * WHEEL_SLOTS + index;
    append(slot, s);
    if (!(w->level[level].occupied >> index & 1) || when < slot->earliest)
        slot->earliest = when;
    w->level[level].occupied |= UINT64_C(1) << index;
    w->occupied |= (uint8_t)(1 << level);
    return when;
}

/* Lock held. */
static void set_next(struct wheel *w, uint64_t tick)
{
    w->next_tick = tick;
    vat_u64_store(&w->next, tick == WHEEL_NEVER ? tick : tick * WHEEL_TICK_USEC, VAT_REL);
}

/* Lock held. */
static void publish_next(struct wheel *w)
{
    uint64_t next = WHEEL_NEVER;

    for (unsigned levels = w->occupied; levels; levels &= levels - 1) {
        unsigned l = (unsigned)__builtin_ctz(levels);
        uint64_t earliest = w->level[l].slot[first_slot(w, l)].earliest;

        if (earliest < next)
            next = earliest;
    }
    set_next(w, next);
}

/* Lock held. The only writer, so no RMW is needed. */
static void count_armed(struct wheel *w, uint64_t change)
{
    vat_u64_store(&w->armed, vat_u64_load(&w->armed, VAT_RLX) + change, VAT_RLX);
}

/* Lock held. The slot has become empty. */
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

int wheel_insert(struct wheel *w, struct volt_sleep *s, struct volt_task *who,
                 uint64_t now_usec)
{
    uint64_t now = now_usec / WHEEL_TICK_USEC, when;
    bool earlier;

    vlock_lock(&w->lock);
    if (w->closed) {
        vlock_unlock(&w->lock);
        return -ESHUTDOWN;
    }
    if (w->next_tick > now && now > w->elapsed)
        w->elapsed = now; /* nothing is due: a finer level will do */
    VAT_WR(&s->slot);
    s->wheel = w;
    s->who = who;
    vat_u32_store(fired_cell(s), 0, VAT_RLX);
    when = place(w, s);
    earlier = when < w->next_tick;
    count_armed(w, 1);
    if (earlier)
        set_next(w, when);
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
    fired = vat_u32_load(fired_cell(s), VAT_ACQ) != 0;
    vlock_unlock(&w->lock);
    return fired;
}

/* Lock held. */
static void unlink_entry(struct wheel *w, struct volt_sleep *s)
{
    unsigned level = s->slot / WHEEL_SLOTS, index = s->slot % WHEEL_SLOTS;
    struct wheel_slot *slot = &w->level[level].slot[index];

    VAT_WR(&s->slot);
    if (s->prev)
        s->prev->next = s->next;
    else
        slot->head = s->next;
    if (s->next)
        s->next->prev = s->prev;
    else
        slot->tail = s->prev;
    count_armed(w, (uint64_t)-1);
    if (!slot->head) {
        slot_emptied(w, level, index);
        if (slot->earliest <= w->next_tick)
            publish_next(w); /* or the leader would wake for nothing */
    }
}

void wheel_cancel(struct volt_sleep *s)
{
    struct wheel *w = s->wheel;

    if (!w)
        return;
    if (!vat_u32_load(fired_cell(s), VAT_ACQ)) {
        vlock_lock(&w->lock);
        if (!vat_u32_load(fired_cell(s), VAT_ACQ))
            unlink_entry(w, s);
        vlock_unlock(&w->lock);
    }
    VAT_WR(&s->slot); /* it is the owner's again */
    s->wheel = NULL;
}

/* Lock held; s is in no list. */
static void fire(struct wheel *w, struct volt_sleep *s, struct task_chain *chain)
{
    struct volt_task *who = s->who;

    count_armed(w, (uint64_t)-1);
    if (task_notify(who))
        task_chain_push(chain, who);
    vat_u32_store(fired_cell(s), 1, VAT_REL); /* last touch */
}

/* Lock held. Moves the entries of every slot that may hold one due at `now` to `due`. */
static void take_due(struct wheel *w, uint64_t now, struct wheel_slot *due)
{
    for (unsigned l = 0; l < WHEEL_LEVELS; l++) {
        struct wheel_level *level = &w->level[l];

        while (level->occupied) {
            unsigned i = first_slot(w, l);
            struct wheel_slot *slot = &level->slot[i];

            if (slot->earliest > now)
                break; /* the slots of a level are in order */
            if (due->tail)
                due->tail->next = slot->head;
            else
                due->head = slot->head;
            due->tail = slot->tail;
            slot->head = slot->tail = NULL;
            slot_emptied(w, l, i);
        }
    }
}

/* Lock held. */
static void advance(struct wheel *w, uint64_t now, struct task_chain *chain)
{
    struct wheel_slot due = {.head = NULL};

    take_due(w, now, &due);
    if (now > w->elapsed)
        w->elapsed = now;
    for (struct volt_sleep *s = due.head, *next; s; s = next) {
        VAT_WR(&s->slot);
        next = s->next;
        if (due_tick(s) <= now)
            fire(w, s, chain);
        else
            (void)place(w, s);
    }
    publish_next(w);
}

void wheel_fire(struct wheel *w, uint64_t now_usec, struct task_chain *chain)
{
    if (wheel_next(w) > now_usec)
        return;
    vlock_lock(&w->lock);
    if (w->next_tick <= now_usec / WHEEL_TICK_USEC)
        advance(w, now_usec / WHEEL_TICK_USEC, chain);
    vlock_unlock(&w->lock);
}

void wheel_close(struct wheel *w, struct task_chain *chain)
{
    vlock_lock(&w->lock);
    w->closed = true;
    for (unsigned l = 0; l < WHEEL_LEVELS; l++) {
        struct wheel_level *level = &w->level[l];

        while (level->occupied) {
            unsigned i = (unsigned)__builtin_ctzll(level->occupied);

            for (struct volt_sleep *s = level->slot[i].head, *next; s; s = next) {
                VAT_WR(&s->slot);
                next = s->next;
                fire(w, s, chain);
            }
            level->slot[i].head = level->slot[i].tail = NULL;
            slot_emptied(w, l, i);
        }
    }
    set_next(w, WHEEL_NEVER);
    vlock_unlock(&w->lock);
}
