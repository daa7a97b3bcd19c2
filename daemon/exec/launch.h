/* What a job is started with, from its spec; and what its record says at the end. */
#ifndef VOLTD_EXEC_LAUNCH_H
#define VOLTD_EXEC_LAUNCH_H

#include "daemon/exec/jobs.h"

/* Opens the output files and packs argv, environment and paths: fills args in, whose
 * descriptors launch_close() closes. again: the attempt is started once more, or by
 * an earlier daemon, and its output files may be there. cx: as output_end_look(). 0;
 * -errno, with *ret_step a static word for what failed. */
int launch_prepare(struct volt_cx *cx, struct manager *m, const struct job_spec *spec,
                   const struct job_key *key, bool again, struct keeper_start_args *args,
                   const char **ret_step);
void launch_close(struct keeper_start_args *args);

/* Returns new: text with every "{i}" replaced by the index. NULL: no memory. */
char *launch_expand(const char *text, int64_t index);
/* Returns new, one allocation to be freed with free(): the spec's environment, less what
 * VOLT_* variables of ours override, plus these. NULL: no memory. */
char **launch_env(const struct job_spec *spec, const struct job_key *key,
                  const char *address);

/* EXITED as the record of an ended attempt has it; LOST where it does not know. */
struct job_event launch_end_event(const struct record *rec);
/* The same where its shim was killed: what is left of it. *left is borrowed. */
void launch_end_survivors(struct job_event *lost, const struct survivors *left);

#endif
