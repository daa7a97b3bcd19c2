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
/* Reduces the edges in the spec of a job that ended as dependency: to the new jobs of
 * antecedents that were submitted again, and to antecedents that have not ended. keep:
 * also ended ones. Returns an exit code, after an error message if it failed. */
int retried_edges(struct ctl *ctl, struct retried *r, const char *id, json_t *spec,
                  bool keep);
/* Makes all edges wait for whole jobs instead of element to element, as one of the arrays
 * may have fewer elements now. */
void retried_wait_for_all(json_t *spec);

#endif
