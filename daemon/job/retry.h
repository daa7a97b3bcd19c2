/* Whether another attempt follows one that has failed, and when it may begin.
 *
 * Pure. What is chosen here becomes a part of EXITED (job_event.again): a restart goes by
 * that, and chooses nothing anew. Lost attempts are no concern of this file: on_lost
 * (job.h). */
#ifndef VOLTD_JOB_RETRY_H
#define VOLTD_JOB_RETRY_H

#include "daemon/job/key.h"
#include "daemon/job/spec.h"

#define JOB_RETRY_BIT(result) (UINT32_C(1) << JOB_RESULT_##result)
/* What a spec may name, and what it means when it names none. Not OUTPUT_LIMIT: all
 * attempts print to one file, so the next one would be over the limit from its start. */
#define JOB_RETRY_ON_MOST                                                                \
    (JOB_RETRY_BIT(EXIT) | JOB_RETRY_BIT(SIGNAL) | JOB_RETRY_BIT(TIMEOUT) |              \
     JOB_RETRY_BIT(EXEC_FAILED))
#define JOB_RETRY_ON_DEFAULT                                                             \
    (JOB_RETRY_BIT(EXIT) | JOB_RETRY_BIT(SIGNAL) | JOB_RETRY_BIT(TIMEOUT))
#define JOB_BACKOFF_MAX_USEC_DEFAULT UINT64_C(60000000)

bool job_codes_any(const struct job_codes *codes);
bool job_codes_has(const struct job_codes *codes, int code); /* false out of 0..255 */
void job_codes_add(struct job_codes *codes, int code);       /* from 0 to 255 */

/* What an exit status means to the job: SUCCESS or EXIT. */
enum job_result job_exit_means(const struct job_spec *s, int status);

/* How long the attempt behind the n-th one that failed has to wait: backoff_usec, doubled
 * n - 1 times, at most backoff_max_usec (0: 60 s, or backoff_usec where that is more);
 * and up to a quarter longer, by the job, its element and n, so that what has failed
 * together does not begin together. */
uint64_t job_retry_wait(const struct job_spec *s, const struct job_key *key, unsigned n);
/* The attempt of a job that is as *st ends with EXITED: fills `again` and `wait_usec` of
 * that in. key: of that attempt. */
void job_retry_choose(const struct job_spec *s, const struct job_status *st,
                      const struct job_key *key, struct job_event *exited);
/* It has failed before, and it is too late now (CLOCK_REALTIME) to begin again. */
bool job_retry_is_too_late(const struct job_spec *s, const struct job_status *st,
                           uint64_t now_usec);
/* Of one that is queued: how much of its back-off is left. It does not become longer
 * where the clock has been set back. */
uint64_t job_retry_left(const struct job_status *st, uint64_t now_usec);

#endif
