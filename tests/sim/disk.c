/* The store of one voltd, in the place of SQLite: groups as in daemon/store/group.h, a
 * writer that is a chain of events, and a disk that is slow, full or failing.
 *
 *   append       the entry goes to the group that is being filled
 *   kick         an idle writer takes the group, after a while
 *   durable      the group is in the image, its news are told; voltd may die before
 *   done         the commits are woken; voltd may die between these two
 *
 * A full disk refuses the submissions of a group and takes the rest. A failing one
 * refuses the submissions, and the rest waits until it does not fail; what was refused
 * may be there all the same when voltd dies before that. */
#include "tests/sim/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/commit_log.h"
#include "daemon/store/retention.h"
#include "daemon/store/sqlite.h"

struct disk_store {
    struct store store; /* first */
    store_news_fn *told;
    void *told_arg;
    struct store_retention keep;
    uint64_t life; /* a number for boot and record directory */
    struct entry *head, **tail, *taken;
    uint64_t filling;
    bool writing, scheduled;
    bool refused; /* the submissions of `taken` are */
    bool written; /* `taken` is in the image */
    struct list commits;
};

static struct disk_store *disk; /* of the voltd that lives; NULL: none */
static struct {
    bool full, failing, slow;
    uint64_t *forgotten; /* jobs that the voltd that lives asked to forget */
    size_t nforgotten;
} state;

static struct disk_store *of(struct store *s)
{
    return (struct disk_store *)s;
}

static struct store_commit *commit_of(struct list_node *n)
{
    return n ? list_thing(n, struct store_commit, node) : NULL;
}

void disk_set_full(bool full)
{
    state.full = full;
}

void disk_set_failing(bool failing)
{
    state.failing = failing;
}

void disk_set_slow(bool slow)
{
    state.slow = slow;
}

uint64_t disk_seq(void)
{
    return image_seq();
}

bool disk_has(uint64_t id)
{
    return image_has(id);
}

bool disk_keeps(uint64_t id)
{
    for (size_t i = 0; i < state.nforgotten; i++)
        if (state.forgotten[i] == id)
            return false;
    return image_has(id);
}

bool disk_is_idle(void)
{
    return !disk || (!disk->head && !disk->writing);
}

static void free_entries(struct entry *e)
{
    while (e) {
        struct entry *next = e->next;

        entry_free(e);
        e = next;
    }
}

/* --- the writer --------------------------------------------------------------------------- */

static void write_taken(uint64_t a, uint64_t b);
static void take_group(uint64_t a, uint64_t b);

static void schedule(struct disk_store *s)
{
    if (s->scheduled || s->writing || !s->head)
        return;
    s->scheduled = true;
    sim_after_in_life(sim_below(state.slow ? 20000 : 300), take_group, 0, 0);
}

static void take_group(uint64_t a, uint64_t b)
{
    struct disk_store *s = disk;

    (void)a, (void)b;
    s->scheduled = false;
    if (!s->head)
        return;
    s->taken = s->head;
    s->head = NULL;
    s->tail = &s->head;
    s->filling++;
    s->writing = true;
    s->refused = s->written = false;
    sim_after_in_life(state.slow ? sim_between(1000, 400000) : sim_between(50, 4000),
                      write_taken, 0, 0);
}

/* Wakes what waits for the taken group: what submits, and with others all. */
static void end_commits(struct disk_store *s, bool others, int submits, int status)
{
    struct store_commit *next;

    for (struct store_commit *c = commit_of(s->commits.first); c && c->group < s->filling;
         c = next) {
        next = commit_of(c->node.next);
        if (!c->submits && !others)
            continue;
        struct volt_waker waker = c->waker;
        c->status = c->submits ? submits : status;
        c->group = 0;
        c->waker = (struct volt_waker){NULL};
        list_remove(&s->commits, &c->node);
        if (waker.task)
            volt_waker_wake(&waker);
        volt_waker_fini(&waker);
    }
}

static void tell(struct disk_store *s, struct news_list *news)
{
    if (s->told && news->n) {
        bool inside = sim.inside;

        sim.outside--;
        sim.inside = true;
        s->told(s->told_arg, news->all, news->n);
        s->told(s->told_arg, NULL, 0);
        sim.inside = inside;
        sim.outside++;
    }
    sim_free(news->all);
}

/* What was appended before the answer comes first. */
static bool is_needed(struct disk_store *s, uint64_t id)
{
    if (!s->keep.unneeded)
        return false;
    sim.outside--;
    bool is = s->keep.unneeded(s->keep.unneeded_arg, &id, 1) == 0;
    sim.outside++;
    return is || s->head;
}

/* Retention goes by number alone: ages are those of hours. */
static void retain(struct disk_store *s)
{
    uint64_t id;

    while ((id = image_beyond(s->keep.jobs))) {
        bool exec = false;

        if (is_needed(s, id))
            return;
        (void)image_forget(id, &exec);
        if (exec && s->keep.gone) {
            sim.outside--;
            s->keep.gone(s->keep.gone_arg, id);
            sim.outside++;
        }
    }
}

static void commits_done(uint64_t submits, uint64_t b)
{
    struct disk_store *s = disk;

    (void)b;
    s->writing = false;
    end_commits(s, true, -(int)submits, 0);
    sim.outside++;
    free_entries(s->taken);
    s->taken = NULL;
    retain(s);
    sim.outside--;
    schedule(s);
}

/* The group reaches the disk, or it does not. */
static void write_taken(uint64_t a, uint64_t b)
{
    struct disk_store *s = disk;
    struct news_list news = {0};
    int refusal = state.full ? ENOSPC : state.failing ? EIO : 0;

    (void)a, (void)b;
    if (refusal && !s->refused) {
        s->refused = true;
        end_commits(s, false, -refusal, 0);
    }
    if (state.failing) {
        sim_after_in_life(sim_between(1000, 500000), write_taken, 0, 0);
        return;
    }
    sim.outside++;
    for (const struct entry *e = s->taken; e; e = e->next)
        if (!e->submits || !s->refused)
            image_apply(e, &news);
    s->written = true;
    tell(s, &news);
    sim.outside--;
    sim_after_in_life(sim_one_in(4) ? sim_below(3000) : 0, commits_done, 0, 0);
}

/* It was being written: all of it is on the disk, or nothing. */
void disk_voltd_died(void)
{
    struct disk_store *s = disk;
    struct news_list news = {0};

    disk = NULL;
    if (!s)
        return;
    if (s->writing && !s->written && sim_one_in(2))
        for (const struct entry *e = s->taken; e; e = e->next)
            image_apply(e, &news);
    sim_free(news.all);
    free_entries(s->taken);
    free_entries(s->head);
}

/* --- the commit log ------------------------------------------------------------------------ */

static void enter(struct disk_store *s, struct entry *e, struct store_commit *c)
{
    if (e) {
        *s->tail = e;
        s->tail = &e->next;
    }
    if (!c || (!s->head && !s->writing))
        return;
    c->submits = e && e->submits;
    c->group = s->head ? s->filling : s->filling - 1;
    list_add_last(&s->commits, &c->node);
}

static int refusal_of(const struct entry *e)
{
    if (e && e->submits && (state.full || state.failing))
        return state.full ? -ENOSPC : -EIO;
    return sim.memory_fails && e && sim_one_in(8) ? -ENOMEM : 0;
}

static int log_append(struct store *store, const struct store_fact *facts, size_t n,
                      struct store_commit *c)
{
    struct entry *e = NULL;

    sim.outside++;
    if (n) {
        e = entry_new();
        entry_add(e, facts, n, of(store)->life);
    }
    int r = refusal_of(e);
    if (r == 0)
        enter(of(store), e, c);
    else
        entry_free(e);
    sim.outside--;
    return r;
}

struct draft {
    struct store_draft draft;
    struct entry *e;
};

static struct store_draft *log_draft(struct store *store)
{
    struct draft *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    d->draft.store = store;
    d->e = entry_new();
    return &d->draft;
}

static void log_draft_add(struct store_draft *d, const struct store_fact *facts, size_t n)
{
    sim.outside++;
    entry_add(((struct draft *)d)->e, facts, n, of(d->store)->life);
    sim.outside--;
}

static void log_draft_free(struct store_draft *d)
{
    entry_free(((struct draft *)d)->e);
    free(d);
}

static int log_draft_append(struct store_draft *d, struct store_commit *c)
{
    struct entry *e = ((struct draft *)d)->e;
    int r = refusal_of(e);

    if (r == 0) {
        enter(of(d->store), e, c);
        free(d);
        return 0;
    }
    log_draft_free(d);
    return r;
}

static void log_kick(struct store *store, bool patient)
{
    (void)patient;
    sim_step();
    schedule(of(store));
}

static enum volt_poll log_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    struct volt_waker old = c->waker;

    if (!c->group)
        return VOLT_READY;
    c->waker = volt_waker_new(cx);
    volt_waker_fini(&old);
    schedule(of(c->store));
    return VOLT_PENDING;
}

static void log_commit_fini(struct store_commit *c)
{
    if (c->group)
        list_remove(&of(c->store)->commits, &c->node);
    c->group = 0;
    volt_waker_fini(&c->waker);
    c->waker = (struct volt_waker){NULL};
}

static void log_subscribe(struct store *store, store_news_fn *fn, void *arg)
{
    of(store)->told = fn;
    of(store)->told_arg = arg;
}

static void log_numbers(struct store *store, uint64_t *ret_first, uint64_t *ret_last)
{
    (void)store;
    *ret_first = 0;
    *ret_last = image_seq();
}

static void log_health(struct store *store, struct store_health *ret)
{
    (void)store;
    *ret = (struct store_health){.full = state.full, .failing = state.failing};
}

static const struct store_log_ops log_ops = {.append = log_append,
                                             .draft = log_draft,
                                             .draft_add = log_draft_add,
                                             .draft_append = log_draft_append,
                                             .draft_free = log_draft_free,
                                             .kick = log_kick,
                                             .commit_poll = log_commit_poll,
                                             .commit_fini = log_commit_fini,
                                             .subscribe = log_subscribe,
                                             .numbers = log_numbers,
                                             .health = log_health};

/* --- the other interfaces -------------------------------------------------------------------- */

static int reader_load(struct store *store, store_load_fn *fn, void *arg,
                       struct volt_error *err)
{
    (void)err;
    return image_load(of(store)->life, fn, arg);
}

static uint64_t reader_last_id(struct store *store)
{
    (void)store;
    return image_last_id();
}

static int reader_has(struct store *store, uint64_t id)
{
    (void)store;
    return image_has(id);
}

static int reader_history(struct store *store, const struct store_range *range,
                          store_load_fn *fn, void *arg, uint64_t *ret_at,
                          struct volt_error *err)
{
    (void)err;
    sim_step();
    return image_history(of(store)->life, range, fn, arg, ret_at);
}

static void reader_most(struct store *store, struct store_read_counts *ret)
{
    (void)store;
    *ret = (struct store_read_counts){0};
}

static const struct store_reader_ops reader_ops = {.load = reader_load,
                                                   .last_id = reader_last_id,
                                                   .has = reader_has,
                                                   .history = reader_history,
                                                   .most = reader_most};

static int blob_output(struct store *store, const struct job_key *key, unsigned stream,
                       void **ret, size_t *ret_n)
{
    (void)store;
    return image_output(key, stream, ret, ret_n);
}

static const struct store_blob_ops blob_ops = {.output = blob_output};

static void retention_retain(struct store *store, const struct store_retention *keep)
{
    of(store)->keep = *keep;
}

static int retention_forget(struct store *store, const uint64_t *ids, size_t n,
                            struct store_commit *c)
{
    struct entry *e = n ? entry_new() : NULL;

    for (size_t i = 0; i < n; i++) {
        entry_add_forget(e, ids[i]);
        SIM_PUSH(state.forgotten, state.nforgotten, ids[i]);
    }
    enter(of(store), e, c);
    return 0;
}

static const struct store_retention_ops retention_ops = {.retain = retention_retain,
                                                         .forget = retention_forget};

static int store_do_witness(struct store *store, bool lasting)
{
    (void)store, (void)lasting;
    return 0;
}

/* What was appended is written. */
static void store_do_free(struct store *store)
{
    struct disk_store *s = of(store);
    struct news_list news = {0};

    sim.outside++;
    for (const struct entry *e = s->taken; e && !s->written && !state.failing;
         e = e->next)
        if (!e->submits || !s->refused)
            image_apply(e, &news);
    for (const struct entry *e = s->head; e && !state.failing; e = e->next)
        image_apply(e, &news);
    tell(s, &news);
    sim.outside--;
    if (s->commits.first)
        sim_violation("the store is closed, and a commit is waited for");
    free_entries(s->taken);
    free_entries(s->head);
    free(s);
    disk = NULL;
}

static const struct store_ops ops = {
    .name = "simulated", .witness = store_do_witness, .free = store_do_free};

void disk_reset(void)
{
    image_reset();
    disk = NULL;
    sim_free(state.forgotten);
    state.forgotten = NULL;
    state.nforgotten = 0;
    state.full = state.failing = state.slow = false;
}

int store_sqlite_open(const struct store_sqlite_options *o, struct store **ret,
                      struct volt_error *err)
{
    struct disk_store *s = calloc(1, sizeof(*s));

    (void)err;
    sim_step();
    if (!s)
        return -ENOMEM;
    s->store = (struct store){.ops = &ops,
                              .log = &log_ops,
                              .reader = &reader_ops,
                              .blobs = &blob_ops,
                              .retention = &retention_ops,
                              .seed = 1};
    s->tail = &s->head;
    s->filling = 1;
    for (size_t i = 0; i < STORE_ID_SIZE; i++)
        s->life = s->life * 31 + o->boot_id[i] + 7u * o->generation[i];
    disk = s;
    state.nforgotten = 0;
    *ret = &s->store;
    return 0;
}
