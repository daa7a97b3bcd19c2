/* See turn.h. */
#include "daemon/call/turn.h"

static void keep_largest(vat_u64 *largest, uint64_t value)
{
    uint64_t before = vat_u64_load(largest, VAT_RLX);

    while (value > before && !vat_u64_cas(largest, &before, value, VAT_RLX, VAT_RLX))
        ;
}

void turn_end(const struct turn *t, struct turn_counts *counts)
{
    if (t->aside) {
        (void)vat_u64_add(&counts->aside, 1, VAT_RLX);
        return;
    }
    keep_largest(&counts->largest_entries, t->quota.entries);
    keep_largest(&counts->largest_bytes, t->quota.bytes);
    keep_largest(&counts->largest_facts, t->quota.facts);
    if (turn_is_over(t))
        (void)vat_u64_add(&counts->divided, 1, VAT_RLX);
}
