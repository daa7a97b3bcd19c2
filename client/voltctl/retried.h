/* State of voltctl retry: which jobs were submitted again, and what the new jobs wait
 * for. */
#ifndef VOLT_CLIENT_VOLTCTL_RETRIED_H
#define VOLT_CLIENT_VOLTCTL_RETRIED_H

#include "client/voltctl/ctl.h"

struct retried {
    json_t *again;  /* by this command: new ids by old ids */
    json_t *ahead;  /* ids that this command still has to submit again */
    json_t *looked; /* finished by this command: exit code by id */
    json_t *before; /* by earlier commands: latest new id by old id; NULL: unknown */
};

void retried_init(struct retried *r);
void retried_fini(struct retried *r);
/* Finds the latest new job that an earlier command made of this one; *ret: owned by r,
 * NULL: none. Returns an exit code, after an error message if it failed. */
int retried_before(struct ctl *ctl, struct retried *r, const char *id, const char **ret);
/* Sets *ret to whether the new job has to wait for the new job of another one that is
 * still ahead. Returns an exit code, after an error message if it failed. */
int retried_waits(struct ctl *ctl, struct retried *r, const json_t *job, bool *ret);
/* Whether the new job waits for what the old one waited for: the old one never began. */
bool retried_still_waits(const json_t *job);
/* Makes the edges in the spec of such a job name the new jobs of its antecedents, and
 * removes those to jobs that are not known any more. Returns an exit code, after an error
 * message if it failed: an antecedent that ended the job was not submitted again. */
int retried_edges(struct ctl *ctl, struct retried *r, const json_t *job, json_t *spec);
/* Makes all edges wait for whole jobs instead of element to element, as one of the arrays
 * may have fewer elements now. */
void retried_wait_for_all(json_t *spec);

#endif
