/* Translates options of Slurm's sbatch, from #SBATCH lines of scripts. Options with an
 * equivalent are translated; others are reported and left out. An option without which
 * the job would start too early is refused. */
#ifndef VOLT_CLIENT_SBATCH_H
#define VOLT_CLIENT_SBATCH_H

#include "client/word_list.h"

#include <stdbool.h>

struct sbatch {    /* zero-initialised: no line yet */
    bool has_path; /* has a path of output, which sbatch truncates unless --open-mode says
                    * otherwise */
    char ntasks[16], cpus[16];  /* from its lines; "": not given */
    char mem[32];               /* likewise, as --mem takes it: "4G" */
    struct word_list variables; /* variables that were reported already */
};

/* Translates a line without its mark, and adds our options to *to. path and number are
 * for messages. Returns 0; -EINVAL after an error message; -ENOMEM. */
int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to);
/* Reports variables of Slurm that a line of the script reads and that are not set here,
 * once each. The script goes on without them, mostly wrongly. Returns 0 or -ENOMEM. */
int sbatch_body(struct sbatch *s, const char *line, const char *path, unsigned number);
/* Adds options that set the variables of Slurm known at submission: the current
 * directory, this machine, and values from the lines. Returns 0, or a negative errno of
 * the directory or of memory. */
int sbatch_variables(const struct sbatch *s, struct word_list *to);
void sbatch_fini(struct sbatch *s);
/* Adds our options for an option of sbatch, by its long name. Returns 0; -EINVAL: it has
 * none, or not with this value; -ENOMEM. */
int sbatch_option(const char *name, const char *value, struct word_list *to);
/* Adds our options for the jobs that a job waits for: "afterok:17:18,afterany:19", or
 * "singleton". Returns:
 *   0
 *   -EINVAL  it has no equivalent
 *   -ENOENT  an id is not valid
 *   -ENOMEM */
int sbatch_dependency(const char *value, struct word_list *to);

#endif
