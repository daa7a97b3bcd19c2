#include "sched/idle.h"

#define ONE_SEARCHER (UINT64_C(1) << IDLE_MAX_WORKERS)
#define PARKED       (ONE_SEARCHER - 1)

static inline uint64_t bit(uint32_t i)
{
    return UINT64_C(1) << i;
}

static inline uint32_t searchers(uint64_t word)
{
    return (uint32_t)(word >> IDLE_MAX_WORKERS);
}

void idle_init(struct idle *s, uint32_t workers)
{
    vat_u64_init(&s->word, 0);
    vat_u32_init(&s->leader, 0);
    s->workers = workers;
}

static uint32_t choose(struct idle *s, uint64_t parked)
{
    if (parked & (parked - 1)) { /* more than one */
        uint32_t leader = vat_u32_load(&s->leader, VAT_RLX);
        if (leader)
            parked &= ~bit(leader - 1);
    }
    return (uint32_t)__builtin_ctzll(parked);
}

int idle_claim_one(struct idle *s, uint64_t word)
{
    for (;;) {
        if (idle_busy(word))
            return -1;
        uint32_t i = choose(s, word & PARKED);
        if (vat_u64_cas(&s->word, &word, (word & ~bit(i)) + ONE_SEARCHER, VAT_RLX,
                        VAT_RLX))
            return (int)i;
    }
}

int idle_claim_any(struct idle *s)
{
    uint64_t word = vat_u64_load(&s->word, VAT_RLX);

    while (word & PARKED) {
        uint32_t i = choose(s, word & PARKED);
        if (vat_u64_cas(&s->word, &word, (word & ~bit(i)) + ONE_SEARCHER, VAT_RLX,
                        VAT_RLX))
            return (int)i;
    }
    return -1;
}

bool idle_search_begin(struct idle *s)
{
    uint64_t word = vat_u64_load(&s->word, VAT_RLX);

    do {
        if (2 * searchers(word) >= s->workers)
            return false;
    } while (!vat_u64_cas(&s->word, &word, word + ONE_SEARCHER, VAT_RLX, VAT_RLX));
    return true;
}

bool idle_search_end(struct idle *s)
{
    if (searchers(vat_u64_sub(&s->word, ONE_SEARCHER, VAT_RLX)) != 1)
        return false;
    vat_u64_fence(&s->word);
    return true;
}

bool idle_park(struct idle *s, uint32_t i, bool searching)
{
    uint64_t change = bit(i) - (searching ? ONE_SEARCHER : 0);

    if (searchers(vat_u64_add(&s->word, change, VAT_RLX) + change) != 0)
        return false;
    vat_u64_fence(&s->word);
    return true;
}

bool idle_unpark(struct idle *s, uint32_t i)
{
    return !(vat_u64_and(&s->word, ~bit(i), VAT_RLX) & bit(i));
}

bool idle_one_searches(const struct idle *s, uint32_t enough)
{
    uint64_t word = vat_u64_load(&s->word, VAT_RLX);
    uint64_t asleep = (uint64_t)__builtin_popcountll(word & PARKED);

    return searchers(word) == 1 && s->workers - asleep >= enough;
}

int idle_first_parked(const struct idle *s)
{
    uint64_t parked = vat_u64_load(&s->word, VAT_RLX) & PARKED;

    return parked ? __builtin_ctzll(parked) : -1;
}

uint32_t idle_parked(const struct idle *s)
{
    return (uint32_t)__builtin_popcountll(vat_u64_load(&s->word, VAT_RLX) & PARKED);
}

uint32_t idle_searchers(const struct idle *s)
{
    return searchers(vat_u64_load(&s->word, VAT_RLX));
}
