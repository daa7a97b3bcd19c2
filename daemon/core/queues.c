/* See queues.h. */
#include "daemon/core/queues.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/error.h"
#include "base/siphash.h"
#include "daemon/admit/job_queue.h"
#include "daemon/core/state.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"

#define PAUSED  1
#define DRAINED 2
#define MADE    4

#define PIECE  8 /* bytes of names in one number */
#define PIECES (QUEUE_NAMES_BYTES / PIECE + 1)

_Static_assert(1 + 3 * (QUEUE_SETTINGS + QUEUE_LISTS * PIECES) <= STORE_QUEUE_NUMBERS,
               "a fact has all of them");

/* --- finding queues ----------------------------------------------------------------- */

static struct queue *queue_at(struct list_node *n)
{
    return n ? list_thing(n, struct queue, node) : NULL;
}

size_t queues_count(const struct core *core)
{
    return core->queues.n;
}

struct queue *queues_first(const struct core *core)
{
    return queue_at(core->queues.all.first);
}

struct queue *queues_next(const struct queue *q)
{
    return queue_at(q->node.next);
}

struct queue *queues_find(struct core *core, const char *name)
{
    struct queue *q = queues_first(core);

    while (name && q && strcmp(q->as_read.name, name) != 0)
        q = queues_next(q);
    return q;
}

static uint64_t value_of(const struct queue *q, const struct queue_hand *h,
                         enum queue_setting s)
{
    return h->set[s].made ? h->set[s].value : q->as_read.value[s];
}

uint64_t queue_value(const struct queue *q, enum queue_setting s)
{
    return value_of(q, &q->hand, s);
}

const struct queue_allowed *queue_allows(const struct queue *q, enum queue_list list)
{
    return q->hand.list[list].made ? &q->by_hand[list] : &q->as_read.allowed[list];
}

uint32_t queue_slots(uint64_t setting)
{
    if (setting)
        return (uint32_t)setting;
    const unsigned cpus = cpus_usable();
    return cpus > 2 ? cpus : 2;
}

bool queue_is_gone(const struct queue *q)
{
    return !q->is_configured && !q->hand.made;
}

/* Returns whether jobs are in the queue, also while all of them back off. */
static bool has_jobs(const struct queue *q)
{
    const struct admission_queue_counts counts = admission_count_queue(q->admitted);

    return counts.slots || counts.assigned;
}

bool queue_is_over(const struct queue *q)
{
    return queue_is_gone(q) && !has_jobs(q) && !q->hand.paused;
}

/* --- putting settings in force ------------------------------------------------------ */

static uint32_t in_force(const struct queue *q, enum queue_setting s)
{
    return (uint32_t)(queue_is_gone(q) ? queue_setting_rows[s].fallback
                                       : queue_value(q, s));
}

uint64_t queues_own(struct core *core)
{
    uint64_t sum = 0;

    for (const struct queue *q = queues_first(core); q; q = queues_next(q))
        sum += in_force(q, QUEUE_NOMINAL);
    return sum;
}

uint32_t queues_slots(struct core *core)
{
    return queue_slots(queue_value(queues_first(core), QUEUE_SLOTS));
}

/* Returns the slots that a queue owns: at most its maximum, and its share if all queues
 * together own more than there are. Otherwise slots would stay reserved that nothing can
 * use. */
static uint32_t own_slots(const struct queue *q, uint64_t of_all, uint64_t slots)
{
    const uint64_t own = in_force(q, QUEUE_NOMINAL), most = in_force(q, QUEUE_MAX);
    const uint64_t part = of_all > slots ? own * slots / of_all : own;

    return (uint32_t)(most && most < part ? most : part);
}

static void put_in_force(struct core *core)
{
    const uint64_t own = queues_own(core);
    const uint32_t slots = queues_slots(core);

    admission_resize(core->parts.admit, slots);
    core->queues.any_paused = false;
    for (const struct queue *q = queues_first(core); q; q = queues_next(q)) {
        const struct queue_policy policy = {
            .nominal = own_slots(q, own, slots),
            .most = in_force(q, QUEUE_MAX),
            .user_most = in_force(q, QUEUE_USER_MAX),
            .weight = in_force(q, QUEUE_WEIGHT),
            .lends = in_force(q, QUEUE_LEND),
            .paused = q->hand.paused,
            .name = q->as_read.name,
        };

        admission_set_queue(core->parts.admit, q->admitted, &policy);
        core->queues.any_paused |= q->hand.paused;
    }
}

static uint64_t mark_of(const struct queue_allowed *a)
{
    static const struct siphash_key no_secret; /* zeroes: the same in each voltd */

    return siphash64(&no_secret, a->names, strlen(a->names));
}

/* Frees lists that are no longer made by hand. */
static void drop_lists(struct queue *q)
{
    for (int i = 0; i < QUEUE_LISTS; i++)
        if (!q->hand.list[i].made)
            queue_allowed_fini(&q->by_hand[i]);
}

/* Drops settings whose configured value has changed. */
static void drop_old(struct queue *q)
{
    for (int s = 0; s < QUEUE_SETTINGS; s++)
        if (q->hand.set[s].made && q->hand.set[s].over != q->as_read.value[s]) {
            q->hand.set[s].made = false;
            q->stale = true;
        }
    for (int i = 0; i < QUEUE_LISTS; i++)
        if (q->hand.list[i].made &&
            q->hand.list[i].over != mark_of(&q->as_read.allowed[i])) {
            q->hand.list[i].made = false;
            q->stale = true;
        }
    drop_lists(q);
}

static void drop_configured(struct queue *q)
{
    for (int i = 0; i < QUEUE_LISTS; i++)
        queue_allowed_fini(&q->as_read.allowed[i]);
}

/* Returns whether nothing is left of a queue, and no setting waits for its return. */
static bool is_vacant(const struct queue *q)
{
    bool set = q->hand.made || q->hand.paused || q->hand.drained || q->stale;

    for (int s = 0; s < QUEUE_SETTINGS; s++)
        set |= q->hand.set[s].made;
    for (int i = 0; i < QUEUE_LISTS; i++)
        set |= q->hand.list[i].made;
    return !q->stays && !set && !has_jobs(q);
}

/* Reuses a vacant queue for this name. NULL: none is vacant. */
static struct queue *take_place(struct core *core, const char *name)
{
    struct queue *q = queues_first(core);

    while (q && !is_vacant(q))
        q = queues_next(q);
    if (q) {
        drop_configured(q);
        queue_config_init(&q->as_read, name);
    }
    return q;
}

/* Makes a queue that the configuration does not have. NULL: no memory, or too many. */
static struct queue *make(struct core *core, const char *name)
{
    static const struct queue_policy all_alike = {.weight = 1, .lends = true};
    struct queues *all = &core->queues;

    if (all->n == QUEUES_MOST)
        return take_place(core, name);
    struct queue *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    q->admitted = all->n ? admission_add_queue(core->parts.admit, &all_alike)
                         : admission_default_queue(core->parts.admit);
    if (!q->admitted) {
        free(q);
        return NULL;
    }
    queue_config_init(&q->as_read, name);
    list_add_last(&all->all, &q->node);
    all->n++;
    put_in_force(core);
    return q;
}

/* --- the configuration -------------------------------------------------------------- */

static void take_over(struct queue *q, struct queue_config *c)
{
    drop_configured(q);
    q->as_read = *c;
    memset(c->allowed, 0, sizeof(c->allowed));
    drop_old(q);
}

/* Resets a queue that left the configuration. Settings by hand wait for its return. */
static void give_up(struct queue *q)
{
    struct queue_config none;

    queue_config_init(&none, q->as_read.name);
    drop_configured(q);
    q->as_read = none;
}

static bool has_place(struct core *core, const struct queue_config *configs, size_t n)
{
    size_t places = QUEUES_MOST - core->queues.n;

    for (const struct queue *q = queues_first(core); q; q = queues_next(q))
        places += is_vacant(q);
    for (size_t i = 0; i < n; i++)
        if (!queues_find(core, configs[i].name) && places-- == 0)
            return false;
    return true;
}

/* Makes the queues that are missing. Vacant queues are reused last: nothing fails after
 * that. */
static int make_all(struct core *core, const struct queue_config *configs, size_t n)
{
    struct queue *q;

    for (q = queues_first(core); q; q = queues_next(q))
        q->stays = false;
    for (size_t i = 0; i < n; i++)
        if ((q = queues_find(core, configs[i].name)))
            q->stays = true;
    if (!has_place(core, configs, n))
        return -E2BIG;
    for (size_t i = 0; i < n; i++) {
        q = queues_find(core, configs[i].name);
        if (!q)
            q = make(core, configs[i].name);
        if (!q)
            return -ENOMEM;
        q->stays = true;
    }
    return 0;
}

int queues_configure(struct core *core, struct queue_config *configs, size_t n)
{
    const int r = make_all(core, configs, n);

    for (struct queue *q = queues_first(core); q; q = queues_next(q))
        if (r == 0)
            q->is_configured = q->stays;
        else
            q->stays = q->is_configured;
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        take_over(queues_find(core, configs[i].name), &configs[i]);
    for (struct queue *q = queues_first(core); q; q = queues_next(q))
        if (!q->is_configured)
            give_up(q);
    put_in_force(core);
    return 0;
}

void queues_free(struct core *core)
{
    for (struct list_node *n; (n = list_take_first(&core->queues.all));) {
        struct queue *q = queue_at(n);

        drop_configured(q);
        q->hand = (struct queue_hand){.made = false};
        drop_lists(q);
        free(q);
    }
}

/* --- facts -------------------------------------------------------------------------- */

/* Appends the numbers of a list to `to`. Returns how many. */
static size_t put_names(uint64_t *to, int list, const char *names, uint64_t over)
{
    const size_t length = strlen(names);
    size_t n = 0;

    for (size_t at = 0; at <= length; at += PIECE) {
        to[n++] = QUEUE_LISTS_FROM + (uint64_t)list;
        to[n] = 0;
        for (size_t i = 0; i < PIECE && at + i < length; i++)
            to[n] |= (uint64_t)(unsigned char)names[at + i] << 8 * i;
        to[++n] = over;
        n++;
    }
    return n;
}

/* Reads one triple of a list. */
static void take_names(struct queue *q, const uint64_t *n)
{
    const uint64_t list = n[0] - QUEUE_LISTS_FROM;

    if (list >= QUEUE_LISTS)
        return;
    char *names = q->by_hand[list].names;
    const size_t length = strlen(names);
    for (size_t i = 0; i < PIECE && length + i < QUEUE_NAMES_BYTES; i++)
        names[length + i] = (char)(n[1] >> 8 * i & 0xff);
    q->hand.list[list].made = true;
    q->hand.list[list].over = n[2];
}

/* Appends the fact of a queue. change: has new lists; NULL: the lists are as before. */
static int keep(struct tx *tx, const struct queue *q, const struct queue_hand *h,
                const struct queue_change *change, struct store_commit *commit)
{
    uint64_t numbers[STORE_QUEUE_NUMBERS];
    struct store_fact fact = {
        .type = STORE_QUEUE,
        .queue = {.name = q->as_read.name, .numbers = numbers, .n = 1}};

    numbers[0] =
        (h->paused ? PAUSED : 0) | (h->drained ? DRAINED : 0) | (h->made ? MADE : 0);
    for (int s = 0; s < QUEUE_SETTINGS; s++) {
        if (!h->set[s].made)
            continue;
        numbers[fact.queue.n++] = (uint64_t)s;
        numbers[fact.queue.n++] = h->set[s].value;
        numbers[fact.queue.n++] = h->set[s].over;
    }
    for (int i = 0; i < QUEUE_LISTS; i++) {
        const bool given = change && change->given_list[i];
        const struct queue_allowed *a = given ? &change->allowed[i] : &q->by_hand[i];

        if (h->list[i].made)
            fact.queue.n +=
                put_names(numbers + fact.queue.n, i, a->names, h->list[i].over);
    }
    if (fact.queue.n == 1 && !numbers[0])
        fact.queue.n = 0;
    tx->kick = true;
    core_did(tx->core, 0, 0, 1);
    return store_append(tx->core->parts.store, &fact, 1, commit);
}

int queues_replay(struct core *core, const struct store_loaded_queue *loaded)
{
    const uint64_t *n = loaded->numbers, *end = n + loaded->n;
    struct queue *q = queues_find(core, loaded->name);

    if (!q)
        q = make(core, loaded->name);
    if (!q)
        return core->queues.n == QUEUES_MOST ? 0 : -ENOMEM;
    if (n == end)
        return 0;
    q->hand = (struct queue_hand){
        .paused = *n & PAUSED, .drained = *n & DRAINED, .made = *n & MADE};
    drop_lists(q);
    for (n++; end - n >= 3; n += 3) {
        if (n[0] >= QUEUE_SETTINGS) {
            take_names(q, n);
            continue;
        }
        q->hand.set[n[0]].made = true;
        q->hand.set[n[0]].value = n[1];
        q->hand.set[n[0]].over = n[2];
    }
    if (!queue_is_gone(q))
        drop_old(q);
    put_in_force(core);
    return 0;
}

void queues_tidy(struct tx *tx)
{
    for (struct queue *q = queues_first(tx->core); q; q = queues_next(q))
        if (q->stale && keep(tx, q, &q->hand, NULL, NULL) == 0)
            q->stale = false;
}

/* --- changing a queue --------------------------------------------------------------- */

static void set(struct queue *q, const struct queue_change *change,
                struct queue_hand *next)
{
    for (int s = 0; s < QUEUE_SETTINGS; s++) {
        if (!change->given[s])
            continue;
        next->set[s].made = true;
        next->set[s].value = change->value[s];
        next->set[s].over = q->as_read.value[s];
    }
    for (int i = 0; i < QUEUE_LISTS; i++) {
        if (!change->given_list[i])
            continue;
        next->list[i].made = true;
        next->list[i].over = mark_of(&q->as_read.allowed[i]);
    }
}

/* Takes the lists of a stored change. */
static void take_lists(struct queue *q, struct queue_change *change)
{
    for (int i = 0; i < QUEUE_LISTS; i++) {
        if (!change->given_list[i])
            continue;
        queue_allowed_fini(&q->by_hand[i]);
        q->by_hand[i] = change->allowed[i];
        change->allowed[i] = (struct queue_allowed){.names = ""};
    }
    drop_lists(q);
}

/* Returns whether the change lets q own more slots, or leaves the machine fewer, so that
 * all queues own more than there are. */
static bool has_too_many(struct core *core, const struct queue *q,
                         const struct queue_hand *next)
{
    const struct queue *first = queues_first(core);
    const uint64_t before = in_force(q, QUEUE_NOMINAL);
    const uint64_t after =
        q->is_configured || next->made ? value_of(q, next, QUEUE_NOMINAL) : 0;
    const uint32_t slots =
        q == first ? queue_slots(value_of(q, next, QUEUE_SLOTS)) : queues_slots(core);

    return (after > before || slots < queues_slots(core)) &&
           queues_own(core) - before + after > slots;
}

/* Computes the settings by hand after the change. Returns 0, or why it is refused. */
static int prepare(struct core *core, struct queue *q, const struct queue_change *change,
                   struct queue_hand *next)
{
    switch (change->verb) {
    case QUEUE_DO_CREATE:
        next->made = true;
        __attribute__((fallthrough));
    case QUEUE_DO_SET:
        if (change->given[QUEUE_SLOTS] && q != queues_first(core))
            return -EINVAL;
        set(q, change, next);
        break;
    case QUEUE_DO_PAUSE:
        next->paused = true;
        break;
    case QUEUE_DO_DRAIN:
        next->drained = true;
        break;
    case QUEUE_DO_RESUME:
        next->paused = next->drained = false;
        break;
    case QUEUE_DO_RESET:
        *next = (struct queue_hand){.made = q->hand.made};
        break;
    case QUEUE_DO_DELETE:
        if (q->is_configured)
            return -EBUSY;
        if (has_jobs(q)) /* they would start, without its limits and its pause */
            return -ENOTEMPTY;
        *next = (struct queue_hand){.made = false};
        return 0;
    }
    return has_too_many(core, q, next) ? -ERANGE : 0;
}

/* Makes the queue for a create; it counts as gone until then. Returns 0, -EEXIST,
 * -ENAMETOOLONG, -E2BIG or -ENOMEM. */
static int make_fresh(struct core *core, const char *name, struct queue **q)
{
    if (*q)
        return queue_is_gone(*q) ? 0 : -EEXIST;
    if (!queue_name_is_valid(name))
        return -ENAMETOOLONG;
    *q = make(core, name);
    return *q ? 0 : core->queues.n == QUEUES_MOST ? -E2BIG : -ENOMEM;
}

/* Returns whether the verb only takes settings back. */
static bool takes_back(enum queue_verb verb)
{
    return verb == QUEUE_DO_RESUME || verb == QUEUE_DO_RESET || verb == QUEUE_DO_DELETE;
}

int queues_change(struct tx *tx, const char *name, struct queue_change *change,
                  struct store_commit *commit)
{
    struct core *core = tx->core;
    struct queue *q = queues_find(core, name);
    int r = takes_back(change->verb) ? 0 : core_refusal(core);

    if (r == 0 && change->verb == QUEUE_DO_CREATE)
        r = make_fresh(core, name, &q);
    else if (r == 0 && (!q || queue_is_over(q)))
        r = -ENOENT;
    if (r < 0)
        return r;
    struct queue_hand next = q->hand;
    r = prepare(core, q, change, &next);
    if (r == 0)
        r = keep(tx, q, &next, change, commit);
    if (r < 0)
        return r;
    q->hand = next;
    take_lists(q, change);
    q->stale = false;
    put_in_force(core);
    return 0;
}

/* --- queues of jobs ----------------------------------------------------------------- */

static bool may_use(const struct queue *q, const struct job_owner *owner)
{
    bool any = false, named = owner->uid == 0;

    for (enum queue_list i = 0; i < QUEUE_LISTS; i++) {
        const struct queue_allowed *a = queue_allows(q, i);

        any |= queue_allowed_any(a);
        named |= queue_allowed_has(a, owner);
    }
    return !any || named;
}

/* Refuses a queue, and names those that this user may use, as many as fit. */
static int refuse(struct core *core, const struct job_owner *owner, const char *name,
                  int r, struct volt_error *err)
{
    char names[128] = "";
    bool fits = true;

    for (const struct queue *q = queues_first(core); q && fits; q = queues_next(q)) {
        const size_t n = strlen(names);

        if (queue_is_gone(q) || !may_use(q, owner))
            continue;
        fits = n + QUEUE_NAME_BYTES + sizeof(", , ...") <= sizeof(names);
        (void)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
                       fits ? q->as_read.name : "...");
    }
    return error_set(err, r, "%s queue %.*s; there are for you: %s",
                     r == -EPERM ? "you may not use" : "there is no", QUEUE_NAME_BYTES,
                     name, *names ? names : "none");
}

/* Sets the queue's limit for a spec without one: the default timeout, or the maximum.
 * Refuses a longer timeout. */
static int limit_time(const struct queue *q, struct job_spec *spec,
                      struct volt_error *err)
{
    const uint64_t most = queue_value(q, QUEUE_MAX_TIMEOUT);
    uint64_t given = queue_value(q, QUEUE_DEFAULT_TIMEOUT);

    if (!given || (most && most < given))
        given = most;
    spec->queue_timeout_usec = spec->timeout_usec ? 0 : given;
    if (!most || job_spec_timeout(spec) <= most)
        return 0;
    return error_set(err, -EINVAL,
                     "timeout_usec: queue %s allows at most %.9g s (MaxTimeoutSec=)",
                     q->as_read.name, (double)most / 1e6);
}

int queues_take(struct core *core, const struct job_owner *owner, struct job_spec *spec,
                struct volt_error *err)
{
    const struct queue *q = queues_find(core, spec->queue);

    if (!q || queue_is_gone(q))
        return refuse(core, owner, spec->queue, -ENOENT, err);
    if (!may_use(q, owner))
        return refuse(core, owner, q->as_read.name, -EPERM, err);
    if (q->hand.drained)
        return error_set(err, -EBUSY,
                         "queue %s is drained and takes no jobs until it is resumed",
                         q->as_read.name);
    return limit_time(q, spec, err);
}

int queues_limit_time(struct core *core, struct job_spec *spec, struct volt_error *err)
{
    const struct queue *q = queues_find(core, spec->queue);

    return q ? limit_time(q, spec, err) : 0;
}

/* Beyond QUEUES_MOST the job is in "default". */
struct queue *queues_of(struct core *core, const struct job *job)
{
    struct job_spec *spec = job->spec;
    size_t unpacked;

    if (!job->elsewhere)
        return queues_first(core);
    if (!spec && packed_peek(job->packed, &spec, &unpacked) < 0)
        return NULL;
    struct queue *q = queues_find(core, spec->queue);
    if (!q)
        q = make(core, spec->queue);
    if (!q && core->queues.n == QUEUES_MOST)
        q = queues_first(core);
    if (spec != job->spec)
        job_spec_unref(spec);
    return q;
}
