/* The keeper of the simulated machine, and voltd's connection to it. Calls are the real
 * ones (daemon/link/keeper_call.c); what they send is taken by sendmsg() here, what
 * keeper_link.c and its task do is done by events. */
#include "tests/sim/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "daemon/link/keeper_link_parts.h"

#define LINK_FD 2000000 /* and the number of the connection */

struct request {
    union {
        struct keeper_head head;
        struct keeper_start start;
        struct keeper_signal signal;
    };
    uint32_t number; /* START: of the order, */
    int record;      /* and the descriptor of its record */
    unsigned run;    /* SIGNAL: whose record came with it; 0: none */
};

static struct {
    bool lives;
    uint64_t stopped_until, starved_until;
    bool starves_plainly; /* it says so, each time */
    bool doomed;          /* the next connection breaks soon */
    bool hung_up;         /* its voltd has gone while it stood still */
    unsigned keeper;      /* its number */
    unsigned conn;        /* the number of its connection; 0: none */
    unsigned conns;       /* ever */
    struct request *requests;
    size_t n;
    bool serving; /* an event for the next one is on its way */
    unsigned killers;
    struct keeper_reply *replies;
    size_t nreplies;
    struct keeper_link *link; /* of the voltd that lives */
    uint8_t boot_id[RECORD_ID_SIZE];
} keeper;

/* A killer at work. */
struct killing {
    struct keeper_signal m;
    unsigned run, conn, keeper, tries;
};
static struct killing killing[64];

void keeper_reset(void)
{
    sim_free(keeper.requests);
    sim_free(keeper.replies);
    memset(&keeper, 0, sizeof(keeper));
    memset(killing, 0, sizeof(killing));
    machine_reset();
    files_reset();
}

static void make_id(uint8_t ret[RECORD_ID_SIZE], unsigned what, unsigned n)
{
    memset(ret, 0, RECORD_ID_SIZE);
    ret[0] = (uint8_t)what;
    ret[1] = (uint8_t)n;
    ret[2] = (uint8_t)(n >> 8);
}

int record_boot_id(uint8_t ret[RECORD_ID_SIZE])
{
    make_id(ret, 1, machine_boot());
    return 0;
}

int record_generation_read(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    (void)dir_fd;
    make_id(ret, 2, machine_generation());
    return 0;
}

/* --- replies ------------------------------------------------------------------------------ */

/* A connection that a voltd has left is not heard by the next one. */
static void deliver(uint64_t i, uint64_t conn)
{
    if (keeper.conn != conn || !keeper.link || keeper.link->fd != LINK_FD + (int)conn)
        return;
    sim.inside = true;
    const bool asked = keeper_link_take_reply(keeper.link, &keeper.replies[i]);
    sim.inside = false;
    if (!asked)
        sim_violation("voltd leaves a keeper for an answer that it has asked for");
}

static void reply(unsigned conn, const struct keeper_reply *r)
{
    if (!conn)
        return;
    SIM_PUSH(keeper.replies, keeper.nreplies, *r);
    sim_after_in_life(sim_below(200), deliver, keeper.nreplies - 1, conn);
}

/* --- requests ------------------------------------------------------------------------------- */

static void serve_next(uint64_t a, uint64_t b);

static void serve_soon(void)
{
    if (!keeper.serving && keeper.n && keeper.lives)
        sim_after(sim_below(300), serve_next, keeper.keeper, 0);
    keeper.serving |= keeper.n > 0;
}

bool keeper_is_short(void)
{
    return sim.now < keeper.starved_until && !sim.calm;
}

static int serve_start(const struct request *m)
{
    if (!keeper_is_short()) {
        shims_start(m->record, m->number, keeper.killers == 0, keeper.keeper);
        return 0;
    }
    shims_release(m->record);
    return !keeper.starves_plainly && sim_one_in(12) ? -EACCES : -EAGAIN;
}

static void kill_now(uint64_t i, uint64_t b)
{
    struct killing *k = &killing[i];
    struct keeper_reply r = {.head = {KEEPER_MAGIC, KEEPER_REPLY, k->m.head.serial}};
    struct job_key key = keeper_key_unpack(&k->m.key);

    (void)b;
    if ((k->m.signal == SIGSTOP) != (k->m.scope == KEEPER_SCOPE_FREEZE))
        sim_violation("a pause does not freeze, or something else does");
    const struct attempt_made *a = attempt_find_made(&key);
    r.status = -ESRCH; /* of a record that has gone since */
    if (a && a->run == k->run)
        r.status = shims_signal(&key, (int)k->m.signal, !(k->m.scope & KEEPER_SCOPE_MAIN),
                                k->m.scope & KEEPER_SCOPE_WAKE, k->keeper, &r.survivors);
    if (r.status == -EAGAIN && k->tries++ < 20) {
        sim_after(50000, kill_now, i, 0);
        return;
    }
    if (r.survivors && r.survivors != KEEPER_SURVIVORS_UNKNOWN)
        r.survivor[0] = truth_of(&key).pid;
    k->conn = k->conn == keeper.conn ? k->conn : 0;
    if (keeper.killers)
        keeper.killers--;
    if (k->conn)
        reply(k->conn, &r);
    k->keeper = 0;
}

/* False: the reply is the caller's. */
static bool serve_signal(const struct keeper_signal *m, unsigned run,
                         struct keeper_reply *r)
{
    size_t i = 0;

    while (i < 64 && killing[i].keeper)
        i++;
    if (i == 64 || keeper_is_short()) {
        r->status = -EAGAIN;
        return false;
    }
    keeper.killers++;
    killing[i] = (struct killing){*m, run, keeper.conn, keeper.keeper, 0};
    sim_after(sim_below(m->signal == SIGKILL ? 3000 : 500), kill_now, i, 0);
    return true;
}

static void serve(const struct request *m)
{
    struct keeper_reply r = {.head = {KEEPER_MAGIC, KEEPER_REPLY, m->head.serial}};

    switch (m->head.op) {
    case KEEPER_START:
        r.status = serve_start(m);
        break;
    default:
        if (serve_signal(&m->signal, m->run, &r))
            return;
        break;
    }
    sim_trace("keeper: request %llu, op %u: %d", (unsigned long long)m->head.serial,
              m->head.op, r.status);
    reply(keeper.conn, &r);
}

static void serve_first(void)
{
    if (!keeper.n)
        return;
    struct request m = keeper.requests[0];
    memmove(keeper.requests, keeper.requests + 1, --keeper.n * sizeof(m));
    serve(&m);
}

/* What it has not served is gone, and the records that came with it. */
static void drop_requests(void)
{
    for (size_t i = 0; i < keeper.n; i++)
        if (keeper.requests[i].head.op == KEEPER_START)
            shims_release(keeper.requests[i].record);
    keeper.n = 0;
}

static void serve_next(uint64_t number, uint64_t b)
{
    (void)b;
    if (number != keeper.keeper || !keeper.lives)
        return;
    if (sim.now < keeper.stopped_until) {
        sim_after(keeper.stopped_until - sim.now, serve_next, number, 0);
        return;
    }
    keeper.serving = false;
    serve_first();
    serve_soon();
}

/* --- what voltd sends -------------------------------------------------------------------------- */

static void check_env(const struct launch *l, const struct job_key *key)
{
    char want[JOB_KEY_TEXT_MAX + 16] = "VOLT_JOB_ID=";

    (void)job_key_format_job(key, want + strlen(want));
    for (size_t i = 0; i < l->envc; i++)
        if (strcmp(l->env[i], want) == 0)
            return;
    sim_violation("job %llu is started without %s", (unsigned long long)key->id, want);
}

/* The number of the order that a launch block is of. */
static uint32_t read_launch(const struct keeper_start *m, const void *tail)
{
    struct job_key key = keeper_key_unpack(&m->key);
    struct launch l;
    char *copy = sim_grow(NULL, m->launch_size);

    memcpy(copy, tail, m->launch_size);
    if (launch_decode(copy, m->launch_size, &l) < 0 || l.argc != 3)
        sim_violation("job %llu: its launch block cannot be read",
                      (unsigned long long)key.id);
    uint32_t number = (uint32_t)strtoul(l.argv[1], NULL, 10);
    if (key.index >= 0 && strtoll(l.argv[2], NULL, 10) != key.index)
        sim_violation("job %llu_%lld is started as element %s",
                      (unsigned long long)key.id, (long long)key.index, l.argv[2]);
    check_env(&l, &key);
    sim_free(copy);
    return number;
}

/* The first descriptor; -1: none. */
static int first_descriptor(const struct msghdr *msg)
{
    const struct cmsghdr *h = CMSG_FIRSTHDR(msg);
    int fd = -1;

    if (h)
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    return fd;
}

/* The record that comes with a SIGNAL, if there is one: the number of its run. */
static unsigned take_look(const struct keeper_signal *m, const struct msghdr *msg)
{
    const struct job_key key = keeper_key_unpack(&m->key);
    const struct attempt_made *a = shims_of_look(first_descriptor(msg));

    if (a ? !job_key_equal(&a->key, &key) : shims_look(&key) >= 0)
        sim_violation("job %llu is signalled without its record",
                      (unsigned long long)key.id);
    return a ? a->run : 0;
}

/* The first descriptor that comes with a START: the right to run it. */
static int take_record(const struct keeper_start *m, const struct msghdr *msg)
{
    const struct job_key key = keeper_key_unpack(&m->key);
    const int fd = first_descriptor(msg);

    const struct attempt_made *a = shims_of_descriptor(fd);
    if (!a || !job_key_equal(&a->key, &key))
        sim_violation("job %llu is started without its record",
                      (unsigned long long)key.id);
    shims_share(fd);
    return fd;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    const struct iovec *iov = msg->msg_iov;
    struct request m;

    (void)flags;
    if (fd != LINK_FD + (int)keeper.conn || !keeper.lives) {
        errno = EPIPE;
        return -1;
    }
    sim_step();
    memset(&m, 0, sizeof(m));
    memcpy(&m, iov[0].iov_base, iov[0].iov_len);
    if (m.head.op == KEEPER_START) {
        m.number = read_launch(&m.start, iov[1].iov_base);
        m.record = take_record(&m.start, msg);
    } else {
        m.run = take_look(&m.signal, msg);
    }
    SIM_PUSH(keeper.requests, keeper.n, m);
    serve_soon();
    sim_step();
    return (ssize_t)iov[0].iov_len;
}

/* --- the connection ----------------------------------------------------------------------------- */

/* The keeper sees its end. */
static void close_connection(void)
{
    keeper.conn = 0;
    drop_requests();
    shims_dismiss();
}

/* It goes on: what it finds first is the rest of the connection that has gone. */
static void see_hang_up(uint64_t number, uint64_t b)
{
    (void)b;
    if (number != keeper.keeper || !keeper.lives || !keeper.hung_up)
        return;
    keeper.hung_up = false;
    keeper.conn = 0;
    if (sim_one_in(2))
        serve_first();
    close_connection();
}

/* A keeper is there, and has said WELCOME. */
static void greet(struct keeper_link *l)
{
    see_hang_up(keeper.keeper, 0);
    if (!keeper.lives) {
        keeper.lives = true;
        keeper.keeper++;
        keeper.killers = 0;
        keeper.serving = false;
        l->info.started++;
    }
    close_connection();
    keeper.conn = ++keeper.conns;
    l->fd = LINK_FD + (int)keeper.conn;
    l->info.keeper_pid = keeper.keeper;
    l->info.live = shims_busy();
    l->info.connects++;
    l->lost_usec = 0;
}

static void note_broken(uint64_t conn, uint64_t b);

static void lose(void)
{
    unsigned conn = keeper.conn;

    close_connection();
    keeper.doomed = !conn;
    if (conn)
        sim_after_in_life(sim_below(1000), note_broken, conn, 0);
}

static void break_soon(uint64_t conn, uint64_t b)
{
    (void)b;
    if (keeper.conn == conn)
        lose();
}

static void dial_again(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    if (!keeper.link || keeper.link->fd >= 0)
        return;
    if (keeper.lives && sim.now < keeper.stopped_until) {
        sim_after_in_life(keeper.stopped_until - sim.now, dial_again, 0, 0);
        return;
    }
    greet(keeper.link);
    sim.inside = true;
    keeper_link_flush(keeper.link);
    sim.inside = false;
    if (keeper.doomed)
        sim_after_in_life(sim_below(400), break_soon, keeper.conn, 0);
    keeper.doomed = false;
}

static void note_broken(uint64_t conn, uint64_t b)
{
    struct keeper_link *l = keeper.link;

    (void)b;
    if (!l || l->fd != LINK_FD + (int)conn)
        return;
    l->fd = -1;
    if (!l->lost_usec)
        l->lost_usec = volt_now_usec();
    l->asked |= l->flying.first != NULL;
    sim.inside = true;
    keeper_link_fail_flying(l);
    sim.inside = false;
    sim_after_in_life(sim_one_in(6) ? sim_between(20000, 1000000)
                                    : sim_between(2000, 20000),
                      dial_again, 0, 0);
}

void keeper_stop(uint64_t usec)
{
    if (keeper.lives)
        keeper.stopped_until = sim.now + usec;
}

void keeper_starve(uint64_t usec)
{
    if (sim.now + usec > keeper.starved_until)
        keeper.starved_until = sim.now + usec;
    keeper.starves_plainly = sim_one_in(2);
}

bool keeper_lose_record(uint32_t n)
{
    return shims_lose_record(n);
}

bool keeper_lose_record_of(const struct job_key *key)
{
    return shims_lose_record_of(key);
}

void keeper_break_connection(void)
{
    lose();
}

void keeper_kill(void)
{
    unsigned conn = keeper.conn;

    if (!keeper.lives)
        return;
    keeper.lives = keeper.hung_up = false;
    keeper.stopped_until = 0;
    keeper.conn = 0;
    drop_requests();
    shims_keeper_died(keeper.keeper);
    if (conn)
        sim_after_in_life(sim_below(1000), note_broken, conn, 0);
}

void keeper_voltd_died(void)
{
    keeper.link = NULL;
    shims_voltd_died();
    files_voltd_died();
    if (!keeper.conn)
        return;
    if (sim.now < keeper.stopped_until) {
        keeper.hung_up = true;
        sim_after(keeper.stopped_until - sim.now, see_hang_up, keeper.keeper, 0);
    } else {
        close_connection();
    }
}

bool keeper_kill_shim(uint32_t n)
{
    return shims_kill(n);
}

bool keeper_kill_shim_of(const struct job_key *key)
{
    return shims_kill_of(key);
}

void keeper_reboot(bool keeps_records)
{
    keeper.lives = keeper.hung_up = false;
    keeper.stopped_until = 0;
    keeper.conn = 0;
    drop_requests();
    shims_reboot(keeps_records);
}

unsigned keeper_running(void)
{
    return shims_running();
}

/* --- voltd's end: keeper_link.h ------------------------------------------------------------------- */

int keeper_link_open(const struct keeper_link_options *opt, struct volt_error *err,
                     struct keeper_link **ret)
{
    struct keeper_link *l = calloc(1, sizeof(*l));

    (void)opt;
    if (!l)
        return error_set(err, -ENOMEM, "out of memory");
    l->fd = -1;
    volt_notify_init(&l->sent);
    sim_step();
    keeper.link = *ret = l;
    if (keeper.lives && sim.now < keeper.stopped_until) { /* it is late */
        l->lost_usec = volt_now_usec();
        sim_after_in_life(keeper.stopped_until - sim.now, dial_again, 0, 0);
        return 0;
    }
    greet(l);
    sim_step();
    return 0;
}

int keeper_link_start(struct keeper_link *link, struct volt_runtime *rt)
{
    (void)link, (void)rt;
    return 0;
}

/* There are no links of single users, which are made while jobs run. */
int keeper_link_task(struct keeper_link *link, struct volt_runtime *rt, void **ret_task)
{
    (void)link, (void)rt, (void)ret_task;
    return -ENOMEM;
}

void keeper_link_free(struct keeper_link *link, bool settled)
{
    if (!link)
        return;
    if (settled && shims_are_known())
        sim_violation("voltd says that every job has ended, and one has not");
    keeper.link = NULL;
    if (link->fd < 0) {
        volt_notify_fini(&link->sent);
        free(link);
        return;
    }
    close_connection();
    keeper.lives &= shims_busy() > 0;
    volt_notify_fini(&link->sent);
    free(link);
}

/* There is one for all users, and it never rests. */
void keeper_link_want(struct keeper_link *link)
{
    (void)link;
}

void keeper_link_info(struct keeper_link *link, struct keeper_link_info *ret)
{
    *ret = link->info;
}

bool keeper_link_is_late(struct keeper_link *link)
{
    return link->info.connects == 0;
}

uint64_t keeper_link_away_usec(struct keeper_link *link)
{
    uint64_t since =
        link->lost_usec ? link->lost_usec : keeper_link_silent_since_locked(link);
    uint64_t now = volt_now_usec();

    return since && now > since ? now - since : 0;
}
