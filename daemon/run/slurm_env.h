/* The variables of Slurm that a script with #SBATCH lines reads of its job. Those that
 * are known when it is submitted come with it. */
#ifndef VOLTD_RUN_SLURM_ENV_H
#define VOLTD_RUN_SLURM_ENV_H

#include "daemon/job/key.h"
#include "daemon/job/spec.h"

enum { SLURM_VARIABLES = 8 };

struct slurm_env {
    char text[SLURM_VARIABLES][JOB_NAME_BYTES + 32];
    char *strings[SLURM_VARIABLES + 1]; /* NAME=value; then NULL */
};

/* Fills *ret; with none, unless the spec asks for them. */
void slurm_env(const struct job_spec *spec, const struct job_key *key,
               struct slurm_env *ret);

#endif
