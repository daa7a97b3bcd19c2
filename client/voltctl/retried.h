/* What voltctl retry knows of jobs that were submitted again, and what the new ones wait
 * for. */
#ifndef VOLT_CLIENT_VOLTCTL_RETRIED_H
#define VOLT_CLIENT_VOLTCTL_RETRIED_H

#include "client/voltctl/ctl.h"

struct retried {
    json_t *again;  /* by this command: ids of new jobs by those of the old ones */
    json_t *ahead;  /* ids of those that this command is still to submit again */
    json_t *looked; /* of what this command is done with: the code, by id */
    json_t *before; /* as again, by earlier commands, the latest; NULL: not known yet */
};

void retried_init(struct retried *r);
void retried_fini(struct retried *r);
/* The latest new job of this one, of an earlier command. A code, with the reason said;
 * *ret: NULL where there is none; r has it. */
int retried_before(struct ctl *ctl, struct retried *r, const char *id, const char **ret);
/* Whether the job's new one is to wait for the new one of another that is still ahead. A
 * code, with the reason said. */
int retried_waits(struct ctl *ctl, struct retried *r, const json_t *job, bool *ret);
/* Leaves in the spec of a job that ended as dependency the jobs that its new one waits
 * for: the new ones of those that were submitted again, and those that have not ended.
 * keep: also those that have ended. A code, with the reason said. */
int retried_edges(struct ctl *ctl, struct retried *r, const char *id, json_t *spec,
                  bool keep);
/* None of its edges is element to element any more: one of the two arrays may have fewer
 * elements now. */
void retried_wait_for_all(json_t *spec);

#endif
