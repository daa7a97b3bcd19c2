/* The idle set: which are parked and how many search, in one word, so that every
 * transition is one RMW and half a transition cannot be seen (F-H2, F-H4).
 *
 *   bits 0..47   parked: set by the worker, cleared once, by a claim or by the worker
 *   bits 48..63  searchers: workers that look for work, claimed ones that are still on
 *                their way included, and one that polls and is bound to look again
 *                (worker_search_found)
 *
 * The promise INV-1: a task that anybody could take is never left alone while a worker
 * sleeps. Two sides, each with a full barrier between its store and its look:
 *
 *   submit                            sleep, or leave the search
 *   1 publish the task                1 RMW on the word (idle_park, idle_search_end)
 *   2 barrier                         2 barrier
 *   3 read the word, claim a worker   3 look at all queues
 *
 * Whichever barrier comes first in their total order, the other side sees the store
 * before it. Only the worker that leaves zero searchers must look: else a searcher is
 * left that will either find the task or look in its turn. Whether the leaver itself had
 * been searching does not matter (F-H1). An atomic load instead of the barrier would not
 * do (F-H3). But for the barriers all is relaxed: the word brings nothing with it, tasks
 * come by the queues, and what a claim means by the park word.
 *
 * Claims take the lowest index, so that few cores stay warm (P-6), but spare the leader
 * that sleeps in the event loop while another worker is parked: waking that one costs
 * less, and events stay attended. */
#ifndef VOLT_SCHED_IDLE_H
#define VOLT_SCHED_IDLE_H

#include "base/atomic.h"

#ifndef IDLE_MAX_WORKERS
#define IDLE_MAX_WORKERS 48 /* of one word; more make groups (sched.h) */
#endif

struct idle {
    _Alignas(VOLT_CACHE_LINE) vat_u64 word;
    vat_u32
        leader; /* index + 1 of the worker in the event loop, 0 none; a hint, relaxed */
    uint32_t workers;
};

void idle_init(struct idle *s, uint32_t workers);

/* Inside. There is a searcher, or nobody is parked. */
static inline bool idle_busy(uint64_t word)
{
    return word >> IDLE_MAX_WORKERS != 0 || word == 0;
}
/* Inside. word: of idle_claim(). */
int idle_claim_one(struct idle *s, uint64_t word) __attribute__((warn_unused_result));

/* Any thread, after it has published a task. Claims one parked worker as a searcher
 * unless somebody searches already. Returns its index, to be unparked, or -1. */
static inline __attribute__((warn_unused_result)) int idle_claim(struct idle *s)
{
    vat_u64_fence(&s->word);
    uint64_t word = vat_u64_load(&s->word, VAT_RLX);

    /* Mostly somebody searches, or nobody sleeps. */
    return idle_busy(word) ? -1 : idle_claim_one(s, word);
}

/* The same question without the claim: is there a worker to be woken for it? */
static inline bool idle_wanted(struct idle *s)
{
    vat_u64_fence(&s->word);
    return !idle_busy(vat_u64_load(&s->word, VAT_RLX));
}

/* Owner thread only. Becomes a searcher, unless half of the workers search (S-5). */
bool idle_search_begin(struct idle *s) __attribute__((warn_unused_result));
/* Owner thread only. The searcher has found work. True: it was the last, and must now
 * look at all queues and notify if anything is visible. Ends with the barrier then. */
bool idle_search_end(struct idle *s) __attribute__((warn_unused_result));

/* Owner thread only. Publishes that worker i sleeps. True: nobody searches now; it must
 * look at all queues before it does. Ends with the barrier then. */
bool idle_park(struct idle *s, uint32_t i, bool searching)
    __attribute__((warn_unused_result));
/* Owner thread only. Takes itself back, after sleep or instead. True: it had been
 * claimed, and is a searcher, already counted. */
bool idle_unpark(struct idle *s, uint32_t i) __attribute__((warn_unused_result));

/* Any thread, with several groups: after idle_claim() of another. Claims one parked
 * worker of this group, whether somebody searches here or not. */
int idle_claim_any(struct idle *s) __attribute__((warn_unused_result));

/* Any thread; a hint. One worker searches, and `enough` are awake at least. */
bool idle_one_searches(const struct idle *s, uint32_t enough);

/* Any thread. The lowest parked worker, or -1. */
int idle_first_parked(const struct idle *s);

/* Any thread; for statistics and tests. */
uint32_t idle_parked(const struct idle *s);
uint32_t idle_searchers(const struct idle *s);

#endif
