/* voltd and keeper in the world around an attempt: attempt_world.h. */
#include "tests/support/attempt_world_parts.h"

#include <errno.h>
#include <string.h>

void world_promise(struct world_rules *rules, bool kept, const char *what)
{
    if (!kept && rules->broken == NULL)
        rules->broken = what;
}

/* --- the job's states, by job.h --------------------------------------------------- */

/* False: job.h refuses the event. */
static bool apply(struct world_job *j, const struct job_event *ev)
{
    struct job_status st = {.state = j->state,
                            .attempt = j->attempt,
                            .lost = j->lost,
                            .retry_lost = j->retry,
                            .submitted_usec = 1,
                            .started_usec = j->started,
                            .cancel_asked = j->cancelled,
                            .timed_out = j->timed_out,
                            .printed_too_much = j->printed,
                            .other_life = j->other_life,
                            .paused_usec = j->was_paused};

    if (job_update(&st, ev) < 0)
        return false;
    *j = (struct world_job){st.state,
                            st.attempt != 0 ? (uint8_t)st.attempt : 0,
                            st.lost,
                            st.result,
                            st.started_usec != 0,
                            st.cancel_asked,
                            st.timed_out,
                            st.printed_too_much,
                            st.other_life,
                            st.retry_lost,
                            st.state != JOB_DONE && st.paused_usec};
    return true;
}

bool world_apply_fact(struct world_job *j, uint8_t fact)
{
    struct job_event ev = {.at_usec = 1, .attempt = j->attempt};

    if (fact & WITH_STARTED) {
        ev.type = JOB_EV_STARTED;
        if (!apply(j, &ev))
            return false;
    }
    switch ((enum world_fact)(fact & ~WITH_STARTED)) {
    case FACT_STARTING:
        ev.type = JOB_EV_STARTING;
        ev.attempt = j->attempt + 1u;
        break;
    case FACT_CANCEL:
        ev.type = JOB_EV_CANCEL;
        break;
    case FACT_TIMEOUT:
        ev.type = JOB_EV_TIMEOUT;
        break;
    case FACT_PRINTED:
        ev.type = JOB_EV_OUTPUT_LIMIT;
        break;
    case FACT_DEFERRED:
        ev.type = JOB_EV_DEFERRED;
        break;
    case FACT_PAUSE:
        ev.type = JOB_EV_PAUSE;
        break;
    case FACT_RESUME:
        ev.type = JOB_EV_RESUME;
        break;
    case FACT_ENDED:
        ev.type = JOB_EV_EXITED;
        ev.result = JOB_RESULT_SUCCESS;
        break;
    case FACT_FAILED:
        ev.type = JOB_EV_EXITED;
        ev.result = JOB_RESULT_EXEC_FAILED;
        break;
    case FACT_LOST:
    case FACT_LOST_LEFT:
        ev.type = JOB_EV_EXITED;
        ev.survivors = (fact & ~WITH_STARTED) == FACT_LOST_LEFT;
        ev.result = JOB_RESULT_LOST;
        break;
    }
    return apply(j, &ev);
}

bool world_is_end(uint8_t fact)
{
    return (fact & ~WITH_STARTED) >= FACT_ENDED;
}

/* Whether the store has the end of this attempt, 0 or 1. */
static bool is_stored(const struct world *w, unsigned n)
{
    return w->durable.state == JOB_DONE || w->durable.attempt > n + 1 ||
           (w->durable.attempt == n + 1 && w->durable.state == JOB_QUEUED &&
            w->durable.lost > LOST_BEFORE);
}

/* Whether voltd has told the store of its end. */
bool world_is_posted(const struct world *w, unsigned n)
{
    struct world_job j = w->durable;

    if (is_stored(w, n))
        return true;
    for (unsigned i = 0; w->voltd && i < w->npending; i++) {
        if (world_is_end(w->pending[i]) && j.attempt == n + 1)
            return true;
        (void)world_apply_fact(&j, w->pending[i]);
    }
    return false;
}

unsigned world_current(const struct world *w)
{
    return w->memory.attempt > 0 ? w->memory.attempt - 1u : 0;
}

struct world_attempt *world_truth(struct world *w)
{
    return &w->truth[world_current(w)];
}

/* Appends a fact, with the STARTED that is owed; now: it is applied at once. */
void world_post(struct world *w, uint8_t fact, bool now, struct world_rules *rules)
{
    uint8_t owed = 0;

    if (w->memory.started && !w->kept_started && fact != FACT_STARTING)
        owed = WITH_STARTED;
    w->kept_started |= owed != 0;
    world_promise(rules, w->npending < WORLD_PENDING, "no room for facts");
    if (w->npending < WORLD_PENDING)
        w->pending[w->npending++] = fact | owed;
    if (now)
        world_promise(rules, world_apply_fact(&w->memory, fact),
                      "T-6: an event out of place");
}

/* --- what voltd does -------------------------------------------------------------- */

static void begin_call(struct world *w, enum world_op op)
{
    for (unsigned i = 0; i < w->nrequests; i++)
        w->request[i].mine = false;
    w->call = op;
    w->unsent = true;
    w->answered = false;
}

static void post_end(struct world *w, struct world_rules *rules)
{
    struct world_attempt *t = world_truth(w);
    uint8_t fact = FACT_FAILED;

    world_promise(rules, !w->ending && !world_is_posted(w, world_current(w)),
                  "T-6: EXITED is posted twice");
    switch ((enum attempt_end)w->a.end) {
    case ATTEMPT_RECORDED:
        world_promise(rules, t->record != RECORD_IS_ABSENT || t->removed,
                      "T-5: the record went before its end was durable");
        fact = t->record == RECORD_IS_DONE     ? FACT_ENDED
               : t->record == RECORD_IS_FAILED ? FACT_FAILED
                                               : FACT_LOST;
        if (t->record == RECORD_IS_KILLED && t->lives)
            fact = FACT_LOST_LEFT;
        break;
    case ATTEMPT_MISSING:
        fact = FACT_LOST;
        break;
    case ATTEMPT_CANCELLED:
        fact = FACT_ENDED;
        world_promise(rules, t->runs == 0 || t->forgiven,
                      "T-4: cancelled before it began, and it ran");
        break;
    case ATTEMPT_FAILED:
    case ATTEMPT_STUCK:
        world_promise(rules, w->failed, "T-4: exec_failed, and nothing has failed");
        __attribute__((fallthrough));
    case ATTEMPT_NOT_OVER:
        world_promise(rules, t->runs == 0 || t->forgiven, "T-4: exec_failed, and it ran");
        break;
    }
    if (fact == FACT_LOST || fact == FACT_LOST_LEFT)
        world_promise(rules, t->excused, "T-4: lost, and nothing has been lost");
    struct world_job after = w->memory;
    (void)world_apply_fact(&after, fact);
    bool again = after.state == JOB_QUEUED;
    world_post(w, fact, again, rules);
    w->ending = !again;
    if (again) {
        w->kept_started = false;
        return;
    }
    w->granted = w->early = false;
}

static void send_start(struct world *w, struct world_rules *rules)
{
    const struct world_job *d = &w->durable;

    world_promise(rules, d->state != JOB_QUEUED && d->attempt == w->memory.attempt,
                  "T-1: START before STARTING is durable");
    world_promise(rules, w->prepared, "START of what is not prepared");
    world_promise(rules, w->granted, "T-8: START without a slot");
    w->armed = true;
    w->look = false;
    if (world_truth(w)->record == RECORD_IS_ABSENT) { /* otherwise ON_EXISTS follows */
        world_truth(w)->record = RECORD_IS_OURS;
        w->made = true;
    }
    begin_call(w, OP_START);
}

static void send_signal(struct world *w, struct world_rules *rules)
{
    const struct world_job *d = &w->durable;

    world_promise(
        rules,
        w->a.phase != ATTEMPT_PAUSING ||
            (d->state != JOB_STARTING && (d->state != JOB_RUNNING || d->was_paused)),
        "T-10: SIGSTOP before PAUSE is durable");
    begin_call(w, w->a.phase == ATTEMPT_ASKING     ? OP_STOP
                  : w->a.phase == ATTEMPT_PAUSING  ? OP_PAUSE
                  : w->a.phase == ATTEMPT_RESUMING ? OP_RESUME
                                                   : OP_KILL);
}

static void carry_out(struct world *w, uint32_t todo, struct world_rules *rules)
{
    if (todo & DO_VOID && w->assumed) {
        w->granted = w->assumed = false;
        w->early = true;
    }
    if (todo & DO_PREPARE)
        w->prepared = true;
    if (todo & DO_START)
        send_start(w, rules);
    if (todo & DO_CLOSE)
        w->prepared = false;
    if (todo & DO_POST_STARTED) {
        w->limit = true;
        world_promise(rules, w->granted, "T-8: it runs without a slot");
        if (!w->memory.started)
            world_promise(rules,
                          apply(&w->memory, &(struct job_event){.type = JOB_EV_STARTED,
                                                                .at_usec = 1}),
                          "T-6: an event out of place");
    }
    if (todo & DO_POST_TIMEOUT)
        world_post(w, FACT_TIMEOUT, true, rules);
    if (todo & DO_POST_OUTPUT_LIMIT)
        world_post(w, FACT_PRINTED, true, rules);
    if (todo & DO_LIMIT) {
        w->limit = true;
        if (w->a.phase == ATTEMPT_RESTING)
            (void)tries_rest(&w->a.tries);
    }
    if (todo & DO_SIGNAL)
        send_signal(w, rules);
    if (todo & DO_TIME)
        w->limit = w->a.phase == ATTEMPT_RUNNING;
    if (todo & DO_PROBE)
        w->probe = true;
    if (todo & DO_LOOK)
        w->look = w->armed = true;
    if (todo & DO_REMOVE_LATER)
        world_truth(w)->swept = true;
    if (todo & DO_POST_EXITED)
        post_end(w, rules);
}

/* Counters that only make rests longer do not make states. */
void world_settle_counters(struct attempt_state *a)
{
    if (a->tries.refused < REFUSED_BEFORE)
        a->tries.refused = REFUSED_BEFORE;
    if (a->short_of < SHORT_BEFORE)
        a->short_of = SHORT_BEFORE;
    a->tries.rests = 0;
    a->kills = 0;
}

static bool is_one_of(const struct world *w, uint32_t phases)
{
    return phases >> w->a.phase & 1;
}

/* What is of no consequence in a phase does not make states either. */
void world_settle(struct world *w)
{
    const uint32_t turning = 1u << ATTEMPT_PAUSE_DUE | 1u << ATTEMPT_PAUSING |
                             1u << ATTEMPT_PAUSE_AGAIN | 1u << ATTEMPT_PAUSED |
                             1u << ATTEMPT_RESUMING | 1u << ATTEMPT_RESUME_AGAIN;
    const uint32_t watching =
        turning | 1u << ATTEMPT_TAKEN | 1u << ATTEMPT_RUNNING | 1u << ATTEMPT_ASKING |
        1u << ATTEMPT_ASKED | 1u << ATTEMPT_ASK_AGAIN | 1u << ATTEMPT_KILLING |
        1u << ATTEMPT_KILLED | 1u << ATTEMPT_KILL_AGAIN | 1u << ATTEMPT_UNPOSTED;
    const uint32_t started = 1u << ATTEMPT_RUNNING | 1u << ATTEMPT_UNPOSTED |
                             1u << ATTEMPT_ASKING | 1u << ATTEMPT_ASKED |
                             1u << ATTEMPT_ASK_AGAIN | 1u << ATTEMPT_KILLING |
                             1u << ATTEMPT_KILLED | 1u << ATTEMPT_KILL_AGAIN;
    const uint32_t timed = started | 1u << ATTEMPT_RESTING | 1u << ATTEMPT_LEFT |
                           1u << ATTEMPT_CLEAR_AGAIN | 1u << ATTEMPT_REMOVE_AGAIN;
    const uint32_t probed = (watching & ~started & ~turning) | 1u << ATTEMPT_UNPOSTED |
                            1u << ATTEMPT_PAUSE_AGAIN | 1u << ATTEMPT_RESUME_AGAIN |
                            1u << ATTEMPT_ASK_AGAIN | 1u << ATTEMPT_KILL_AGAIN;

    world_settle_counters(&w->a);
    w->limit &= is_one_of(w, timed);
    w->probe &= is_one_of(w, probed);
    w->look &= is_one_of(w, watching | 1u << ATTEMPT_STARTING);
    w->armed &= is_one_of(w, watching | 1u << ATTEMPT_STARTING);
}

/* False: the phase does not wait for it. */
bool world_take(struct world *w, enum attempt_input in, struct world_rules *rules)
{
    rules->phase = (enum attempt_phase)w->a.phase;
    rules->in = in;
    const struct attempt_row *row = attempt_find(&w->a, in);
    if (row == NULL)
        return false;
    rules->row = row;
    if (row == rules->at)
        row = rules->instead;
    attempt_follow(&w->a, row);
    carry_out(w, row->todo, rules);
    world_settle(w);
    return true;
}

bool world_hears(const struct world *w, enum attempt_input in)
{
    return w->voltd && w->has && attempt_awaits(attempt_awaited_inputs(&w->a), in);
}

void world_forget_attempt(struct world *w)
{
    w->a = (struct attempt_state){.stop_kills = w->stop_kills};
    world_settle_counters(&w->a);
    w->adopted = w->assumed = w->has = w->prepared = false;
    w->look = w->armed = w->limit = w->probe = w->made = false;
    w->call = OP_NONE;
    w->unsent = w->answered = false;
    w->status = 0;
    for (unsigned i = 0; i < w->nrequests; i++)
        w->request[i].mine = false;
}

/* --- the keeper's side ------------------------------------------------------------ */

bool world_is_held(uint8_t record)
{
    return record >= RECORD_IS_OURS && record <= RECORD_IS_RUN;
}

/* The shim has closed the record: voltd hears of it, if it waits for that. */
void world_close_record(struct world *w, unsigned n, uint8_t record)
{
    w->truth[n].record = record;
    if (w->voltd && w->has && w->armed && n == world_current(w))
        w->look = true;
}

void world_drop_requests(struct world *w)
{
    for (unsigned i = 0; i < w->nrequests; i++)
        if (w->request[i].op == OP_START &&
            w->truth[w->request[i].attempt].record == RECORD_IS_SENT)
            world_close_record(w, w->request[i].attempt, RECORD_IS_NEVER);
    w->nrequests = 0;
    memset(w->request, 0, sizeof(w->request));
}

void world_lose_connection(struct world *w)
{
    w->connected = false;
    for (unsigned i = 0; i < w->nrequests; i++)
        w->request[i].mine = false;         /* the keeper may find it still */
    if (w->call != OP_NONE && !w->unsent) { /* also what was answered and not heard */
        w->answered = true;
        w->status = -ECONNRESET;
    }
}

static void reply(struct world *w, bool mine, int8_t status)
{
    if (!mine || !w->connected)
        return;
    w->answered = true;
    w->status = status;
}

static struct world_request pop(struct world *w)
{
    struct world_request r = w->request[0];

    w->nrequests--;
    memmove(w->request, w->request + 1, sizeof(r) * (WORLD_REQUESTS - 1));
    memset(&w->request[WORLD_REQUESTS - 1], 0, sizeof(r));
    return r;
}

/* The record goes; why it may is said by what it is. */
void world_remove_record(struct world *w, unsigned n, struct world_rules *rules)
{
    struct world_attempt *t = &w->truth[n];
    bool has_end = t->record == RECORD_IS_DONE || t->record == RECORD_IS_FAILED ||
                   t->record == RECORD_IS_KILLED || t->record == RECORD_IS_BOOT ||
                   t->record == RECORD_IS_RUN;

    world_promise(rules, !has_end || is_stored(w, n),
                  "T-5: a record was removed whose end is not durable");
    world_promise(rules, !world_is_held(t->record),
                  "T-5: a record was removed whose attempt may still run");
    t->record = RECORD_IS_ABSENT;
}

static bool serve_start(struct world *w, enum serve how, struct world_request r)
{
    struct world_attempt *t = &w->truth[r.attempt];

    if (how == SERVE_SURVIVED)
        return false;
    if (how == SERVE_WELL) {
        if (t->record == RECORD_IS_SENT)
            t->record = RECORD_IS_BORN;
        reply(w, r.mine, 0);
        return true;
    }
    w->failed = true;
    if (t->record == RECORD_IS_SENT)
        world_close_record(w, r.attempt, RECORD_IS_NEVER);
    reply(w, r.mine, how == SERVE_NO ? -EBUSY : -EAGAIN);
    return true;
}

static bool serve_signal(struct world *w, enum serve how, struct world_request r)
{
    struct world_attempt *t = &w->truth[r.attempt];
    bool there = t->record == RECORD_IS_RUN || t->record == RECORD_IS_KILLED;

    if (how == SERVE_SHORT) {
        reply(w, r.mine, -EAGAIN);
        return true;
    }
    if (how == SERVE_SURVIVED && r.op == OP_KILL && there && t->lives) {
        struct world_job after = w->memory;
        bool again = world_apply_fact(&after, FACT_LOST) && after.state == JOB_QUEUED;
        reply(w, r.mine, w->a.phase == ATTEMPT_CLEARING && again ? SAID_LEFT : 0);
        return true;
    }
    if (how != SERVE_WELL)
        return false;
    if (r.op == OP_KILL && there)
        t->lives = false; /* the shim writes slot 2 in a move of its own */
    if (there)            /* the stop signal comes with SIGCONT */
        t->stands = r.op == OP_PAUSE && t->lives;
    reply(w, r.mine, there ? 0 : -ESRCH);
    return true;
}

bool world_serve(struct world *w, enum serve how)
{
    if (!w->keeper || w->nrequests == 0)
        return false;
    struct world_request r = pop(w);

    switch ((enum world_op)r.op) {
    case OP_START:
        return serve_start(w, how, r);
    case OP_STOP:
    case OP_KILL:
    case OP_PAUSE:
    case OP_RESUME:
        return serve_signal(w, how, r);
    case OP_NONE:
        break;
    }
    return false;
}
