/* The table of the start protocol: attempt.h. */
#include "daemon/job/attempt.h"

#include <errno.h>
#include <stddef.h>

#define ROWS(name, shared)                                                               \
    static const struct attempt_rows name##_rows = {                                     \
        name, sizeof(name) / sizeof((name)[0]), shared}
#define OVER .next = ATTEMPT_ENDING, .end

/* --- until START is answered ------------------------------------------------------ */

static const struct attempt_row new[] = {
    {ON_MARKED, .next = ATTEMPT_WAITING},
    {ON_UNMARKED, .todo = DO_POST_EXITED, OVER = ATTEMPT_FAILED},
    {ON_ADOPTED, ATTEMPT_TAKEN, .todo = DO_CLOSE | DO_LOOK | DO_PROBE},
};
ROWS(new, NULL);

static const struct attempt_row idle[] = {
    {ON_STOP, .todo = DO_POST_EXITED, OVER = ATTEMPT_CANCELLED},
};
ROWS(idle, NULL);

static const struct attempt_row waiting[] = {
    {ON_SLOT, ATTEMPT_STARTING, .todo = DO_PREPARE | DO_START},
    {ON_DEFERRED, .next = ATTEMPT_NEW},
};
ROWS(waiting, &idle_rows);

static const struct attempt_row resting[] = {
    {ON_LIMIT, .next = ATTEMPT_WAITING},
};
ROWS(resting, &idle_rows);

static const struct attempt_row starting[] = {
    {ON_TAKEN, ATTEMPT_TAKEN, .todo = DO_CLOSE | DO_PROBE},
    {ON_EXISTS, ATTEMPT_TAKEN, IF_VOIDED, .todo = DO_CLOSE | DO_LOOK | DO_PROBE,
     .known = ATTEMPT_ADOPTED},
    {ON_EXISTS, .todo = DO_POST_EXITED, OVER = ATTEMPT_FAILED},
    {ON_RESET, ATTEMPT_TAKEN, .todo = DO_CLOSE | DO_LOOK | DO_PROBE,
     .known = ATTEMPT_UNSURE},
    {ON_SHORT, ATTEMPT_REMOVING, .todo = DO_REMOVE},
    {ON_REFUSED, ATTEMPT_REMOVING, .todo = DO_REMOVE},
    {ON_WITHDRAWN, ATTEMPT_REMOVING, .todo = DO_REMOVE},
    {ON_UNREADY, .todo = DO_POST_EXITED, OVER = ATTEMPT_FAILED},
};
ROWS(starting, NULL);

/* --- until the record says that it is over ---------------------------------------- */

static const struct attempt_row watched[] = {
    {ON_OVER, .todo = DO_POST_EXITED, OVER = ATTEMPT_RECORDED},
    {ON_SHIM_KILLED, ATTEMPT_CLEARING, .todo = DO_SIGNAL},
    {ON_NEVER_RAN, .todo = DO_POST_EXITED, OVER = ATTEMPT_RECORDED},
    {ON_ABSENT, .todo = DO_POST_EXITED, OVER = ATTEMPT_MISSING},
};
ROWS(watched, NULL);

static const struct attempt_row taken[] = {
    {ON_STARTED, ATTEMPT_PAUSING, IF_PAUSED, .todo = DO_POST_STARTED | DO_SIGNAL},
    {ON_STARTED, ATTEMPT_RESUMING, IF_HALTED, .todo = DO_POST_STARTED | DO_SIGNAL},
    {ON_STARTED, ATTEMPT_RUNNING, .todo = DO_POST_STARTED},
    {ON_NEVER_RAN, .when = IF_STRANGE, .todo = DO_POST_EXITED, OVER = ATTEMPT_RECORDED},
    {ON_NEVER_RAN, ATTEMPT_REMOVING, IF_DOUBTFUL, .todo = DO_REMOVE},
    {ON_NEVER_RAN, ATTEMPT_REMOVING, .todo = DO_REMOVE | DO_BLAME},
    {ON_ABSENT, ATTEMPT_WAITING, IF_ADOPTED, .todo = DO_VOID},
};
ROWS(taken, &watched_rows);

static const struct attempt_row stoppable[] = {
    {ON_STOP, ATTEMPT_KILLING, IF_STOP_KILLS, .todo = DO_LIMIT | DO_SIGNAL},
    {ON_STOP, ATTEMPT_ASKING, .todo = DO_LIMIT | DO_SIGNAL},
};
ROWS(stoppable, &watched_rows);

static const struct attempt_row running[] = {
    {ON_TURNED, ATTEMPT_PAUSE_DUE, .todo = DO_AWAIT_STORE},
    {ON_LIMIT, ATTEMPT_KILLING, IF_STOP_KILLS,
     .todo = DO_POST_TIMEOUT | DO_LIMIT | DO_SIGNAL},
    {ON_LIMIT, ATTEMPT_ASKING, .todo = DO_POST_TIMEOUT | DO_LIMIT | DO_SIGNAL},
    {ON_PRINTED, ATTEMPT_KILLING, .todo = DO_POST_OUTPUT_LIMIT | DO_LIMIT | DO_SIGNAL},
};
ROWS(running, &stoppable_rows);

/* PAUSE is durable before SIGSTOP: otherwise a voltd that dies in between would leave a
 * job that is stopped for ever. If RESUME is lost, the job is paused again. An attempt
 * that must stop is continued first, with its whole tree: the stop signal may be for its
 * main process alone, which may wait for another one. */
static const struct attempt_row pause_due[] = {
    {ON_DURABLE, ATTEMPT_PAUSING, .todo = DO_SIGNAL},
};
ROWS(pause_due, &stoppable_rows);

static const struct attempt_row pausing[] = {
    {ON_ANSWERED, ATTEMPT_PAUSED, .todo = DO_TIME},
    {ON_GONE, ATTEMPT_PAUSED, .todo = DO_TIME | DO_LOOK},
    {ON_RESET, ATTEMPT_PAUSING, .todo = DO_SIGNAL},
    {ON_SHORT, ATTEMPT_PAUSE_AGAIN, .todo = DO_PROBE},
};
ROWS(pausing, &watched_rows);

static const struct attempt_row pause_again[] = {
    {ON_PROBE, ATTEMPT_PAUSING, .todo = DO_SIGNAL},
    {ON_STOP, ATTEMPT_RESUMING, .todo = DO_SIGNAL},
};
ROWS(pause_again, &watched_rows);

static const struct attempt_row paused[] = {
    {ON_TURNED, ATTEMPT_RESUMING, .todo = DO_SIGNAL},
    {ON_STOP, ATTEMPT_RESUMING, .todo = DO_SIGNAL},
};
ROWS(paused, &watched_rows);

static const struct attempt_row resuming[] = {
    {ON_ANSWERED, ATTEMPT_RUNNING, .todo = DO_TIME},
    {ON_GONE, ATTEMPT_RUNNING, .todo = DO_TIME | DO_LOOK},
    {ON_RESET, ATTEMPT_RESUMING, .todo = DO_SIGNAL},
    {ON_SHORT, ATTEMPT_RESUME_AGAIN, .todo = DO_PROBE},
};
ROWS(resuming, &watched_rows);

static const struct attempt_row resume_again[] = {
    {ON_PROBE, ATTEMPT_RESUMING, .todo = DO_SIGNAL},
};
ROWS(resume_again, &watched_rows);

static const struct attempt_row unposted[] = {
    {ON_PROBE, .next = ATTEMPT_RUNNING},
};
ROWS(unposted, &watched_rows);

/* The next step is SIGKILL: after kill_after, then repeated. */
static const struct attempt_row signalled[] = {
    {ON_LIMIT, ATTEMPT_KILLING, .todo = DO_LIMIT | DO_SIGNAL},
};
ROWS(signalled, &watched_rows);

/* Signals are repeated: at once after a broken connection, as they may not have been
 * sent; after a moment if the keeper had no process to send them. If the attempt has no
 * process, its end was no event, or will be one. */
static const struct attempt_row asking[] = {
    {ON_UNPOSTED, ATTEMPT_UNPOSTED, .todo = DO_PROBE},
    {ON_ANSWERED, .next = ATTEMPT_ASKED},
    {ON_GONE, ATTEMPT_ASKED, .todo = DO_LOOK},
    {ON_RESET, ATTEMPT_ASKING, .todo = DO_SIGNAL},
    {ON_SHORT, ATTEMPT_ASK_AGAIN, .todo = DO_PROBE},
};
ROWS(asking, &watched_rows);

static const struct attempt_row ask_again[] = {
    {ON_PROBE, ATTEMPT_ASKING, .todo = DO_SIGNAL},
};
ROWS(ask_again, &signalled_rows);

static const struct attempt_row killing[] = {
    {ON_UNPOSTED, ATTEMPT_UNPOSTED, .todo = DO_PROBE},
    {ON_ANSWERED, ATTEMPT_KILLED, .todo = DO_NOTE_LEFT | DO_LIMIT},
    {ON_GONE, ATTEMPT_KILLED, .todo = DO_NOTE_LEFT | DO_LIMIT | DO_LOOK},
    {ON_RESET, ATTEMPT_KILLING, .todo = DO_SIGNAL},
    {ON_SHORT, ATTEMPT_KILL_AGAIN, .todo = DO_PROBE},
};
ROWS(killing, &watched_rows);

static const struct attempt_row kill_again[] = {
    {ON_PROBE, ATTEMPT_KILLING, .todo = DO_SIGNAL},
};
ROWS(kill_again, &signalled_rows);

/* --- from there to the durable end ------------------------------------------------ */

/* A broken connection proves nothing, and SIGKILL may be repeated. Two attempts never run
 * side by side, so the next one waits until no process of this one is left. */
static const struct attempt_row clearing[] = {
    {ON_ANSWERED, .todo = DO_NOTE_LEFT | DO_POST_EXITED, OVER = ATTEMPT_RECORDED},
    {ON_LEFT, ATTEMPT_LEFT, .todo = DO_NOTE_LEFT | DO_LIMIT},
    {ON_RESET, ATTEMPT_CLEAR_AGAIN, .todo = DO_LIMIT},
    {ON_SHORT, .when = IF_SHORT, .todo = DO_NOTE_LEFT | DO_POST_EXITED,
     OVER = ATTEMPT_RECORDED},
    {ON_SHORT, ATTEMPT_CLEAR_AGAIN, .todo = DO_LIMIT},
};
ROWS(clearing, NULL);

static const struct attempt_row clear_again[] = {
    {ON_LIMIT, ATTEMPT_CLEARING, .todo = DO_SIGNAL},
};
ROWS(clear_again, NULL);

/* An attempt that must stop does not wait for survivors. */
static const struct attempt_row left[] = {
    {ON_STOP, ATTEMPT_CLEARING, .todo = DO_SIGNAL},
};
ROWS(left, &clear_again_rows);

static const struct attempt_row removing[] = {
    {ON_ANSWERED, .when = IF_SPENT, .todo = DO_VOID | DO_POST_EXITED,
     OVER = ATTEMPT_FAILED},
    {ON_ANSWERED, ATTEMPT_RESTING, IF_REST, .todo = DO_VOID | DO_LIMIT},
    {ON_ANSWERED, ATTEMPT_WAITING, .todo = DO_VOID},
    {ON_SHORT, .when = IF_SHORT, .todo = DO_POST_EXITED, OVER = ATTEMPT_STUCK},
    {ON_SHORT, ATTEMPT_REMOVE_AGAIN, .todo = DO_LIMIT},
    {ON_REFUSED, .todo = DO_POST_EXITED, OVER = ATTEMPT_STUCK},
};
ROWS(removing, NULL);

static const struct attempt_row remove_again[] = {
    {ON_LIMIT, ATTEMPT_REMOVING, .todo = DO_REMOVE},
};
ROWS(remove_again, NULL);

/* If the end could not be stored, the next voltd reads it in the record. */
static const struct attempt_row ending[] = {
    {ON_DURABLE, ATTEMPT_ENDED, IF_RECORD, .todo = DO_REMOVE_LATER},
    {ON_DURABLE, .next = ATTEMPT_ENDED},
    {ON_STORE_REFUSED, .next = ATTEMPT_ENDED},
};
ROWS(ending, NULL);

static const struct attempt_rows no_rows;

const struct attempt_rows *const attempt_table[ATTEMPT_PHASES] = {
    [ATTEMPT_NEW] = &new_rows,
    [ATTEMPT_WAITING] = &waiting_rows,
    [ATTEMPT_RESTING] = &resting_rows,
    [ATTEMPT_STARTING] = &starting_rows,
    [ATTEMPT_TAKEN] = &taken_rows,
    [ATTEMPT_RUNNING] = &running_rows,
    [ATTEMPT_PAUSE_DUE] = &pause_due_rows,
    [ATTEMPT_PAUSING] = &pausing_rows,
    [ATTEMPT_PAUSE_AGAIN] = &pause_again_rows,
    [ATTEMPT_PAUSED] = &paused_rows,
    [ATTEMPT_RESUMING] = &resuming_rows,
    [ATTEMPT_RESUME_AGAIN] = &resume_again_rows,
    [ATTEMPT_UNPOSTED] = &unposted_rows,
    [ATTEMPT_ASKING] = &asking_rows,
    [ATTEMPT_ASKED] = &signalled_rows,
    [ATTEMPT_ASK_AGAIN] = &ask_again_rows,
    [ATTEMPT_KILLING] = &killing_rows,
    [ATTEMPT_KILLED] = &signalled_rows,
    [ATTEMPT_KILL_AGAIN] = &kill_again_rows,
    [ATTEMPT_CLEARING] = &clearing_rows,
    [ATTEMPT_CLEAR_AGAIN] = &clear_again_rows,
    [ATTEMPT_LEFT] = &left_rows,
    [ATTEMPT_REMOVING] = &removing_rows,
    [ATTEMPT_REMOVE_AGAIN] = &remove_again_rows,
    [ATTEMPT_ENDING] = &ending_rows,
    [ATTEMPT_ENDED] = &no_rows,
};

/* --- going by it ------------------------------------------------------------------ */

static unsigned conditions(const struct attempt_state *s)
{
    static const uint16_t of_known[] = {
        [ATTEMPT_FRESH] = 0,
        [ATTEMPT_VOIDED] = IF_VOIDED,
        [ATTEMPT_UNSURE] = IF_DOUBTFUL,
        [ATTEMPT_ADOPTED] = IF_DOUBTFUL | IF_ADOPTED,
        [ATTEMPT_STRANGE] = IF_STRANGE,
    };
    unsigned c = of_known[s->known];

    c |= tries_are_over(&s->tries) ? IF_SPENT : 0;
    c |= s->tries.due ? IF_REST : 0;
    c |= s->short_of >= ATTEMPT_SHORT_MAX ? IF_SHORT : 0;
    c |= s->stop_kills ? IF_STOP_KILLS : 0;
    c |= s->end == ATTEMPT_RECORDED || s->end == ATTEMPT_STUCK ? IF_RECORD : 0;
    c |= s->paused ? IF_PAUSED : 0;
    c |= s->halted ? IF_HALTED : 0;
    return c;
}

static const struct attempt_row *find(const struct attempt_state *s,
                                      enum attempt_input in)
{
    for (const struct attempt_rows *r = attempt_table[s->phase]; r; r = r->like)
        for (unsigned i = 0; i < r->n; i++)
            if (r->row[i].on == in &&
                (r->row[i].when == 0 || (r->row[i].when & ~conditions(s)) == 0))
                return &r->row[i];
    return NULL;
}

uint32_t attempt_awaited_inputs(const struct attempt_state *s)
{
    uint32_t awaited = 0;

    for (const struct attempt_rows *r = attempt_table[s->phase]; r; r = r->like)
        for (unsigned i = 0; i < r->n; i++)
            awaited |= UINT32_C(1) << r->row[i].on;
    return awaited;
}

/* Counts the input, for any row. */
static void count(struct attempt_state *s, enum attempt_input in)
{
    const bool start = s->phase == ATTEMPT_STARTING;

    s->short_of = start ? 0 : s->short_of;
    if (start && in == ON_RESET)
        tries_lost(&s->tries);
    else if (start && (in == ON_SHORT || in == ON_REFUSED))
        tries_refused(&s->tries, in == ON_SHORT);
    else if (in == ON_SHORT)
        s->short_of += s->short_of < ATTEMPT_SHORT_MAX;
    else if (in == ON_SHIM_KILLED || in == ON_NEVER_RAN)
        s->short_of = 0;
}

const struct attempt_row *attempt_find(struct attempt_state *s, enum attempt_input in)
{
    struct attempt_state counted = *s;

    count(&counted, in);
    const struct attempt_row *row = find(&counted, in);
    if (row)
        *s = counted;
    return row;
}

void attempt_follow(struct attempt_state *s, const struct attempt_row *row)
{
    s->phase = row->next;
    if (row->known != ATTEMPT_FRESH)
        s->known = row->known;
    if (row->todo & DO_VOID)
        s->known = s->known >= ATTEMPT_VOIDED ? ATTEMPT_VOIDED : ATTEMPT_FRESH;
    if (row->end != ATTEMPT_NOT_OVER)
        s->end = row->end;
    if (row->todo & DO_BLAME)
        tries_refused(&s->tries, true);
    if (row->todo & DO_NOTE_LEFT)
        s->kills++;
}

bool attempt_step(struct attempt_state *s, enum attempt_input in, uint32_t *ret_todo)
{
    const struct attempt_row *row = attempt_find(s, in);

    if (!row)
        return false;
    attempt_follow(s, row);
    *ret_todo = row->todo;
    return true;
}

enum attempt_input attempt_answer(uint32_t awaited, int status)
{
    enum attempt_input in = ON_REFUSED;

    if (status == -ECONNRESET)
        return ON_RESET;
    if (status == -ECANCELED)
        return ON_WITHDRAWN;
    if (status == 0)
        in = ON_TAKEN;
    else if (status == -EEXIST)
        in = ON_EXISTS;
    else if (status == -ESRCH)
        in = ON_GONE;
    else if (tries_passing(status))
        in = ON_SHORT;
    if (status != 0 && !attempt_awaits(awaited, in))
        in = ON_REFUSED;
    return attempt_awaits(awaited, in) ? in : ON_ANSWERED;
}
