/* Every transition of the state word that task.h lists, one RMW each. The CAS loops
 * are those of the join handle, whose holder competes with the completion only. */
#include "task/task.h"

bool task_cancel(struct volt_task *t)
{
    uint64_t p = vat_u64_or(&t->state, TASK_CANCELLED | TASK_NOTIFIED, VAT_AR);

    return !(p & (TASK_RUNNING | TASK_NOTIFIED | TASK_COMPLETE));
}

enum task_listed task_list(struct volt_task *t)
{
    uint64_t p =
        vat_u64_or(&t->state, TASK_CANCELLED | TASK_NOTIFIED | TASK_LISTED, VAT_AR);

    if (TASK_REFS(p) == 0 || (p & TASK_COMPLETE))
        return TASK_DEAD;
    return p & (TASK_RUNNING | TASK_NOTIFIED) ? TASK_LIVE : TASK_LIVE_TOKEN;
}

/* Saturated, the depth stays at 255 until the task ends: cancellation is lost rather than
 * a shield (F-I9). Only the poll changes these bits, so the test before the add holds. */
void task_shield_begin(struct volt_task *t)
{
    if ((vat_u64_load(&t->state, VAT_RLX) & TASK_SHIELD_MASK) != TASK_SHIELD_MASK)
        (void)vat_u64_add(&t->state, TASK_SHIELD_ONE, VAT_RLX);
}

void task_shield_end(struct volt_task *t)
{
    uint64_t depth = vat_u64_load(&t->state, VAT_RLX) & TASK_SHIELD_MASK;

    if (depth == 0 || depth == TASK_SHIELD_MASK)
        return;
    uint64_t p = vat_u64_sub(&t->state, TASK_SHIELD_ONE, VAT_RLX);
    if (depth == TASK_SHIELD_ONE && (p & TASK_CANCELLED))
        (void)vat_u64_or(&t->state, TASK_NOTIFIED, VAT_RLX); /* the next start cancels */
}

void task_ref(struct volt_task *t)
{
    if (TASK_REFS(vat_u64_add(&t->state, TASK_REF_ONE, VAT_RLX)) >= (UINT64_C(1) << 47))
        __builtin_trap(); /* wrapping would free a task in use (F-I10) */
}

bool task_ref_live(struct volt_task *t)
{
    uint64_t s = vat_u64_load(&t->state, VAT_RLX);

    do {
        if (TASK_REFS(s) == 0 || (s & TASK_COMPLETE))
            return false;
    } while (!vat_u64_cas(&t->state, &s, s + TASK_REF_ONE, VAT_ACQ, VAT_RLX));
    return true;
}

void task_unref(struct volt_task *t)
{
    if (t && TASK_REFS(vat_u64_sub(&t->state, TASK_REF_ONE, VAT_AR)) == 1)
        task_free(t);
}

bool task_notify_unref(struct volt_task *t)
{
    uint64_t s = vat_u64_load(&t->state, VAT_RLX);

    while (
        !vat_u64_cas(&t->state, &s, (s | TASK_NOTIFIED) - TASK_REF_ONE, VAT_AR, VAT_RLX))
        ;
    if (!(s & (TASK_RUNNING | TASK_NOTIFIED | TASK_COMPLETE)))
        return true; /* the token keeps it alive */
    if (TASK_REFS(s) == 1)
        task_free(t);
    return false;
}

bool task_join_is_last(struct volt_task *t, bool *ret_output)
{
    uint64_t s = vat_u64_load(&t->state, VAT_ACQ);

    *ret_output = !(s & TASK_DROPPED);
    return (s & TASK_COMPLETE) && TASK_REFS(s) == 1;
}

bool task_join_store(struct volt_task *t, void *joiner)
{
    uint64_t s = vat_u64_load(&t->state, VAT_ACQ);

    if (s & TASK_COMPLETE)
        return false;
    VAT_WR(&t->joiner);
    t->joiner = joiner;
    while (!vat_u64_cas(&t->state, &s, s | TASK_JOIN_WAKER, VAT_REL, VAT_ACQ))
        if (s & TASK_COMPLETE)
            return false;
    return true;
}

/* What comes back the holder of the handle has stored itself. */
void *task_join_take(struct volt_task *t)
{
    uint64_t s = vat_u64_load(&t->state, VAT_RLX);

    do {
        if (!(s & TASK_JOIN_WAKER) || (s & TASK_COMPLETE))
            return NULL;
    } while (!vat_u64_cas(&t->state, &s, s & ~TASK_JOIN_WAKER, VAT_RLX, VAT_RLX));
    VAT_RD(&t->joiner);
    return t->joiner;
}

bool task_join_leave(struct volt_task *t, void **ret_joiner)
{
    uint64_t s = vat_u64_load(&t->state, VAT_RLX), next;

    do {
        next = s & ~TASK_JOIN_INTEREST;
        if (!(s & TASK_COMPLETE))
            next &= ~TASK_JOIN_WAKER;
    } while (!vat_u64_cas(&t->state, &s, next, VAT_ACQ, VAT_RLX));
    *ret_joiner = NULL;
    if (!(s & TASK_COMPLETE) && (s & TASK_JOIN_WAKER)) {
        VAT_RD(&t->joiner);
        *ret_joiner = t->joiner;
    }
    return (s & TASK_COMPLETE) && !(s & TASK_DROPPED);
}
