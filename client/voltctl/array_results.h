/* Counts how the elements of an array ended, and which failed. */
#ifndef VOLT_CLIENT_VOLTCTL_ARRAY_RESULTS_H
#define VOLT_CLIENT_VOLTCTL_ARRAY_RESULTS_H

#include "client/voltctl/ctl.h"

struct array_results {
    json_t *words;   /* {"exit 1": 2, "SIGKILL": 1}: words of tables */
    json_t *results; /* {"success": 997, "exit": 2, "signal": 1} */
    char *indexes;   /* of the failed, as ranges: "3,17-20"; "": none */
};

/* Asks for the elements of an array; job: answer of Get, with its spec. Returns an exit
 * code; *ret has to be finished. */
int array_results_get(struct ctl *ctl, const json_t *job, struct array_results *ret);
/* Likewise of the elements with one of these results of a filter alone: ret->indexes has
 * theirs. */
int array_results_find(struct ctl *ctl, const json_t *job, json_t *results,
                       struct array_results *ret);
void array_results_fini(struct array_results *a);
/* Prints two lines of a block, for an array with ended elements. */
void array_results_print(const struct array_results *a, const char *id);

#endif
