/* See share.h. While somebody waits, somebody has the turn: who finds it free takes it.
 * Who gives it back, or makes room below the limit, wakes one; and one who was woken and
 * finds room without the turn wakes the next, who may find it too. */
#include "daemon/server/share.h"

#include <stdlib.h>

#define PAGE   UINT64_C(4096)  /* less than that is not counted: calls of every day */
#define LITTLE UINT64_C(32768) /* as much as idle buffers keep */

struct holder *holder_new(uid_t uid, unsigned served)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->uid = uid;
    volt_notify_init(&h->room);
    volt_sem_init(&h->served, served ? served : 1, served ? served : 1);
    return h;
}

void holder_free(struct holder *h)
{
    if (!h)
        return;
    volt_notify_fini(&h->room);
    volt_sem_fini(&h->served);
    free(h);
}

enum volt_poll share_enter_poll(struct volt_cx *cx, struct share *s)
{
    if (s->at == SHARE_ENTERS) {
        s->at = SHARE_OUTSIDE;
        return VOLT_READY;
    }
    if (s->at == SHARE_OUTSIDE)
        volt_sem_acquire_init(&s->served, &s->of->served, 1);
    s->at = SHARE_QUEUES;
    if (volt_sem_acquire_poll(cx, &s->served) == VOLT_READY) {
        s->at = SHARE_ENTERS;
        volt_cx_wake(cx);
    }
    return VOLT_PENDING;
}

void share_leave(struct share *s)
{
    (void)volt_sem_release(&s->of->served, 1);
}

static void give_turn_back(struct share *s)
{
    s->has_turn = false;
    vat_u32_store(&s->of->turn, 0, VAT_REL); /* pairs with the CAS */
    volt_notify_one(&s->of->room);
}

void share_hold(struct share *s, uint64_t bytes, uint64_t limit)
{
    uint64_t before = s->held, now = bytes - bytes % PAGE;

    s->held = now;
    if (now > before) {
        (void)vat_u64_add(&s->of->held, now - before, VAT_REL);
    } else if (now < before) {
        uint64_t all = vat_u64_sub(&s->of->held, before - now, VAT_REL);

        if (all >= limit && all - (before - now) < limit)
            volt_notify_one(&s->of->room);
    }
    if (s->has_turn && now <= LITTLE)
        give_turn_back(s);
}

bool share_has_room(const struct share *s, uint64_t limit)
{
    return s->has_turn || vat_u64_load(&s->of->held, VAT_ACQ) < limit;
}

static bool take_turn(struct share *s)
{
    uint32_t is_free = 0;

    s->has_turn = vat_u32_cas(&s->of->turn, &is_free, 1, VAT_ACQ, VAT_RLX);
    return s->has_turn;
}

static void wait_no_more(struct share *s)
{
    if (s->waits)
        volt_notified_fini(&s->room);
    s->waits = false;
}

enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, uint64_t limit)
{
    bool woken = false;

    while (!share_has_room(s, limit) && !take_turn(s)) {
        if (!s->waits) {
            volt_notified_init(&s->room, &s->of->room);
            s->waits = true;
            continue; /* what came before is seen by another look */
        }
        if (volt_notified_poll(cx, &s->room) == VOLT_PENDING)
            return VOLT_PENDING;
        wait_no_more(s);
        woken = true;
    }
    wait_no_more(s);
    if (woken && !s->has_turn)
        volt_notify_one(&s->of->room);
    return VOLT_READY;
}

void share_fini(struct share *s, uint64_t limit)
{
    if (!s->of)
        return;
    wait_no_more(s);
    if (s->at == SHARE_QUEUES)
        volt_sem_acquire_fini(&s->served);
    if (s->at == SHARE_ENTERS)
        share_leave(s);
    share_hold(s, 0, limit);
    *s = (struct share){.of = NULL};
}
