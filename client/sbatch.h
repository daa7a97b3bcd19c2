/* Options of Slurm's sbatch, as scripts have them in #SBATCH lines, and what they are
 * here. Those that have an equal become it; others are named and left out, but for those
 * without which the job would start too early: these are refused. */
#ifndef VOLT_CLIENT_SBATCH_H
#define VOLT_CLIENT_SBATCH_H

#include "client/word_list.h"

#include <stdbool.h>

struct sbatch {    /* zero-initialised: no line yet */
    bool has_path; /* of output, which sbatch empties unless --open-mode says otherwise */
    char ntasks[16], cpus[16]; /* as its lines say; "": they do not */
    struct word_list variables; /* that were named already */
};

/* One line, without its mark; path and number are for messages. Adds our options to
 * *to. 0; -EINVAL, said; -ENOMEM. */
int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to);
/* A line of the script behind these: names the variables of Slurm in it that are not set
 * here, each once: the script goes on without them, mostly wrongly. 0; -ENOMEM. */
int sbatch_body(struct sbatch *s, const char *line, const char *path, unsigned number);
/* Adds options for those variables of Slurm that are known when the job is submitted: the
 * directory that volt-submit runs in, this machine, what the lines have said. 0; negative
 * errno of that directory or of memory. */
int sbatch_variables(const struct sbatch *s, struct word_list *to);
void sbatch_fini(struct sbatch *s);
/* Adds our options for the jobs that a job waits for, "afterok:17:18,afterany:19", or
 * "singleton". 0; -EINVAL: it has no equal here; -ENOENT: an id is none; -ENOMEM. */
int sbatch_dependency(const char *value, struct word_list *to);

#endif
