/* org.voltd.locks: locks, semaphores and rates that jobs claim. */
#include "daemon/method/methods.h"

#include "daemon/lease/leasing.h"
#include "daemon/method/params.h"
#include "daemon/query/locks.h"
#include "daemon/steer/steer.h"

#include <errno.h>
#include <stdlib.h>

/* Resolves the parameter `user`; NULL: the caller. If the caller may not see that user's
 * locks, *ret is (uid_t)-1, which has none. 0; -EINVAL, and the call is answered. */
static int find_owner(struct volt_cx *cx, struct call *call, const char *user, uid_t *ret)
{
    *ret = call_peer(call)->uid;
    if (!user)
        return 0;
    const int r = user_resolve(cx, call, "user", user, ret);

    if (r == 0 && auth_may(call_asker(call), AUTH_LOCKS, *ret) != AUTH_YES)
        *ret = (uid_t)-1;
    return r;
}

/* --- List --------------------------------------------------------------------------- */

struct list_state {
    char *cursor, *user;
    uid_t owner;
    struct lock_page page;
};

static void put_holder(struct wire_writer *to, const struct lock_holder *h)
{
    char id[JOB_KEY_TEXT_MAX];

    (void)job_key_format_job(&h->key, id);
    wire_open(to, NULL, '{');
    if (h->lease)
        wire_put_int(to, "lease", (int64_t)h->key.id);
    else
        wire_put_text(to, "id", id);
    wire_put_text(to, "mode", claim_mode_names[h->mode]);
    if (job_claim_counts(h->mode))
        wire_put_int(to, "permits", (int64_t)h->permits);
    if (h->since_usec)
        wire_put_int(to, "since_at_usec", (int64_t)h->since_usec);
    if (h->left || (h->lease && lease_is_left(h->pid)))
        wire_put_bool(to, "survivors", true);
    if (h->lease && h->pid)
        wire_put_int(to, "pid", h->pid);
    if (h->lease)
        wire_put_text(to, "command", h->command);
    wire_close(to, '}');
}

/* Writes the holders, or the waiting leases, of the lock at index `at` of the page. */
static void put_holders(struct wire_writer *to, const char *name,
                        const struct lock_page *page, size_t at, bool waits)
{
    wire_open(to, name, '[');
    for (size_t i = 0; i < page->nholders; i++)
        if (page->holder[i].lock == at && page->holder[i].waits == waits)
            put_holder(to, &page->holder[i]);
    wire_close(to, ']');
}

static void put_lock(struct wire_writer *to, const struct lock_page *page, size_t at)
{
    const struct lock_view *lock = &page->lock[at];

    wire_open(to, NULL, '{');
    wire_put_text(to, "name", lock->name);
    wire_put_text(to, "kind", lock->kind);
    if (lock->capacity)
        wire_put_int(to, "capacity", (int64_t)lock->capacity);
    if (lock->interval_usec)
        wire_put_int(to, "interval_usec", (int64_t)lock->interval_usec);
    wire_put_int(to, "used", (int64_t)lock->used);
    if (lock->exclusive)
        wire_put_bool(to, "exclusive", true);
    wire_put_int(to, "waiting", (int64_t)lock->waiting);
    put_holders(to, "holders", page, at, false);
    if (lock->leases_waiting)
        put_holders(to, "leases_waiting", page, at, true);
    if (lock->told < lock->used)
        wire_put_bool(to, "holders_left_out", true);
    wire_close(to, '}');
}

static enum volt_poll list_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        FIELD(struct list_state, cursor, FIELD_STRDUP, .min = 1, .max = JOB_CLAIM_BYTES),
        FIELD(struct list_state, user, FIELD_STRDUP, .min = 1, .max = 256),
        {.name = NULL},
    };
    struct list_state *s = state;
    const struct lock_page *page = &s->page;
    struct wire_buf text = {0};
    struct wire_writer reply = {&text, 0};

    if (call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    if (params_read(call, fields, s) < 0 || find_owner(cx, call, s->user, &s->owner) < 0)
        return VOLT_READY;
    query_locks(call_service(call)->core, s->owner, s->cursor ? s->cursor : "",
                call_quota(call), &s->page);
    wire_open(&reply, NULL, '{');
    wire_open(&reply, "locks", '[');
    for (size_t i = 0; i < page->n; i++)
        put_lock(&reply, page, i);
    wire_close(&reply, ']');
    if (page->more)
        wire_put_text(&reply, "cursor", page->lock[page->n - 1].name);
    wire_close(&reply, '}');
    return call_reply_text(call, &reply);
}

static void list_drop(struct call *call, void *state)
{
    struct list_state *s = state;

    (void)call;
    free(s->cursor);
    free(s->user);
}

/* --- Resize, Reset ------------------------------------------------------------------ */

struct resize_state {
    char *name;
    uint64_t capacity; /* 0: Reset */
    struct store_commit commit;
    bool begun, made;
};

static enum volt_poll refuse_size(struct call *call, int r)
{
    const char *reason = "the store did not take it; the log of voltd says why";

    if (r == -ENOMEM)
        return call_abort(call);
    if (r == -ENOENT)
        reason = "no size was set of it";
    else if (r == -EEXIST)
        reason = "it is in use as a lock or a rate";
    else if (r == -EBUSY)
        reason = "jobs claim it";
    else if (r == -EDQUOT)
        reason = "too many names of locks are in use";
    else if (store_refusal_text(r))
        reason = store_refusal_text(r);
    return call_error(call, "org.voltd.locks.Refused",
                      json_pack("{s:s}", "reason", reason));
}

static enum volt_poll size_poll(struct volt_cx *cx, struct call *call,
                                struct resize_state *s, const struct field *fields)
{
    if (!s->begun && params_read(call, fields, s) < 0)
        return VOLT_READY;
    if (!s->begun && s->name[0] == '/')
        return call_invalid_parameter(call, "name", "must not begin with a slash");
    if (!s->begun) {
        int r = steer_resize(call_service(call)->core, call_asker(call), s->name,
                             s->capacity, &s->commit, &s->made);
        if (r < 0)
            return refuse_size(call, r);
        quota_charge(call_quota(call), 0, 0, 1);
        s->begun = true;
    }
    if (store_commit_poll(cx, &s->commit) == VOLT_PENDING)
        return VOLT_PENDING;
    return s->commit.status < 0 ? refuse_size(call, s->commit.status)
                                : call_reply(call, s->made ? json_pack("{s:b}", "made", 1)
                                                           : json_object());
}

#define NAME_FIELD                                                                       \
    FIELD(struct resize_state, name, FIELD_STRDUP, .required = true, .min = 1,           \
          .max = JOB_CLAIM_BYTES)

static enum volt_poll resize_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        NAME_FIELD,
        FIELD(struct resize_state, capacity, FIELD_INT, .required = true, .min = 1,
              .max = JOB_PERMITS_MAX),
        {.name = NULL},
    };

    return size_poll(cx, call, state, fields);
}

static enum volt_poll reset_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {NAME_FIELD, {.name = NULL}};

    return size_poll(cx, call, state, fields);
}

static void resize_drop(struct call *call, void *state)
{
    struct resize_state *s = state;

    (void)call;
    store_commit_fini(&s->commit);
    free(s->name);
}

/* --- Free --------------------------------------------------------------------------- */

enum free_phase { FREE_BEGINS, FREE_JOBS, FREE_LEASES, FREE_KEEPS };

struct free_state {
    char *name, *user;
    uid_t owner;
    enum free_phase at;
    struct steer_free free;
    struct lease_free leases;
    struct steer_barrier kept;
};

/* Reads the parameters. Negative: the call has been answered. */
static int begin_free(struct volt_cx *cx, struct call *call, struct free_state *s)
{
    static const struct field fields[] = {
        FIELD(struct free_state, name, FIELD_STRDUP, .required = true, .min = 1,
              .max = JOB_CLAIM_BYTES),
        FIELD(struct free_state, user, FIELD_STRDUP, .min = 1, .max = 256),
        {.name = NULL},
    };

    if (params_read(call, fields, s) < 0 || find_owner(cx, call, s->user, &s->owner) < 0)
        return -EINVAL;
    s->free.name = s->name;
    s->leases = (struct lease_free){.core = call_service(call)->core,
                                    .uid = s->owner,
                                    .name = s->name,
                                    .quota = call_quota(call)};
    s->at = FREE_JOBS;
    return 0;
}

/* Frees a portion of the ended jobs; when none is left, of the leases. */
static void free_portion(struct volt_cx *cx, struct call *call, struct free_state *s)
{
    struct core *core = call_service(call)->core;

    if (s->at == FREE_JOBS) {
        if (!steer_free_step(core, s->owner, &s->free, call_quota(call)))
            s->at = FREE_LEASES;
        return;
    }
    if (!lease_free_step(cx, &s->leases)) {
        s->at = FREE_KEEPS;
        steer_barrier_init(&s->kept, core);
    }
}

static enum volt_poll free_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct free_state *s = state;

    if (s->at == FREE_BEGINS && begin_free(cx, call, s) < 0)
        return VOLT_READY;
    while (s->at != FREE_KEEPS) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        free_portion(cx, call, s);
    }
    if (steer_barrier_poll(cx, &s->kept) == VOLT_PENDING)
        return VOLT_PENDING;
    const uint64_t freed = s->free.ret_count + s->leases.ret_count;
    if (!freed)
        return call_error(
            call, "org.voltd.locks.Refused",
            json_pack("{s:s}", "reason",
                      "nothing that is left of an ended job or volt-lock has it"));
    return call_reply(call, json_pack("{s:I}", "freed", (json_int_t)freed));
}

static void free_drop(struct call *call, void *state)
{
    struct free_state *s = state;

    (void)call;
    steer_barrier_fini(&s->kept);
    free(s->name);
    free(s->user);
}

/* --- the interface ------------------------------------------------------------------ */

static const char description[] =
#include "org.voltd.locks.varlink.inc"
    ;

static const struct method method_list_locks = {
    METHOD_IS(locks, List),
    .flags = METHOD_READS,
    .state_size = sizeof(struct list_state),
    .poll = list_poll,
    .drop = list_drop,
};

static const struct method method_resize = {
    METHOD_IS(locks, Resize),
    .state_size = sizeof(struct resize_state),
    .poll = resize_poll,
    .drop = resize_drop,
};
static const struct method method_reset = {
    METHOD_IS(locks, Reset),
    .state_size = sizeof(struct resize_state),
    .poll = reset_poll,
    .drop = resize_drop,
};

static const struct method method_free = {
    METHOD_IS(locks, Free),
    .state_size = sizeof(struct free_state),
    .poll = free_poll,
    .drop = free_drop,
};

const struct interface interface_locks = {
    .name = "org.voltd.locks",
    .description = description,
    .methods =
        (const struct method *const[]){&method_list_locks, &method_resize, &method_reset,
                                       &method_free, &method_acquire, NULL},
};
