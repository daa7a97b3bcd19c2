/* Shims, processes, records and output files of the simulated machine (shims.c), as
 * keeper.c and files.c see them. */
#ifndef TESTS_SIM_MACHINE_H
#define TESTS_SIM_MACHINE_H

#include "daemon/keeper/protocol.h"
#include "tests/sim/sim.h"

/* An attempt that a keeper was asked for, with its record. */
struct attempt_made {
    struct job_key key;
    uint32_t number;             /* of the order, by its argv */
    bool there;                  /* the record is in the directory */
    bool held;                   /* somebody has the right to run it, or runs it */
    unsigned holders;            /* descriptors of its description, each in one hand */
    bool has_started, has_ended; /* slots 1 and 2 */
    unsigned boot;
    unsigned shim;       /* index of its shim + 1; 0: it has none */
    unsigned keeper;     /* whose child that is */
    unsigned run;        /* number of its latest run; an end is of one */
    uint64_t start_usec; /* slot 1 */
    struct truth truth;
};

void machine_reset(void);
/* NULL: none was ever made. Valid until the next one is made. */
struct attempt_made *attempt_find_made(const struct job_key *key);
/* The n-th that was ever made; NULL: no more. */
const struct attempt_made *machine_record(size_t n);
enum record_verdict machine_verdict(const struct attempt_made *a);

/* --- the descriptor of a record: a number of its run ---------------------------------- */

#define RECORD_FD 3000000
#define LOOK_FD   4000000 /* of shims_look(): and the number of the attempt */

/* voltd makes the record of the attempt and has its descriptor. -EEXIST. */
int shims_make_record(const struct job_key *key);
/* The attempt that it is of; NULL: none. */
struct attempt_made *shims_of_descriptor(int fd);
/* It is sent, and somebody else has it as well; one who had it has it no more. */
void shims_share(int fd);
void shims_release(int fd);
/* Those of voltd are closed. */
void shims_voltd_died(void);
/* A descriptor to read the record by, which holds nothing; -ENOENT. */
int shims_look(const struct job_key *key);
/* The attempt that it is of; NULL: none. */
const struct attempt_made *shims_of_look(int fd);

/* What a keeper does. keeper: its own number. The descriptor goes to the shim. */
void shims_start(int fd, uint32_t number, bool may_reuse, unsigned keeper);
/* Nobody gets another job. */
void shims_dismiss(void);
/* Its shims get no other job. */
void shims_keeper_died(unsigned keeper);
/* Whether that shim has jobs. */
unsigned shims_busy(void);
/* Any of these whose record is there. */
bool shims_are_known(void);
/* 0; -ESRCH: nothing to signal; -EAGAIN: it has not started yet. */
int shims_signal(const struct job_key *key, int sig, bool tree, bool wakes,
                 unsigned keeper, uint32_t *ret_survivors);
/* 0; -EBUSY. */
int shims_remove(const struct job_key *key);
/* Of what can never run. */
void shims_discard(const struct job_key *key);
bool shims_kill(uint32_t n);
bool shims_kill_of(const struct job_key *key);
/* Its process comes to its end, if it has one. */
void shims_end(const struct job_key *key);
bool shims_lose_record(uint32_t n);
bool shims_lose_record_of(const struct job_key *key);
void shims_reboot(bool keeps_records);
unsigned shims_running(void);

/* The number of the record directory: its generation. */
unsigned machine_generation(void);
unsigned machine_boot(void);

/* keeper.c: the machine is short of something. */
bool keeper_is_short(void);

/* files.c: a record was closed; the events of it reach voltd. */
void files_reset(void);
void files_voltd_died(void);
void files_record_closed(const struct job_key *key);
/* Bytes that the job or element has printed so far. */
uint64_t machine_printed(uint64_t id, int64_t index);

#endif
