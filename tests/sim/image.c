/* The rows on the disk: disk.h. What goes there is bytes, by the same functions as with
 * SQLite, so that a job is read as it was written. */
#include "tests/sim/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/job/event.h"
#include "daemon/job/spec_pack.h"

struct stored_job {
    uint64_t id;
    bool ended;
    uint64_t ended_usec, end_seq, counts;
    struct row job;
    struct row *events; /* in order of append */
    size_t nevents;
    struct row *outputs;
    size_t noutputs;
};

static struct {
    struct stored_job *jobs; /* by id */
    size_t n, capacity;
    uint64_t seq, last_id;
    struct job_news *news; /* all of them, from 1 */
    size_t nnews;
    uint64_t
        queues[2]; /* of "default" and "night": the first number of the latest fact */
    struct store_key *keys; /* in no order */
    size_t nkeys;
} image;

static void free_job(struct stored_job *j)
{
    sim_free(j->job.bytes);
    for (size_t i = 0; i < j->nevents; i++)
        sim_free(j->events[i].bytes);
    for (size_t i = 0; i < j->noutputs; i++)
        sim_free(j->outputs[i].bytes);
    sim_free(j->events);
    sim_free(j->outputs);
}

void image_reset(void)
{
    for (size_t i = 0; i < image.n; i++)
        free_job(&image.jobs[i]);
    image.n = 0;
    image.seq = image.last_id = image.nnews = 0;
    image.queues[0] = image.queues[1] = 0;
    image.nkeys = 0;
}

/* --- entries ---------------------------------------------------------------------------- */

struct entry *entry_new(void)
{
    struct entry *e = sim_grow(NULL, sizeof(*e));

    *e = (struct entry){.n = 0};
    return e;
}

void entry_free(struct entry *e)
{
    for (size_t i = 0; i < e->n; i++)
        sim_free(e->rows[i].bytes);
    sim_free(e->rows);
    sim_free(e);
}

static uint8_t *copy(const void *bytes, size_t n)
{
    uint8_t *p = sim_grow(NULL, n + 1);

    if (n)
        memcpy(p, bytes, n);
    return p;
}

static void take_spec(struct row *r, const struct job_spec *spec)
{
    struct spec_pack p = {0};

    if (job_spec_pack(spec, &p) < 0)
        sim_violation("a spec cannot be packed");
    r->env = p.own.n;
    r->argv = r->env + p.env.n;
    r->n = r->argv + p.argv.n;
    r->bytes = sim_grow(NULL, r->n + 1);
    if (p.own.n)
        memcpy(r->bytes, p.own.bytes, p.own.n);
    if (p.env.n)
        memcpy(r->bytes + r->env, p.env.bytes, p.env.n);
    if (p.argv.n)
        memcpy(r->bytes + r->argv, p.argv.bytes, p.argv.n);
    spec_pack_fini(&p);
}

static void take_event(struct row *r, const struct store_fact_event *f, uint64_t life)
{
    struct pack p = {0};

    job_event_pack(&p, f->event, life);
    if (p.failed)
        sim_violation("an event cannot be packed");
    r->id = f->key.id;
    r->item = f->key.index;
    r->attempt = f->key.attempt;
    r->life = life;
    r->bytes = copy(p.bytes, p.n);
    r->n = p.n;
    pack_fini(&p);
}

static void add_output(struct entry *e, const struct store_fact_output *f)
{
    for (unsigned i = 0; i < STORE_STREAMS; i++)
        if (f->piece[i].n)
            SIM_PUSH(e->rows, e->n,
                     (struct row){.type = ROW_OUTPUT,
                                  .id = f->key.id,
                                  .item = f->key.index,
                                  .number = i,
                                  .bytes = copy(f->piece[i].bytes, f->piece[i].n),
                                  .n = f->piece[i].n});
}

static void add(struct entry *e, const struct store_fact *f, uint64_t life)
{
    struct row r = {.item = JOB_NO_INDEX, .has_news = store_fact_news(f, &r.news)};

    switch (f->type) {
    case STORE_SUBMIT:
        r.type = ROW_JOB;
        r.id = f->submit.id;
        r.number = f->submit.uid;
        r.at_usec = f->submit.at_usec;
        take_spec(&r, f->submit.spec);
        e->submits = true;
        break;
    case STORE_EVENT:
        r.type = ROW_EVENT;
        take_event(&r, &f->event, life);
        break;
    case STORE_OUTPUT:
        add_output(e, &f->output);
        return;
    case STORE_LAST:
        r.type = ROW_ENDED;
        r.id = f->last.id;
        r.at_usec = f->last.at_usec;
        r.number = 1;
        break;
    case STORE_ARRAY_END:
        r.type = ROW_ENDED;
        r.id = f->array_end.id;
        r.at_usec = f->array_end.at_usec;
        r.number = f->array_end.count;
        break;
    case STORE_NEWS:
        r.type = ROW_NEWS;
        break;
    case STORE_QUEUE:
        r.type = ROW_QUEUE;
        r.id = strcmp(f->queue.name, "night") == 0;
        r.number = f->queue.n ? f->queue.numbers[0] : 0;
        break;
    case STORE_KEY:
        r.type = ROW_KEY;
        r.bytes = copy(&f->key, r.n = sizeof(f->key));
        break;
    case STORE_RESOURCE: /* nothing there sets the size of a semaphore */
        abort();
    }
    SIM_PUSH(e->rows, e->n, r);
}

void entry_add(struct entry *e, const struct store_fact *facts, size_t n, uint64_t life)
{
    for (size_t i = 0; i < n; i++)
        add(e, &facts[i], life);
}

void entry_add_forget(struct entry *e, uint64_t id)
{
    SIM_PUSH(e->rows, e->n, (struct row){.type = ROW_FORGET, .id = id});
}

/* --- applied ------------------------------------------------------------------------------ */

/* Its place, or that of the first one behind it. */
static size_t place_of(uint64_t id)
{
    size_t low = 0, high = image.n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (image.jobs[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct stored_job *find(uint64_t id)
{
    size_t i = place_of(id);

    return i < image.n && image.jobs[i].id == id ? &image.jobs[i] : NULL;
}

static struct stored_job *need(uint64_t id, const char *what)
{
    struct stored_job *j = find(id);

    if (!j)
        sim_violation("the store gets %s of job %llu, which it has not", what,
                      (unsigned long long)id);
    return j;
}

static struct row copy_of(const struct row *r)
{
    struct row c = *r;

    c.bytes = copy(r->bytes, r->n);
    return c;
}

static struct job_spec *spec_of(const struct row *r)
{
    const struct spec_parts parts = {.own = r->bytes,
                                     .own_n = r->env,
                                     .env = r->argv > r->env ? r->bytes + r->env : NULL,
                                     .env_n = r->argv - r->env,
                                     .argv = r->n > r->argv ? r->bytes + r->argv : NULL,
                                     .argv_n = r->n - r->argv};
    struct job_spec *spec = NULL;

    sim.outside++;
    if (job_spec_unpack(&parts, &spec) < 0)
        sim_violation("job %llu: its spec cannot be read from the store",
                      (unsigned long long)r->id);
    sim.outside--;
    return spec;
}

static void apply_job(const struct row *r)
{
    size_t at = place_of(r->id);

    if (at < image.n && image.jobs[at].id == r->id)
        sim_violation("the store gets job %llu twice", (unsigned long long)r->id);
    if (image.n == image.capacity) {
        image.capacity = image.capacity ? 2 * image.capacity : 64;
        image.jobs = sim_grow(image.jobs, image.capacity * sizeof(*image.jobs));
    }
    memmove(image.jobs + at + 1, image.jobs + at, (image.n - at) * sizeof(*image.jobs));
    image.jobs[at] = (struct stored_job){.id = r->id, .job = copy_of(r)};
    image.n++;
    if (r->id > image.last_id)
        image.last_id = r->id;
    struct job_spec *spec = spec_of(r);
    oracle_fact_submit(r->id, spec, (uid_t)r->number);
    edits_submit(r->id, spec, (uid_t)r->number);
    job_spec_unref(spec);
}

static void unpack(const struct row *r, struct job_event *ret,
                   struct job_event_room *room)
{
    struct unpack u = unpack_of(r->bytes, r->n);
    uint64_t life;

    if (job_event_unpack(&u, ret, &life, room) < 0 || unpack_left(&u))
        sim_violation("job %llu: an event cannot be read from the store",
                      (unsigned long long)r->id);
}

/* Behind the event that is the last there, a base of this attempt: as SQLite does. */
static void forget_passed(struct stored_job *j, uint32_t base)
{
    const int64_t item = j->events[j->nevents - 1].item;
    size_t from = j->nevents - 1, n = 0;

    while (from-- > 0) {
        const struct row *e = &j->events[from];
        const struct job_event_glance is = job_event_glance(e->bytes, e->n);

        if (e->item == item && is.base && is.base < base)
            break;
    }
    for (size_t i = 0; i < j->nevents; i++) {
        struct row *e = &j->events[i];

        if (from < j->nevents && i < from && e->item == item &&
            job_event_glance(e->bytes, e->n).passes)
            sim_free(e->bytes);
        else
            j->events[n++] = *e;
    }
    j->nevents = n;
}

static void apply_event(const struct row *r)
{
    struct stored_job *j = need(r->id, "an event");
    const struct job_key key = {r->id, r->item, r->attempt};
    struct job_event_room room;
    struct job_event ev;

    if (j->ended)
        sim_violation("the store gets an event of job %llu behind its last",
                      (unsigned long long)r->id);
    SIM_PUSH(j->events, j->nevents, copy_of(r));
    unpack(r, &ev, &room);
    if (ev.is_base)
        forget_passed(j, ev.attempt);
    const bool edits = edits_fact(&key, &ev);
    if (!pauses_fact(&key, &ev) && !edits)
        oracle_fact_event(&key, &ev);
    oracle_fact_news(&r->news);
}

static void apply_ended(const struct row *r)
{
    struct stored_job *j = need(r->id, "the end");

    if (j->ended)
        sim_violation("job %llu ends twice", (unsigned long long)r->id);
    j->ended = true;
    j->ended_usec = r->at_usec;
    j->end_seq = r->seq;
    j->counts = r->number;
    if (r->has_news)
        oracle_fact_array_end(r->id);
}

static void apply_output(const struct row *r)
{
    struct stored_job *j = need(r->id, "output");
    const struct job_key key = {r->id, r->item, 0};

    SIM_PUSH(j->outputs, j->noutputs, copy_of(r));
    oracle_fact_output(&key, (unsigned)r->number, r->bytes, r->n);
}

static void put_key(const struct store_key *key)
{
    size_t i = 0;

    while (i < image.nkeys && image.keys[i].id != key->id)
        i++;
    if (i < image.nkeys)
        image.keys[i] = image.keys[--image.nkeys];
    if (key->at_usec)
        SIM_PUSH(image.keys, image.nkeys, *key);
}

static void apply_key(const struct row *r)
{
    struct store_key key;

    memcpy(&key, r->bytes, sizeof(key));
    put_key(&key);
}

static void apply_row(struct row *r, struct news_list *ret)
{
    if (r->has_news) {
        r->seq = ++image.seq;
        r->news.seq = r->seq;
        SIM_PUSH(ret->all, ret->n, r->news);
        SIM_PUSH(image.news, image.nnews, r->news);
    }
    switch (r->type) {
    case ROW_JOB:
        apply_job(r);
        break;
    case ROW_EVENT:
        apply_event(r);
        break;
    case ROW_ENDED:
        apply_ended(r);
        break;
    case ROW_OUTPUT:
        apply_output(r);
        break;
    case ROW_FORGET:
        (void)image_forget(r->id, &(bool){false});
        put_key(&(struct store_key){.id = r->id});
        break;
    case ROW_KEY:
        apply_key(r);
        break;
    case ROW_QUEUE:
        image.queues[r->id] = r->number;
        break;
    case ROW_NEWS:
        break;
    }
}

void image_apply(const struct entry *e, struct news_list *ret)
{
    for (size_t i = 0; i < e->n; i++)
        apply_row(&e->rows[i], ret);
}

uint64_t image_beyond(uint64_t keep)
{
    uint64_t all = 0, rows = 0, oldest = 0;

    for (size_t i = 0; i < image.n; i++) {
        if (!image.jobs[i].ended)
            continue;
        all += image.jobs[i].counts;
        rows++;
        oldest = oldest ? oldest : image.jobs[i].id;
    }
    return all > keep && (rows > 1 || keep == 0) ? oldest : 0;
}

bool image_forget(uint64_t id, bool *ret_exec)
{
    struct stored_job *j = find(id);

    if (!j || !j->ended)
        return false;
    *ret_exec = spec_pack_is_exec(j->job.bytes, j->job.env);
    oracle_fact_forgotten(id);
    free_job(j);
    memmove(j, j + 1, (size_t)(image.jobs + --image.n - j) * sizeof(*j));
    return true;
}

/* --- read ----------------------------------------------------------------------------------- */

uint64_t image_seq(void)
{
    return image.seq;
}

const struct job_news *image_news(uint64_t seq)
{
    return seq && seq <= image.nnews ? &image.news[seq - 1] : NULL;
}

uint64_t image_last_id(void)
{
    return image.last_id;
}

bool image_has(uint64_t id)
{
    return find(id) != NULL;
}

static int read_event(uint64_t life, const struct row *r, store_load_fn *fn, void *arg)
{
    struct job_event_room room;
    struct job_event ev;

    unpack(r, &ev, &room);
    ev.other_life = ev.type == JOB_EV_STARTING && r->life != life;
    return fn(arg, &(struct store_loaded){
                       .type = STORE_LOADED_EVENT,
                       .seq = r->seq,
                       .event = {.key = {.id = r->id, .index = r->item}, .event = &ev}});
}

/* Those of an item from `from` to `to`, in order of items, then of append. */
static int read_events(uint64_t life, const struct stored_job *j, int64_t from,
                       int64_t to, store_load_fn *fn, void *arg)
{
    int r = 0;

    for (int64_t item = from; item <= to && r == 0;) {
        int64_t next = INT64_MAX;

        for (size_t i = 0; i < j->nevents && r == 0; i++) {
            if (j->events[i].item == item)
                r = read_event(life, &j->events[i], fn, arg);
            else if (j->events[i].item > item && j->events[i].item < next)
                next = j->events[i].item;
        }
        if (next == INT64_MAX)
            break;
        item = next;
    }
    return r;
}

static int read_job(const struct stored_job *j, bool whole, store_load_fn *fn, void *arg)
{
    struct job_spec *spec = spec_of(&j->job);
    int r = fn(arg, &(struct store_loaded){
                        .type = STORE_LOADED_JOB,
                        .seq = j->job.seq,
                        .job = {.id = j->id,
                                .submitted_usec = j->job.at_usec,
                                .spec = spec,
                                .uid = (uid_t)j->job.number,
                                .gid = (gid_t)j->job.number,
                                .ended = j->ended,
                                .ended_usec = whole && j->ended ? j->ended_usec : 0,
                                .end_seq = whole && j->ended ? j->end_seq : 0}});

    job_spec_unref(spec);
    return r;
}

static int read_queue(int i, store_load_fn *fn, void *arg)
{
    const struct store_loaded loaded = {
        .type = STORE_LOADED_QUEUE,
        .queue = {.name = i ? "night" : "default", .numbers = &image.queues[i], .n = 1}};

    return image.queues[i] ? fn(arg, &loaded) : 0;
}

bool image_is_paused(int i)
{
    return image.queues[i] == 1;
}

int image_load(uint64_t life, store_load_fn *fn, void *arg)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++)
        r = read_queue(i, fn, arg);
    for (size_t i = 0; i < image.nkeys && r == 0; i++)
        r = fn(arg,
               &(struct store_loaded){.type = STORE_LOADED_KEY, .key = image.keys[i]});
    for (size_t i = 0; i < image.n && r == 0; i++) {
        r = read_job(&image.jobs[i], true, fn, arg);
        if (r == 0)
            r = read_events(life, &image.jobs[i], JOB_NO_INDEX, INT64_MAX, fn, arg);
    }
    return r;
}

static int read_ended(uint64_t life, const struct stored_job *j,
                      const struct store_range *range, store_load_fn *fn, void *arg)
{
    int r = read_job(j, false, fn, arg);

    if (r == 0 && range->some_items)
        r = read_events(life, j, JOB_NO_INDEX, JOB_NO_INDEX, fn, arg);
    if (r == 0)
        r = range->some_items
                ? read_events(life, j, range->item, range->item_last, fn, arg)
                : read_events(life, j, JOB_NO_INDEX, INT64_MAX, fn, arg);
    return r;
}

int image_history(uint64_t life, const struct store_range *range, store_load_fn *fn,
                  void *arg, uint64_t *ret_at)
{
    size_t max = range->max < STORE_RANGE_MAX ? range->max : STORE_RANGE_MAX;
    int n = 0;

    for (size_t k = 0; k < image.n && (size_t)n < max; k++) {
        const struct stored_job *j =
            &image.jobs[range->newest_first ? image.n - 1 - k : k];

        if (!j->ended || j->id < range->first || j->id > range->last)
            continue;
        *ret_at = j->id;
        int r = read_ended(life, j, range, fn, arg);
        if (r != 0)
            return r;
        n++;
    }
    return n;
}

int image_output(const struct job_key *key, unsigned stream, void **ret, size_t *ret_n)
{
    const struct stored_job *j = find(key->id);

    for (size_t i = 0; j && i < j->noutputs; i++) {
        const struct row *r = &j->outputs[i];

        if (r->item != key->index || r->number != stream)
            continue;
        *ret = copy(r->bytes, r->n);
        *ret_n = r->n;
        return 0;
    }
    return -ENODATA;
}
