/* Scripts that say in their first lines how they are to be submitted:
 *
 *     #!/bin/sh
 *     #VOLT --name=nightly --timeout=2h
 *     #VOLT --array 1-10
 *
 * The lines stand before the first one that is neither empty nor a comment. #SBATCH lines
 * are those of Slurm: sbatch.h.
 *
 * Such a script is stored with its job, and so is one that comes through standard input:
 * what is queued runs as it was, whatever becomes of the file. */
#ifndef VOLT_CLIENT_SCRIPT_H
#define VOLT_CLIENT_SCRIPT_H

#include "client/word_list.h"

#include <stdbool.h>

struct script {
    struct word_list options; /* for volt-submit */
    struct word_list command; /* its absolute path; of one that is not stored and not
                               * executable behind its interpreter */
    char *text;               /* what is stored, NUL-terminated; NULL: nothing */
    bool truncates;           /* files of output, where no option says otherwise */
    bool slurm;               /* it has #SBATCH lines */
};

/* by_path: the file is run as it will be, and not stored; its lines may say so too.
 *
 * Looks at the file that `word`, the first of a command, names in the directory where the
 * job is to run: with a slash in it, or a file there that no folder of PATH has. 1: it is
 * such a script, and *ret is to be finished; 0: it is none; negative: the mistake is
 * said; of these -ENOEXEC: no program could run this text. */
int script_find(const char *word, const char *directory, bool by_path,
                struct script *ret);
/* The same of what comes through standard input, which is read to its end: any script is
 * one. 1, or negative. */
int script_read(struct script *ret);
/* Notes what a script that is stored says of its own path, which is another one then. */
void script_advise_path(const char *word, const char *text);
void script_fini(struct script *s);

#endif
