/* Translates options of Slurm's sbatch, from #SBATCH lines of scripts. Options with an
 * equivalent are translated; others are reported and left out. An option without which
 * the job would start too early is refused. */
#ifndef VOLT_CLIENT_SBATCH_H
#define VOLT_CLIENT_SBATCH_H

#include "client/word_list.h"

#include <stdbool.h>
#include <volt/error.h>

struct sbatch {         /* zero-initialised: no line yet */
    const char *path;   /* of the script, for messages */
    unsigned line;      /* likewise */
    bool has_path;      /* has a path of output, which sbatch truncates unless --open-mode
                          * says otherwise */
    bool shell, login;  /* its interpreter is a shell, or a login shell */
    char open_mode[16]; /* from its lines; "": not given */
    char ntasks[16], cpus[16], mem[32]; /* likewise; mem as --mem takes it: "4G" */
    unsigned sum_line;      /* the first line that computes with its id; 0: none */
    struct volt_error hint; /* what is said of an option without an equivalent; "": the
                             * usual */
    struct word_list noted; /* variables and commands that were reported already */
};

/* Takes the first line of the script, after #!. */
void sbatch_interpreter(struct sbatch *s, const char *line);

/* Translates a line without its mark, and adds our options to *to. path and number are
 * for messages. Returns 0; -EINVAL after an error message; -ENOMEM. */
int sbatch_line(struct sbatch *s, const char *line, const char *path, unsigned number,
                struct word_list *to);
/* Reports what a line of the script uses and that is not here, once each: variables of
 * Slurm, and commands such as srun and module. A shell goes on without them, and the job
 * may succeed. Returns 0 or -ENOMEM. */
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
 *   -EINVAL  it has no equivalent; *why names the part, and what to write instead
 *   -ENOENT  an id is not valid
 *   -ENOMEM */
int sbatch_dependency(const char *value, struct word_list *to, struct volt_error *why);

#endif
