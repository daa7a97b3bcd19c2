/* Scripts with options for volt-submit in their first lines:
 *
 *     #!/bin/sh
 *     #VOLT --name=nightly --timeout=2h
 *     #VOLT --array 1-10
 *
 * These lines are before the first line that is neither empty nor a comment. #SBATCH
 * lines are options of Slurm: sbatch.h.
 *
 * Such a script is stored with its job, and so is a script from standard input. So the
 * job runs the text that was submitted, whatever happens to the file. */
#ifndef VOLT_CLIENT_SCRIPT_H
#define VOLT_CLIENT_SCRIPT_H

#include "client/word_list.h"

#include <stdbool.h>

struct script {
    struct word_list options; /* for volt-submit */
    struct word_list command; /* its absolute path; after its interpreter if it is neither
                               * stored nor executable */
    char *text;               /* text to store, NUL-terminated; NULL: none */
    bool truncates;           /* truncate files of output, unless an option says
                               * otherwise */
    bool slurm;               /* it has #SBATCH lines */
    char mem[32];             /* --mem of these: "4G"; "": none */
    char open_mode[16];       /* likewise --open-mode; "": none */
    unsigned sum_line; /* the first line that computes with $SLURM_JOB_ID; 0: none */
};

/* Looks for a script at `word`, the first word of a command: a path with a slash, or a
 * file in `directory`, where the job will run, that no folder of PATH has. by_path: does
 * not store the text, and the job runs the file as it is at its start; its lines may also
 * say so. Returns:
 *   1         it is such a script, and *ret has to be finished
 *   0         it is none
 *   -ENOEXEC  no program could run this text, after an error message
 *   negative  another error, after an error message */
int script_find(const char *word, const char *directory, bool by_path,
                struct script *ret);
/* Reads a script from standard input to its end; any script counts. Returns 1, or
 * negative as above. */
int script_read(struct script *ret);
/* Warns if a script that is stored refers to its own path, which will be another one. */
void script_advise_path(const char *word, const char *text);
void script_fini(struct script *s);

#endif
