/* Decides whether another attempt follows a failed one, and when it may begin.
 *
 * Pure. The decision becomes a part of EXITED (job_event.again): a restart reads it, and
 * decides nothing anew. Lost attempts are not decided here: on_lost (job.h). */
#ifndef VOLTD_JOB_RETRY_H
#define VOLTD_JOB_RETRY_H

#include "daemon/job/key.h"
#include "daemon/job/pack.h"
#include "daemon/job/spec.h"

#define JOB_RETRY_BIT(result) (UINT32_C(1) << JOB_RESULT_##result)
/* Results that a spec may name, and those meant if it names none. Not OUTPUT_LIMIT: all
 * attempts print to one file, so the next one would start above the limit. OOM must be
 * named: what needs more than its limit mostly does so again. */
#define JOB_RETRY_ON_MOST                                                                \
    (JOB_RETRY_BIT(EXIT) | JOB_RETRY_BIT(SIGNAL) | JOB_RETRY_BIT(TIMEOUT) |              \
     JOB_RETRY_BIT(EXEC_FAILED) | JOB_RETRY_BIT(OOM))
#define JOB_RETRY_ON_DEFAULT                                                             \
    (JOB_RETRY_BIT(EXIT) | JOB_RETRY_BIT(SIGNAL) | JOB_RETRY_BIT(TIMEOUT))
#define JOB_BACKOFF_MAX_USEC_DEFAULT UINT64_C(60000000)

bool job_codes_any(const struct job_codes *codes);
bool job_codes_has(const struct job_codes *codes, int code); /* false outside 0..255 */
void job_codes_add(struct job_codes *codes, int code);       /* from 0 to 255 */
/* Packs the tag and the set; nothing for an empty set. */
void job_codes_pack(const struct job_codes *codes, uint64_t tag, struct pack *p);
/* Reads what follows the tag. */
void job_codes_unpack(struct unpack *u, struct job_codes *ret);

/* Returns what an exit status means to the job: SUCCESS or EXIT. */
enum job_result job_exit_means(const struct job_spec *s, int status);

/* Returns the wait after the n-th failed attempt: backoff_usec, doubled n - 1 times, at
 * most backoff_max_usec (0: 60 s, or backoff_usec if greater). Adds up to a quarter, by
 * job, element and n: jobs that failed together do not begin together. */
uint64_t job_retry_wait(const struct job_spec *s, const struct job_key *key, unsigned n);
/* Fills `again` and `wait_usec` of the EXITED that ends an attempt of the job in state
 * *st. key: of that attempt. */
void job_retry_choose(const struct job_spec *s, const struct job_status *st,
                      const struct job_key *key, struct job_event *exited);
/* Returns whether it has failed and is too late (CLOCK_REALTIME) to begin again. */
bool job_retry_is_too_late(const struct job_spec *s, const struct job_status *st,
                           uint64_t now_usec);
/* Returns the back-off left to a queued job. A clock that is set back does not extend
 * it. */
uint64_t job_retry_left(const struct job_status *st, uint64_t now_usec);

#endif
