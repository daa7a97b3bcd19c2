/* Scripts that say in their first lines how they are to be submitted:
 *
 *     #!/bin/sh
 *     #VOLT --name=nightly --timeout=2h
 *     #VOLT --array 1-10
 *
 * The lines stand before the first one that is neither empty nor a comment. #SBATCH lines
 * are those of Slurm: sbatch.h. */
#ifndef VOLT_CLIENT_SCRIPT_H
#define VOLT_CLIENT_SCRIPT_H

#include "client/word_list.h"

#include <stdbool.h>

struct script {
    struct word_list options; /* for volt-submit */
    struct word_list command; /* what runs it: its absolute path, behind its interpreter
                               * where it is not executable */
    bool truncates;           /* files of output, where no option says otherwise */
    bool slurm;               /* it has #SBATCH lines */
};

/* Looks at the file that `word`, the first of a command, names in the directory where the
 * job is to run: with a slash in it, or a file there that no folder of PATH has. 1: it is
 * such a script, and *ret is to be finished; 0: it is none; negative: the mistake is
 * said. */
int script_find(const char *word, const char *directory, struct script *ret);
void script_fini(struct script *s);

#endif
