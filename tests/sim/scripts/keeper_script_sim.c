/* The script on the keeper, the shims and the records of the simulator, without the rest
 * of it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/link/keeper_link_parts.h"
#include "tests/sim/machine.h"
#include "tests/sim/scripts/keeper_script.h"

#define FOR_EVER (UINT64_C(1) << 50)

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);

static struct keeper_link *link_open;
static struct keeper_reply answer;
static uint64_t serials;
static enum does does_of[256];

static struct job_key key_of(uint64_t id)
{
    return (struct job_key){id, JOB_NO_INDEX, 1};
}

/* The next thing happens. */
static void go_on(void)
{
    if (!sim_run_event())
        sim.now = sim_next_event();
    if (sim.now > FOR_EVER)
        abort(); /* what is waited for does not come */
}

void script_begin(void)
{
    rng_init(&sim.chance, 1, 0);
    sim.now = 1;
    sim.life = 1;
    keeper_reset();
    sim.rt = executor_new();
    if (keeper_link_open(NULL, NULL, &link_open) < 0)
        abort();
}

void script_end(void)
{
    keeper_link_free(link_open, false);
    executor_free(sim.rt);
}

/* --- requests ---------------------------------------------------------------------------- */

/* record: the descriptor that goes with it; -1: none. */
static struct keeper_reply ask(struct keeper_head *head, size_t size, enum keeper_op op,
                               void *tail, size_t n, int record)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec iov[] = {{head, size}, {tail, n}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

    *head = (struct keeper_head){KEEPER_MAGIC, op, ++serials};
    answer = (struct keeper_reply){.head.serial = 0};
    if (record >= 0) {
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        *CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
                                                .cmsg_level = SOL_SOCKET,
                                                .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &record, sizeof(record));
    }
    if (__wrap_sendmsg(link_open->fd, &msg, 0) < 0)
        abort();
    if (record >= 0)
        sim_closed(record);
    while (answer.head.serial != serials)
        go_on();
    return answer;
}

int script_start(uint64_t id, enum does does)
{
    const struct job_key key = key_of(id);
    char text[24], name[40], prog[] = "prog", index[] = "-";
    char *argv[] = {prog, text, index, NULL}, *env[] = {name, NULL};
    const struct launch l = {.argv = argv, .argc = 3, .env = env, .envc = 1};
    _Alignas(8) uint8_t block[512];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)id);
    (void)snprintf(name, sizeof(name), "VOLT_JOB_ID=%s", text);
    long n = launch_encode(&l, block, sizeof(block));
    struct keeper_start m = {.key = keeper_key_pack(&key), .launch_size = (uint64_t)n};
    const int record = shims_make_record(&key);
    if (record < 0)
        return record;
    does_of[id] = does;
    return ask(&m.head, sizeof(m), KEEPER_START, block, (size_t)n, record).status;
}

int script_signal(uint64_t id, int sig, bool tree, bool *ret_unknown_left)
{
    const struct job_key key = key_of(id);
    struct keeper_signal m = {.key = keeper_key_pack(&key),
                              .signal = (uint32_t)sig,
                              .scope = tree ? KEEPER_SCOPE_TREE : KEEPER_SCOPE_MAIN};
    const int record = shims_look(&key);
    struct keeper_reply r =
        ask(&m.head, sizeof(m), KEEPER_SIGNAL, NULL, 0, record < 0 ? -1 : record);

    *ret_unknown_left = r.survivors == KEEPER_SURVIVORS_UNKNOWN;
    return r.status;
}

int script_remove(uint64_t id)
{
    const struct job_key key = key_of(id);

    return shims_remove(&key);
}

static void await_connection(int than)
{
    while (link_open->fd < 0 || link_open->fd == than)
        go_on();
}

void script_reconnect(void)
{
    int fd = link_open->fd;

    keeper_break_connection();
    await_connection(fd);
}

void script_kill_keeper(void)
{
    int fd = link_open->fd;

    keeper_kill();
    await_connection(fd);
}

void script_kill_shim(uint64_t id)
{
    const struct job_key key = key_of(id);

    shims_kill_of(&key);
}

/* --- records ------------------------------------------------------------------------------- */

struct record script_look(uint64_t id)
{
    const struct job_key key = key_of(id);
    uint8_t boot[RECORD_ID_SIZE];
    struct record r;

    if (record_boot_id(boot) < 0 || record_probe(-1, &key, boot, &r) < 0)
        abort();
    return r;
}

void script_await_ready(uint64_t id)
{
    for (struct record r = script_look(id); !r.has_started; r = script_look(id))
        go_on();
}

void script_await_over(uint64_t id)
{
    while (script_look(id).verdict == RECORD_RUNNING)
        go_on();
}

/* The simulated directory has no descriptor. */
int script_records(void)
{
    return -1;
}

/* --- what the rest of the simulator would do -------------------------------------------------- */

struct program oracle_program(uint32_t number, int64_t index)
{
    enum does does = does_of[number];

    (void)index;
    return (struct program){.run_usec = does == EXITS ? 100 : FOR_EVER,
                            .code = does == EXITS ? (int)(number % 5) : 0,
                            .obeys = does != DEAF};
}

bool keeper_link_take_reply(struct keeper_link *link, const struct keeper_reply *reply)
{
    (void)link;
    answer = *reply;
    return true;
}

void keeper_link_fail_flying(struct keeper_link *link)
{
    (void)link;
}

void keeper_link_flush(struct keeper_link *link)
{
    (void)link;
}

uint64_t keeper_link_silent_since_locked(const struct keeper_link *link)
{
    (void)link;
    return 0;
}

void oracle_runs(const struct job_key *key)
{
    (void)key;
}

bool oracle_may_remove(const struct job_key *key)
{
    (void)key;
    return true;
}

bool oracle_has_started(const struct job_key *key)
{
    (void)key;
    return true;
}

void pauses_stop(const struct job_key *key)
{
    (void)key;
}

bool disk_has(uint64_t id)
{
    (void)id;
    return true;
}

void cover_note_fault(enum sim_fault f)
{
    (void)f;
}
