/* The interval: a sleep that is armed anew for each tick. Ticks are at multiples of the
 * period from the first, however late the last tick was seen. */
#include <assert.h>
#include <volt/time.h>

void volt_interval_init(struct volt_interval *i, uint64_t period_usec)
{
    assert(period_usec > 0 && "an interval without length");
    *i = (struct volt_interval){.period_usec = period_usec};
    volt_sleep_init(&i->sleep, period_usec);
    i->next_usec = i->sleep.deadline_usec;
}

enum volt_poll volt_interval_poll(struct volt_cx *cx, struct volt_interval *i)
{
    if (volt_sleep_poll(cx, &i->sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    uint64_t now = volt_now_usec();
    i->missed = now > i->next_usec ? (now - i->next_usec) / i->period_usec : 0;
    uint64_t ticks = i->missed + 1, step;
    if (__builtin_mul_overflow(ticks, i->period_usec, &step) ||
        __builtin_add_overflow(i->next_usec, step, &i->next_usec))
        i->next_usec = UINT64_MAX;
    volt_sleep_fini(&i->sleep);
    volt_sleep_init_at(&i->sleep, i->next_usec);
    return VOLT_READY;
}

void volt_interval_fini(struct volt_interval *i)
{
    volt_sleep_fini(&i->sleep);
}
