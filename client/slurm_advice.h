/* Recognises Slurm's syntax for jobs to wait for, on the command line. */
#ifndef VOLT_CLIENT_SLURM_ADVICE_H
#define VOLT_CLIENT_SLURM_ADVICE_H

#include "client/word_list.h"

#include <stdbool.h>

/* Returns whether an option's value is such a text, as afterok:17:18, and no file. Then
 * prints what to write here. */
bool slurm_advice_value(const char *value);
/* Likewise for an unknown option, also --property=MemoryMax=500M of systemd-run. value
 * NULL: none. */
bool slurm_advice_option(const char *option, const char *value);
/* Adds the option of voltctl edit for a word of `scontrol update`, as StartTime=22:00,
 * in any case and abbreviated; "hold" for a priority of 0. Returns 0; -EINVAL: it has
 * none; -ENOMEM. */
int slurm_advice_update(const char *word, struct word_list *to);
/* Warns of a placeholder of Slurm, such as %j, in the path of an output. */
void slurm_advice_path(const char *option, const char *path);
/* Says that --mem of a script is left out. */
void slurm_advice_mem(const char *size);
/* Says that the script of an array computes with $SLURM_JOB_ID in this line. */
void slurm_advice_sum(const char *script, unsigned line);

#endif
