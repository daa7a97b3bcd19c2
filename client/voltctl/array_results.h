/* How the elements of an array ended: counts by result, and which ones failed. */
#ifndef VOLT_CLIENT_VOLTCTL_ARRAY_RESULTS_H
#define VOLT_CLIENT_VOLTCTL_ARRAY_RESULTS_H

#include "client/voltctl/ctl.h"

struct array_results {
    json_t *words;   /* {"exit 1": 2, "SIGKILL": 1}: as tables show results */
    json_t *results; /* {"success": 997, "exit": 2, "signal": 1} */
    char *failed;    /* indexes as ranges: "3,17-20"; "" when there are none */
};

/* Asks for the elements of an array, a job as Get answers it with its spec. Returns a
 * code; what it filled is to be freed. */
int array_results_get(struct ctl *ctl, const json_t *job, struct array_results *ret);
void array_results_fini(struct array_results *a);
/* Two lines of a block, of an array that has ended elements. */
void array_results_print(const struct array_results *a, const char *id);

#endif
