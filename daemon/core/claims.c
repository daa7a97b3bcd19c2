/* See claims.h. */
#include "daemon/core/claims.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "daemon/admit/named.h"
#include "daemon/core/state.h"
#include "daemon/store/fact.h"
#include "daemon/store/reader.h"

_Static_assert(JOB_CLAIMS_MAX <= ADMISSION_CLAIMS, "a job may have so many");
_Static_assert(JOB_CLAIM_BYTES <= NAMED_BYTES, "a name may be as long");

static const struct resource_kind *const kinds[JOB_CLAIM_MODES] = {
#define CLAIM_MODE(constant, name, kind, text) &resource_##kind,
#include "daemon/job/claim_modes.def"
};

static const struct resource_kind *kind_of(const struct job_claim *c)
{
    return kinds[c->mode];
}

enum job_claim_mode claims_mode(const struct claim *claim)
{
    const struct resource_kind *kind = claim->resource->kind;
    enum job_claim_mode mode = JOB_CLAIM_EXCLUSIVE;

    while (kinds[mode] != kind)
        mode++;
    return mode == JOB_CLAIM_EXCLUSIVE && !claim->exclusive ? JOB_CLAIM_SHARED : mode;
}

/* Formats a rate as it is typed, such as 2/min. */
static void format_rate(uint64_t usec, char ret[static 64])
{
    static const struct {
        const char *name;
        uint64_t usec;
    } units[] = {{"s", 1000000},
                 {"min", 60000000},
                 {"h", UINT64_C(3600000000)},
                 {"d", UINT64_C(86400000000)}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const uint64_t n = units[i].usec / usec;

        if (n > 0 && units[i].usec / n == usec) {
            (void)snprintf(ret, 64, "%" PRIu64 "/%s", n, units[i].name);
            return;
        }
    }
    (void)snprintf(ret, 64, "one token in %" PRIu64 " us", usec);
}

/* A waiter that claims, and what it claims for its user. */
struct claimant {
    uid_t uid;
    struct waiter *waiter;
    uint64_t rank;
    struct job_claim *claims;
    size_t n;
};

/* Returns the capacity that the claim names. If it names none, the first one that another
 * claim on the same name does counts for it; 0: none does. */
static uint64_t first_capacity(const struct claimant *of, const struct job_claim *c)
{
    uint64_t capacity = c->capacity;

    for (size_t i = 0; i < of->n && !capacity; i++)
        if (of->claims[i].mode == c->mode && strcmp(of->claims[i].name, c->name) == 0)
            capacity = of->claims[i].capacity;
    return capacity;
}

/* Says why a name cannot be claimed this way. */
static int refuse(const struct core *core, const struct claimant *of,
                  const struct job_claim *c, int r, struct volt_error *err)
{
    const uid_t uid = of->uid;
    const struct resource *there = named_find(core->parts.admit, uid, c->name);
    const struct resource_kind *kind = there ? there->kind : NULL;
    char rate[64];

    if (r == -ENOMEM)
        return error_set(err, -ENOMEM, "out of memory");
    if (r == -EDQUOT)
        return error_set(err, -EINVAL, "more than %d names of locks in use", NAMED_MOST);
    if (there && r == -EEXIST && !named_is_used(there))
        return error_set(err, -EINVAL,
                         "%s is an earlier %s, which no job claims now; voltctl locks "
                         "reset %s forgets it",
                         c->name, kind->name, c->name);
    if (kind && kind != kind_of(c))
        return error_set(err, -EINVAL, "%s is in use as a %s", c->name, kind->name);
    if (there && r == -EEXIST && resource_is_rate(there)) {
        format_rate(there->per_usec, rate);
        return error_set(err, -EINVAL,
                         "rate %s is in use with %s and a burst of %" PRIu64, c->name,
                         rate, there->capacity);
    }
    if (there && r == -EEXIST)
        return error_set(err, -EINVAL,
                         "%s %s is in use with %" PRIu64 " permits, not %" PRIu64,
                         kind->name, c->name, there->capacity, first_capacity(of, c));
    return error_set(err, -EINVAL, "claims: %s cannot be had", c->name);
}

/* Takes the name as it is now, which differs from what the job made at submission. If its
 * kind has changed, the job claims all of it, which is never less than it asked for. */
static int get_as_it_is(struct core *core, uid_t uid, const struct job_claim *c,
                        struct claim *ret)
{
    const struct resource *there = named_find(core->parts.admit, uid, c->name);
    const struct resource_kind *kind = there->kind;
    const struct named_ask ask = {.owner = uid, .name = c->name, .kind = kind};

    if (kind != kind_of(c)) {
        ret->amount = (uint32_t)there->capacity;
        ret->exclusive = true;
    }
    return named_get(core->parts.admit, &ask, &ret->resource);
}

static int get(struct core *core, const struct claimant *of, const struct job_claim *c,
               bool fresh, struct claim *ret)
{
    const uid_t uid = of->uid;
    struct named_ask ask = {.owner = uid,
                            .name = c->name,
                            .kind = kind_of(c),
                            .capacity = fresh ? first_capacity(of, c) : c->had,
                            .per_usec = c->interval_usec,
                            .again = !fresh};
    const struct resource *there = named_find(core->parts.admit, uid, c->name);

    if (there && named_is_declared(there)) /* a size set by hand counts */
        ask.capacity = 0;
    ret->amount = job_claim_counts(c->mode) ? (uint32_t)c->permits : 1;
    ret->exclusive = c->mode == JOB_CLAIM_EXCLUSIVE;
    int r = named_get(core->parts.admit, &ask, &ret->resource);
    return r == -EEXIST && !fresh ? get_as_it_is(core, uid, c, ret) : r;
}

/* Returns whether the last of n claims is covered by an earlier claim on all of the same
 * resource. */
static bool is_had(const struct claim *claims, size_t n, const struct job_claim *c)
{
    const struct resource *r = claims[n - 1].resource;
    const struct resource_kind *kind = r->kind;
    size_t i = 0;

    while (claims[i].resource != r)
        i++;
    return i < n - 1 && kind != kind_of(c);
}

/* Refuses claims that ask for more permits together than there are, or than can be
 * counted. */
static int refuse_sum(const struct claim *claims, size_t n, struct volt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct resource *r = claims[i].resource;
        uint64_t sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += claims[j].resource == r ? claims[j].amount : 0;
        const struct claim all = {.amount =
                                      sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX};
        if (!r->kind->possible(r, &all))
            return error_set(err, -EINVAL,
                             "%s %s has %" PRIu64 " %s, and %" PRIu64 " are claimed",
                             r->kind->name, named_name(r), r->capacity,
                             resource_is_rate(r) ? "tokens" : "permits", sum);
    }
    return error_set(err, -EINVAL, "more permits are claimed than there can be");
}

static int assign(struct core *core, const struct claimant *of, struct admission_ask *ask,
                  bool fresh, struct volt_error *err)
{
    struct claim claims[JOB_CLAIMS_MAX];
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < of->n && r == 0; i++) {
        struct job_claim *c = &of->claims[i];

        r = get(core, of, c, fresh, &claims[n]);
        if (r < 0)
            r = refuse(core, of, c, r, err);
        else if (is_had(claims, ++n, c))
            named_put(core->parts.admit, claims[--n].resource);
        else if (fresh)
            c->had = claims[n - 1].resource->capacity;
    }
    ask->claims = claims;
    ask->n = n;
    ask->again = !fresh;
    if (r == 0)
        r = admission_assign(core->parts.admit, of->waiter, ask, of->rank);
    if (r == -ERANGE)
        r = refuse_sum(claims, n, err);
    while (n > 0) /* the waiter's class has references of its own */
        named_put(core->parts.admit, claims[--n].resource);
    return r;
}

int claims_assign(struct core *core, struct job *job, struct admission_ask *ask,
                  uint64_t rank, bool fresh, struct volt_error *err)
{
    struct job_spec *unpacked = NULL;

    if (!job->spec && packed_unpack(job->packed, &unpacked) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    const struct job_spec *spec = job->spec ? job->spec : unpacked;
    const struct claimant of = {job->owner.uid, &job->waiter, rank, spec->claims,
                                spec->nclaims};
    int r = assign(core, &of, ask, fresh, err);
    job_spec_unref(unpacked);
    return r;
}

int claims_assign_one(struct core *core, const struct admission_ask *wants,
                      struct waiter *w, uint64_t rank, struct job_claim *claim,
                      bool fresh, struct volt_error *err)
{
    struct admission_ask ask = *wants;
    const struct claimant of = {ask.uid, w, rank, claim, 1};

    return assign(core, &of, &ask, fresh, err);
}

/* --- sizes set by hand -------------------------------------------------------------- */

static int keep(struct tx *tx, uid_t uid, const char *name, uint64_t capacity,
                struct store_commit *commit)
{
    const struct store_fact fact = {
        .type = STORE_RESOURCE,
        .resource = {.owner = uid, .name = name, .capacity = capacity}};

    tx->kick = true;
    core_did(tx->core, 0, 0, 1);
    return store_append(tx->core->parts.store, &fact, 1, commit);
}

/* Returns the user's semaphore with one more reference; makes it if it does not exist. */
static int get_semaphore(struct core *core, uid_t uid, const char *name,
                         uint64_t capacity, bool again, struct resource **ret)
{
    struct named_ask ask = {.owner = uid,
                            .name = name,
                            .kind = &resource_semaphore,
                            .capacity = capacity,
                            .again = again};

    if (named_find(core->parts.admit, uid, name))
        ask.capacity = 0; /* keep its size */
    return named_get(core->parts.admit, &ask, ret);
}

int claims_resize(struct tx *tx, uid_t uid, const char *name, uint64_t capacity,
                  struct store_commit *commit, bool *ret_made)
{
    struct core *core = tx->core;
    struct resource *r;
    int result = core_refusal(core);

    *ret_made = !named_find(core->parts.admit, uid, name);
    if (result == 0)
        result = get_semaphore(core, uid, name, capacity, false, &r);

    if (result < 0)
        return result;
    result = keep(tx, uid, name, capacity, commit);
    if (result == 0) {
        named_declare(core->parts.admit, r, true);
        admission_resize_named(core->parts.admit, r, capacity, 0);
    }
    named_put(core->parts.admit, r);
    return result;
}

int claims_reset(struct tx *tx, uid_t uid, const char *name, struct store_commit *commit)
{
    struct core *core = tx->core;
    struct resource *r = named_find(core->parts.admit, uid, name);

    if (!r || !(named_is_declared(r) || resource_is_rate(r)))
        return -ENOENT;
    if (named_is_used(r))
        return -EBUSY;
    int result = keep(tx, uid, name, 0, commit);
    if (result < 0)
        return result;
    if (resource_is_rate(r)) /* as if all its tokens were back */
        named_set_full(core->parts.admit, r, 0);
    named_declare(core->parts.admit, r, false);
    return 0;
}

bool claims_has(const struct job *job, const char *name)
{
    size_t n;
    const struct claim *claim = admission_claims(&job->waiter, &n);

    for (size_t i = 0; i < n; i++)
        if (!resource_is_rate(claim[i].resource) &&
            strcmp(named_name(claim[i].resource), name) == 0)
            return true;
    return false;
}

/* --- tokens spent of rates ---------------------------------------------------------- */

size_t claims_spent(const struct job *job, uint64_t now, struct store_fact *facts)
{
    const uint64_t realtime = jobs_now_usec();
    size_t claims, n = 0;
    const struct claim *claim = admission_claims(&job->waiter, &claims);

    for (size_t i = 0; i < claims; i++) {
        const struct resource *r = claim[i].resource;
        const uint64_t left = r->full_at > now ? r->full_at - now : 0;

        if (resource_is_rate(r))
            facts[n++] = (struct store_fact){.type = STORE_RESOURCE,
                                             .resource = {job->owner.uid, named_name(r),
                                                          r->capacity, r->per_usec,
                                                          realtime + left}};
    }
    return n;
}

void claims_keep_refund(struct tx *tx, const struct job *job, uint64_t now)
{
    struct core *core = tx->core;
    struct store_fact facts[JOB_CLAIMS_MAX];
    const size_t n = job->claims ? claims_spent(job, now, facts) : 0;

    if (!n)
        return;
    tx->kick = true;
    core_did(core, 0, 0, n);
    (void)store_append(core->parts.store, facts, n,
                       NULL); /* else a restart waits longer */
}

/* Forgets a rate in the store, unless its name is used again and so has new facts. */
static void forget_gone(struct tx *tx, struct resource *r)
{
    struct core *core = tx->core;
    struct store_fact fact = {.type = STORE_RESOURCE,
                              .resource = {.name = named_name(r)}};

    if (!named_owner(r, &fact.resource.owner) ||
        named_find(core->parts.admit, fact.resource.owner, fact.resource.name))
        return;
    tx->kick = true;
    core_did(core, 0, 0, 1);
    (void)store_append(core->parts.store, &fact, 1, NULL); /* else after a restart */
}

int claims_forget_gone(struct tx *tx)
{
    struct admission *a = tx->core->parts.admit;
    struct resource *r;

    while (tx->core->held.facts < QUOTA_FACTS && (r = named_dropped(a))) {
        forget_gone(tx, r);
        named_gone_free(a, r);
    }
    return named_dropped(a) ? -EAGAIN : 0;
}

/* Bounds the time until the rate is full: a clock set back could make it longer than from
 * empty. */
static int replay_rate(struct core *core, const struct store_loaded_resource *l,
                       uint64_t now)
{
    const struct named_ask ask = {.owner = l->owner,
                                  .name = l->name,
                                  .kind = &resource_rate,
                                  .capacity = l->capacity,
                                  .per_usec = l->per_usec,
                                  .again = true};
    const uint64_t realtime = jobs_now_usec(), most = l->capacity * l->per_usec;
    uint64_t left = l->full_usec > realtime ? l->full_usec - realtime : 0;
    struct resource *r;
    int result = named_get(core->parts.admit, &ask, &r);

    if (result < 0)
        return result;
    left = left < most ? left : most;
    named_set_full(core->parts.admit, r, left ? now + left : 0);
    named_put(core->parts.admit, r);
    return 0;
}

int claims_replay(struct core *core, const struct store_loaded_resource *l, uint64_t now)
{
    struct resource *r;

    if (l->per_usec)
        return replay_rate(core, l, now);
    int result = get_semaphore(core, l->owner, l->name, l->capacity, true, &r);

    if (result < 0)
        return result;
    named_declare(core->parts.admit, r, true);
    named_put(core->parts.admit, r);
    return 0;
}
