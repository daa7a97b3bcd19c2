/* The moves of the world around an attempt: attempt_world.h. */
#include "tests/support/attempt_world_parts.h"

#include <errno.h>
#include <string.h>

/* --- moves: voltd ----------------------------------------------------------------- */

static bool turn(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || w->memory.state != JOB_QUEUED || !(w->granted || w->early) ||
        w->npending > 0 || w->memory.attempt == WORLD_ATTEMPTS)
        return false;
    if (!w->has)
        world_forget_attempt(w);
    if (w->a.phase != ATTEMPT_NEW)
        return false;
    w->has = true;
    world_post(w, FACT_STARTING, true, rules);
    w->kept_started = false;
    return true;
}

/* The first fact that is on its way becomes durable. */
static bool commit(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || w->npending == 0)
        return false;
    uint8_t fact = w->pending[0];
    w->npending--;
    memmove(w->pending, w->pending + 1, WORLD_PENDING - 1);
    w->pending[WORLD_PENDING - 1] = 0;
    world_promise(rules, world_apply_fact(&w->durable, fact),
                  "T-6: the store has an event out of place");
    if (fact == FACT_STARTING && w->has && w->a.phase == ATTEMPT_NEW)
        return world_take(w, ON_MARKED, rules);
    if (!world_is_end(fact) || !w->has || w->a.phase != ATTEMPT_ENDING)
        return true;
    if (w->ending)
        (void)world_apply_fact(&w->memory, fact & (uint8_t)~WITH_STARTED);
    (void)world_take(w, ON_DURABLE, rules);
    world_forget_attempt(w);
    if (w->memory.state == JOB_DONE) /* or it was cancelled before another attempt */
        w->granted = w->early = false;
    return true;
}

static bool refuse_mark(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || !w->has || w->npending != 1 || w->pending[0] != FACT_STARTING ||
        w->a.phase != ATTEMPT_NEW)
        return false;
    w->failed = true; /* no memory to append it: the end goes with one that is owed */
    return world_take(w, ON_UNMARKED, rules);
}

static bool drop_end(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_STORE_REFUSED) || !w->ending || w->npending == 0)
        return false;
    w->npending--; /* it was the last, and nothing can follow */
    uint8_t fact = w->pending[w->npending] & (uint8_t)~WITH_STARTED;
    w->pending[w->npending] = 0;
    (void)world_apply_fact(&w->memory, fact);
    (void)world_take(w, ON_STORE_REFUSED, rules);
    world_forget_attempt(w);
    return true; /* the next voltd will know */
}

static bool adopt(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || !w->has || w->a.phase != ATTEMPT_NEW || w->a.known < ATTEMPT_ADOPTED)
        return false;
    return world_take(w, ON_ADOPTED, rules);
}

static bool cancel(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || w->cancel_came || w->ending || w->memory.state == JOB_DONE ||
        w->memory.cancelled || w->npending >= WORLD_PENDING - 2)
        return false;
    w->cancel_came = true;
    world_post(w, FACT_CANCEL, true, rules);
    if (w->memory.state == JOB_DONE && (!w->has || w->a.phase != ATTEMPT_ENDING)) {
        world_forget_attempt(w); /* nothing of it is anywhere */
        w->granted = w->early = false;
    }
    return true;
}

static bool pause_job(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || w->memory.was_paused || w->ending ||
        w->memory.state != JOB_RUNNING || w->npending >= WORLD_PENDING - 2)
        return false;
    world_post(w, FACT_PAUSE, true, rules);
    return true;
}

static bool resume_job(struct world *w, struct world_rules *rules)
{
    if (!w->voltd || w->ending || w->memory.state != JOB_PAUSED ||
        w->npending >= WORLD_PENDING - 1)
        return false;
    world_post(w, FACT_RESUME, true, rules);
    return true;
}

/* --- moves: its place ------------------------------------------------------------- */

static bool grant(struct world *w)
{
    if (!w->voltd || w->granted || w->ending || w->memory.state == JOB_DONE ||
        (w->memory.state != JOB_QUEUED && !w->early))
        return false;
    w->granted = true;
    w->early = false;
    return true;
}

static bool go_ahead(struct world *w)
{
    if (!w->voltd || w->granted || w->early || w->memory.state != JOB_QUEUED)
        return false;
    return w->early = true;
}

/* The row of ON_SLOT was taken, and START is not sent. */
static bool make_no_start(struct world *w, enum attempt_input in,
                          struct world_rules *rules)
{
    w->call = OP_NONE;
    w->unsent = false;
    w->failed = true;
    return world_take(w, in, rules);
}

static bool find_place(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_SLOT))
        return false;
    if (w->memory.state >= JOB_STOPPING)
        return world_take(w, ON_STOP, rules);
    const bool exists = world_truth(w)->record != RECORD_IS_ABSENT;
    if (!w->granted || !world_take(w, ON_SLOT, rules))
        return false;
    return !exists || w->call != OP_START || make_no_start(w, ON_EXISTS, rules);
}

/* Before START is sent something is found missing. */
static bool find_no_start(struct world *w, enum attempt_input in,
                          struct world_rules *rules)
{
    if ((in == ON_UNREADY && w->prepared) || world_truth(w)->record != RECORD_IS_ABSENT ||
        !find_place(w, rules) || w->call != OP_START)
        return false;
    rules->broken = NULL;
    world_truth(w)->record = RECORD_IS_ABSENT;
    w->made = false;
    w->prepared &= in != ON_UNREADY;
    return make_no_start(w, in, rules);
}

static bool defer(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_DEFERRED) || !w->early || w->memory.state != JOB_STARTING ||
        w->npending >= WORLD_PENDING - 1)
        return false;
    world_promise(rules,
                  world_truth(w)->record == RECORD_IS_ABSENT || world_truth(w)->forgiven,
                  "T-7: what goes back to the queue has a record");
    for (unsigned i = 0; i < w->nrequests; i++)
        world_promise(rules,
                      w->request[i].op != OP_START || world_truth(w)->forgiven ||
                          w->request[i].attempt != world_current(w),
                      "T-7: what goes back to the queue is on its way to the keeper");
    world_post(w, FACT_DEFERRED, true, rules);
    w->early = false;
    return world_take(w, ON_DEFERRED, rules);
}

/* --- moves: what an attempt hears ------------------------------------------------- */

static bool send_call(struct world *w)
{
    if (!w->voltd || w->call == OP_NONE || !w->unsent || !w->connected ||
        w->nrequests == WORLD_REQUESTS)
        return false;
    if (w->call == OP_START && world_truth(w)->record == RECORD_IS_OURS)
        world_truth(w)->record = RECORD_IS_SENT;
    w->request[w->nrequests++] =
        (struct world_request){w->call, (uint8_t)world_current(w), true};
    w->unsent = false;
    return true;
}

static bool withdraw(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_WITHDRAWN) || !w->unsent || w->memory.state < JOB_STOPPING)
        return false;
    w->call = OP_NONE;
    w->unsent = false;
    if (world_truth(w)->record == RECORD_IS_OURS)
        world_close_record(w, world_current(w), RECORD_IS_NEVER);
    return world_take(w, ON_WITHDRAWN, rules);
}

static bool hear_answer(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_RESET) || w->call == OP_NONE || !w->answered)
        return false;
    enum attempt_input in =
        w->status == SAID_LEFT ? ON_LEFT
                               : attempt_answer(attempt_awaited_inputs(&w->a), w->status);
    w->call = OP_NONE;
    w->answered = false;
    w->status = 0;
    return world_take(w, in, rules);
}

/* The record of what never ran goes, if there is one. */
static bool remove_record(struct world *w, enum serve how, struct world_rules *rules)
{
    const int status = how == SERVE_SHORT ? -EMFILE : how == SERVE_NO ? -EIO : 0;

    if (!w->voltd || !w->has || w->a.phase != ATTEMPT_REMOVING ||
        (!w->made && status != 0))
        return false;
    w->failed |= status != 0;
    if (status == 0 && w->made)
        world_remove_record(w, world_current(w), rules);
    w->made &= status != 0;
    return world_take(w, attempt_answer(attempt_awaited_inputs(&w->a), status), rules);
}

/* While a call is on its way the record alone is looked at besides. */
static bool is_quiet(const struct world *w)
{
    return !world_hears(w, ON_RESET);
}

static bool has_slot1(const struct world *w)
{
    uint8_t r = w->truth[world_current(w)].record;

    return r == RECORD_IS_RUN || r == RECORD_IS_DONE || r == RECORD_IS_KILLED;
}

static bool see_start(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_STARTED) && is_quiet(w) && w->probe && has_slot1(w) &&
           world_take(w, ON_STARTED, rules);
}

static bool look(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_OVER) || !w->look)
        return false;
    uint8_t r = world_truth(w)->record;
    w->look = false;
    if (world_truth(w)->removed && w->adopted)
        world_truth(w)->forgiven = true; /* that it was there nobody can know */
    if (world_is_held(r))
        return true;
    if (world_hears(w, ON_STARTED) && has_slot1(w)) {
        w->look = true; /* it comes first */
        return world_take(w, ON_STARTED, rules);
    }
    w->armed = false;
    w->made = r != RECORD_IS_ABSENT;
    return world_take(w,
                      r == RECORD_IS_ABSENT   ? ON_ABSENT
                      : r == RECORD_IS_NEVER  ? ON_NEVER_RAN
                      : r == RECORD_IS_KILLED ? ON_SHIM_KILLED
                                              : ON_OVER,
                      rules);
}

static bool stop(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_STOP) && is_quiet(w) && w->memory.state >= JOB_STOPPING &&
           world_take(w, ON_STOP, rules);
}

static bool turn_over(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_TURNED) && w->memory.state < JOB_STOPPING &&
           (w->memory.state == JOB_PAUSED) != (w->a.phase == ATTEMPT_PAUSED) &&
           world_take(w, ON_TURNED, rules);
}

static bool know_kept(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_DURABLE) && w->a.phase == ATTEMPT_PAUSE_DUE &&
           w->npending == 0 && world_take(w, ON_DURABLE, rules);
}

static bool reach_limit(struct world *w, struct world_rules *rules)
{
    if (!world_hears(w, ON_LIMIT) || !is_quiet(w) || !w->limit ||
        (w->a.phase == ATTEMPT_RUNNING && w->memory.state >= JOB_STOPPING) ||
        w->npending >= WORLD_PENDING - 1)
        return false;
    return world_take(w, ON_LIMIT, rules);
}

/* The row is not carried out: there was no memory for its event. */
static bool post_nothing(struct world *w, enum attempt_input in,
                         struct world_rules *rules)
{
    if (!world_hears(w, in) || w->a.phase != ATTEMPT_RUNNING ||
        w->memory.state != JOB_RUNNING || (in == ON_LIMIT && !w->limit))
        return false;
    attempt_follow(&w->a, attempt_find(&w->a, in));
    return world_take(w, ON_UNPOSTED, rules);
}

static bool reach_probe(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_PROBE) && w->probe && world_take(w, ON_PROBE, rules);
}

static bool print(struct world *w, struct world_rules *rules)
{
    return world_hears(w, ON_PRINTED) && w->memory.state == JOB_RUNNING &&
           w->npending < WORLD_PENDING - 1 && world_take(w, ON_PRINTED, rules);
}

/* --- moves: shims ----------------------------------------------------------------- */

static bool run(struct world *w, unsigned n, struct world_rules *rules)
{
    struct world_attempt *t = &w->truth[n], *other = &w->truth[1 - n];

    if (t->record != RECORD_IS_BORN)
        return false;
    world_promise(rules, t->runs == 0 || t->forgiven, "T-2: an attempt runs twice");
    world_promise(rules, !world_is_posted(w, n), "T-2: an attempt runs after its end");
    world_promise(rules, !other->lives || other->removed,
                  "T-3: two attempts run side by side");
    t->record = RECORD_IS_RUN;
    t->runs = 1;
    t->lives = true;
    t->stands = false;
    return true;
}

static bool end_process(struct world *w, unsigned n)
{
    struct world_attempt *t = &w->truth[n];

    if (!t->lives || t->stands || t->record == RECORD_IS_RUN)
        return false;
    t->lives = false;
    return true;
}

/* One that is to stop does not do so by itself. */
static bool write_end(struct world *w, unsigned n, bool by_itself)
{
    struct world_attempt *t = &w->truth[n];
    bool defies = t->lives && w->voltd && w->memory.state >= JOB_STOPPING;

    if (t->record != RECORD_IS_RUN || defies != by_itself || t->stands)
        return false;
    t->lives = false;
    world_close_record(w, n, RECORD_IS_DONE);
    return true;
}

static bool fail_fork(struct world *w, unsigned n)
{
    if (w->truth[n].record != RECORD_IS_BORN)
        return false;
    world_close_record(w, n, RECORD_IS_FAILED);
    return true;
}

/* --- moves: the link -------------------------------------------------------------- */

static bool begin_voltd(struct world *w)
{
    if (w->voltd)
        return false;
    w->voltd = true;
    w->memory = w->durable;
    world_forget_attempt(w);
    w->granted = w->early = w->ending = false;
    w->kept_started = w->durable.started;
    for (unsigned n = 0; n < WORLD_ATTEMPTS; n++) /* orphans_scan() */
        w->truth[n].swept =
            w->truth[n].record != RECORD_IS_ABSENT && w->durable.attempt >= n + 1 &&
            (w->durable.state == JOB_DONE || w->durable.state == JOB_QUEUED ||
             w->durable.attempt > n + 1);
    if (w->durable.state == JOB_DONE || w->durable.state == JOB_QUEUED)
        return true;
    struct world_attempt *t = world_truth(w);
    bool strange = w->durable.other_life || w->durable.started;
    w->adopted = w->has = true;
    w->a.known = strange ? ATTEMPT_STRANGE : ATTEMPT_ADOPTED;
    w->a.paused = w->durable.state == JOB_PAUSED;
    w->a.halted = w->durable.state == JOB_RUNNING && w->durable.was_paused;
    w->early = w->durable.state == JOB_STARTING && !strange &&
               (t->record == RECORD_IS_ABSENT || t->record == RECORD_IS_NEVER);
    w->granted = !w->early;
    w->assumed = w->granted && w->durable.state == JOB_STARTING;
    return true;
}

static bool connect_keeper(struct world *w)
{
    if (!w->voltd || w->connected)
        return false;
    world_lose_connection(w);
    world_drop_requests(w);
    return w->keeper = w->connected = true;
}

static bool sweep(struct world *w, unsigned n, struct world_rules *rules)
{
    if (!w->voltd || !w->truth[n].swept)
        return false;
    w->truth[n].swept = false;
    if (!world_is_held(w->truth[n].record))
        world_remove_record(w, n, rules);
    return true;
}

/* --- moves: faults ---------------------------------------------------------------- */

/* After it nothing can be known any more of a record that was spoiled. */
static bool kill_voltd(struct world *w)
{
    if (!w->voltd || w->spoiled)
        return false;
    world_forget_attempt(w); /* what it has sent stays on its way */
    w->voltd = w->connected = false;
    w->granted = w->early = w->ending = w->kept_started = false;
    memset(&w->memory, 0, sizeof(w->memory));
    memset(w->pending, 0, sizeof(w->pending));
    w->npending = 0;
    for (unsigned n = 0; n < WORLD_ATTEMPTS; n++) {
        w->truth[n].swept = false;
        if (w->truth[n].record == RECORD_IS_OURS)
            w->truth[n].record = RECORD_IS_NEVER;
    }
    return true;
}

/* An end that could not be stored is the next voltd's. */
static bool end_voltd(struct world *w)
{
    return w->memory.state == JOB_DONE && w->durable.state != JOB_DONE &&
           w->npending == 0 && kill_voltd(w);
}

static bool kill_keeper(struct world *w)
{
    if (!w->keeper)
        return false;
    world_lose_connection(w);
    world_drop_requests(w);
    w->keeper = false;
    return true;
}

static bool break_connection(struct world *w)
{
    if (!w->connected)
        return false;
    world_lose_connection(w);
    return true;
}

static bool kill_shim(struct world *w, unsigned n)
{
    struct world_attempt *t = &w->truth[n];

    if (t->record != RECORD_IS_BORN && t->record != RECORD_IS_RUN)
        return false;
    t->excused |= t->record == RECORD_IS_RUN;
    w->failed |= t->record == RECORD_IS_BORN;
    world_close_record(w, n,
                       t->record == RECORD_IS_RUN ? RECORD_IS_KILLED : RECORD_IS_NEVER);
    return true;
}

static bool cut_power(struct world *w, bool keeps_records)
{
    if (w->spoiled)
        return false;
    (void)kill_voltd(w);
    (void)kill_keeper(w);
    for (unsigned n = 0; n < WORLD_ATTEMPTS; n++) {
        struct world_attempt *t = &w->truth[n];
        t->lives = t->stands = false;
        t->excused |= w->durable.attempt == n + 1;
        if (!keeps_records)
            t->record = RECORD_IS_ABSENT;
        else if (t->record != RECORD_IS_ABSENT && t->record != RECORD_IS_DONE &&
                 t->record != RECORD_IS_FAILED)
            t->record = RECORD_IS_BOOT;
    }
    w->durable.other_life =
        w->durable.state != JOB_QUEUED && w->durable.state != JOB_DONE;
    return true;
}

/* What somebody else does to the record of the first attempt, once. */
static bool spoil_record(struct world *w, uint8_t from, uint8_t to)
{
    struct world_attempt *t = &w->truth[0];

    if (!w->voltd || w->spoiled || t->record == to || (from != to && t->record != from))
        return false;
    w->spoiled = w->failed = t->excused = true;
    t->removed = true;
    /* Of what is not known to be there nobody can see that it has gone. */
    t->forgiven =
        to != from || !w->voltd || w->call != OP_NONE || w->a.known != ATTEMPT_FRESH;
    world_close_record(w, 0, to);
    return true;
}

/* --- all moves -------------------------------------------------------------------- */

enum {
    MOVE_TURN,
    MOVE_COMMIT,
    MOVE_ADOPT,
    MOVE_GRANT,
    MOVE_EARLY,
    MOVE_PLACE,
    MOVE_DEFER,
    MOVE_SEND,
    MOVE_WITHDRAW,
    MOVE_ANSWER,
    MOVE_REMOVE,
    MOVE_SLOT1,
    MOVE_LOOK,
    MOVE_STOP,
    MOVE_TURN_OVER,
    MOVE_KEPT,
    MOVE_RESUME,
    MOVE_LIMIT,
    MOVE_PROBE,
    MOVE_SERVE,
    MOVE_RUN_1,
    MOVE_RUN_2,
    MOVE_LEFT_1,
    MOVE_LEFT_2,
    MOVE_END_1,
    MOVE_END_2,
    MOVE_BEGIN,
    MOVE_CONNECT,
    MOVE_SWEEP_1,
    MOVE_SWEEP_2,
    MOVE_RESTART,
    MOVE_CANCEL,
    MOVE_PAUSE,
    MOVE_DEFY_1,
    MOVE_DEFY_2,
    MOVE_PRINT,
    MOVE_NO_LAUNCH,
    MOVE_NO_TIMEOUT,
    MOVE_NO_OUTPUT_LIMIT,
    MOVE_NO_STARTING,
    MOVE_NO_EXITED,
    MOVE_SHORT,
    MOVE_NO,
    MOVE_NO_RECORD,
    MOVE_NO_RECORD_EVER,
    MOVE_REMOVE_SHORT,
    MOVE_REMOVE_NO,
    MOVE_SURVIVED,
    MOVE_KILL_VOLTD,
    MOVE_KILL_KEEPER,
    MOVE_BREAK,
    MOVE_KILL_SHIM_1,
    MOVE_KILL_SHIM_2,
    MOVE_NO_FORK_1,
    MOVE_POWER,
    MOVE_POWER_KEEPS,
    MOVE_REMOVES,
    MOVE_EMPTIES,
    MOVE_LEAVES,
};

static const struct {
    const char *name;
    bool fault;
    uint8_t part; /* of the world that has it: enum world_part; 0: all */
} moves[] = {
    [MOVE_TURN] = {"its turn comes: STARTING is appended", false, 0},
    [MOVE_COMMIT] = {"a fact becomes durable", false, 0},
    [MOVE_ADOPT] = {"voltd takes up what an earlier one began", false, 0},
    [MOVE_GRANT] = {"it gets a slot", false, 0},
    [MOVE_EARLY] = {"it is taken ahead", false, 0},
    [MOVE_PLACE] = {"voltd looks for a place", false, 0},
    [MOVE_DEFER] = {"it goes back to the queue", false, 0},
    [MOVE_SEND] = {"a request is sent", false, 0},
    [MOVE_WITHDRAW] = {"START is withdrawn", false, 0},
    [MOVE_ANSWER] = {"the keeper's answer comes", false, 0},
    [MOVE_REMOVE] = {"the record of what never ran is removed", false, 0},
    [MOVE_SLOT1] = {"slot 1 is seen", false, 0},
    [MOVE_LOOK] = {"the record is looked at", false, 0},
    [MOVE_STOP] = {"it is to stop", false, 0},
    [MOVE_TURN_OVER] = {"it is to be paused, or to go on", false, WORLD_PAUSES},
    [MOVE_KEPT] = {"voltd hears that the store has all facts", false, WORLD_PAUSES},
    [MOVE_RESUME] = {"somebody resumes the job", false, WORLD_PAUSES},
    [MOVE_LIMIT] = {"a time is up", false, 0},
    [MOVE_PROBE] = {"a signal is due again", false, 0},
    [MOVE_SERVE] = {"the keeper serves a request", false, 0},
    [MOVE_RUN_1] = {"attempt 1 runs", false, 0},
    [MOVE_RUN_2] = {"attempt 2 runs", false, 0},
    [MOVE_LEFT_1] = {"what attempt 1 has left ends", false, 0},
    [MOVE_LEFT_2] = {"what attempt 2 has left ends", false, 0},
    [MOVE_END_1] = {"attempt 1 ends: slot 2", false, 0},
    [MOVE_END_2] = {"attempt 2 ends: slot 2", false, 0},
    [MOVE_BEGIN] = {"voltd begins", false, 0},
    [MOVE_CONNECT] = {"voltd connects", false, 0},
    [MOVE_SWEEP_1] = {"the record of attempt 1 is removed", false, 0},
    [MOVE_SWEEP_2] = {"the record of attempt 2 is removed", false, 0},
    [MOVE_RESTART] = {"voltd ends", false, 0},
    [MOVE_CANCEL] = {"somebody cancels the job", true, 0},
    [MOVE_PAUSE] = {"somebody pauses the job", true, WORLD_PAUSES},
    [MOVE_DEFY_1] = {"attempt 1 ends while it is to stop", true, 0},
    [MOVE_DEFY_2] = {"attempt 2 ends while it is to stop", true, 0},
    [MOVE_PRINT] = {"it has printed too much", true, WORLD_STOPS},
    [MOVE_NO_LAUNCH] = {"nothing can be prepared", true, WORLD_REFUSALS},
    [MOVE_NO_TIMEOUT] = {"there is no memory to post TIMEOUT", true, 0},
    [MOVE_NO_OUTPUT_LIMIT] = {"there is no memory to post OUTPUT_LIMIT", true,
                              WORLD_STOPS},
    [MOVE_NO_STARTING] = {"the store refuses STARTING", true, WORLD_REFUSALS},
    [MOVE_NO_EXITED] = {"the store refuses EXITED", true, WORLD_REFUSALS},
    [MOVE_SHORT] = {"the keeper is short of something", true, 0},
    [MOVE_NO_RECORD] = {"voltd is short of what a record needs", true, WORLD_REFUSALS},
    [MOVE_NO_RECORD_EVER] = {"no record can be made", true, WORLD_REFUSALS},
    [MOVE_REMOVE_SHORT] = {"voltd is short of what a removal needs", true,
                           WORLD_REFUSALS},
    [MOVE_REMOVE_NO] = {"a record cannot be removed", true, WORLD_REFUSALS},
    [MOVE_NO] = {"the keeper refuses", true, WORLD_REFUSALS},
    [MOVE_SURVIVED] = {"SIGKILL leaves processes", true, 0},
    [MOVE_KILL_VOLTD] = {"voltd is killed", true, 0},
    [MOVE_KILL_KEEPER] = {"the keeper is killed", true, 0},
    [MOVE_BREAK] = {"the connection breaks", true, 0},
    [MOVE_KILL_SHIM_1] = {"the shim of attempt 1 is killed", true, 0},
    [MOVE_KILL_SHIM_2] = {"the shim of attempt 2 is killed", true, 0},
    [MOVE_NO_FORK_1] = {"attempt 1 cannot be forked", true, WORLD_REFUSALS},
    [MOVE_POWER] = {"the power is cut; records are gone", true, 0},
    [MOVE_POWER_KEEPS] = {"the power is cut; records stay", true, 0},
    [MOVE_REMOVES] = {"somebody removes the record of attempt 1", true, WORLD_SPOILS},
    [MOVE_EMPTIES] = {"somebody empties the record of attempt 1", true, WORLD_SPOILS},
    [MOVE_LEAVES] = {"somebody has left a record for attempt 1", true, WORLD_SPOILS},
};

const char *world_move_name(unsigned move)
{
    return move < sizeof(moves) / sizeof(moves[0]) ? moves[move].name : NULL;
}

bool world_move_is_fault(unsigned move)
{
    return moves[move].fault;
}

static bool make_move(struct world *w, unsigned move, struct world_rules *rules)
{
    switch (move) {
    case MOVE_TURN:
        return turn(w, rules);
    case MOVE_COMMIT:
        return commit(w, rules);
    case MOVE_ADOPT:
        return adopt(w, rules);
    case MOVE_GRANT:
        return grant(w);
    case MOVE_EARLY:
        return go_ahead(w);
    case MOVE_PLACE:
        return find_place(w, rules);
    case MOVE_DEFER:
        return defer(w, rules);
    case MOVE_SEND:
        return send_call(w);
    case MOVE_WITHDRAW:
        return withdraw(w, rules);
    case MOVE_ANSWER:
        return hear_answer(w, rules);
    case MOVE_REMOVE:
        return remove_record(w, SERVE_WELL, rules);
    case MOVE_SLOT1:
        return see_start(w, rules);
    case MOVE_LOOK:
        return look(w, rules);
    case MOVE_STOP:
        return stop(w, rules);
    case MOVE_TURN_OVER:
        return turn_over(w, rules);
    case MOVE_KEPT:
        return know_kept(w, rules);
    case MOVE_RESUME:
        return resume_job(w, rules);
    case MOVE_LIMIT:
        return reach_limit(w, rules);
    case MOVE_PROBE:
        return reach_probe(w, rules);
    case MOVE_SERVE:
        return world_serve(w, SERVE_WELL);
    case MOVE_RUN_1:
        return run(w, 0, rules);
    case MOVE_RUN_2:
        return run(w, 1, rules);
    case MOVE_LEFT_1:
        return end_process(w, 0);
    case MOVE_LEFT_2:
        return end_process(w, 1);
    case MOVE_END_1:
        return write_end(w, 0, false);
    case MOVE_END_2:
        return write_end(w, 1, false);
    case MOVE_BEGIN:
        return begin_voltd(w);
    case MOVE_CONNECT:
        return connect_keeper(w);
    case MOVE_SWEEP_1:
        return sweep(w, 0, rules);
    case MOVE_SWEEP_2:
        return sweep(w, 1, rules);
    case MOVE_RESTART:
        return end_voltd(w);
    case MOVE_CANCEL:
        return cancel(w, rules);
    case MOVE_PAUSE:
        return pause_job(w, rules);
    case MOVE_DEFY_1:
        return write_end(w, 0, true);
    case MOVE_DEFY_2:
        return write_end(w, 1, true);
    case MOVE_PRINT:
        return print(w, rules);
    case MOVE_NO_LAUNCH:
        return find_no_start(w, ON_UNREADY, rules);
    case MOVE_NO_TIMEOUT:
        return post_nothing(w, ON_LIMIT, rules);
    case MOVE_NO_OUTPUT_LIMIT:
        return post_nothing(w, ON_PRINTED, rules);
    case MOVE_NO_STARTING:
        return refuse_mark(w, rules);
    case MOVE_NO_EXITED:
        return drop_end(w, rules);
    case MOVE_SHORT:
        return world_serve(w, SERVE_SHORT);
    case MOVE_NO:
        return world_serve(w, SERVE_NO);
    case MOVE_NO_RECORD:
        return find_no_start(w, ON_SHORT, rules);
    case MOVE_NO_RECORD_EVER:
        return find_no_start(w, ON_REFUSED, rules);
    case MOVE_REMOVE_SHORT:
        return remove_record(w, SERVE_SHORT, rules);
    case MOVE_REMOVE_NO:
        return remove_record(w, SERVE_NO, rules);
    case MOVE_SURVIVED:
        return world_serve(w, SERVE_SURVIVED);
    case MOVE_KILL_VOLTD:
        return kill_voltd(w);
    case MOVE_KILL_KEEPER:
        return kill_keeper(w);
    case MOVE_BREAK:
        return break_connection(w);
    case MOVE_KILL_SHIM_1:
        return kill_shim(w, 0);
    case MOVE_KILL_SHIM_2:
        return kill_shim(w, 1);
    case MOVE_NO_FORK_1:
        return fail_fork(w, 0);
    case MOVE_POWER:
        return cut_power(w, false);
    case MOVE_POWER_KEEPS:
        return cut_power(w, true);
    case MOVE_REMOVES:
        return spoil_record(w, RECORD_IS_ABSENT, RECORD_IS_ABSENT);
    case MOVE_EMPTIES:
        return spoil_record(w, RECORD_IS_KILLED, RECORD_IS_NEVER);
    case MOVE_LEAVES:
        return spoil_record(w, RECORD_IS_ABSENT, RECORD_IS_NEVER);
    }
    return false;
}

/* It is to run, and stands still, and nothing is on its way to it. */
static bool is_forgotten(const struct world *w)
{
    const struct world_attempt *t = &w->truth[world_current(w)];

    return w->voltd && w->has && w->a.phase == ATTEMPT_RUNNING && t->stands &&
           t->record == RECORD_IS_RUN && w->memory.state == JOB_RUNNING &&
           w->nrequests == 0;
}

bool world_move(struct world *w, unsigned move, struct world_rules *rules)
{
    rules->broken = NULL;
    rules->row = NULL;
    if (moves[move].part & ~rules->parts)
        return false;
    if (rules->parts & WORLD_PAUSES && moves[move].fault && !w->truth[0].runs)
        return false;
    if (!make_move(w, move, rules))
        return false;
    world_promise(rules, !is_forgotten(w), "T-10: it is stopped, and nobody knows");
    return rules->broken == NULL;
}

void world_init(struct world *w, const struct world_rules *rules)
{
    memset(w, 0, sizeof(*w));
    w->durable.retry = rules->retry;
    w->stop_kills = rules->stop_kills;
    w->durable.lost = LOST_BEFORE;
    w->memory = w->durable;
    w->voltd = w->keeper = w->connected = true;
    world_settle_counters(&w->a);
}

bool world_is_over(const struct world *w)
{
    if (!w->voltd || w->durable.state != JOB_DONE || w->npending > 0)
        return false;
    for (unsigned n = 0; n < WORLD_ATTEMPTS; n++)
        if (w->truth[n].record != RECORD_IS_ABSENT && !w->truth[n].forgiven)
            return false;
    return !w->granted && !w->early;
}
