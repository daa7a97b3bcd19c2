#include "sched/park.h"
#include "base/futex.h"

#include <errno.h>

void park_init(struct park *p)
{
    vat_u32_init(&p->word, PARK_EMPTY);
}

bool park_begin(struct park *p, enum park_state how)
{
    uint32_t word = PARK_EMPTY;

    return vat_u32_cas(&p->word, &word, how, VAT_RLX, VAT_RLX);
}

bool park_sleep(struct park *p, uint64_t timeout_ns)
{
    while (!park_notified(p))
        if (vfutex_wait(&p->word, PARK_FUTEX, timeout_ns) == -ETIMEDOUT)
            return false;
    return true;
}

bool park_notified(const struct park *p)
{
    return vat_u32_load(&p->word, VAT_RLX) == PARK_NOTIFIED;
}

void park_end(struct park *p)
{
    (void)vat_u32_xchg(&p->word, PARK_EMPTY, VAT_ACQ);
}

bool park_unpark(struct park *p)
{
    uint32_t was = vat_u32_xchg(&p->word, PARK_NOTIFIED, VAT_REL);

    if (was == PARK_FUTEX)
        vfutex_wake(&p->word, 1);
    return was == PARK_DRIVER;
}
