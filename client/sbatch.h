/* Options of Slurm's sbatch, as scripts have them in #SBATCH lines, and what they are
 * here. Those that have an equal become it; others are named and left out, but for those
 * without which the job would start too early: these are refused. */
#ifndef VOLT_CLIENT_SBATCH_H
#define VOLT_CLIENT_SBATCH_H

#include "client/word_list.h"

#include <stdbool.h>

struct sbatch {    /* zero-initialised: no line yet */
    bool has_path; /* of output, which sbatch empties unless --open-mode says otherwise */
};

/* One line, without its mark; path and number are for messages. Adds our options to
 * *to. 0; -EINVAL, said; -ENOMEM. */
int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to);

#endif
