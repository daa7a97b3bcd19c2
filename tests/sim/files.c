/* The files that voltd reads and writes but for its store and leases: exit records, the
 * outputs of jobs; and inotify events of records and leases. */
#include "tests/sim/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/link/inotify.h"
#include "daemon/link/record_make.h"
#include "daemon/output/output.h"

#define INOTIFY_FD 1000001 /* of records; the next: of leases */
#define OUTPUT_FD  1000003

/* --- records --------------------------------------------------------------------------- */

static struct record_started slot_1(const struct attempt_made *a)
{
    return (struct record_started){.pid = a->truth.pid,
                                   .shim_pid = a->shim,
                                   .mono_usec = a->start_usec + 1000000,
                                   .real_usec = a->start_usec + 1700000000000000};
}

/* It cannot be read now: out of descriptors, or the disk. */
static bool is_unreadable(void)
{
    if (!sim_may(FAULT_PROBE) || !sim.core || !sim_one_in(30))
        return false;
    sim_count_fault(FAULT_PROBE);
    return true;
}

int record_probe(int dir_fd, const struct job_key *key,
                 const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    const struct attempt_made *a = attempt_find_made(key);

    (void)dir_fd, (void)boot_id;
    sim_step();
    if (is_unreadable())
        return sim_one_in(2) ? -EMFILE : -EIO;
    *ret = (struct record){.verdict = machine_verdict(a)};
    if (ret->verdict == RECORD_ABSENT)
        return 0;
    ret->header.created_real_usec = 1700000000000000;
    ret->has_started = a->has_started;
    if (ret->has_started)
        ret->started = slot_1(a);
    if (ret->verdict != RECORD_DONE)
        return 0;
    ret->exited = (struct record_exited){.end = (uint32_t)a->truth.end,
                                         .status = a->truth.status,
                                         .real_usec = sim.now + 1700000000000000};
    ret->exited.flags = a->truth.has_cgroup ? RECORD_CONTAINED : 0;
    ret->exited.oom_kills = a->truth.is_oom;
    if (a->truth.end == RECORD_END_EXEC_FAILED)
        ret->exited.step = CHILD_STEP_EXEC;
    return 0;
}

int record_started(int dir_fd, const struct job_key *key,
                   const uint8_t boot_id[RECORD_ID_SIZE], struct record_started *ret)
{
    const struct attempt_made *a = attempt_find_made(key);

    (void)dir_fd, (void)boot_id;
    sim_step();
    if (is_unreadable())
        return -EMFILE;
    if (!a || !a->there || !a->has_started)
        return 0;
    *ret = slot_1(a);
    return 1;
}

int record_probe_cached(int dir_fd, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], struct record *ret)
{
    return sim_one_in(8) ? -EAGAIN : record_probe(dir_fd, key, boot_id, ret);
}

int record_started_cached(int dir_fd, const struct job_key *key,
                          const uint8_t boot_id[RECORD_ID_SIZE],
                          struct record_started *ret)
{
    return sim_one_in(8) ? -EAGAIN : record_started(dir_fd, key, boot_id, ret);
}

int record_open(int dir_fd, const struct job_key *key)
{
    (void)dir_fd;
    sim_step();
    return is_unreadable() ? -EMFILE : shims_look(key);
}

int record_create(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                  uint32_t *ret_seed)
{
    (void)dir_fd, (void)pool, (void)boot_id, (void)kill_mode;
    *ret_seed = 0;
    sim_step();
    if (keeper_is_short() && sim_one_in(4))
        return sim_one_in(4) ? -EACCES : -EMFILE;
    int fd = shims_make_record(key);
    sim_step();
    return fd;
}

int record_create_spare(int dir_fd, struct record_pool *pool, const struct job_key *key,
                        const uint8_t boot_id[RECORD_ID_SIZE], uint32_t kill_mode,
                        uint32_t *ret_seed)
{
    return sim_one_in(2) ? -ENFILE
                         : record_create(dir_fd, pool, key, boot_id, kill_mode, ret_seed);
}

int record_remove(int dir_fd, struct record_pool *pool, const struct job_key *key,
                  const uint8_t boot_id[RECORD_ID_SIZE])
{
    (void)dir_fd, (void)pool, (void)boot_id;
    sim_step();
    if (keeper_is_short() && sim_one_in(2))
        return -EMFILE;
    int r = shims_remove(key);
    sim_step();
    return r;
}

int record_discard(int dir_fd, const struct job_key *key)
{
    (void)dir_fd;
    sim_step();
    if (keeper_is_short() && sim_one_in(2))
        return sim_one_in(4) ? -EACCES : -EMFILE;
    shims_discard(key);
    sim_step();
    return 0;
}

void record_sweep(int dir_fd)
{
    (void)dir_fd;
}

int record_generation_ensure(int dir_fd, uint8_t ret[RECORD_ID_SIZE])
{
    return record_generation_read(dir_fd, ret);
}

/* --- inotify ----------------------------------------------------------------------------- */

/* The task that reads the events of one voltd. */
struct reader {
    struct source *of;
    const struct inotify_reader_ops *ops;
    void *arg;
    struct volt_waker waker;
    size_t at; /* of the queue */
    bool more; /* of the latest event */
};

/* Events of one directory: of records, of leases. */
static struct source {
    struct job_key *queue; /* id 0: some are not known */
    size_t n;
    struct reader *reader; /* of the voltd that lives */
} sources[2];
enum { OF_RECORDS, OF_LEASES };

void files_reset(void)
{
    files_voltd_died();
}

void files_voltd_died(void)
{
    for (size_t i = 0; i < 2; i++) {
        sources[i].reader = NULL;
        sources[i].n = 0;
    }
}

static void wake_reader(uint64_t which, uint64_t b)
{
    struct reader *r = sources[which].reader;

    (void)b;
    if (r && r->waker.task)
        volt_waker_wake(&r->waker);
}

static void is_closed(unsigned which, const struct job_key *key)
{
    struct source *s = &sources[which];
    struct job_key told = *key;

    if (!s->reader)
        return;
    if (sim_one_in(50))
        told = (struct job_key){0}; /* the queue was full */
    SIM_PUSH(s->queue, s->n, told);
    sim_after_in_life(sim_below(100), wake_reader, which, 0);
}

void files_record_closed(const struct job_key *key)
{
    is_closed(OF_RECORDS, key);
}

void files_lease_closed(uint64_t id)
{
    is_closed(OF_LEASES, &(struct job_key){.id = id, .index = JOB_NO_INDEX});
}

static void begin(struct reader *r, const struct job_key *key)
{
    union {
        struct inotify_event e;
        char bytes[sizeof(struct inotify_event) + JOB_KEY_TEXT_MAX];
    } event = {.bytes = {0}};

    if (!key->id) {
        r->ops->begin(r->arg, NULL);
        return;
    }
    event.e.mask = IN_CLOSE;
    event.e.len = 1 + (uint32_t)(r->of == &sources[OF_RECORDS]
                                     ? job_key_format(key, event.e.name)
                                     : job_key_format_job(key, event.e.name));
    r->ops->begin(r->arg, &event.e);
}

static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct reader *r = state;
    size_t looks = INOTIFY_LOOKS;

    if (!r->waker.task)
        r->waker = volt_waker_new(cx);
    r->of->reader = r;
    while (looks > 0 && (r->more || r->at < r->of->n)) {
        if (!r->more) {
            const struct job_key key = r->of->queue[r->at++];
            begin(r, &key);
        }
        r->more = r->ops->go_on(r->arg, &looks);
    }
    if (r->more || r->at < r->of->n)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void reader_drop(void *state)
{
    struct reader *r = state;

    volt_waker_fini(&r->waker);
    r->of->reader = NULL;
}

static const struct volt_task_type reader_type = {"inotify", sizeof(struct reader),
                                                  reader_poll, reader_drop, NULL};

/* Outputs are looked at by time. */
int inotify_reader_open(const char *what)
{
    return strcmp(what, "exit records") == 0      ? INOTIFY_FD
           : strcmp(what, "leases of locks") == 0 ? INOTIFY_FD + 1
                                                  : -1;
}

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    (void)fd, (void)path, (void)mask;
    return 1;
}

int inotify_reader_start(struct volt_runtime *rt, int fd,
                         const struct inotify_reader_ops *ops, void *arg)
{
    struct reader *r;

    if (fd < 0)
        return 0;
    r = volt_task_new(rt, &reader_type);
    if (!r)
        return -ENOMEM;
    r->of = &sources[fd - INOTIFY_FD];
    r->ops = ops;
    r->arg = arg;
    r->of->reader = r; /* what is closed from now on is an event */
    r->of->n = 0;
    return volt_task_spawn(r, NULL);
}

int record_scan(int dir_fd, int (*fn)(const struct job_key *key, void *arg), void *arg)
{
    int r = 0;

    (void)dir_fd;
    for (size_t i = 0; r == 0 && machine_record(i); i++)
        if (machine_record(i)->there)
            r = fn(&machine_record(i)->key, arg);
    return r;
}

/* --- outputs ---------------------------------------------------------------------------------- */

int outputs_open(struct outputs *o, int state_fd, const char *state_dir)
{
    *o = (struct outputs){.state_fd = state_fd, .dir_fd = -1, .spare_fd = -1};
    (void)state_dir;
    sim_step();
    return 0;
}

void outputs_close(struct outputs *o)
{
    (void)o;
}

int output_create(struct outputs *o, const struct job_key *key, enum job_stream stream)
{
    (void)o, (void)key, (void)stream;
    sim_step();
    return OUTPUT_FD;
}

int output_create_spare(struct outputs *o, const struct job_key *key,
                        enum job_stream stream)
{
    return sim_one_in(2) ? -ENFILE : output_create(o, key, stream);
}

int output_append(struct outputs *o, const struct job_key *key, enum job_stream stream)
{
    return output_create(o, key, stream);
}

uint64_t output_size(struct outputs *o, const struct job_key *key, bool split)
{
    (void)o, (void)split;
    return machine_printed(key->id, key->index);
}

void output_give_back(int fd, const struct stat *st)
{
    (void)fd, (void)st;
}

int output_open(struct outputs *o, struct store *s, const struct job_key *key,
                enum job_stream stream, bool ended)
{
    (void)o, (void)s, (void)key, (void)stream, (void)ended;
    return -ENODATA;
}

int output_open_empty(void)
{
    return -EMFILE;
}

char *output_path_text(const struct outputs *o, const struct job_key *key,
                       enum job_stream stream)
{
    (void)o, (void)key, (void)stream;
    return strdup("/output");
}

#define PRINTS_MAX 4096

/* What a job prints is its number, again and again; the bytes stay until the end of its
 * life. */
static const uint8_t *bytes_of(uint64_t id)
{
    static uint8_t bytes[128][PRINTS_MAX];

    if (!bytes[1][0])
        for (int i = 0; i < 128; i++)
            memset(bytes[i], i, PRINTS_MAX);
    return bytes[id & 0x7f];
}

void output_end_look(struct volt_cx *cx, struct outputs *o, const struct job_key *key,
                     bool split, uint64_t fold, struct output_end *ret)
{
    uint64_t n = ret->began ? machine_printed(key->id, key->index) : 0;

    (void)cx, (void)o, (void)split;
    ret->bytes = n;
    ret->kept = 0;
    ret->piece[0] = ret->piece[1] = (struct store_piece){NULL, 0};
    if (!n)
        return;
    if (n > fold || n > PRINTS_MAX) {
        ret->kept = JOB_KEPT_FILE(JOB_STDOUT);
        return;
    }
    ret->kept = JOB_KEPT_STORE(JOB_STDOUT);
    ret->piece[0] = (struct store_piece){bytes_of(key->id), n};
}

void output_end_finish(struct outputs *o, const struct job_key *key, struct output_end *e,
                       bool kept)
{
    (void)o, (void)key, (void)e, (void)kept;
}

void output_forget(struct outputs *o, struct volt_runtime *rt, uint64_t id)
{
    (void)o, (void)rt, (void)id;
}

void output_forget_later(struct outputs *o, struct volt_runtime *rt, uint64_t id)
{
    (void)o, (void)rt, (void)id;
}

void outputs_tidy(struct outputs *o, bool (*known)(void *arg, uint64_t id), void *arg)
{
    (void)o;
    sim_step();
    for (uint64_t id = 1; id < 4; id++)
        (void)known(arg, id);
}

void output_path_of(const struct job_key *key, enum job_stream stream,
                    struct output_path *ret)
{
    (void)key, (void)stream;
    *ret = (struct output_path){.group = ""};
}

const char *child_step_name(uint32_t step)
{
    return step == CHILD_STEP_EXEC ? "exec" : "?";
}
