/* The room that runs jobs, for other rooms: the keeper and the records. */
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
    const char *record_dir;  /* of the exit records */
    const char *runtime_dir; /* of the keeper's socket */
    /* At most one: the program of a keeper for all; the socket of a keeper that another
     * program starts; a directory with a socket for each user. None: no kind exec. */
    const char *keeper_path, *keeper_socket, *keepers_dir;
    uint64_t descriptors;  /* soft RLIMIT_NOFILE of jobs; 0: voltd's own */
    const char *state_dir; /* voltd's, for the scripts of jobs */
};

extern const struct kinds kinds_all; /* kinds.c */

/* Opens the directory of records, and connects to the keeper or starts one. Borrows o.
 * Sets *ret even on failure, for run_free(). Returns 0; -errno with a text in err.
 * Blocks. */
int run_open(const struct run_options *o, const struct siphash_key *secret,
             struct run **ret, struct volt_error *err);
/* Spawns the tasks of the room. Returns 0, -ENOMEM, -ESHUTDOWN or -errno. */
int run_start(struct core *core);
/* Removes unneeded records and leaves the keeper. settled: the end of all started jobs
 * was seen. After the runtime was shut down. */
void run_leave(struct core *core, bool settled);
void run_free(struct run *run); /* NULL allowed */

/* --- questions. Any thread. --------------------------------------------------------- */
bool run_has_keeper(const struct core *core);
/* Returns whether each user has a keeper of its own. */
bool run_has_keepers(const struct core *core);
/* Returns whether jobs may have cgroups: another program starts the keepers, perhaps in
 * one. */
bool run_may_contain(const struct core *core);
/* Checks whether a keeper can run processes of that user. Returns 0, -EOPNOTSUPP (no
 * keeper at all), or an error of keeper_links_check(). */
int run_check_owner(const struct core *core, uid_t owner);
/* Returns for how long no keeper of that user has answered, in us; 0: one does, or there
 * is none. */
uint64_t run_keeper_away_usec(const struct core *core, uid_t owner);
/* Returns the link for calls for that user's jobs. owner KEEPER_OF_NOBODY: unknown. NULL:
 * the owner has no keeper, or no memory. */
struct keeper_link *run_link(const struct core *core, uid_t owner);
/* Returns the watch for records; NULL: no keeper. */
struct record_watch *run_watch(const struct core *core);
int run_record_fd(const struct run *run);          /* -1: not opened */
const uint8_t *run_boot_id(const struct run *run); /* RECORD_ID_SIZE bytes */
/* Returns RECORD_ID_SIZE bytes, the generation of the directory of records; zeroes:
 * none. */
const uint8_t *run_generation(const struct run *run);

#endif
