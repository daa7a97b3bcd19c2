/* --dry-run of the verbs that end or forget jobs: lists the jobs that would be meant, and
 * changes nothing. */
#ifndef VOLT_CLIENT_VOLTCTL_DRY_RUN_H
#define VOLT_CLIENT_VOLTCTL_DRY_RUN_H

#include "client/voltctl/ctl.h"

#define CTL_DRY_RUN_OPTION                                                               \
    {                                                                                    \
        "dry-run", CTL_OPT_DRY_RUN, NULL, "list these jobs, and change nothing"          \
    }

struct dry_run {
    const char *done;     /* "12 jobs would be ..." */
    const json_t *filter; /* NULL: none */
    char *const *ids;     /* only these ids; nids 0: all */
    size_t nids;
    bool ended;                 /* ended jobs; otherwise the others */
    uint64_t older_usec, keep;  /* as for Forget */
    bool quiet, json;
};

/* Lists the jobs, on the open connection. Returns an exit code, after an error message if
 * it failed. */
int dry_run_print(struct ctl *ctl, const struct dry_run *d);

#endif
