/* The world around an attempt, small enough to be searched whole: voltd with the real
 * table (daemon/job/attempt.h) and the real states of a job (job.h), its store, its link,
 * the keeper, and the shims and records of two attempts of one job.
 *
 * world_move() makes one of the moves that the world could make next: a message is
 * served, a fact becomes durable, a timer fires, a process ends; or, as faults, voltd,
 * keeper or shim die, the machine loses power, a connection breaks, the keeper lacks
 * something. What attempt.h promises (T-1 ...) is looked at in each. */
#ifndef TESTS_SUPPORT_ATTEMPT_WORLD_H
#define TESTS_SUPPORT_ATTEMPT_WORLD_H

#include "daemon/job/attempt.h"
#include "daemon/job/job.h"

#define WORLD_ATTEMPTS 2
#define WORLD_PENDING  4 /* facts on their way */
#define WORLD_REQUESTS 2 /* on their way to the keeper */

/* What a replay of facts gives: of struct job_status. */
struct world_job {
    uint8_t state, attempt, lost, result;
    bool started, cancelled, timed_out, printed, other_life, retry;
    bool was_paused; /* and goes on */
};

enum world_record {
    RECORD_IS_ABSENT,
    RECORD_IS_OURS,   /* voltd has it, and no slot is written; held */
    RECORD_IS_SENT,   /* a request on its way has it; held */
    RECORD_IS_BORN,   /* its shim has it; held */
    RECORD_IS_RUN,    /* slot 1; held */
    RECORD_IS_DONE,   /* slot 2 */
    RECORD_IS_FAILED, /* the same, without slot 1 */
    RECORD_IS_NEVER,  /* free, no slot */
    RECORD_IS_KILLED, /* free, slot 1 */
    RECORD_IS_BOOT,   /* of an earlier boot */
};

struct world_attempt {
    uint8_t record; /* enum world_record */
    uint8_t runs;   /* how often it was executed */
    bool lives;     /* its process does */
    bool excused;   /* nobody can know its end */
    bool removed;   /* somebody else has removed its record, */
    bool forgiven;  /* before anything could be known of it */
    bool swept;     /* its record is to be removed */
    bool stands;    /* its process was stopped: it does not end by itself */
};

struct world_request {
    uint8_t op; /* enum world_op */
    uint8_t attempt;
    bool mine; /* voltd waits for the answer */
};

struct world {
    struct attempt_state a;
    struct world_job durable, memory;
    struct world_attempt truth[WORLD_ATTEMPTS];
    uint8_t pending[WORLD_PENDING], npending;
    struct world_request request[WORLD_REQUESTS];
    uint8_t nrequests;
    uint8_t call; /* enum world_op, 0: none */
    bool unsent, answered;
    int8_t status;                          /* of the answer */
    bool voltd, keeper, connected;
    bool has, adopted; /* an attempt; of an earlier life */
    bool granted, early, assumed, kept_started, ending;
    bool prepared, look, armed, limit, probe; /* armed: waits for the record's events */
    bool made; /* a record was made, or seen, and not removed */
    bool failed;                              /* something has, that counts for a try */
    bool cancel_came, spoiled;                /* each at most once */
    uint8_t stop_kills;                       /* of the job */
};

/* Parts of the world that one search has and another has not. */
enum world_part {
    WORLD_STOPS = 2,    /* output limits */
    WORLD_REFUSALS = 4, /* of the store, of what a start needs, of a removal */
    WORLD_SPOILS = 8,   /* somebody else changes a record */
    WORLD_PAUSES = 16,  /* it is paused, and goes on; nothing fails before it runs */
};

struct world_rules {
    uint8_t parts;
    bool retry;                   /* the job's on_lost */
    uint8_t stop_kills;           /* its stop signal is SIGKILL */
    const struct attempt_row *at; /* a mistake: instead of this row, NULL: none, ... */
    const struct attempt_row *instead; /* ... stands this one */
    /* out */
    const char *broken;            /* which promise; NULL: none */
    const struct attempt_row *row; /* taken by the latest move; NULL: none */
    enum attempt_phase phase;      /* in which, */
    enum attempt_input in;         /* by which */
};

void world_init(struct world *w, const struct world_rules *rules);
/* Moves are numbered from 0; NULL: no more. */
const char *world_move_name(unsigned move);
/* Faults need not happen: a way to the end is without them. */
bool world_move_is_fault(unsigned move);
/* False: it cannot be made now, and *w is of no use. */
bool world_move(struct world *w, unsigned move, struct world_rules *rules);
/* The job has ended, the store knows it, and no record that was needed is left. */
bool world_is_over(const struct world *w);

#endif
