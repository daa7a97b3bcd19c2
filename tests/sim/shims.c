/* Shims, the processes of jobs, and their records: what they may do, and when, is chance
 * within what daemon/keeper promises (shim_pool.h, record.h).
 *
 *   record      voltd has made it and has its descriptor; it is held while anybody has one
 *   order       the shim has the descriptor, and nobody else
 *   slot 1      the process runs from here on; that is its one execution
 *   slot 2      the process has ended; the record is closed, and a moment later free
 *
 * A shim that is killed leaves its process alone. */
#include "tests/sim/machine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

struct shim {
    bool lives, pooled; /* pooled: may get another job */
    bool busy;
    unsigned keeper;
    size_t order; /* the index of the attempt that it is busy with */
};

/* Pids of processes are at most that (PID_MAX_LIMIT of the kernel): what voltd reads of
 * one in /proc must not be of a process of this machine. */
#define PIDS_REAL 4194304

static struct {
    struct attempt_made *attempts;
    size_t n;
    struct shim *shims;
    size_t nshims;
    struct descriptor {
        size_t i;     /* of the attempt, */
        unsigned run; /* and which run */
        bool voltds;  /* voltd has it open */
    } * descriptors;
    size_t ndescriptors;
    unsigned boot, generation;
    uint32_t pids;
} machine;

static void is_closed(int fd);

void machine_reset(void)
{
    sim_free(machine.attempts);
    sim_free(machine.shims);
    sim_free(machine.descriptors);
    memset(&machine, 0, sizeof(machine));
    machine.boot = machine.generation = 1;
    machine.pids = PIDS_REAL;
    sim_closed = is_closed;
}

unsigned machine_generation(void)
{
    return machine.generation;
}

unsigned machine_boot(void)
{
    return machine.boot;
}

struct attempt_made *attempt_find_made(const struct job_key *key)
{
    for (size_t i = machine.n; i-- > 0;)
        if (job_key_equal(&machine.attempts[i].key, key))
            return &machine.attempts[i];
    return NULL;
}

const struct attempt_made *machine_record(size_t n)
{
    return n < machine.n ? &machine.attempts[n] : NULL;
}

struct truth truth_of(const struct job_key *key)
{
    const struct attempt_made *a = attempt_find_made(key);

    return a ? a->truth : (struct truth){0};
}

unsigned truth_alive(uint64_t id, int64_t index)
{
    unsigned n = 0;

    for (size_t i = 0; i < machine.n; i++)
        n += machine.attempts[i].key.id == id && machine.attempts[i].key.index == index &&
             machine.attempts[i].truth.lives && !machine.attempts[i].truth.record_gone;
    return n;
}

/* Whether a process is there is all that voltd asks by it. */
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig)
{
    if (sig)
        return __real_kill(pid, sig);
    for (size_t i = 0; i < machine.n; i++)
        if (machine.attempts[i].truth.pid == (uint32_t)pid &&
            machine.attempts[i].truth.lives)
            return 0;
    errno = ESRCH;
    return -1;
}

uint64_t machine_printed(uint64_t id, int64_t index)
{
    uint64_t n = 0;

    for (size_t i = 0; i < machine.n; i++) {
        const struct attempt_made *a = &machine.attempts[i];

        if (a->key.id == id && a->key.index == index && a->truth.run_usec)
            n += (uint64_t)a->truth.runs * oracle_program(a->number, index).prints;
    }
    return n;
}

enum record_verdict machine_verdict(const struct attempt_made *a)
{
    if (!a || !a->there)
        return RECORD_ABSENT;
    if (a->has_ended)
        return RECORD_DONE;
    if (a->boot != machine.boot)
        return RECORD_OTHER_BOOT;
    if (a->held)
        return RECORD_RUNNING;
    return a->has_started ? RECORD_SHIM_KILLED : RECORD_NEVER_RAN;
}

unsigned shims_running(void)
{
    unsigned n = 0;

    for (size_t i = 0; i < machine.n; i++)
        n += machine.attempts[i].truth.lives && !machine.attempts[i].truth.shim_killed &&
             !machine.attempts[i].truth.record_gone;
    return n;
}

unsigned keeper_records(struct job_key *ret_one)
{
    unsigned n = 0;

    for (size_t i = 0; i < machine.n; i++) {
        const struct attempt_made *a = &machine.attempts[i];

        if (!a->there || !a->has_started || !disk_has(a->key.id))
            continue;
        *ret_one = a->key;
        n++;
    }
    return n;
}

unsigned shims_busy(void)
{
    unsigned n = 0;

    for (size_t i = 0; i < machine.nshims; i++)
        n += machine.shims[i].lives && machine.shims[i].busy;
    return n;
}

/* --- a record is closed --------------------------------------------------------------- */

static void let_go(uint64_t i, uint64_t run)
{
    struct attempt_made *a = &machine.attempts[i];

    if (a->run == run)
        a->held = false;
}

/* The event may come a moment before the lock is free. */
static void close_record(size_t i)
{
    struct attempt_made *a = &machine.attempts[i];

    if (sim_one_in(4))
        sim_after(sim_below(2500), let_go, i, a->run);
    else
        a->held = false;
    sim_trace("record %llu_%lld.%u is closed", (unsigned long long)a->key.id,
              (long long)a->key.index, a->key.attempt);
    files_record_closed(&a->key);
}

/* One who had the record has it no more. */
static void release(size_t i, uint64_t run)
{
    struct attempt_made *a = &machine.attempts[i];

    if (a->run == run && a->holders && --a->holders == 0)
        close_record(i);
}

/* --- the life of a job ------------------------------------------------------------------ */

static void finish(uint64_t i, uint64_t run)
{
    struct attempt_made *a = &machine.attempts[i];

    if (a->run != run || !a->shim)
        return;
    machine.shims[a->shim - 1].busy = false;
    a->shim = 0;
    a->has_ended = a->truth.has_end = true;
    release(i, run);
}

static void end_process(uint64_t i, uint64_t run)
{
    struct attempt_made *a = &machine.attempts[i];

    if (a->run != run || !a->truth.lives)
        return;
    a->truth.due = a->truth.stands;
    if (a->truth.due)
        return;
    a->truth.lives = false;
    if (a->shim)
        sim_after(sim_below(300), finish, i, run);
}

static void run_program(struct attempt_made *a, size_t i)
{
    struct program p = oracle_program(a->number, a->key.index);

    a->has_started = true;
    a->start_usec = sim.now;
    if (p.is_not_there) {
        a->truth.end = RECORD_END_EXEC_FAILED;
        a->truth.status = ENOENT;
        sim_after(sim_below(100), finish, i, a->run);
        return;
    }
    a->truth.runs++;
    a->truth.lives = true;
    a->truth.stands = a->truth.due = false;
    a->truth.run_usec = sim.now + 1;
    a->truth.has_cgroup = p.has_cgroup;
    a->truth.is_oom = p.is_oom;
    a->truth.end = p.signal ? RECORD_END_SIGNAL : RECORD_END_EXIT;
    a->truth.status = p.signal ? p.signal : p.code;
    oracle_runs(&a->key);
    sim_after(p.run_usec, end_process, i, a->run);
}

static void begin(uint64_t shim, uint64_t i)
{
    struct shim *s = &machine.shims[shim];
    struct attempt_made *a = &machine.attempts[i];

    if (!s->lives || !s->busy || s->order != i || a->has_started)
        return;
    sim_trace("%llu_%lld.%u runs", (unsigned long long)a->key.id, (long long)a->key.index,
              a->key.attempt);
    a->truth.pid = ++machine.pids;
    run_program(a, i);
}

/* --- orders ------------------------------------------------------------------------------- */

static size_t make(const struct job_key *key)
{
    struct attempt_made *old = attempt_find_made(key);
    struct attempt_made fresh = {
        .key = *key, .there = true, .held = true, .holders = 1, .boot = machine.boot};

    if (!old) {
        fresh.run = 1;
        SIM_PUSH(machine.attempts, machine.n, fresh);
        return machine.n - 1;
    }
    fresh.run = old->run + 1;
    fresh.truth = old->truth; /* it has run, or not */
    *old = fresh;
    return (size_t)(old - machine.attempts);
}

static void hand(size_t shim, size_t i)
{
    struct shim *s = &machine.shims[shim];

    machine.attempts[i].shim = (unsigned)shim + 1;
    machine.attempts[i].keeper = s->keeper;
    s->order = i;
    s->busy = true;
    sim_after(sim_below(400), begin, shim, i);
}

int shims_make_record(const struct job_key *key)
{
    const struct attempt_made *a = attempt_find_made(key);

    if (a && a->there)
        return -EEXIST;
    size_t i = make(key);
    SIM_PUSH(machine.descriptors, machine.ndescriptors,
             (struct descriptor){i, machine.attempts[i].run, true});
    return RECORD_FD + (int)machine.ndescriptors - 1;
}

static struct descriptor *descriptor_of(int fd)
{
    const size_t n = (size_t)(fd - RECORD_FD);

    return fd >= RECORD_FD && n < machine.ndescriptors ? &machine.descriptors[n] : NULL;
}

struct attempt_made *shims_of_descriptor(int fd)
{
    const struct descriptor *d = descriptor_of(fd);

    return d && machine.attempts[d->i].run == d->run ? &machine.attempts[d->i] : NULL;
}

int shims_look(const struct job_key *key)
{
    const struct attempt_made *a = attempt_find_made(key);

    return a && a->there ? LOOK_FD + (int)(a - machine.attempts) : -ENOENT;
}

const struct attempt_made *shims_of_look(int fd)
{
    const size_t n = (size_t)(fd - LOOK_FD);

    return fd >= LOOK_FD && n < machine.n ? &machine.attempts[n] : NULL;
}

void shims_share(int fd)
{
    struct attempt_made *a = shims_of_descriptor(fd);

    if (a)
        a->holders++;
}

void shims_release(int fd)
{
    const struct descriptor *d = descriptor_of(fd);

    if (d)
        release(d->i, d->run);
}

/* voltd closes it. */
static void is_closed(int fd)
{
    struct descriptor *d = descriptor_of(fd);

    if (!d || !d->voltds)
        return;
    d->voltds = false;
    release(d->i, d->run);
}

void shims_voltd_died(void)
{
    for (size_t n = 0; n < machine.ndescriptors; n++)
        is_closed(RECORD_FD + (int)n);
}

void shims_start(int fd, uint32_t number, bool may_reuse, unsigned keeper)
{
    struct attempt_made *a = shims_of_descriptor(fd);
    size_t k = 0;

    if (!a)
        return;
    a->number = number;
    while (k < machine.nshims && !(may_reuse && machine.shims[k].lives &&
                                   machine.shims[k].pooled && !machine.shims[k].busy))
        k++;
    if (k == machine.nshims)
        SIM_PUSH(machine.shims, machine.nshims,
                 (struct shim){.lives = true, .pooled = true, .keeper = keeper});
    hand(k, (size_t)(a - machine.attempts));
}

void shims_dismiss(void)
{
    for (size_t k = 0; k < machine.nshims; k++)
        machine.shims[k].pooled = false;
}

void shims_keeper_died(unsigned keeper)
{
    for (size_t k = 0; k < machine.nshims; k++)
        if (machine.shims[k].keeper == keeper)
            machine.shims[k].pooled = false;
}

static void kill_process(struct attempt_made *a, int sig)
{
    if (!a->truth.lives)
        return;
    a->truth.was_signalled = true;
    a->truth.stands = false;
    a->truth.end = RECORD_END_SIGNAL;
    a->truth.status = sig;
    a->truth.is_oom = false;
    end_process((uint64_t)(a - machine.attempts), a->run);
}

static void die_late(uint64_t i, uint64_t run)
{
    if (machine.attempts[i].run == run)
        kill_process(&machine.attempts[i], SIGKILL);
}

/* It is in the middle of what SIGKILL does not end; it dies later. */
static bool survives(struct attempt_made *a)
{
    if (!sim_may(FAULT_SURVIVORS) || !sim_one_in(4))
        return false;
    sim_count_fault(FAULT_SURVIVORS);
    sim_after(sim_between(1000, 4000000), die_late, (uint64_t)(a - machine.attempts),
              a->run);
    return true;
}

static void stop_process(struct attempt_made *a)
{
    if (a->truth.lives)
        pauses_stop(&a->key);
    a->truth.stands = a->truth.lives;
}

static void continue_process(struct attempt_made *a)
{
    a->truth.stands = false;
    if (a->truth.due)
        sim_after(sim_below(100), end_process, (uint64_t)(a - machine.attempts), a->run);
}

static void signal_process(struct attempt_made *a, int sig, bool wakes)
{
    if (sig == SIGSTOP)
        stop_process(a);
    else if (sig == SIGKILL ||
             (sig != SIGCONT && oracle_program(a->number, a->key.index).obeys))
        kill_process(a, sig);
    if (sig == SIGCONT || wakes)
        continue_process(a);
}

int shims_signal(const struct job_key *key, int sig, bool tree, bool wakes,
                 unsigned keeper, uint32_t *ret_survivors)
{
    struct attempt_made *a = attempt_find_made(key);
    enum record_verdict v = machine_verdict(a);

    *ret_survivors = 0;
    if (v != RECORD_RUNNING && v != RECORD_SHIM_KILLED)
        return -ESRCH;
    if (!a->has_started)
        return -EAGAIN;
    if (tree && v == RECORD_SHIM_KILLED && a->keeper != keeper)
        *ret_survivors = KEEPER_SURVIVORS_UNKNOWN;
    bool lived = a->truth.lives;
    a->truth.was_signalled |= lived && sig != SIGSTOP && sig != SIGCONT;
    if (sig == SIGKILL && lived && survives(a))
        *ret_survivors = *ret_survivors ? *ret_survivors : 1;
    else
        signal_process(a, sig, wakes);
    return lived ? 0 : -ESRCH;
}

int shims_remove(const struct job_key *key)
{
    struct attempt_made *a = attempt_find_made(key);

    if (!a || !a->there)
        return 0;
    if (machine_verdict(a) == RECORD_RUNNING)
        return -EBUSY;
    if (a->has_started && !oracle_may_remove(key))
        sim_violation("the record of job %llu_%lld.%u is removed, and its end is not "
                      "durable",
                      (unsigned long long)key->id, (long long)key->index, key->attempt);
    a->there = false;
    return 0;
}

void shims_discard(const struct job_key *key)
{
    struct attempt_made *a = attempt_find_made(key);

    if (!a || !a->there)
        return;
    if (a->holders || a->has_started)
        sim_violation("the record of job %llu_%lld.%u is removed, and it may run",
                      (unsigned long long)key->id, (long long)key->index, key->attempt);
    a->there = false;
}

/* --- faults ----------------------------------------------------------------------------------- */

static void kill_shim(struct shim *s)
{
    struct attempt_made *a = &machine.attempts[s->order];

    s->lives = false;
    if (!s->busy)
        return;
    s->busy = false;
    if (a->has_started)
        a->truth.shim_killed = true;
    else
        a->truth.in_vain++;
    a->shim = 0;
    release(s->order, a->run);
}

bool shims_kill_of(const struct job_key *key)
{
    const struct attempt_made *a = attempt_find_made(key);

    if (!a || !a->shim)
        return false;
    kill_shim(&machine.shims[a->shim - 1]);
    return true;
}

void shims_end(const struct job_key *key)
{
    struct attempt_made *a = attempt_find_made(key);

    if (a)
        end_process((uint64_t)(a - machine.attempts), a->run);
}

bool shims_are_known(void)
{
    for (size_t k = 0; k < machine.nshims; k++) {
        const struct shim *s = &machine.shims[k];

        if (s->lives && s->busy && !machine.attempts[s->order].truth.record_gone)
            return true;
    }
    return false;
}

/* The shim of a job that was asked to stop, and has not. */
static bool kill_stopping(void)
{
    for (size_t k = 0; k < machine.nshims; k++) {
        struct shim *s = &machine.shims[k];
        const struct truth *t =
            s->lives && s->busy ? &machine.attempts[s->order].truth : NULL;

        if (!t || !t->lives || !t->was_signalled)
            continue;
        kill_shim(s);
        return true;
    }
    return false;
}

bool shims_kill(uint32_t n)
{
    uint32_t busy = shims_busy();

    if (!busy)
        return false;
    if (sim_one_in(2) && kill_stopping())
        return true;
    n %= busy;
    for (size_t k = 0; k < machine.nshims; k++)
        if (machine.shims[k].lives && machine.shims[k].busy && n-- == 0)
            kill_shim(&machine.shims[k]);
    return true;
}

/* Of what has not begun nobody could tell any more that it has not. */
static bool is_at_work(const struct attempt_made *a)
{
    return a->there && a->held && a->has_started && oracle_has_started(&a->key);
}

static void lose(struct attempt_made *a)
{
    a->there = false;
    a->truth.record_gone = true;
}

bool shims_lose_record_of(const struct job_key *key)
{
    struct attempt_made *a = attempt_find_made(key);

    if (!a || !is_at_work(a))
        return false;
    lose(a);
    return true;
}

bool shims_lose_record(uint32_t n)
{
    uint32_t all = 0;

    for (size_t i = 0; i < machine.n; i++)
        all += is_at_work(&machine.attempts[i]);
    n = all ? n % all : 0;
    for (size_t i = 0; all && i < machine.n; i++) {
        struct attempt_made *a = &machine.attempts[i];

        if (is_at_work(a) && n-- == 0)
            lose(a);
    }
    return all > 0;
}

/* A record of an earlier boot that is kept says what its slots say. */
void shims_reboot(bool keeps_records)
{
    for (size_t k = 0; k < machine.nshims; k++)
        machine.shims[k].lives = false;
    for (size_t i = 0; i < machine.n; i++) {
        struct attempt_made *a = &machine.attempts[i];

        a->truth.rebooted = true;
        a->truth.lives = a->held = false;
        a->shim = a->holders = 0;
        a->run++;
        a->there &= keeps_records;
    }
    machine.boot++;
    machine.generation += !keeps_records;
}
