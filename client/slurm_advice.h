/* Slurm's way to name the jobs that a job waits for, on the command line. */
#ifndef VOLT_CLIENT_SLURM_ADVICE_H
#define VOLT_CLIENT_SLURM_ADVICE_H

#include <stdbool.h>

/* Whether the value of an option is such a text, as afterok:17:18, and no file: then it
 * is said what is to be written here. */
bool slurm_advice_value(const char *value);
/* The same of an option that is not known here. value: NULL: it has none. */
bool slurm_advice_option(const char *option, const char *value);
/* Notes a place of Slurm, such as %j, in the path of an output. */
void slurm_advice_path(const char *option, const char *path);

#endif
