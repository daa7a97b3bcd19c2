/* Life of the daemon's jobs: what is opened at the start, and in which order.
 *
 * Order at start: directories; keeper (after HELLO it starts nothing more for an earlier
 * voltd); store, which is replayed; records (those without a job are orphans, whose ids
 * are never used again); leases; ids; then the tasks. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "daemon/config/config.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/keys.h"
#include "daemon/core/limit_defaults.h"
#include "daemon/core/orphans.h"
#include "daemon/core/parts.h"
#include "daemon/core/phase.h"
#include "daemon/core/queues.h"
#include "daemon/core/table.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/lease/leasing.h"
#include "daemon/life/allowed.h"
#include "daemon/life/life.h"
#include "daemon/life/orphan.h"
#include "daemon/life/recover.h"
#include "daemon/life/state.h"
#include "daemon/log/event_log.h"
#include "daemon/observe/log.h"
#include "daemon/output/output.h"
#include "daemon/query/changes.h"
#include "daemon/query/follow.h"
#include "daemon/run/run.h"
#include "daemon/store/reader.h"
#include "daemon/store/retention.h"
#include "daemon/store/sqlite.h"
#include "daemon/submit/ids.h"

static int open_dirs(struct core *core, const struct life_options *o,
                     struct volt_error *err)
{
    int fd = open(o->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "cannot open %.180s: %s", o->state_dir,
                         strerror(errno));
    parts_of(core)->life->state_fd = fd;
    int r = outputs_open(parts_of(core)->outputs, fd, o->state_dir);
    return r < 0 ? error_set(err, r, "cannot open %.180s/output: %s", o->state_dir,
                             strerror(-r))
                 : 0;
}

static void tell(const char *text)
{
    log_warning("store: %s", text);
}

/* As kill -9 would: the keeper and all jobs stay, and the next voltd finds them. */
static void end_at_once(void)
{
    _exit(EXIT_FAILURE);
}

static int open_store(struct core *core, const struct life_options *o,
                      struct volt_error *err)
{
    struct store_sqlite_options s = {.dir = o->state_dir,
                                     .no_sync = !o->config->sync,
                                     .tell = tell,
                                     .failed = end_at_once};

    if (o->store) {
        parts_to_set(core)->store = o->store;
        return 0;
    }
    memcpy(s.boot_id, run_boot_id(parts_of(core)->run), sizeof(s.boot_id));
    memcpy(s.generation, run_generation(parts_of(core)->run), sizeof(s.generation));
    return store_sqlite_open(&s, &parts_to_set(core)->store, err);
}

/* Opens the log behind the newest event of the store; the replay has put the older ones
 * into it. */
static void open_log(struct core *core)
{
    uint64_t first, last;

    store_numbers(parts_of(core)->store, &first, &last);
    event_log_open(parts_of(core)->log, first, last);
    store_subscribe(parts_of(core)->store, event_log_put, parts_of(core)->log);
}

/* Returns whether the id belongs to a live job, to a job in the store, or to a record
 * without a job. Returns true if the store cannot tell. */
static bool is_known(void *arg, uint64_t id)
{
    struct core *core = arg;

    core_lock(core);
    const struct orphans *o = parts_of(core)->orphans;
    bool known = table_get(parts_of(core)->table, id) != NULL;
    core_unlock(core);
    for (size_t i = 0; i < o->n && !known; i++)
        known = o->all[i].key.id == id;
    return known || store_has(parts_of(core)->store, id) != 0;
}

struct tidying {
    struct core *core;
};

static enum volt_poll tidy_poll(struct volt_cx *cx, void *state)
{
    const struct tidying *t = state;

    (void)cx;
    outputs_tidy(parts_of(t->core)->outputs, is_known, t->core);
    return VOLT_READY;
}

static const struct volt_task_type tidy_type = {"output tidying", sizeof(struct tidying),
                                                tidy_poll, NULL, NULL};

static int start_tidying(struct core *core)
{
    struct tidying *t = volt_task_new(parts_of(core)->rt, &tidy_type);

    if (!t)
        return -ENOMEM;
    t->core = core;
    (void)volt_task_spawn_blocking(t, NULL); /* on failure, at the next start */
    return 0;
}

static int start_tasks(struct core *core, struct volt_error *err)
{
    int r = start_tidying(core);

    if (r == 0)
        r = changes_start(core);
    if (r == 0)
        r = follows_start(parts_of(core)->follows, core);
    if (r == 0)
        r = event_log_start(parts_of(core)->log, parts_of(core)->rt);
    if (r == 0)
        r = leasing_start(core);
    if (r == 0)
        r = run_start(core);
    if (r == 0 && run_has_keeper(core))
        r = orphans_start(core);
    if (r == 0)
        r = recover_start(core);
    if (r == 0)
        return 0;
    (void)volt_runtime_shutdown(parts_of(core)->rt,
                                UINT64_MAX); /* tasks point into core */
    return error_set(err, r, "cannot start the tasks of voltd: %s", strerror(-r));
}

static struct job_limits limits_of(const struct config *c)
{
    return (struct job_limits){.max_jobs = c->max_jobs,
                               .max_jobs_per_user = c->max_jobs_per_user,
                               .max_bytes_per_user = c->max_bytes_per_user,
                               .max_array = c->max_array,
                               .keep_ended_jobs = c->keep_ended_jobs,
                               .max_keys_per_user = c->max_keys_per_user};
}

static void limit(struct core *core, const struct config *c)
{
    *parts_of(core)->limits = limits_of(c);
    admission_set_user_most(parts_of(core)->admit, (uint32_t)c->max_running_per_user);
    vat_u64_store(&parts_of(core)->outputs->fold, c->fold_output, VAT_RLX);
}

static void forget_output(void *arg, uint64_t id)
{
    struct core *core = arg;

    output_forget(parts_of(core)->outputs, parts_of(core)->rt, id);
}

/* Returns how many of these ended jobs may leave the store: those before the first that a
 * dependent waits for, which may not have been notified yet. */
static size_t unneeded(void *arg, const uint64_t *ids, size_t n)
{
    struct core *core = arg;
    size_t i = 0;

    core_lock(core);
    while (i < n && !dependencies_is_awaited(core, ids[i]))
        i++;
    core_unlock(core);
    return i;
}

static void forget_key(void *arg, const struct store_key *key)
{
    struct core *core = arg;

    core_lock(core);
    keys_free(parts_of(core)->keys, key->name, key->id);
    core_unlock(core);
}

static void retain(struct core *core, const struct config *config)
{
    const struct store_retention r = {.jobs = config->keep_history,
                                      .usec = config->keep_history_usec,
                                      .key_usec = config->keep_keys_usec,
                                      .key_gone = forget_key,
                                      .key_gone_arg = core,
                                      .gone = forget_output,
                                      .gone_arg = core,
                                      .unneeded = unneeded,
                                      .unneeded_arg = core};

    store_retain(parts_of(core)->store, &r);
}

/* Warns that queues have more slots of their own than there are: by settings made by
 * hand, or on a machine with fewer CPUs. */
static void tell_of_own_slots(struct core *core)
{
    core_lock(core);
    const uint64_t own = queues_own(core), slots = queues_slots(core);
    core_unlock(core);

    if (own > slots)
        log_warning("queues have %llu slots of their own (nominal), and there are %llu: "
                    "each has its part of these",
                    (unsigned long long)own, (unsigned long long)slots);
}

/* --- start -------------------------------------------------------------------------- */

static int make_queues(struct core *core, const struct life_options *o,
                       struct volt_error *err)
{
    size_t n = 0;
    struct queue_config *queues = allowed_queues(o->queues, o->config->slots, &n);
    int r = queues ? queues_configure(core, queues, n) : -ENOMEM;

    allowed_free(queues, n);
    return r < 0 ? error_set(err, r, "out of memory") : 0;
}

static int make_limits(struct core *core, const struct life_options *o,
                       struct volt_error *err)
{
    struct limit_defaults *limits = allowed_limits(o->config, o->queues);

    if (!limits)
        return error_set(err, -ENOMEM, "out of memory");
    if (limit_defaults_any(limits) && !o->keeper_socket && !o->keepers_dir) {
        limit_defaults_free(limits);
        return error_set(err, -EOPNOTSUPP, LIMITS_NEED_CGROUPS);
    }
    core_lock(core);
    limit_defaults_set(core, limits);
    core_unlock(core);
    return 0;
}

static int make_rooms(struct core *core, const struct life_options *o,
                      struct volt_error *err)
{
    struct parts *p = parts_to_set(core);

    p->admit = admission_new(&p->keys->secret, 0);
    p->life = calloc(1, sizeof(*p->life));
    p->dispatch = dispatch_new();
    p->log = event_log_new();
    if (!p->admit || !p->life || !p->dispatch || !p->log ||
        changes_open(core, &p->changes) < 0 || follows_open(&p->follows) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    p->life->state_fd = -1;
    limit(core, o->config);
    early_limit(core, o->config->start_ahead);
    const int r = make_queues(core, o, err);
    return r < 0 ? r : make_limits(core, o, err);
}

static int open_ids(struct core *core, uint64_t floor, struct volt_error *err)
{
    struct ids *ids = calloc(1, sizeof(*ids));

    if (!ids)
        return error_set(err, -ENOMEM, "out of memory");
    int r = ids_open(ids, parts_of(core)->life->state_fd, floor, err);
    if (r < 0) {
        free(ids);
        return r;
    }
    ids->store = parts_of(core)->store;
    parts_to_set(core)->ids = ids;
    return 0;
}

static int open_run(struct core *core, const struct life_options *o,
                    struct volt_error *err)
{
    const struct run_options r = {.socket = o->socket ? o->socket : "",
                                  .record_dir = o->record_dir,
                                  .runtime_dir = o->runtime_dir,
                                  .keeper_path = o->keeper_path,
                                  .keeper_socket = o->keeper_socket,
                                  .keepers_dir = o->keepers_dir,
                                  .descriptors = o->descriptors,
                                  .state_dir = o->state_dir};

    return run_open(&r, &parts_of(core)->keys->secret, &parts_to_set(core)->run, err);
}

/* Takes the seed of the store as the secret, so that names of keys hash as under an
 * earlier voltd. k1 separates them from other hashes under the seed. */
static void keep_names(struct core *core)
{
    const uint64_t seed = parts_of(core)->store->seed;

    if (seed)
        parts_of(core)->keys->secret = (struct siphash_key){.k0 = seed, .k1 = 1};
}

/* Opens everything and recovers the jobs of an earlier voltd, in the order of the file
 * head. */
static int bring_up(struct core *core, const struct life_options *o,
                    struct volt_error *err)
{
    uint64_t max_kept = 0, max_record = 0, max_lease = 0;
    int r = make_rooms(core, o, err);

    if (r == 0)
        r = open_dirs(core, o, err);
    if (r == 0)
        r = open_run(core, o, err);
    if (r == 0 && run_has_keepers(core))
        admission_begin_away(parts_of(core)->admit);
    if (r == 0)
        r = open_store(core, o, err);
    if (r < 0)
        return r;
    open_log(core);
    keep_names(core);
    r = recover_load(core, &max_kept, err);
    if (r == 0 && allowed_find_all(core) < 0)
        r = error_set(err, -ENOMEM, "out of memory");
    if (r < 0)
        return r;
    retain(core, o->config);
    tell_of_own_slots(core);
    r = orphans_scan(core, o->record_dir, &max_record, err);
    if (r == 0)
        r = leasing_open(core, parts_of(core)->life->state_fd, &max_lease, err);
    if (max_kept < max_record)
        max_kept = max_record;
    if (r == 0)
        r = open_ids(core, (max_kept > max_lease ? max_kept : max_lease) + 1, err);
    if (r < 0)
        return r;
    (void)store_witness(parts_of(core)->store,
                        true); /* a failure is logged; the old witness is still true */
    return start_tasks(core, err);
}

int life_new(const struct life_options *o, struct core **ret, struct volt_error *err)
{
    struct siphash_key secret;
    int r = siphash_key_random(&secret);

    if (r < 0)
        return error_set(err, r, "no random numbers from the kernel: %s", strerror(-r));
    struct core *core = core_new(o->rt, &kinds_all, &secret);
    if (!core)
        return error_set(err, -ENOMEM, "out of memory");
    r = bring_up(core, o, err);
    if (r < 0) {
        life_free(core);
        return r;
    }
    parts_of(core)->life->up = true;
    *ret = core;
    return 0;
}

/* --- reload and end ----------------------------------------------------------------- */

int life_reload(struct core *core, const struct config *config,
                struct limit_defaults *limits, struct queue_config *queues,
                size_t nqueues)
{
    struct tx tx;

    if (limit_defaults_any(limits) && !run_may_contain(core))
        return -EOPNOTSUPP;
    core_begin(&tx, core);
    int r = queues_configure(core, queues, nqueues);
    if (r == 0) {
        queues_tidy(&tx);
        limit_defaults_set(core, limits);
        limit(core, config);
        early_limit(core, config->start_ahead);
    }
    dispatch_finish(&tx);
    if (r < 0)
        return r;
    tell_of_own_slots(core);
    retain(core, config);
    return 0;
}

void life_close(struct core *core)
{
    struct tx tx;

    core_begin(&tx, core);
    phase_close(core);
    dispatch_finish(&tx);
}

/* Returns whether the end of every started process is known. Then the keeper has no jobs,
 * and voltd waits for it to exit. */
static bool settled(const struct core *core)
{
    const struct orphans *o = parts_of(core)->orphans;

    if (!parts_of(core)->life->up)
        return false;
    for (size_t i = 0; i < o->n; i++)
        if (o->all[i].status.state != JOB_DONE)
            return false;
    return job_count_busy(parts_of(core)->counts->by_state) == 0;
}

void life_free(struct core *core)
{
    if (!core)
        return;
    const struct parts p = *parts_of(core);

    if (p.life)
        recover_discard(core);
    if (p.run)
        run_leave(core, settled(core));
    core_forget_all(core);
    if (p.ids) {
        (void)ids_give_back(p.ids); /* on failure the next voltd skips some ids */
        ids_close(p.ids);
    }
    store_free(p.store);
    follows_free(p.follows);
    changes_free(p.changes);
    leasing_free(p.leasing);
    run_free(p.run);
    if (p.life && p.life->state_fd >= 0)
        close(p.life->state_fd);
    core_free(core);
    free(p.life);
    free(p.dispatch);
    free(p.ids);
}
