/* The deterministic simulator of the daemon: what its files share. README.md is the tour.
 *
 * One thread, one seed, virtual time. The code of voltd is the real one; what stands
 * around it is made here, and is called "the world": the disk with the store, keeper,
 * shims, processes and records, the clock, memory, clients. The world outlives voltd. The
 * oracle stands beside both and looks at everything that becomes true. */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/volt.h>
#include "base/rng.h"
#include "daemon/auth/auth.h"
#include "daemon/config/config.h"
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"

struct core;

/* --- world.c: chance, time, violations ---------------------------------------------- */

enum sim_fault { /* in the order of sim_fault_names */
                 FAULT_VOLTD_DIES,
                 FAULT_KEEPER_DIES,
                 FAULT_SHIM_DIES,
                 FAULT_REBOOT,
                 FAULT_DISK_FULL,
                 FAULT_DISK_FAILS,
                 FAULT_DISK_SLOW,
                 FAULT_MEMORY,
                 FAULT_KEEPER_SHORT,
                 FAULT_CONNECTION,
                 FAULT_PROBE,
                 FAULT_CLIENT_GOES,
                 FAULT_KEEPER_STOPS,
                 FAULT_SURVIVORS,
                 FAULT_RECORD_GOES,
                 FAULTS,
};
extern const char *const sim_fault_names[FAULTS];

struct sim {
    struct rng chance; /* what happens when */
    uint64_t now;      /* us of virtual time, since the history began */
    uint64_t steps;    /* that the world saw of voltd */
    uint64_t die_at;   /* voltd dies at this step; 0: at none */
    unsigned life;     /* number of the latest voltd */
    bool inside;       /* the code of voltd runs now */
    bool calm;         /* no more faults, and no more orders of clients */
    unsigned outside;  /* depth of calls from voltd into the world */
    bool memory_fails; /* some allocations do */
    bool short_jobs;   /* in this history */
    bool few_keys;     /* likewise: most jobs replace others */
    bool few_locks;    /* likewise: most jobs want one lock for themselves */
    bool lends;        /* likewise: clients wait inside jobs */
    bool watched;      /* likewise: each voltd has a client that watches */
    bool timed;        /* likewise: most jobs are ended by their timeout */
    uint32_t faults;   /* bits of enum sim_fault that this history may have */
    jmp_buf death;     /* where a voltd that dies goes on */
    struct core *core; /* of the voltd that lives; NULL: none */
    struct config config;
    struct volt_runtime *rt;
    bool trace;
};
extern struct sim sim;

/* In [0, n); n > 0. */
uint32_t sim_below(uint32_t n);
bool sim_one_in(uint32_t n);
/* In [low, high]. */
uint64_t sim_between(uint64_t low, uint64_t high);
uint64_t sim_date(void); /* of the clock that says dates */
/* A hash of numbers, for what is the same whenever it is asked. */
uint64_t sim_hash(uint64_t a, uint64_t b, uint64_t c);

/* Calls fn(a, b) after so long, whoever lives then; or only if this voltd lives. */
typedef void sim_fn(uint64_t a, uint64_t b);
void sim_after(uint64_t usec, sim_fn *fn, uint64_t a, uint64_t b);
void sim_after_in_life(uint64_t usec, sim_fn *fn, uint64_t a, uint64_t b);
/* The time of the next event; UINT64_MAX: none. */
uint64_t sim_next_event(void);
/* Runs the next event if it is due. */
bool sim_run_event(void);
void sim_forget_events(void);

/* Voltd has done something that the world sees, or is about to: it may die here. */
void sim_step(void);
bool sim_may(enum sim_fault f);
void sim_count_fault(enum sim_fault f);
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A promise is broken: says so, and ends the process. */
_Noreturn void sim_violation(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Memory of the world: never fails, and is no step. */
void *sim_grow(void *p, size_t size);
void sim_free(void *p);
#define SIM_PUSH(array, n, ...)                                                          \
    do {                                                                                 \
        if (((n) & ((n) + 1)) == 0)                                                      \
            (array) = sim_grow((array), 2 * ((size_t)(n) + 1) * sizeof(*(array)));       \
        (array)[n] = (__VA_ARGS__);                                                      \
        (n)++;                                                                           \
    } while (0)

/* --- executor.c: the runtime -------------------------------------------------------- */

struct volt_runtime *executor_new(void);
/* Of a voltd that has died: what it had is left to the end of this process. */
void executor_abandon(struct volt_runtime *rt);
void executor_free(struct volt_runtime *rt);
/* Runs one task that is ready, or fires timers. False: nothing is ready now. */
bool executor_step(void);
/* When the earliest timer is due; UINT64_MAX: none. */
uint64_t executor_next_timer(void);

/* --- disk.c: the store --------------------------------------------------------------- */

void disk_reset(void);
/* What was on its way to the disk is there, or not. */
void disk_voltd_died(void);
void disk_set_full(bool full);
void disk_set_failing(bool failing);
void disk_set_slow(bool slow);
/* The numbers of news that have been given. */
uint64_t disk_seq(void);
bool disk_has(uint64_t id);
/* The same, and no voltd that lives has asked to forget it. */
bool disk_keeps(uint64_t id);
/* Nothing is on its way. */
bool disk_is_idle(void);

/* --- keeper.c, shims.c: what runs ---------------------------------------------------- */

/* A descriptor of the world was closed; NULL: nobody wants to know. */
extern void (*sim_closed)(int fd);

void keeper_reset(void);
void keeper_voltd_died(void);
void keeper_kill(void);
void keeper_break_connection(void);
/* It stands still for so long. */
void keeper_stop(uint64_t usec);
/* It has no processes, no descriptors, no room for so long. */
void keeper_starve(uint64_t usec);
/* The n-th of the processes that run loses its shim. False: there is none. */
bool keeper_kill_shim(uint32_t n);
bool keeper_kill_shim_of(const struct job_key *key);
/* Somebody removes one of the records. False: there is none. */
bool keeper_lose_record(uint32_t n);
bool keeper_lose_record_of(const struct job_key *key);
void keeper_reboot(bool keeps_records);
unsigned keeper_running(void);
/* How many records are there of what ran, and of jobs that the store knows; *ret_one: one
 * of them. What never ran is for the next voltd. */
unsigned keeper_records(struct job_key *ret_one);

/* --- oracle.c ------------------------------------------------------------------------ */

#define ORACLE_USERS   3
#define ORACLE_PERMITS 2

/* What a client has asked for: one job or array. */
#define ORACLE_EDGES 3
struct order {
    uint32_t number; /* of the order: its job is named by it */
    enum job_kind kind;
    uid_t uid;
    int priority;
    uint32_t count;   /* of an array; 0: one job */
    uint32_t at_once; /* of its elements; 0: any number */
    bool retry, key_given, stop_kills, held;
    bool night;      /* in the queue of this name, else in "default" */
    uint32_t lock;   /* what it claims: 1, 2: a lock; 3: a semaphore of ORACLE_PERMITS; 0:
                      * nothing */
    uint32_t claims; /* permits; of a lock 0: it shares it */
    uint32_t key;
    uint32_t retries; /* attempts that may follow failed ones */
    uint64_t backoff_usec, max_total_usec;
    uint64_t timeout_usec, duration_usec;
    uint64_t delay_usec, at_usec, start_by_usec; /* the latter are dates */
    uint32_t nafter;
    struct job_edge after[ORACLE_EDGES]; /* jobs that it waits for; item: an order of its
                                          * batch, of which the job is not known before it is
                                          * durable, and 1 */
    uint32_t after_key[ORACLE_EDGES];    /* of that, and 1: the job is named by its key */
    uint64_t sent_usec, acked_usec;      /* 0: not yet */
    uint64_t sent_date;                  /* when it was sent first */
    unsigned sends;                      /* how often it was sent */
    uint64_t id;                         /* as told; 0: not told */
    uint64_t stored_id;                  /* as the store has it; 0: it has not */
    bool refused;                        /* told so; */
    bool refused_maybe;                  /* and it may be in the store all the same */
    bool replaces;                       /* another job was to be cancelled for it */
    bool cancel_asked, signalled;
};

/* What the process of an order does. */
struct program {
    uint64_t run_usec;
    int code, signal;  /* one of them, or neither */
    bool obeys;        /* the stop signal */
    bool is_not_there; /* exec fails */
    bool has_cgroup;
    bool is_oom; /* its signal is the kernel's, for want of memory */
    uint32_t prints;
};
struct program oracle_program(uint32_t number, int64_t index);

void oracle_reset(void);
struct order *oracle_order_new(void);
struct order *oracle_order(uint32_t number);
uint32_t oracle_orders(void);
struct order *oracle_order_of_id(uint64_t id);
/* How the job has ended as a whole, as facts say it; NONE: it has not. Of an array that
 * failed it is one of its failures. at: or its element at that place; -1: none. */
enum job_result oracle_ended_as(uint64_t id, int64_t at);
/* An attempt of it may have begun: of what is no process facts say so with its end. */
bool oracle_may_have_started(uint64_t id, int64_t at);
/* arrays.c: STARTING is durable; whether its array is stopping. */
void arrays_starting(const struct order *o, const struct job_key *key, bool stops);
/* edges.c: all jobs that it waits for are known by their ids. */
bool edges_known(const struct order *o);
/* It is sent with the key of that job, not with its id. */
bool edges_by_key(const struct order *o, size_t i);
/* SUBMIT of its job: whether that waits for what it is to wait for. */
struct job_spec;
bool edges_submit(struct order *o, const struct job_spec *spec);
/* STARTING of its job is durable: what it waits for has been done. */
void edges_start(uint64_t id, int64_t at);
/* MET or DEPENDENCY: the job that it names has done that, or cannot do it any more. */
void edges_fact(uint64_t id, int64_t at, const struct job_event *e);
/* Some jobs for an edit of that job to wait for, maybe none; returns their tags. */
uint64_t edges_choose(struct job_spec *s, uint64_t id);
/* retries.c: of a job or an element, attempts that were followed by another one. */
struct retries {
    unsigned n; /* that have failed; lost ones do not count */
    uint64_t began_usec,
        first_usec;       /* dates: of the latest attempt, 0: it has not; of the
                                      * first one, 0: that has not ended */
    uint64_t rests_until; /* a date */
};
struct job_event;
/* STARTING. */
void retries_starting(const struct order *o, struct retries *r, const struct job_key *key,
                      const struct job_event *e);
/* EXITED, with this result if it is the last. done: none may follow. Whether another
 * attempt follows. */
bool retries_exited(const struct order *o, struct retries *r, const struct job_key *key,
                    const struct job_event *e, enum job_result result, bool done);
/* The attempt was lost, and another one follows. */
void retries_lost(struct retries *r, const struct job_event *e);
/* EXPIRED: whether that is as it was too late for another attempt. */
bool retries_expires(const struct order *o, const struct retries *r,
                     const struct job_event *e);
/* Its job, as it was told of, has not ended. */
bool oracle_lives(const struct order *o);
/* Facts, as they become durable. */
struct job_spec;
void oracle_fact_submit(uint64_t id, const struct job_spec *spec, uid_t uid);
void oracle_fact_event(const struct job_key *key, const struct job_event *ev);
/* What watchers are told of the latest event. */
struct job_news;
void oracle_fact_news(const struct job_news *n);
void oracle_fact_output(const struct job_key *key, unsigned stream, const void *bytes,
                        size_t n);
void oracle_fact_array_end(uint64_t id);
void oracle_fact_forgotten(uint64_t id);
/* A process begins, has ended; a record is removed. */
void oracle_runs(const struct job_key *key);
bool oracle_may_remove(const struct job_key *key);
/* The STARTED of this attempt is durable. */
bool oracle_has_started(const struct job_key *key);
/* Somebody asks for the end of it, or of all of a user's; sends it a signal. */
void oracle_cancelled(uint64_t id);
void oracle_cancelled_all(uid_t uid);
/* It was told that a cancel comes too late. */
void oracle_too_late(uint64_t id);
void oracle_signalled(uint64_t id);
/* It was told that the job is held. Whether any is. */
void oracle_held(uint64_t id);
bool oracle_holds(void);
/* The answer to a submission. */
void oracle_answered(struct order *o, uint64_t id, bool existed, int error);
/* One that waits was told of this end. */
void oracle_told_end(uint64_t id, int64_t index);
/* Something has happened that excuses exec_failed, and lost ends. */
void oracle_excuse_failures(void);
/* Memory was short: a submission may be durable and unknown to voltd until it starts
 * again, with its key. */
void oracle_excuse_keys(void);
void oracle_rebooted(bool keeps_records);
/* A client was told how a job is. */
struct job_view;
void oracle_look(const struct job_view *v);
/* What an attempt has left has its claims, and nobody knows when it ends: only a reboot
 * helps. */
bool oracle_is_stuck(void);
/* All jobs have ended. */
bool oracle_is_over(void);
/* All elements of some array have ended, and the store does not have its end. */
bool oracle_lacks_ends(void);
void oracle_check_over(void);
/* Of voltd itself, at any time outside of its lock. */
void oracle_check_core(void);
/* The same when nothing is left to be done. */
void oracle_check_quiet(void);
void oracle_check_slots(void);
void inside_reset(void);
/* The configuration has another number of slots. */
void inside_note_slots(void);

#define SHIMS_MAX 9 /* that may be killed before a job begins, and it is no failure */

/* What really happened to an attempt: shims.c. */
struct truth {
    unsigned runs;
    unsigned in_vain; /* shims that had it were killed before it began */
    bool lives;       /* its process does */
    bool stands, due; /* it was stopped; and has come to its end otherwise */
    bool has_end, was_signalled, shim_killed, rebooted, never_ran;
    bool record_gone; /* somebody has removed it */
    bool has_cgroup, is_oom;
    int end, status; /* of slot 2: enum record_end */
    uint32_t pid;
    uint64_t run_usec; /* when it began; 0: never */
};
/* Zeroes: nothing. */
struct truth truth_of(const struct job_key *key);
/* The number of attempts of the job or element that live. */
unsigned truth_alive(uint64_t id, int64_t index);

/* --- leases.c ------------------------------------------------------------------------- */

void leases_reset(void);
void leases_voltd_died(void);
void leases_rebooted(void);
/* A process outside of jobs asks for a lock, and has it for a while. */
void leases_act(void);
/* A lease that a process of this user's has; 0: there is none. */
uint64_t leases_one_of(uid_t uid);
/* How many have one or ask for one. */
unsigned leases_open(void);
/* Adds those that have it now. */
void leases_count(uid_t uid, uint32_t lock, uint32_t *sum, uint32_t *alone);
/* oracle.c: nothing has that lock beside what has it alone. */
void oracle_check_lock(uid_t uid, uint32_t lock);
/* files.c: the last descriptor of the lease has been closed. */
void files_lease_closed(uint64_t id);

/* --- pauses.c ------------------------------------------------------------------------- */

void pauses_reset(void);
/* A durable fact of a job or element. Whether it is of a pause: nothing else changes. */
bool pauses_fact(const struct job_key *key, const struct job_event *ev);
/* Its process is stopped. */
void pauses_stop(const struct job_key *key);
/* What a call that holds or releases a job is told: its result. It has to be one that such a
 * call makes an answer of. */
int pauses_answered(uint64_t id, int r);
/* Something is paused. */
bool pauses_any(void);

/* --- edits.c -------------------------------------------------------------------------- */

struct job_edit;
void edits_reset(void);
void edits_submit(uint64_t id, const struct job_spec *spec, uid_t uid);
/* Some times for an edit; returns their tags. */
uint64_t edits_choose_times(struct job_spec *s);
/* The owner asks for it, of a job. */
struct job_owner;
void edits_ask(struct volt_cx *cx, const struct asker *asker, const struct job_key *key,
               struct job_edit *e, struct job_spec *changes);
/* A durable fact of a job or element. Whether it is an EDIT: nothing else changes. */
bool edits_fact(const struct job_key *key, const struct job_event *ev);
/* By these facts: whether it starts too early; a date, or 0; what it claims, as an order
 * says it. */
struct edits_lock {
    uint32_t number, claims;
};
bool edits_too_early(uint64_t id, uint64_t date);
uint64_t edits_start_by(uint64_t id);
/* Also by what somebody has asked for. */
bool edits_may_expire(uint64_t id);
struct edits_lock edits_lock_of(uint64_t id);
/* The jobs that it waits for; also by what somebody has asked for, whether there are any. */
const struct job_edge *edits_after(uint64_t id, uint32_t *ret_n);
bool edits_may_depend(uint64_t id);
/* A client was told how a job is. */
void edits_look(const struct job_view *v);
/* A voltd begins: what it has in memory. */
void edits_check_core(struct core *core);

/* --- clients.c ------------------------------------------------------------------------ */

void clients_reset(void);
/* Makes a client that asks for something. */
void clients_act(void);
/* One that watches all that happens. */
void clients_watch(void);
/* All that is held is released, and all that is paused resumed. */
void clients_release_all(void);
void clients_resume_queues(void);
void clients_resume_all(void);
/* The user of the job asks that of it. */
enum steer_job { STEER_JOB_CANCEL, STEER_JOB_PAUSE, STEER_JOB_RESUME };
void clients_steer(enum steer_job what, const struct job_key *key);
void clients_voltd_died(void);
/* Clients that have not been answered yet, of this voltd. */
unsigned clients_open(void);
/* Those that watch have been told of everything. */
void clients_check_watchers(void);

/* --- history.c ------------------------------------------------------------------------ */

/* What a history may have at most: for making one that fails smaller. */
struct history_limits {
    uint32_t faults;
    unsigned actions;
};
extern struct history_limits history_limits;

/* It happens now; to this attempt, or NULL: to any. */
void history_fault(enum sim_fault f, const struct job_key *key);
/* One history. A promise that is broken ends the process. */
void history_run(uint64_t seed);
/* Removes what histories of this process have left on the real disk. */
void history_clean(void);

/* --- aim.c -------------------------------------------------------------------------------- */

struct attempt_state;
/* A history begins: the faults that it needs for what it aims at. */
uint32_t aim_reset(void);
/* How long it lasts when its clients have asked for all that they will. */
uint64_t aim_lasts(void);
void aim_voltd_died(void);
/* An attempt of voltd has come to this state. */
void aim_note(const struct attempt_state *s);

/* --- cover.c --------------------------------------------------------------------------- */

struct cover; /* in memory that processes share */
void cover_init(void);
void cover_note_history(void);
uint64_t cover_posts(void);
uint64_t cover_histories(void);
void cover_note_fault(enum sim_fault f);
/* Something has asked whether it would wait for ever. */
void cover_note_circle(bool refused);
void cover_note_end(unsigned state, unsigned result);
/* Any row of the attempt's table that can come: its phase and its input. */
void cover_a_row(uint8_t *ret_phase, uint8_t *ret_on);
void cover_print(bool all);
/* Whether enough rows of the attempt's table have come for so many histories, and circles
 * among waits; says what has not. */
bool cover_check(void);

#endif
