/* Leases of locks: processes outside of jobs that ask for the locks of jobs, have them for
 * a while and give them back, whether voltd lives or not; their files, in place of
 * daemon/lease/lease_file.c. A file is locked from when it is made: by voltd, with which
 * that ends, until it has answered; then by the process. One that waits and has lost its
 * voltd comes back to its place, or goes; nothing that asked later has the lock before. */
#include "tests/sim/disk.h"
#include "tests/sim/lends.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/lease/lease_file.h"
#include "daemon/lease/leasing.h"

#define DIR_FD   1100000 /* descriptors of the world */
#define LEASE_FD 1200000

enum hold {
    FREE,
    OF_VOLTD,
    OF_PROCESS,
};

struct file {
    struct lease_file_contents told;
    enum hold hold;
    bool there;
    bool minded; /* OF_PROCESS: a task waits for it, or it is known what becomes of it */
    uint64_t asked, made;
};

static struct {
    struct file *files;
    size_t n;
    unsigned asking; /* processes, of the voltd that lives */
    uint64_t clock;  /* counts what is asked for and what is made */
} leases;

unsigned leases_open(void)
{
    unsigned n = leases.asking;

    for (size_t i = 0; i < leases.n; i++)
        n += leases.files[i].there;
    return n;
}

void leases_reset(void)
{
    for (size_t i = 0; i < leases.n; i++)
        leases.files[i].there = false;
    leases.n = leases.asking = 0;
    leases.clock = 0;
}

static struct file *find(uint64_t id)
{
    for (size_t i = 0; i < leases.n; i++)
        if (leases.files[i].told.ask.id == id)
            return &leases.files[i];
    return NULL;
}

static void let_go(uint64_t id, uint64_t unused)
{
    struct file *f = find(id);

    (void)unused;
    if (!f || f->hold == FREE)
        return;
    f->hold = FREE;
    sim_trace("lease %" PRIu64 " ends", id);
    files_lease_closed(id);
}

static void come_back(uint64_t id, uint64_t unused);

/* Its process has lost its voltd. */
static void leave(struct file *f)
{
    f->minded = true;
    sim_after(sim_below(sim_one_in(2) ? 2000 : 200000),
              sim_one_in(4) ? let_go : come_back, f->told.ask.id, 0);
}

void leases_voltd_died(void)
{
    leases.asking = 0;
    for (size_t i = 0; i < leases.n; i++)
        if (leases.files[i].hold == OF_VOLTD)
            leases.files[i].hold = FREE;
        else if (leases.files[i].hold == OF_PROCESS && !leases.files[i].minded)
            leave(&leases.files[i]);
}

void leases_rebooted(void)
{
    for (size_t i = 0; i < leases.n; i++)
        leases.files[i].hold = FREE;
}

static uint32_t lock_of(const struct file *f)
{
    return (uint32_t)strtoul(f->told.name + strlen("lock "), NULL, 10);
}

void leases_count(uid_t uid, uint32_t lock, uint32_t *sum, uint32_t *alone)
{
    for (size_t i = 0; i < leases.n; i++) {
        const struct file *f = &leases.files[i];
        const struct job_claim *c = &f->told.ask.claim;

        if (f->hold == FREE || f->told.waits || f->told.ask.uid != uid ||
            lock_of(f) != lock)
            continue;
        *sum += c->mode == JOB_CLAIM_PERMITS ? (uint32_t)c->permits : 1;
        *alone += c->mode == JOB_CLAIM_EXCLUSIVE;
    }
}

/* --- files -------------------------------------------------------------------------------- */

uint64_t leases_one_of(uid_t uid)
{
    const size_t from = leases.n ? sim_below((uint32_t)leases.n) : 0;

    for (size_t i = from; i < leases.n; i++)
        if (leases.files[i].hold == OF_PROCESS && leases.files[i].told.ask.uid == uid)
            return leases.files[i].told.ask.id;
    return 0;
}

uint64_t lease_file_id(const char *name)
{
    return strtoull(name, NULL, 10);
}

int lease_dir_open(int state_fd)
{
    (void)state_fd;
    sim_step();
    return DIR_FD;
}

int lease_dir_scan(int dir_fd, int (*fn)(uint64_t id, void *arg), void *arg)
{
    int r = 0;

    (void)dir_fd;
    for (size_t i = 0; i < leases.n && r >= 0; i++)
        if (leases.files[i].there)
            r = fn(leases.files[i].told.ask.id, arg);
    return r < 0 ? r : 0;
}

/* Whether one of both has the lock alone. */
static bool exclude(const struct file *a, const struct file *b)
{
    return a->told.ask.claim.mode == JOB_CLAIM_EXCLUSIVE ||
           b->told.ask.claim.mode == JOB_CLAIM_EXCLUSIVE;
}

/* Then it goes before others. */
static bool is_inside(const struct lease_ask *a)
{
    return a->in_job.id || a->in_lease;
}

/* It is given: nothing else has it, and nothing waits that had its place before. */
static void check(const struct file *given)
{
    const struct lease_ask *a = &given->told.ask;

    oracle_check_lock(a->uid, lock_of(given));
    for (size_t i = 0; i < leases.n; i++) {
        const struct file *f = &leases.files[i];

        if (!is_inside(a) && f->there && f->hold == OF_PROCESS && f->told.waits &&
            f->made < given->asked && f->told.ask.uid == a->uid &&
            lock_of(f) == lock_of(given) && exclude(f, given))
            sim_violation("lease %" PRIu64 " is given before lease %" PRIu64
                          ", which waits for longer",
                          a->id, f->told.ask.id);
    }
}

struct process {
    struct lease_acquire acquire;
    char name[16];
    uint64_t asked;
    unsigned polls_left; /* then it goes; 0: it stays */
    bool begun;
};

static const struct process *process_of(const struct lease_ask *ask)
{
    return list_thing(ask, const struct process, acquire.ask);
}

int lease_file_make(int dir_fd, const struct lease_ask *ask, bool waits, int *ret_fd)
{
    struct file f = {.told = {.ask = *ask, .waits = waits},
                     .hold = OF_VOLTD,
                     .there = true,
                     .asked = process_of(ask)->asked,
                     .made = ++leases.clock};

    (void)dir_fd;
    sim_step();
    if (sim_may(FAULT_DISK_FULL) && sim_one_in(10))
        return -ENOSPC;
    if (find(ask->id))
        sim_violation("the id %" PRIu64 " is given twice, to a lease", ask->id);
    (void)snprintf(f.told.name, sizeof(f.told.name), "%s", ask->claim.name);
    SIM_PUSH(leases.files, leases.n, f);
    sim_trace("lease %" PRIu64 " of %s, mode %d, user %u%s", ask->id, f.told.name,
              (int)ask->claim.mode, (unsigned)ask->uid, waits ? ", waits" : "");
    if (!waits)
        check(&f);
    *ret_fd = LEASE_FD;
    sim_step();
    return 0;
}

int lease_file_give(int dir_fd, uint64_t id, uint64_t since_usec, uint64_t had)
{
    struct file *f = find(id);

    (void)dir_fd;
    sim_step();
    if (sim_may(FAULT_DISK_FULL) && sim_one_in(10))
        return -ENOSPC;
    if (!f->there)
        return -ENOENT;
    f->told.waits = false;
    f->told.ask.since_usec = since_usec;
    f->told.ask.claim.had = had;
    sim_trace("lease %" PRIu64 " is given", id);
    if (f->hold != FREE) /* otherwise it is found to have ended */
        check(f);
    sim_step();
    return 0;
}

int lease_file_is_held(int dir_fd, uint64_t id)
{
    const struct file *f = find(id);

    (void)dir_fd;
    sim_step();
    return f && f->there && f->hold != FREE;
}

int lease_file_read(int dir_fd, uint64_t id, struct lease_file_contents *ret)
{
    (void)dir_fd;
    *ret = find(id)->told;
    ret->ask.claim.name = ret->name;
    ret->ask.command = ret->command;
    return 0;
}

int lease_file_remove(int dir_fd, uint64_t id)
{
    struct file *f = find(id);

    (void)dir_fd;
    sim_step();
    if (f->hold != FREE && !f->told.waits)
        sim_violation("the file of lease %" PRIu64 " is removed, and it is held", id);
    f->there = false;
    return 0;
}

/* --- processes ---------------------------------------------------------------------------- */

static void begin(struct process *p)
{
    const uint32_t lock = sim.few_locks ? 1 : sim_between(1, 3);
    const bool counts = lock == 3;
    const uid_t uid = 1 + sim_below(ORACLE_USERS);

    (void)snprintf(p->name, sizeof(p->name), "lock %u", lock);
    p->begun = true;
    p->asked = ++leases.clock;
    p->acquire = (struct lease_acquire){
        .core = sim.core,
        .ask = {.uid = uid,
                .claim = {.name = p->name,
                          .mode = counts          ? JOB_CLAIM_PERMITS
                                  : sim_one_in(2) ? JOB_CLAIM_EXCLUSIVE
                                                  : JOB_CLAIM_SHARED,
                          .permits = counts ? sim_between(1, ORACLE_PERMITS) : 1,
                          .capacity = counts ? ORACLE_PERMITS : 0},
                .command = "",
                .in_job = lends_a_job(uid),
                .in_lease = sim.lends && sim_one_in(3) ? leases_one_of(uid) : 0},
        .waits = p->acquire.place || !sim_one_in(5),
        .place = p->acquire.place};
    sim_trace("a process asks for %s, mode %d, user %u", p->name,
              (int)p->acquire.ask.claim.mode, (unsigned)p->acquire.ask.uid);
}

/* It has the descriptor. */
static void take(struct process *p)
{
    if (lease_acquire_take_fd(&p->acquire) >= 0) {
        find(p->acquire.ask.id)->hold = OF_PROCESS;
        if (p->acquire.place)
            let_go(p->acquire.place, 0);
        p->acquire.place = p->acquire.ask.id;
    }
}

static void end(struct process *p)
{
    struct file *f = find(p->acquire.place);

    if (f && p->acquire.ret == 0) {
        f->minded = true;
        sim_after(sim_below(sim.short_jobs ? 3000 : 300000), let_go, p->acquire.place, 0);
    } else if (f) {
        let_go(p->acquire.place, 0);
    }
    p->acquire.place = 0;
}

/* It has waited for long enough, or its connection is lost. */
static void go(struct volt_cx *cx, struct process *p)
{
    if (sim_one_in(2))
        return;
    lease_acquire_leave(cx, &p->acquire);
    p->acquire.ret = -EAGAIN;
    end(p);
}

/* It is killed while its call waits, which voltd hears of later, or not before it has
 * what it waits for. */
static void may_be_killed(const struct process *p)
{
    if (p->acquire.place && sim_may(FAULT_CLIENT_GOES) && sim_one_in(8))
        sim_after(sim_below(2000), let_go, p->acquire.place, 0);
}

static enum volt_poll process_poll(struct volt_cx *cx, void *state)
{
    struct process *p = state;

    if (!p->begun)
        begin(p);
    if (p->polls_left && --p->polls_left == 0) {
        go(cx, p);
        return VOLT_READY;
    }
    const enum volt_poll poll = lease_acquire_poll(cx, &p->acquire);
    take(p);
    if (poll == VOLT_READY)
        end(p);
    else
        may_be_killed(p);
    return poll;
}

static void process_drop(void *state)
{
    struct process *p = state;
    struct file *f = find(p->acquire.place);

    leases.asking--;
    if (lease_acquire_take_fd(&p->acquire) >= 0)
        let_go(p->acquire.ask.id, 0);
    if (f && f->hold == OF_PROCESS)
        leave(f);
    if (p->begun)
        lease_acquire_fini(&p->acquire);
}

static const struct volt_task_type process_type = {"lease", sizeof(struct process),
                                                   process_poll, process_drop, NULL};

/* place 0: a new one. */
static void ask(uint64_t place)
{
    sim.outside++;
    struct process *p = volt_task_new(sim.rt, &process_type);
    p->acquire.place = place;
    if (sim_may(FAULT_CLIENT_GOES) && sim_one_in(6))
        p->polls_left = 2 + sim_below(6);
    leases.asking++;
    (void)volt_task_spawn(p, NULL);
    sim.outside--;
}

static void come_back(uint64_t id, uint64_t unused)
{
    struct file *f = find(id);

    (void)unused;
    if (!f || f->hold != OF_PROCESS)
        return;
    if (!sim.core) {
        sim_after(1000 + sim_below(20000), come_back, id, 0);
        return;
    }
    sim_trace("the process of lease %" PRIu64 " comes back", id);
    f->minded = false;
    ask(id);
}

void leases_act(void)
{
    ask(0);
}
