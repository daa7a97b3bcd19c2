/* Common part of the verbs that steer many jobs: cancel, hold, release, pause, resume. */
#ifndef VOLT_CLIENT_VOLTCTL_STEER_H
#define VOLT_CLIENT_VOLTCTL_STEER_H

#include "client/voltctl/ctl.h"

struct steer_words {
    const char *method;
    const char *done; /* "12 jobs ..." */
    const char *none; /* why 0 of the ids that are named; NULL: each is an error then */
};

extern const struct option_entry steer_options[];
/* Likewise with --dry-run, for a verb that concerns all jobs that have not ended. */
extern const struct option_entry steer_dry_options[];
/* Runs the verb. Returns the exit code. */
int steer_run(struct ctl *ctl, const struct steer_words *words);

#endif
