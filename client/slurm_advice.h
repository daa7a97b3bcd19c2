/* Recognises Slurm's syntax for jobs to wait for, on the command line. */
#ifndef VOLT_CLIENT_SLURM_ADVICE_H
#define VOLT_CLIENT_SLURM_ADVICE_H

#include <stdbool.h>

/* Returns whether an option's value is such a text, as afterok:17:18, and no file. Then
 * prints what to write here. */
bool slurm_advice_value(const char *value);
/* Likewise for an unknown option. value NULL: none. */
bool slurm_advice_option(const char *option, const char *value);
/* Warns of a placeholder of Slurm, such as %j, in the path of an output. */
void slurm_advice_path(const char *option, const char *path);
/* Says that --mem of a script is left out. */
void slurm_advice_mem(const char *size);

#endif
