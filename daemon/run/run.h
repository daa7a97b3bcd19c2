/* The room that runs jobs, as others see it: the keeper and the records. */
#ifndef VOLTD_RUN_RUN_H
#define VOLTD_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/core/kinds.h"

struct core;
struct keeper_link;
struct record_watch;
struct run;
struct siphash_key;

struct run_options {
    const char *socket;      /* for VOLT_ADDRESS and VOLT_JOB of jobs; "": none */
    const char *record_dir;  /* with the exit records */
    const char *runtime_dir; /* with the keeper's socket */
    /* One of these; without any there is no kind exec: the program of a keeper for all;
     * the socket of one that others start; a directory of a socket for each user. */
    const char *keeper_path, *keeper_socket, *keepers_dir;
    uint64_t descriptors;  /* soft RLIMIT_NOFILE of jobs; 0: voltd's own */
    const char *state_dir; /* of voltd, for the scripts of jobs */
};

extern const struct kinds kinds_all; /* kinds.c */

/* Opens the directory of records and connects to the keeper, or starts one. Borrows o;
 * *ret is set even on failure, for run_free(). 0 or -errno, with the text in err.
 * Blocks. */
int run_open(const struct run_options *o, const struct siphash_key *secret,
             struct run **ret, struct volt_error *err);
/* Spawns the tasks of the room. 0; -ENOMEM; -ESHUTDOWN; -errno. */
int run_start(struct core *core);
/* After the runtime was shut down: what is not needed any more is removed, and the keeper
 * is left. settled: the end of all that was started has been seen. */
void run_leave(struct core *core, bool settled);
void run_free(struct run *run); /* NULL allowed */

/* --- questions. Any thread. --------------------------------------------------------- */
bool run_has_keeper(const struct core *core);
/* Whether each user has a keeper of its own. */
bool run_has_keepers(const struct core *core);
/* Returns whether jobs may have cgroups: others start the keepers, perhaps in one. */
bool run_may_contain(const struct core *core);
/* Whether a keeper can be asked to run processes of that user: 0; -EOPNOTSUPP: there is
 * no keeper at all; or as keeper_links_check(). */
int run_check_owner(const struct core *core, uid_t owner);
/* For how long no keeper of that user has answered, in us; 0: one does, or there is
 * none. */
uint64_t run_keeper_away_usec(const struct core *core, uid_t owner);
/* For calls for jobs of that user; KEEPER_OF_NOBODY: the owner is not known. NULL: there
 * is no keeper for it, or no memory. */
struct keeper_link *run_link(const struct core *core, uid_t owner);
/* For waits for records; NULL: there is no keeper. */
struct record_watch *run_watch(const struct core *core);
int run_record_fd(const struct run *run);          /* -1: not opened */
const uint8_t *run_boot_id(const struct run *run); /* RECORD_ID_SIZE bytes */
/* Of the directory of records, as many bytes; zero: it has none. */
const uint8_t *run_generation(const struct run *run);

#endif
