/* The life of the manager: what it opens, in which order, and how it goes.
 *
 * Order at start: directories, keeper (HELLO: from now on nothing of an earlier daemon is
 * started any more), store (replayed), records (those of no job are orphans; their ids
 * must never be given out again), ids, then the tasks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "daemon/config/config.h"
#include "daemon/exec/jobs.h"
#include "daemon/output/output_meter.h"
#include "daemon/observe/log.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"
#include "daemon/store/sqlite.h"

static int open_dir(const char *path, int *ret_fd, struct volt_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "cannot open %.180s: %s", path, strerror(errno));
    *ret_fd = fd;
    return 0;
}

/* The keeper reads it too, but says what is wrong to few. */
static int prove_generation(int record_fd, const char *record_dir, struct volt_error *err)
{
    uint8_t generation[RECORD_ID_SIZE];
    int r = record_generation_read(record_fd, generation);

    if (r == 0 || r == -ENOENT)
        return 0;
    return error_set(err, r, "%.180s/generation: %s", record_dir,
                     r == -EBADMSG ? "it is damaged" : file_text(r));
}

static int open_dirs(struct manager *m, const struct manager_options *o,
                     struct volt_error *err)
{
    int r = open_dir(o->state_dir, &m->state_fd, err);

    if (r < 0)
        return r;
    r = outputs_open(&m->outputs, m->state_fd, o->state_dir);
    if (r < 0)
        return error_set(err, r, "cannot open %.180s/output: %s", o->state_dir,
                         strerror(-r));
    r = open_dir(o->record_dir, &m->record_fd, err);
    return r < 0 ? r : prove_generation(m->record_fd, o->record_dir, err);
}

static int open_keeper(struct manager *m, const struct manager_options *o,
                       struct volt_error *err)
{
    char socket_path[108];
    struct keeper_link_options k = {.socket_path = socket_path,
                                    .record_dir = o->record_dir,
                                    .program = o->keeper_path,
                                    .descriptors = o->descriptors};
    int r;

    if (!o->keeper_path)
        return 0;
    if ((size_t)snprintf(socket_path, sizeof(socket_path), "%s/keeper.sock",
                         o->runtime_dir) >= sizeof(socket_path))
        return error_set(err, -ENAMETOOLONG,
                         "the path of the keeper's socket is too long");
    r = keeper_link_open(&k, err, &m->link);
    if (r < 0)
        return r;
    return record_watch_open(m->record_fd, m->boot_id, &m->keys.secret, err, &m->watch);
}

static void tell(const char *text)
{
    log_warning("store: %s", text);
}

static int open_store(struct manager *m, const struct manager_options *o,
                      struct volt_error *err)
{
    struct store_sqlite_options s = {.dir = o->state_dir, .tell = tell};
    struct keeper_link_info info;

    if (o->config->backend == CONFIG_BACKEND_MEMORY) {
        m->store = store_memory_new();
        return m->store ? 0 : error_set(err, -ENOMEM, "out of memory");
    }
    memcpy(s.boot_id, m->boot_id, sizeof(s.boot_id));
    if (m->link) {
        keeper_link_info(m->link, &info);
        memcpy(s.generation, info.generation, sizeof(s.generation));
    }
    return store_sqlite_open(&s, &m->store, err);
}

/* The log goes on behind the news that the store has given, which the load fills in. */
static void open_log(struct manager *m)
{
    uint64_t first, last;

    store_numbers(m->store, &first, &last);
    event_ring_init(&m->log, first);
    m->log.seq = last;
    store_subscribe(m->store, jobs_log, m);
}

/* Of jobs that live, of those in the store, and of records without a job. In doubt
 * yes. */
static bool is_known(void *manager, uint64_t id)
{
    struct manager *m = manager;

    manager_lock(m);
    bool known = table_get(&m->table, id) != NULL;
    manager_unlock(m);
    for (size_t i = 0; i < m->norphans && !known; i++)
        known = m->orphans[i].key.id == id;
    return known || store_has(m->store, id) != 0;
}

struct tidying {
    struct manager *manager;
};

static enum volt_poll tidy_poll(struct volt_cx *cx, void *state)
{
    const struct tidying *t = state;

    (void)cx;
    outputs_tidy(&t->manager->outputs, is_known, t->manager);
    return VOLT_READY;
}

static const struct volt_task_type tidy_type = {"output tidying", sizeof(struct tidying),
                                                tidy_poll, NULL, NULL};

static int start_tidying(struct manager *m)
{
    struct tidying *t = volt_task_new(m->rt, &tidy_type);

    if (!t)
        return -ENOMEM;
    t->manager = m;
    (void)volt_task_spawn_blocking(t, NULL); /* otherwise at the next start */
    return 0;
}

static int start_tasks(struct manager *m, struct volt_error *err)
{
    int r = start_tidying(m);

    if (r == 0)
        r = changes_start(m);
    if (r == 0)
        r = follows_start(m->follows, m);
    if (r == 0)
        r = meters_start(m->meters, m->rt);
    if (r == 0)
        r = audience_start(&m->log_audience, m->rt);
    if (r == 0 && m->link)
        r = keeper_link_start(m->link, m->rt);
    if (r == 0 && m->link)
        r = record_watch_start(m->watch, m->rt);
    if (r == 0 && m->link)
        r = orphans_start(m);
    if (r == 0)
        r = recover_start(m);
    if (r == 0)
        return 0;
    (void)volt_runtime_shutdown(m->rt, UINT64_MAX); /* those that run are about m */
    return error_set(err, r, "cannot start the manager's tasks: %s", strerror(-r));
}

static struct job_limits limits_of(const struct config *c)
{
    return (struct job_limits){.max_jobs = c->max_jobs,
                               .max_jobs_per_user = c->max_jobs_per_user,
                               .max_bytes_per_user = c->max_bytes_per_user,
                               .max_array = c->max_array,
                               .fold_output = c->fold_output,
                               .keep_ended_jobs = c->keep_ended_jobs,
                               .keep_history = c->keep_history};
}

static uint32_t slots_of(const struct config *c)
{
    long cpus;

    if (c->slots)
        return c->slots > UINT32_MAX ? UINT32_MAX : (uint32_t)c->slots;
    cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 2 ? (uint32_t)cpus : 2;
}

/* Sections are short: a thread that finds the lock taken spins for a moment, then
 * sleeps. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static struct manager *manager_alloc(const struct manager_options *o)
{
    struct manager *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->rt = o->rt;
    m->kinds = &kinds_all;
    m->limits = limits_of(o->config);
    m->state_fd = m->record_fd = -1;
    m->outputs.dir_fd = m->outputs.spare_fd = -1;
    m->ids.dir_fd = -1;
    init_lock(&m->lock);
    init_lock(&m->log_lock);
    interned_init(&m->interned);
    volt_notify_init(&m->news);
    audience_init(&m->log_audience);
    event_ring_init(&m->ring, jobs_now_usec());
    queue_init(&m->queue, slots_of(o->config));
    ahead_init(&m->ahead);
    m->address = strdup(o->address ? o->address : "");
    if (m->address)
        return m;
    manager_free(m);
    return NULL;
}

static void forget_output(void *manager, uint64_t id)
{
    struct manager *m = manager;

    output_forget(&m->outputs, m->rt, id);
}

static void retain(struct manager *m, const struct config *config)
{
    const struct store_retention r = {.jobs = config->keep_history,
                                      .usec = config->keep_history_usec,
                                      .gone = forget_output,
                                      .gone_arg = m};

    store_retain(m->store, &r);
}

int manager_new(const struct manager_options *o, struct manager **ret,
                struct volt_error *err)
{
    struct manager *m = manager_alloc(o);
    uint64_t max_kept = 0, max_record = 0;
    int r;

    if (!m)
        return error_set(err, -ENOMEM, "out of memory");
    r = siphash_key_random(&m->keys.secret);
    shares_init(&m->shares, &m->keys.secret);
    m->users.secret = m->keys.secret;
    if (r < 0)
        (void)error_set(err, r, "no random numbers from the kernel: %s", strerror(-r));
    if (r == 0 && (r = record_boot_id(m->boot_id)) < 0)
        (void)error_set(err, r, "cannot read the boot id: %s", strerror(-r));
    if (r == 0)
        r = open_dirs(m, o, err);
    if (r == 0)
        r = changes_open(&m->keys.secret, &m->changes);
    if (r == 0)
        r = follows_open(&m->follows);
    if (r == 0)
        r = meters_open(&m->meters);
    if (r == -ENOMEM)
        (void)error_set(err, r, "out of memory");
    if (r == 0)
        r = open_keeper(m, o, err);
    if (r == 0)
        r = open_store(m, o, err);
    if (r == 0)
        open_log(m);
    if (r == 0)
        r = recover_load(m, &max_kept, err);
    if (r == 0)
        retain(m, o->config);
    if (r == 0)
        r = orphans_scan(m, o->record_dir, &max_record, err);
    if (r == 0)
        r = ids_open(&m->ids, m->state_fd,
                     (max_kept > max_record ? max_kept : max_record) + 1, err);
    if (r == 0) {
        m->ids.store = m->store;
        (void)store_witness(m->store, true); /* told; the one before is as true */
        r = start_tasks(m, err);
    }
    if (r < 0) {
        manager_free(m);
        return r;
    }
    m->up = true;
    *ret = m;
    return 0;
}

int manager_reload(struct manager *m, const struct config *config)
{
    struct tx tx;

    core_begin(&tx, m);
    m->limits = limits_of(config);
    queue_set_slots(&m->queue, slots_of(config));
    relay_call_back_all(m, &tx);
    core_finish(&tx);
    retain(m, config);
    return 0;
}

void manager_close(struct manager *m)
{
    struct tx tx;

    core_begin(&tx, m);
    m->closed = true;
    m->news_due = true; /* a drain in progress looks again */
    core_finish(&tx);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void manager_forget_all(struct manager *m)
{
    uint64_t id = 0;
    struct job *job;

    do {
        size_t steps = SIZE_MAX;
        id = table_next(&m->table, id, &steps, &job);
        if (job)
            job_free(job);
    } while (id);
    table_fini(&m->table);
    postings_fini(&m->index.keys);
    past_fini(&m->past);
}

/* Has the end of everything that was started been seen? Then good-bye is over when the
 * keeper has gone, and otherwise at once. */
static bool settled(const struct manager *m)
{
    const uint64_t *n = m->counts.by_state;

    if (!m->up)
        return false;
    for (size_t i = 0; i < m->norphans; i++)
        if (m->orphans[i].status.state != JOB_DONE)
            return false;
    return n[JOB_STARTING] + n[JOB_RUNNING] + n[JOB_STOPPING] == 0;
}

void manager_free(struct manager *m)
{
    if (!m)
        return;
    recover_discard(m);
    record_watch_free(m->watch);
    sweep_fini(m);
    keeper_link_free(m->link, settled(m));
    manager_forget_all(m);
    if (m->ids.dir_fd >= 0) {
        (void)ids_give_back(&m->ids); /* otherwise the next voltd skips some */
        ids_close(&m->ids);
    }
    store_free(m->store);
    volt_notify_fini(&m->news);
    audience_fini(&m->log_audience);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->log_lock);
    close_fd(m->state_fd);
    close_fd(m->record_fd);
    outputs_close(&m->outputs);
    follows_free(m->follows);
    meters_free(m->meters);
    changes_free(m->changes);
    users_fini(&m->users);
    free(m->orphans);
    interned_fini(&m->interned);
    keys_fini(&m->keys);
    shares_fini(&m->shares);
    free(m->successions);
    free(m->address);
    free(m);
}
