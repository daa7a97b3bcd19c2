/* Acquire: a lock or permits for a process outside of jobs (daemon/lease). */
#include "daemon/method/methods.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/lease/leasing.h"
#include "daemon/method/params.h"
#include "daemon/query/why.h"
#include "wire/json.h"

struct acquire {
    struct acquire_params {
        char *name, *command;
        unsigned mode;
        uint64_t permits, capacity, timeout_usec, inside_lease, lease;
        struct job_key inside_job;
        bool has_permits, has_capacity, has_timeout;
    } in;
    bool begun, sent;
    struct lease_acquire leaf;
    uint64_t deadline, sent_usec; /* on the clock of volt_now_usec() */
    struct volt_sleep tick;
};

/* Checks the parameters. 0; negative: the call is answered. */
static int check(struct call *call, const struct acquire_params *in)
{
    const enum job_claim_mode mode = (enum job_claim_mode)in->mode;
    const bool permits = job_claim_counts(mode);

    if (in->name[0] == '/')
        (void)call_invalid_parameter(call, "name",
                                     "must not begin with a slash: it is no file");
    else if (!job_claim_is_line(in->name))
        (void)call_invalid_parameter(call, "name", JOB_CLAIM_NO_LINE);
    else if (!job_claim_is_held(mode))
        (void)call_invalid_parameter(call, "mode", "a rate is spent, and cannot be held");
    else if (in->has_permits && !permits)
        (void)call_invalid_parameter(call, "permits", "goes with mode permits");
    else if (in->has_capacity && !permits)
        (void)call_invalid_parameter(call, "capacity", "goes with mode permits");
    else if (in->has_timeout && !call_more(call))
        (void)call_invalid_parameter(call, "timeout_usec",
                                     "goes with a call that may wait: `more`");
    else if (in->lease && !call_more(call))
        (void)call_invalid_parameter(call, "lease",
                                     "goes with a call that may wait: `more`");
    else
        return 0;
    return -EINVAL;
}

static const struct field acquire_fields[] = {
    FIELD(struct acquire_params, name, FIELD_STRDUP, .required = true, .min = 1,
          .max = JOB_CLAIM_BYTES),
    FIELD(struct acquire_params, mode, FIELD_ENUM, .names = claim_mode_names),
    FIELD(struct acquire_params, permits, FIELD_INT, .min = 1, .max = JOB_PERMITS_MAX,
          .present = FIELD_PRESENT(struct acquire_params, has_permits)),
    FIELD(struct acquire_params, capacity, FIELD_INT, .min = 1, .max = JOB_PERMITS_MAX,
          .present = FIELD_PRESENT(struct acquire_params, has_capacity)),
    FIELD(struct acquire_params, timeout_usec, FIELD_INT, .min = 0, .max = INT64_MAX,
          .present = FIELD_PRESENT(struct acquire_params, has_timeout)),
    FIELD(struct acquire_params, inside_job, FIELD_CUSTOM, .read = read_job_id),
    FIELD(struct acquire_params, inside_lease, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct acquire_params, lease, FIELD_INT, .min = 1, .max = INT64_MAX),
    FIELD(struct acquire_params, command, FIELD_STRDUP, .max = LEASE_COMMAND),
    {.name = NULL},
};

static uint64_t deadline_of(const struct acquire_params *in)
{
    const uint64_t now = volt_now_usec();

    return in->has_timeout && in->timeout_usec < UINT64_MAX - now ? now + in->timeout_usec
                                                                  : UINT64_MAX;
}

/* Begins the lease. 0; negative: the call is answered. */
static int begin_acquire(struct call *call, struct acquire *s)
{
    s->in.permits = 1;
    if (params_read(call, acquire_fields, &s->in) < 0 || check(call, &s->in) < 0)
        return -EINVAL;
    s->begun = true;
    s->deadline = deadline_of(&s->in);
    s->leaf =
        (struct lease_acquire){.core = call_service(call)->core,
                               .ask = {.uid = call_peer(call)->uid,
                                       .claim = {.name = s->in.name,
                                                 .mode = (enum job_claim_mode)s->in.mode,
                                                 .permits = s->in.permits,
                                                 .capacity = s->in.capacity},
                                       .pid = call_peer_pid(call),
                                       .command = s->in.command ? s->in.command : "",
                                       .in_job = s->in.inside_job,
                                       .in_lease = s->in.inside_lease},
                               .quota = call_quota(call),
                               .waits = call_more(call),
                               .place = s->in.lease};
    return 0;
}

static enum volt_poll refuse_busy(struct volt_cx *cx, struct call *call,
                                  struct acquire *s)
{
    json_t *p = json_pack("{s:s}", "name", s->in.name);
    struct why why;

    lease_acquire_leave(cx, &s->leaf);
    query_why_lease(call_service(call)->core, call_peer(call)->uid, &s->leaf.ask.claim,
                    call_quota(call), &why);
    why_add_left(&why);
    if (why.n)
        wire_set(&p, "reason", json_string(why.reason[0].text));
    if (why.n && why.reason[0].wait == JOB_WAIT_PAUSED)
        wire_set(&p, "paused", json_true());
    return call_error(call, "org.voltd.locks.Busy", p);
}

/* Attaches the lease's descriptor to the next reply, once. 0 or -errno. */
static int push_fd(struct call *call, struct acquire *s)
{
    const int fd = lease_acquire_take_fd(&s->leaf);

    return fd >= 0 ? call_push_fd(call, fd) : 0;
}

static enum volt_poll answer(struct volt_cx *cx, struct call *call, struct acquire *s)
{
    const struct lease_acquire *a = &s->leaf;

    if (a->ret == -ENOMEM)
        return call_abort(call);
    if (a->ret == -EAGAIN)
        return refuse_busy(cx, call, s);
    if (a->ret == -ESHUTDOWN)
        return shutting_down(call);
    if (a->ret < 0)
        return call_error(call,
                          a->ret == -EDEADLK ? "org.voltd.locks.Deadlock"
                                             : "org.voltd.locks.Refused",
                          json_pack("{s:s}", "reason", a->ret_err.text));
    if (push_fd(call, s) < 0)
        return call_abort(call);
    return call_reply(call, json_pack("{s:I}", "lease", (json_int_t)a->ask.id));
}

static int tell_place(struct call *call, struct acquire *s)
{
    const int r = push_fd(call, s);

    return r < 0 ? r
                 : call_continue(call,
                                 json_pack("{s:I}", "lease", (json_int_t)s->leaf.ask.id));
}

/* Sends the client a heartbeat when one is due. Returns false if the timeout is over. */
static bool keep_waiting(struct volt_cx *cx, struct call *call, struct acquire *s,
                         int *ret)
{
    const uint64_t beat = call_config(call)->heartbeat_usec;

    *ret = 0;
    do {
        const uint64_t now = volt_now_usec();

        if (now >= s->deadline)
            return false;
        if (call_drained_poll(cx, call) == VOLT_READY &&
            (!s->sent || now - s->sent_usec >= beat)) {
            *ret = tell_place(call, s);
            s->sent = true;
            s->sent_usec = now;
        }
        volt_sleep_fini(&s->tick);
        const uint64_t due = s->sent_usec + beat;
        volt_sleep_init_at(&s->tick, due < s->deadline ? due : s->deadline);
    } while (*ret == 0 && volt_sleep_poll(cx, &s->tick) == VOLT_READY);
    return true;
}

static enum volt_poll acquire_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct acquire *s = state;
    int r;

    if (!s->begun && call_turn_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!s->begun && begin_acquire(call, s) < 0)
        return VOLT_READY;
    if (lease_acquire_poll(cx, &s->leaf) == VOLT_READY)
        return answer(cx, call, s);
    if (!call_more(call)) /* waits for the store only */
        return VOLT_PENDING;
    if (!keep_waiting(cx, call, s, &r))
        return refuse_busy(cx, call, s);
    return r < 0 ? call_abort(call) : VOLT_PENDING;
}

static void acquire_drop(struct call *call, void *state)
{
    struct acquire *s = state;

    (void)call;
    lease_acquire_fini(&s->leaf);
    volt_sleep_fini(&s->tick);
    free(s->in.name);
    free(s->in.command);
}

const struct method method_acquire = {
    METHOD_IS(locks, Acquire), .flags = METHOD_MORE, .state_size = sizeof(struct acquire),
    .poll = acquire_poll,      .drop = acquire_drop,
};
