/* See retry.h. */
#include "daemon/job/retry.h"

#include "base/siphash.h"

#define CODE_BITS 64
#define CODES     (CODE_BITS * JOB_CODE_WORDS)

bool job_codes_any(const struct job_codes *codes)
{
    uint64_t any = 0;

    for (size_t i = 0; i < JOB_CODE_WORDS; i++)
        any |= codes->word[i];
    return any;
}

bool job_codes_has(const struct job_codes *codes, int code)
{
    return code >= 0 && code < CODES &&
           codes->word[code / CODE_BITS] >> code % CODE_BITS & 1;
}

void job_codes_add(struct job_codes *codes, int code)
{
    codes->word[code / CODE_BITS] |= UINT64_C(1) << code % CODE_BITS;
}

void job_codes_pack(const struct job_codes *codes, uint64_t tag, struct pack *p)
{
    if (!job_codes_any(codes))
        return;
    pack_number(p, tag);
    for (size_t i = 0; i < JOB_CODE_WORDS; i++)
        pack_number(p, codes->word[i]);
}

void job_codes_unpack(struct unpack *u, struct job_codes *ret)
{
    for (size_t i = 0; i < JOB_CODE_WORDS; i++)
        ret->word[i] = unpack_number(u);
}

enum job_result job_exit_means(const struct job_spec *s, int status)
{
    const bool good =
        job_codes_any(&s->success) ? job_codes_has(&s->success, status) : status == 0;

    return good ? JOB_RESULT_SUCCESS : JOB_RESULT_EXIT;
}

static uint64_t backoff_most(const struct job_spec *s)
{
    if (s->backoff_max_usec)
        return s->backoff_max_usec;
    return s->backoff_usec > JOB_BACKOFF_MAX_USEC_DEFAULT ? s->backoff_usec
                                                          : JOB_BACKOFF_MAX_USEC_DEFAULT;
}

#define PARTS 0x100000

/* Returns an even hash of the attempt below PARTS. Being predictable does no harm. */
static uint64_t scatter(const struct job_key *key, unsigned n)
{
    static const struct siphash_key no_secret;
    const uint64_t words[] = {key->id, (uint64_t)key->index, n};

    return siphash64(&no_secret, words, sizeof(words)) % PARTS;
}

static uint64_t some_of(uint64_t usec, uint64_t parts)
{
    return usec / PARTS * parts + usec % PARTS * parts / PARTS;
}

uint64_t job_retry_wait(const struct job_spec *s, const struct job_key *key, unsigned n)
{
    const uint64_t most = backoff_most(s);
    uint64_t wait = s->backoff_usec;

    for (unsigned i = 1; i < n && wait < most; i++)
        wait *= 2;
    wait = wait < most ? wait : most;
    return wait + some_of(wait / 4, scatter(key, n));
}

/* Returns the number of failed attempts, with the one that ends; lost ones do not
 * count. */
static unsigned failed(const struct job_status *st)
{
    return st->attempt - st->lost;
}

static uint64_t began(const struct job_status *st, uint64_t now_usec)
{
    if (st->again.first_usec)
        return st->again.first_usec;
    return st->started_usec ? st->started_usec : now_usec;
}

static bool is_wanted(const struct job_spec *s, enum job_result result, int code)
{
    const uint32_t on = s->retry_on ? s->retry_on : JOB_RETRY_ON_DEFAULT;

    if (!(on >> result & 1))
        return false;
    return result != JOB_RESULT_EXIT || !job_codes_any(&s->retry_codes) ||
           job_codes_has(&s->retry_codes, code);
}

void job_retry_choose(const struct job_spec *s, const struct job_status *st,
                      const struct job_key *key, struct job_event *exited)
{
    const uint64_t at = exited->at_usec;

    exited->again = false;
    exited->wait_usec = 0;
    if (failed(st) > s->retry_times || st->cancel_asked || exited->survivors ||
        !is_wanted(s, job_verdict(st, exited->result), exited->code))
        return;
    const uint64_t wait = job_retry_wait(s, key, failed(st));
    if (s->max_total_usec && at + wait > began(st, at) + s->max_total_usec)
        return;
    exited->again = true;
    exited->wait_usec = wait;
}

bool job_retry_is_too_late(const struct job_spec *s, const struct job_status *st,
                           uint64_t now_usec)
{
    return s->max_total_usec && st->again.first_usec &&
           now_usec > st->again.first_usec + s->max_total_usec;
}

uint64_t job_retry_left(const struct job_status *st, uint64_t now_usec)
{
    const uint64_t wait = st->again.wait_usec, at = st->again.ended_usec + wait;

    if (st->state != JOB_QUEUED || at <= now_usec)
        return 0;
    return at - now_usec < wait ? at - now_usec : wait;
}
