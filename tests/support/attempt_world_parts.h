/* What the two files of the world around an attempt share: attempt_world.h. */
#ifndef TESTS_SUPPORT_ATTEMPT_WORLD_PARTS_H
#define TESTS_SUPPORT_ATTEMPT_WORLD_PARTS_H

#include "tests/support/attempt_world.h"

enum world_op {
    OP_NONE,
    OP_START,
    OP_STOP,
    OP_KILL,
    OP_PAUSE,
    OP_RESUME
};
#define SAID_LEFT 1 /* a status, beside 0 and -errno */

/* A fact on its way; STARTED goes with the next one, in one group. */
#define WITH_STARTED 0x40
enum world_fact {
    FACT_STARTING = 1,
    FACT_CANCEL,
    FACT_TIMEOUT,
    FACT_PRINTED,
    FACT_DEFERRED,
    FACT_PAUSE,
    FACT_RESUME,
    FACT_ENDED,
    FACT_FAILED,
    FACT_LOST,
    FACT_LOST_LEFT
};

#define LOST_BEFORE    (JOB_LOST_MAX - 1) /* one more attempt at most */
#define REFUSED_BEFORE (TRIES_MAX - 2)
#define SHORT_BEFORE   (ATTEMPT_SHORT_MAX - 2)

/* How the keeper serves a request, or voltd removes a record. */
enum serve {
    SERVE_WELL,
    SERVE_SHORT,
    SERVE_NO,
    SERVE_SURVIVED
};

void world_promise(struct world_rules *rules, bool kept, const char *what);
bool world_apply_fact(struct world_job *j, uint8_t fact);
bool world_is_end(uint8_t fact);
bool world_is_posted(const struct world *w, unsigned n);
unsigned world_current(const struct world *w);
struct world_attempt *world_truth(struct world *w);
void world_post(struct world *w, uint8_t fact, bool now, struct world_rules *rules);
void world_settle_counters(struct attempt_state *a);
void world_settle(struct world *w);
bool world_take(struct world *w, enum attempt_input in, struct world_rules *rules);
bool world_hears(const struct world *w, enum attempt_input in);
void world_forget_attempt(struct world *w);
bool world_is_held(uint8_t record);
void world_close_record(struct world *w, unsigned n, uint8_t record);
void world_lose_connection(struct world *w);
/* What is on its way is gone, and the records with it. */
void world_drop_requests(struct world *w);
void world_remove_record(struct world *w, unsigned n, struct world_rules *rules);
bool world_serve(struct world *w, enum serve how);

#endif
