/* Variables of Slurm for a script with #SBATCH lines. The spec has those that are known
 * at submission. */
#ifndef VOLTD_RUN_SLURM_ENV_H
#define VOLTD_RUN_SLURM_ENV_H

#include "daemon/job/key.h"
#include "daemon/job/spec.h"

enum { SLURM_VARIABLES = 8 };

struct slurm_env {
    char text[SLURM_VARIABLES][JOB_NAME_BYTES + 32];
    char *strings[SLURM_VARIABLES + 1]; /* NAME=value; then NULL */
};

/* Fills in *ret; leaves it empty if the spec does not ask for these variables. */
void slurm_env(const struct job_spec *spec, const struct job_key *key,
               struct slurm_env *ret);

#endif
