/* What the oracle knows of attempts behind others: how many there may be, and when each may
 * begin. It shares no code with daemon/job/retry.c. */
#include "tests/sim/sim.h"

#include "daemon/job/job.h"

#define BAD(what)                                                                        \
    sim_violation("job %llu_%lld: %s", (unsigned long long)key->id,                      \
                  (long long)key->index, what)

/* The date behind which none begins. */
static uint64_t total_over(const struct order *o, uint64_t first_usec)
{
    return o->max_total_usec ? first_usec + o->max_total_usec : UINT64_MAX;
}

void retries_starting(const struct order *o, struct retries *r, const struct job_key *key,
                      const struct job_event *e)
{
    if (e->at_usec < r->rests_until)
        BAD("it begins again before its time");
    if (r->first_usec && e->at_usec > total_over(o, r->first_usec))
        BAD("it begins again when it is too late");
    r->began_usec = 0;
}

static void note_first(struct retries *r, const struct job_event *e)
{
    if (!r->first_usec)
        r->first_usec = r->began_usec ? r->began_usec : e->at_usec;
}

/* So many times, of which there may be many of what is nothing. */
static uint64_t doubled(uint64_t usec, unsigned times)
{
    while (usec > 0 && times-- > 0)
        usec *= 2;
    return usec;
}

bool retries_exited(const struct order *o, struct retries *r, const struct job_key *key,
                    const struct job_event *e, enum job_result result, bool done)
{
    const bool wanted = r->n < o->retries && !done &&
                        (result == JOB_RESULT_EXIT || result == JOB_RESULT_SIGNAL ||
                         result == JOB_RESULT_TIMEOUT);
    const uint64_t least = doubled(o->backoff_usec, r->n), most = least + least / 4;
    struct retries first = *r;

    note_first(&first, e);
    const uint64_t over = total_over(o, first.first_usec);
    if (!e->again) {
        if (wanted && e->at_usec + most <= over)
            BAD("no other attempt follows, and one has to");
        return false;
    }
    if (!wanted)
        BAD("another attempt follows, and none may");
    if (e->wait_usec < least || e->wait_usec > most || e->at_usec + e->wait_usec > over)
        BAD("the next attempt comes too early, or too late");
    *r = first;
    r->n++;
    r->rests_until = e->at_usec + e->wait_usec;
    return true;
}

void retries_lost(struct retries *r, const struct job_event *e)
{
    note_first(r, e);
    r->rests_until = 0;
}

bool retries_expires(const struct order *o, const struct retries *r,
                     const struct job_event *e)
{
    return r->first_usec && e->at_usec > total_over(o, r->first_usec);
}
