/* The oracle: a slow model of every job, from the facts as they become durable and from
 * what really happened to its processes (shims.c). It shares no code with voltd's own
 * state machine. What must hold is in README.md. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/news.h"
#include "daemon/job/spec.h"
#include "daemon/keeper/record.h"
#include "daemon/query/job_view.h"

/* A job, or an element of an array. */
struct item {
    enum { ITEM_QUEUED, ITEM_STARTING, ITEM_DONE } state;
    unsigned attempt, lost, reboots; /* reboots: there had been at its STARTING */
    bool started, cancelled, timed_out, printed_too_much;
    enum job_result result;
    int code;
    struct retries retries;
};

struct known {
    uint64_t id;
    uint32_t number; /* of its order */
    struct item *items;
    uint32_t nitems;
    bool whole_cancelled, ended, forgotten;
    enum job_held held;
    bool was_held;     /* a HOLD of it is durable */
    unsigned too_late; /* the attempt whose end came before a cancel, as a voltd says; */
    unsigned by_life;  /* which: the next one may not know of that end */
};

static struct {
    struct order *orders;
    uint32_t norders;
    struct known *known; /* in order of their SUBMIT */
    size_t nknown;
    unsigned reboots;
    bool records_dropped; /* by a reboot */
    bool failures;        /* something was short, refused, full ... */
    bool keys_lost;       /* there was no memory for them */
    bool stuck;           /* what has claims may live for ever */
} oracle;

void oracle_reset(void)
{
    for (size_t i = 0; i < oracle.nknown; i++)
        sim_free(oracle.known[i].items);
    sim_free(oracle.known);
    sim_free(oracle.orders);
    memset(&oracle, 0, sizeof(oracle));
}

/* --- orders ------------------------------------------------------------------------------ */

struct order *oracle_order_new(void)
{
    SIM_PUSH(oracle.orders, oracle.norders, (struct order){.number = oracle.norders});
    return &oracle.orders[oracle.norders - 1];
}

struct order *oracle_order(uint32_t number)
{
    return &oracle.orders[number];
}

uint32_t oracle_orders(void)
{
    return oracle.norders;
}

static struct known *find(uint64_t id)
{
    for (size_t i = oracle.nknown; i-- > 0;)
        if (oracle.known[i].id == id)
            return &oracle.known[i];
    return NULL;
}

static struct order *order_of(const struct known *k)
{
    return &oracle.orders[k->number];
}

struct order *oracle_order_of_id(uint64_t id)
{
    const struct known *k = find(id);

    return k ? order_of(k) : NULL;
}

/* NULL: the array as a whole. */
static struct item *item_of(struct known *k, int64_t index)
{
    const struct order *o = order_of(k);

    if (!o->count)
        return &k->items[0];
    if (index < 0)
        return NULL;
    uint64_t at = (uint64_t)index - o->number % 5;
    if (at >= k->nitems)
        sim_violation("job %llu has no element %lld", (unsigned long long)k->id,
                      (long long)index);
    return &k->items[at];
}

/* --- what clients ask for ------------------------------------------------------------------ */

void oracle_cancelled(uint64_t id)
{
    struct order *o = oracle_order_of_id(id);

    if (o)
        o->cancel_asked = true;
}

void oracle_cancelled_all(uid_t uid)
{
    for (uint32_t i = 0; i < oracle.norders; i++)
        oracle.orders[i].cancel_asked |= uid == 0 || oracle.orders[i].uid == uid;
}

void oracle_too_late(uint64_t id)
{
    struct known *k = find(id);

    if (!k || order_of(k)->count)
        return;
    k->too_late = k->items[0].attempt;
    k->by_life = sim.life;
}

/* It may have been released meanwhile, and may have ended. */
void oracle_held(uint64_t id)
{
    const struct known *k = find(id);

    if (!k || !k->was_held)
        sim_violation("job %llu is held, and no fact says so", (unsigned long long)id);
}

bool oracle_holds(void)
{
    for (size_t i = 0; i < oracle.nknown; i++)
        if (oracle.known[i].held)
            return true;
    return false;
}

void oracle_signalled(uint64_t id)
{
    struct order *o = oracle_order_of_id(id);

    if (o)
        o->signalled = true;
}

/* Whether another one may have taken its place. */
static bool is_replaced(const struct order *o)
{
    for (uint32_t i = 0; i < oracle.norders && o->key_given; i++) {
        const struct order *by = &oracle.orders[i];

        if (by->replaces && by->key == o->key && by->uid == o->uid && by->sends &&
            (by != o || o->sends > 1))
            return true;
    }
    return false;
}

void oracle_excuse_failures(void)
{
    oracle.failures = true;
}

void oracle_excuse_keys(void)
{
    oracle.keys_lost = true;
}

void oracle_rebooted(bool keeps_records)
{
    oracle.reboots++;
    oracle.records_dropped |= !keeps_records;
}

void oracle_answered(struct order *o, uint64_t id, bool existed, int error)
{
    const struct known *k = id ? find(id) : NULL;

    sim_trace("order %u: job %llu, error %d", o->number, (unsigned long long)id, error);
    if (!id) {
        if (!error)
            sim_violation("order %u is neither accepted nor refused", o->number);
        o->refused =
            o->sends == 1 && error != -EIO && error != -ENOMEM && error != -ESHUTDOWN;
        return;
    }
    if (!k)
        sim_violation("order %u is told of job %llu, which is not durable", o->number,
                      (unsigned long long)id);
    if (k->number != o->number)
        sim_violation("order %u is told of job %llu, which is order %u's", o->number,
                      (unsigned long long)id, k->number);
    if (o->sends == 1 && existed)
        sim_violation("order %u was sent once, and its job was there", o->number);
    o->id = id;
    o->acked_usec = sim.now;
}

/* --- facts ------------------------------------------------------------------------------------ */

static uint32_t number_of(uint64_t id, const struct job_spec *spec)
{
    uint32_t number = spec->name ? (uint32_t)strtoul(spec->name + 1, NULL, 10) : 0;

    if (!spec->name || number >= oracle.norders || !oracle.orders[number].sent_usec)
        sim_violation("nobody has submitted job %llu", (unsigned long long)id);
    return number;
}

static void check_submit(uint64_t id, struct order *o, const struct job_spec *spec,
                         uid_t uid)
{
    const struct known *before = o->stored_id ? find(o->stored_id) : NULL;

    if (o->uid != uid || o->kind != spec->kind || o->priority != spec->priority ||
        o->retry != (spec->on_lost == JOB_ON_LOST_RETRY) || o->held != spec->hold ||
        o->night != !!spec->queue || (o->count ? o->count : 1) != job_spec_count(spec) ||
        spec->nclaims != (o->lock > 0) || !edges_submit(o, spec) ||
        spec->retry_times != o->retries)
        sim_violation("job %llu is not as it was sent", (unsigned long long)id);
    if (o->refused)
        sim_violation("order %u was refused, and is job %llu", o->number,
                      (unsigned long long)id);
    if (before && !before->forgotten && !o->replaces && !is_replaced(o) &&
        !oracle.keys_lost)
        sim_violation("order %u is job %llu, and job %llu as well", o->number,
                      (unsigned long long)o->stored_id, (unsigned long long)id);
}

void oracle_fact_submit(uint64_t id, const struct job_spec *spec, uid_t uid)
{
    uint32_t number = number_of(id, spec);
    struct order *o = &oracle.orders[number];
    struct known k = {.id = id, .number = number, .nitems = o->count ? o->count : 1};

    if (find(id))
        sim_violation("the id %llu is given twice", (unsigned long long)id);
    check_submit(id, o, spec, uid);
    o->stored_id = id;
    k.held = o->held ? JOB_HELD_BY_USER : JOB_HELD_NO;
    k.was_held = o->held;
    k.items = sim_grow(NULL, k.nitems * sizeof(*k.items));
    memset(k.items, 0, k.nitems * sizeof(*k.items));
    SIM_PUSH(oracle.known, oracle.nknown, k);
    sim_trace("durable: job %llu is order %u%s", (unsigned long long)id, number,
              o->count ? ", an array" : "");
}

/* --- claims --------------------------------------------------------------------------------- */

/* How many of the job's have what it claims now: processes that live, whether their end is known or not,
 * and sleeps from STARTING on, until they have ended or are cancelled: then none begins anew. */
static uint32_t holders(const struct known *k)
{
    const struct order *o = order_of(k);
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->nitems; i++) {
        const int64_t index = o->count ? (int64_t)(o->number % 5 + i) : JOB_NO_INDEX;

        n += o->kind == JOB_KIND_EXEC
                 ? truth_alive(k->id, index) > 0
                 : o->kind == JOB_KIND_SLEEP && k->items[i].state == ITEM_STARTING && !k->items[i].cancelled;
    }
    return n;
}

void oracle_check_lock(uid_t uid, uint32_t lock)
{
    uint32_t sum = 0, alone = 0;

    if (!lock)
        return;
    leases_count(uid, lock, &sum, &alone);
    for (size_t i = 0; i < oracle.nknown; i++) {
        const struct order *p = order_of(&oracle.known[i]);

        const struct edits_lock has = edits_lock_of(oracle.known[i].id);

        if (has.number != lock || p->uid != uid)
            continue;
        const uint32_t n = holders(&oracle.known[i]);
        sum += lock == 3 ? n * has.claims : n;
        alone += lock != 3 && has.claims ? n : 0;
    }
    if (lock == 3 ? sum > ORACLE_PERMITS : alone && sum > 1)
        sim_violation("lock %u of user %u is had by %u, %u alone", lock, (unsigned)uid,
                      sum, alone);
}

bool oracle_is_stuck(void)
{
    return oracle.stuck;
}

/* --- dependencies --------------------------------------------------------------------------- */

static bool is_done(const struct known *k);

enum job_result oracle_ended_as(uint64_t id, int64_t at)
{
    const struct known *k = find(id);
    enum job_result worst = JOB_RESULT_SUCCESS;

    if (at < 0 ? !is_done(k) : k->items[at].state < ITEM_DONE &&
                                   (k->items[at].state || !k->whole_cancelled))
        return JOB_RESULT_NONE;
    for (uint32_t i = at < 0 ? 0 : (uint32_t)at; i < (at < 0 ? k->nitems : at + 1); i++)
        if (k->items[i].state != ITEM_DONE || k->items[i].result != JOB_RESULT_SUCCESS)
            worst = k->items[i].state == ITEM_DONE ? k->items[i].result
                                                   : JOB_RESULT_CANCELLED;
    return worst;
}

bool oracle_may_have_started(uint64_t id, int64_t at)
{
    const struct known *k = find(id);
    bool any = order_of(k)->kind != JOB_KIND_EXEC;

    for (uint32_t i = 0; i < k->nitems; i++)
        any |= k->items[i].attempt > 0 && (at < 0 || at == i);
    return any;
}

#define BAD(what)                                                                        \
    sim_violation("job %llu_%lld, attempt %u: %s", (unsigned long long)key->id,          \
                  (long long)key->index, m->attempt, what)

static void starting(const struct known *k, const struct job_key *key, struct item *m,
                     const struct job_event *e)
{
    if (k->too_late && k->by_life == sim.life && e->attempt > k->too_late)
        BAD("it came too late to cancel its last attempt, and another one follows");
    if (m->state != ITEM_QUEUED || e->attempt != m->attempt + 1)
        BAD("STARTING out of order");
    if (key->index == JOB_NO_INDEX && k->held)
        BAD("it is held, and starts");
    arrays_starting(order_of(k), key, k->whole_cancelled);
    if (edits_too_early(k->id, e->at_usec))
        BAD("it starts too early");
    retries_starting(order_of(k), &m->retries, key, e);
    edges_start(k->id, m - k->items);
    m->state = ITEM_STARTING;
    m->attempt = e->attempt;
    m->started = false;
    m->reboots = oracle.reboots;
    if (order_of(k)->kind == JOB_KIND_SLEEP)
        oracle_check_lock(order_of(k)->uid, edits_lock_of(k->id).number);
}

static void deferred(const struct job_key *key, struct item *m)
{
    if (m->state != ITEM_STARTING || m->started || m->cancelled)
        BAD("DEFERRED out of order");
    if (truth_alive(key->id, key->index))
        BAD("it is deferred, and it runs");
    m->state = ITEM_QUEUED;
    m->attempt--;
}

/* m: NULL: of an array, of which some may run. */
static void held(struct known *k, const struct job_key *key, const struct item *m,
                 const struct job_event *e)
{
    if (m ? m->state != ITEM_QUEUED : k->whole_cancelled || key->index != JOB_NO_INDEX)
        sim_violation("job %llu: %s out of order", (unsigned long long)key->id,
                      job_event_name(e->type));
    if (e->type == JOB_EV_RELEASE && !k->held)
        sim_violation("job %llu is released, and was not held",
                      (unsigned long long)key->id);
    if (e->type == JOB_EV_RELEASE && k->held == JOB_HELD_BY_ADMIN && e->by != 0)
        sim_violation("job %llu is held by an admin, and its user releases it",
                      (unsigned long long)key->id);
    k->was_held = true;
    if (e->type == JOB_EV_RELEASE)
        k->held = JOB_HELD_NO;
    else if (k->held < e->held)
        k->held = e->held;
}

static void started(const struct job_key *key, struct item *m, const struct job_event *e)
{
    struct truth t = truth_of(&(struct job_key){key->id, key->index, m->attempt});

    if (m->state != ITEM_STARTING || m->started)
        BAD("STARTED out of order");
    m->started = true;
    m->retries.began_usec = e->at_usec;
    if (oracle_order_of_id(key->id)->kind == JOB_KIND_EXEC &&
        (!t.pid || (uint32_t)e->pid != t.pid))
        BAD("STARTED, and it has not");
}

static void stopped(const struct job_key *key, struct item *m, const struct job_event *e)
{
    const struct order *o = oracle_order_of_id(key->id);

    if (m->state != ITEM_STARTING)
        BAD("it is stopped, and does not run");
    if (e->type == JOB_EV_TIMEOUT && !o->timeout_usec)
        BAD("it is timed out without a timeout");
    if (e->type == JOB_EV_OUTPUT_LIMIT && o->number % 7 != 0)
        BAD("it printed too much without a limit");
    m->timed_out |= e->type == JOB_EV_TIMEOUT;
    m->printed_too_much |= e->type == JOB_EV_OUTPUT_LIMIT;
}

static void end(struct item *m, enum job_result result, int code)
{
    m->state = ITEM_DONE;
    m->result = result;
    m->code = code;
}

static void cancelled(struct known *k, const struct job_key *key, struct item *m)
{
    const struct order *o = order_of(k);

    if (!o->cancel_asked && !is_replaced(o))
        sim_violation("job %llu is cancelled, and nobody has asked for it",
                      (unsigned long long)key->id);
    if (!m) {
        k->whole_cancelled = true;
        k->held = JOB_HELD_NO;
        return;
    }
    if (m->state == ITEM_DONE)
        BAD("it is cancelled behind its end");
    if (m->state == ITEM_QUEUED && truth_alive(key->id, key->index))
        BAD("it is cancelled in the queue, and it runs");
    m->cancelled = true;
    if (m->state == ITEM_QUEUED && key->index == JOB_NO_INDEX)
        k->held = JOB_HELD_NO;
    if (m->state == ITEM_QUEUED)
        end(m, JOB_RESULT_CANCELLED, 0);
}

/* One that was cancelled before its start has not. */
static bool item_has_started(const struct item *m)
{
    return m->attempt > 0 && (m->started || m->lost || m->retries.n || !m->cancelled);
}

/* Of an array that has started nothing expires. */
static bool has_started(const struct known *k)
{
    for (uint32_t i = 0; i < k->nitems; i++)
        if (item_has_started(&k->items[i]))
            return true;
    return false;
}

static void expired(struct known *k, const struct job_key *key, struct item *m,
                    const struct job_event *e)
{
    const struct order *o = order_of(k);

    if (m && m->state == ITEM_QUEUED && retries_expires(o, &m->retries, e)) {
        end(m, JOB_RESULT_EXPIRED, 0);
        return;
    }
    if (!edits_start_by(k->id) || e->at_usec < edits_start_by(k->id))
        sim_violation("job %llu expires before its time", (unsigned long long)key->id);
    if (has_started(k))
        sim_violation("job %llu has started, and expires", (unsigned long long)key->id);
    k->held = JOB_HELD_NO;
    if (!m)
        k->whole_cancelled = true;
    else if (m->state != ITEM_QUEUED)
        BAD("it expires out of order");
    else
        end(m, JOB_RESULT_EXPIRED, 0);
}

static void in_vain(struct known *k, const struct job_key *key, struct item *m,
                    const struct job_event *e)
{
    if (m ? m->attempt > 0 : has_started(k))
        sim_violation("job %llu has started, and waits in vain",
                      (unsigned long long)key->id);
    edges_fact(k->id, m ? m - k->items : -1, e);
    if (!m)
        k->whole_cancelled = true, k->held = JOB_HELD_NO;
    else if (m->state != ITEM_QUEUED)
        BAD("it waits in vain out of order");
    else
        end(m, JOB_RESULT_DEPENDENCY, 0);
}

static void met(const struct known *k, const struct job_key *key, const struct item *m,
                const struct job_event *e)
{
    if (m ? m->state != ITEM_QUEUED : k->whole_cancelled)
        sim_violation("job %llu: MET out of order", (unsigned long long)key->id);
    edges_fact(k->id, -1, e);
}

/* What it may be lost by. */
static bool may_be_lost(const struct item *m, const struct truth *t)
{
    if ((t->shim_killed && !t->has_end) || t->record_gone)
        return true;
    return oracle.reboots > m->reboots && (!t->has_end || oracle.records_dropped);
}

static void check_end(const struct job_key *key, const struct item *m,
                      const struct job_event *e)
{
    struct truth t = truth_of(&(struct job_key){key->id, key->index, m->attempt});
    bool exited = t.has_end && t.end == RECORD_END_EXIT;

    switch (e->result) {
    case JOB_RESULT_SUCCESS:
        if (t.runs == 0 && t.pid == 0 ? !m->cancelled : !exited || t.status != 0)
            BAD("it has success, and had none");
        break;
    case JOB_RESULT_EXIT:
        if (!exited || t.status != e->code || e->code == 0)
            BAD("its exit status is invented");
        break;
    case JOB_RESULT_SIGNAL:
        if (!t.has_end || t.end != RECORD_END_SIGNAL || t.status != e->code || t.is_oom)
            BAD("its signal is invented");
        break;
    case JOB_RESULT_OOM:
        if (!t.has_end || t.end != RECORD_END_SIGNAL || t.status != e->code || !t.is_oom)
            BAD("its want of memory is invented");
        break;
    case JOB_RESULT_EXEC_FAILED:
        if (t.runs || (!(t.has_end && t.end == RECORD_END_EXEC_FAILED) &&
                       !oracle.failures && t.in_vain <= SHIMS_MAX))
            BAD("exec_failed, and nothing has failed");
        break;
    case JOB_RESULT_LOST:
        if (!may_be_lost(m, &t))
            BAD("it is lost, and nothing was");
        break;
    default:
        BAD("a result that no end has");
    }
    if (e->usage.contained == JOB_CONTAINED_YES ? !t.has_cgroup : e->usage.oom_kills)
        BAD("its cgroup is invented");
    if (t.runs && e->result != JOB_RESULT_LOST && !m->started)
        BAD("it has ended, and its start is not told");
    if (t.lives && !e->survivors && !t.record_gone)
        BAD("it has ended, and runs");
}

/* Policy over what the process did. */
static enum job_result result_of(const struct item *m, enum job_result seen)
{
    if (seen == JOB_RESULT_LOST || seen == JOB_RESULT_EXEC_FAILED)
        return seen;
    return m->timed_out          ? JOB_RESULT_TIMEOUT
           : m->printed_too_much ? JOB_RESULT_OUTPUT_LIMIT
           : m->cancelled        ? JOB_RESULT_CANCELLED
                                 : seen;
}

/* Another attempt follows: as before this one. */
static void goes_again(struct item *m)
{
    m->state = ITEM_QUEUED;
    m->started = m->timed_out = m->printed_too_much = false;
}

static void exited(struct known *k, const struct job_key *key, struct item *m,
                   const struct job_event *e)
{
    const struct order *o = order_of(k);

    if (m->state != ITEM_STARTING)
        BAD("EXITED out of order");
    if (e->survivors == JOB_SURVIVORS_UNKNOWN)
        oracle.stuck |= edits_lock_of(k->id).number;
    else if (e->survivors && !e->named)
        BAD("it has left a process, and does not name it");
    if (o->kind == JOB_KIND_EXEC)
        check_end(key, m, e);
    else if (e->result != JOB_RESULT_SUCCESS)
        BAD("what is no process fails");
    if (retries_exited(o, &m->retries, key, e, result_of(m, e->result),
                       m->cancelled || e->survivors)) {
        goes_again(m);
        return;
    }
    if (e->result == JOB_RESULT_LOST && o->retry && m->lost < JOB_LOST_MAX &&
        !m->cancelled && !m->timed_out && !m->printed_too_much && !e->survivors) {
        m->lost++;
        retries_lost(&m->retries, e);
        goes_again(m);
        return;
    }
    end(m, result_of(m, e->result), e->code);
}

void oracle_fact_event(const struct job_key *key, const struct job_event *ev)
{
    struct known *k = find(key->id);
    struct item *m = item_of(k, key->index);

    sim_trace("durable: job %llu_%lld %s, attempt %u, result %d, code %d",
              (unsigned long long)key->id, (long long)key->index,
              job_event_name(ev->type), ev->attempt, ev->result, ev->code);
    if (!m && ev->type != JOB_EV_CANCEL && ev->type != JOB_EV_HOLD &&
        ev->type != JOB_EV_RELEASE && ev->type != JOB_EV_EXPIRED &&
        ev->type != JOB_EV_DEPENDENCY && ev->type != JOB_EV_MET)
        sim_violation("array %llu: an event that none has", (unsigned long long)key->id);
    switch (ev->type) {
    case JOB_EV_STARTING:
        starting(k, key, m, ev);
        break;
    case JOB_EV_DEFERRED:
        deferred(key, m);
        break;
    case JOB_EV_STARTED:
        started(key, m, ev);
        break;
    case JOB_EV_TIMEOUT:
    case JOB_EV_OUTPUT_LIMIT:
        stopped(key, m, ev);
        break;
    case JOB_EV_CANCEL:
        cancelled(k, key, m);
        break;
    case JOB_EV_EXITED:
        exited(k, key, m, ev);
        break;
    case JOB_EV_EXPIRED:
        expired(k, key, m, ev);
        break;
    case JOB_EV_DEPENDENCY:
        in_vain(k, key, m, ev);
        break;
    case JOB_EV_MET:
        met(k, key, m, ev);
        break;
    case JOB_EV_HOLD:
    case JOB_EV_RELEASE:
        held(k, key, m, ev);
        break;
    default:
        sim_violation("an event that is none");
    }
}

void oracle_fact_news(const struct job_news *n)
{
    struct known *k = n->type == JOB_EV_SUBMIT ? NULL : find(n->key.id);
    const struct item *m = k ? item_of(k, n->key.index) : NULL;

    if (m && (n->state == JOB_DONE) != (m->state == ITEM_DONE))
        sim_violation("job %llu_%lld: watchers are told of no end, or of one that is none",
                      (unsigned long long)k->id, (long long)n->key.index);
    if (m && n->state == JOB_DONE && n->end.result != m->result)
        sim_violation("job %llu_%lld: watchers are told that it ended with %s, and it "
                      "was %s",
                      (unsigned long long)k->id, (long long)n->key.index,
                      job_result_name((enum job_result)n->end.result),
                      job_result_name(m->result));
}

void oracle_fact_output(const struct job_key *key, unsigned stream, const void *bytes,
                        size_t n)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++)
        if (stream != JOB_STDOUT || p[i] != (key->id & 0x7f))
            sim_violation("job %llu: its output is not what it printed",
                          (unsigned long long)key->id);
}

static bool item_is_done(const struct known *k, const struct item *m)
{
    return m->state == ITEM_DONE ||
           (k->whole_cancelled && m->state == ITEM_QUEUED && m->attempt == 0);
}

static bool is_done(const struct known *k)
{
    uint32_t i = 0;

    while (i < k->nitems && item_is_done(k, &k->items[i]))
        i++;
    return i == k->nitems;
}

bool oracle_lives(const struct order *o)
{
    const struct known *k = o->id ? find(o->id) : NULL;

    return k && !k->forgotten && !is_done(k);
}

void oracle_fact_array_end(uint64_t id)
{
    struct known *k = find(id);

    if (!is_done(k))
        sim_violation("array %llu has ended, not all of it has", (unsigned long long)id);
    k->ended = true;
}

void oracle_fact_forgotten(uint64_t id)
{
    struct known *k = find(id);

    if (!is_done(k))
        sim_violation("job %llu is forgotten before its end", (unsigned long long)id);
    k->forgotten = true;
}

/* --- processes and records --------------------------------------------------------------------- */

/* Replacements: of one key never two run. */
static void check_alone(const struct known *k)
{
    const struct order *o = order_of(k);

    for (size_t i = 0; i < oracle.nknown && o->key_given && !oracle.keys_lost; i++) {
        const struct known *other = &oracle.known[i];
        const struct order *p = order_of(other);

        if (other == k || !p->key_given || p->key != o->key || p->uid != o->uid)
            continue;
        for (uint32_t n = 0; n < other->nitems; n++)
            if (!item_is_done(other, &other->items[n]) && /* or with survivors */
                truth_alive(other->id,
                            p->count ? (int64_t)(p->number % 5 + n) : JOB_NO_INDEX))
                sim_violation("job %llu runs, and job %llu, which it replaces, does",
                              (unsigned long long)k->id, (unsigned long long)other->id);
    }
}

/* Of an array with a limit no more run than may. */
static void check_at_once(const struct known *k)
{
    const struct order *o = order_of(k);
    uint32_t n = 0;

    for (uint32_t i = 0; o->at_once && i < k->nitems; i++)
        n += !item_is_done(k, &k->items[i]) &&
             truth_alive(k->id, (int64_t)(o->number % 5 + i)) > 0;
    if (n > o->at_once)
        sim_violation("%u elements of job %llu run, of which %u may", n,
                      (unsigned long long)k->id, o->at_once);
}

void oracle_runs(const struct job_key *key)
{
    struct known *k = find(key->id);
    struct item *m = k ? item_of(k, key->index) : NULL;

    if (!m)
        sim_violation("job %llu runs, and is not durable", (unsigned long long)key->id);
    if (m->state != ITEM_STARTING || m->attempt != key->attempt)
        BAD("it runs, and its STARTING is not durable");
    if (truth_of(key).runs != 1)
        BAD("it runs a second time");
    if (truth_alive(key->id, key->index) != 1)
        BAD("two attempts run side by side");
    check_alone(k);
    check_at_once(k);
    oracle_check_lock(order_of(k)->uid, edits_lock_of(k->id).number);
    oracle_check_slots();
}

bool oracle_may_remove(const struct job_key *key)
{
    struct known *k = find(key->id);
    struct item *m = k ? item_of(k, key->index) : NULL;

    return m && (item_is_done(k, m) || m->attempt > key->attempt ||
                 (m->attempt == key->attempt && m->state == ITEM_QUEUED));
}

bool oracle_has_started(const struct job_key *key)
{
    struct known *k = find(key->id);
    const struct item *m = k ? item_of(k, key->index) : NULL;

    return m && m->state == ITEM_STARTING && m->started && m->attempt == key->attempt;
}

/* --- what voltd says ------------------------------------------------------------------------------ */

void oracle_look(const struct job_view *v)
{
    struct known *k = find(v->key.id);

    if (!k)
        sim_violation("job %llu is shown, and is not durable",
                      (unsigned long long)v->key.id);
    struct item *m = item_of(k, v->key.index);
    if (!m || v->status.state != JOB_DONE)
        return;
    /* A cancel in the queue counts before it is durable, and so does what led back there. */
    if ((v->status.result == JOB_RESULT_CANCELLED ||
         v->status.result == JOB_RESULT_EXPIRED ||
         v->status.result == JOB_RESULT_DEPENDENCY) &&
        m->state != ITEM_DONE && (!m->started || order_of(k)->retry || order_of(k)->retries))
        return;
    if (m->state != ITEM_DONE || (int)m->result != v->status.result ||
        (!v->forgotten && m->code != v->status.code))
        sim_violation("job %llu is shown as ended (%s, %d), and it is not so",
                      (unsigned long long)k->id,
                      job_result_name((enum job_result)v->status.result), v->status.code);
}

void oracle_told_end(uint64_t id, int64_t index)
{
    struct known *k = find(id);
    const struct item *m = k ? item_of(k, index) : NULL;

    if (!k || (m ? !item_is_done(k, m) && !order_of(k)->cancel_asked &&
                       !edits_may_expire(id) && !edits_may_depend(id) &&
                       !order_of(k)->max_total_usec && !is_replaced(order_of(k))
                 : false))
        sim_violation("one that waits for job %llu_%lld is told of its end, which is "
                      "not durable",
                      (unsigned long long)id, (long long)index);
}

/* --- the end of a history ---------------------------------------------------------------------------- */

static bool lacks_end(const struct known *k)
{
    return !k->forgotten && order_of(k)->count && !k->ended;
}

bool oracle_is_over(void)
{
    for (size_t i = 0; i < oracle.nknown; i++)
        if (!oracle.known[i].forgotten && !is_done(&oracle.known[i]))
            return false;
    return true;
}

/* Without memory the end of an array is told by the next voltd. */
bool oracle_lacks_ends(void)
{
    for (size_t i = 0; i < oracle.nknown; i++)
        if (lacks_end(&oracle.known[i]))
            return true;
    return false;
}

static void check_kept(const struct order *o)
{
    const struct known *k = find(o->id);

    if (!k || (!k->forgotten && !disk_has(o->id)))
        sim_violation("job %llu was acknowledged, and is lost",
                      (unsigned long long)o->id);
}

void oracle_check_over(void)
{
    for (size_t i = 0; i < oracle.nknown; i++) {
        const struct known *k = &oracle.known[i];
        if (!k->forgotten && !is_done(k))
            sim_violation("job %llu does not come to its end", (unsigned long long)k->id);
        if (lacks_end(k))
            sim_violation("the end of array %llu is not told", (unsigned long long)k->id);
        for (uint32_t n = 0; n < k->nitems; n++)
            cover_note_end(k->items[n].state, k->items[n].result);
    }
    for (uint32_t i = 0; i < oracle.norders; i++)
        if (oracle.orders[i].id)
            check_kept(&oracle.orders[i]);
}
