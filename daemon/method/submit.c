/* Submit: a spec becomes a job. The answer follows the store's commit. A dry run makes
 * the same checks in the same place. */
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "daemon/method/spec_json.h"
#include "daemon/method/why_json.h"
#include "daemon/query/standing.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>

struct submit {
    struct submit_params {
        json_t *spec; /* borrowed */
        int64_t stdin_fd;
        bool has_stdin, dry_run;
    } in;
    struct job_spec *spec; /* NULL: not read yet */
    struct jobs_submit_item item;
    struct jobs_submit leaf;
    struct dry *dry; /* NULL: it is no dry run, or has not got so far */
    bool begun;
};

/* What a dry run has and a submission has not. */
struct dry {
    struct running_walk running;
    struct standing standing;
};

/* Reads the parameters. 0, or the call has been answered. */
static int read_submit(struct call *call, struct submit *s)
{
    static const struct field fields[] = {
        FIELD(struct submit_params, spec, FIELD_OBJECT, .required = true),
        FIELD(struct submit_params, stdin_fd, FIELD_INT,
              .present = FIELD_PRESENT(struct submit_params, has_stdin)),
        FIELD(struct submit_params, dry_run, FIELD_BOOL),
        {.name = NULL},
    };
    struct field_error err;
    int r = params_borrow(call, fields, &s->in);

    if (r < 0)
        return r;
    if (s->in.stdin_fd != 0) {
        (void)call_invalid_parameter(call, "stdin_fd",
                                     "must be 0: one descriptor may come with a call");
        return -EINVAL;
    }
    const struct spec_known known = {.env = call_env(call)};
    r = spec_from_json(s->in.spec, call_config(call), &known, &s->spec, &err);
    if (r == 0 && job_spec_local_edge(s->spec))
        r = field_fail(&err, "after",
                       "has a local name, which is for specs of one batch");
    if (r == 0)
        call_learn_env(call, s->spec->env);
    call_parameters_read(call);
    if (r == 0)
        r = check_rights(call, s->spec, &err);
    if (r < 0) {
        field_prefix(&err, "spec");
        (void)params_refuse(call, &err);
    }
    return r;
}

/* Sets the spec's input from the file that came with the call. READY: set, or the call
 * has been answered. */
static enum volt_poll take_stdin(struct volt_cx *cx, struct call *call, struct submit *s)
{
    struct volt_error why = {""};
    const char *field, *reason;

    if (s->spec->stdin_path || s->spec->input)
        return call_invalid_parameter(call, "stdin_fd", "not with stdin or stdin_data");
    if (call_stdin_poll(cx, call, &s->spec->input, &reason) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!s->spec->input)
        return reason ? call_invalid_parameter(call, "stdin_fd", reason)
                      : call_abort(call);
    if (job_spec_validate(s->spec, &field, &why) < 0)
        return call_invalid_parameter(call, "stdin_fd", why.text);
    s->in.has_stdin = false;
    return VOLT_READY;
}

static void begin_submit(struct call *call, struct submit *s)
{
    s->item.spec = s->spec;
    jobs_submit_init(&s->leaf, call_service(call)->core, call_peer(call), &s->item, 1,
                     true);
    s->leaf.only_checks = s->in.dry_run;
    s->leaf.standing = s->dry ? &s->dry->standing : NULL;
    s->begun = true;
}

static enum volt_poll refuse(struct call *call, const struct jobs_submit_item *item)
{
    const char *reason = jobs_submit_reason(item);

    switch (item->ret_error) {
    case -ENOMEM:
        return call_abort(call);
    case -ESHUTDOWN:
        return shutting_down(call);
    case -EEXIST:
        return call_error(call, "org.voltd.jobs.KeyTaken",
                          json_pack("{s:o*, s:o}", "job",
                                    item->ret_taken ? job_id_to_json(item->ret_taken,
                                                                     JOB_NO_INDEX)
                                                    : NULL,
                                    "reason", wire_text(reason)));
    case -ENOSPC:
    case -EIO:
        return call_error(call, "org.voltd.jobs.StoreUnavailable",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    case -EDQUOT:
        return call_error(call, "org.voltd.jobs.TooManyJobs",
                          json_pack("{s:I,s:o}", "limit", (json_int_t)item->ret_limit,
                                    "reason", wire_text(reason)));
    default:
        return call_error(call, "org.voltd.jobs.Refused",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    }
}

/* Returns whether a job of `after` can no longer end as required, by what the checks
 * noted. */
static bool is_never(const struct job_spec *spec)
{
    bool never = false;

    for (size_t i = 0; i < spec->nafter; i++) {
        const struct job_edge *e = &spec->after[i];

        never |= e->result != JOB_RESULT_NONE && !e->each &&
                 !job_after_is_met(e->when, e->started, e->result);
    }
    return never;
}

/* Of a dry run: where the job would stand. */
static void add_standing(json_t **reply, const struct submit *s)
{
    struct standing *at = &s->dry->standing;

    why_add_left(&at->why);
    wire_set(reply, "never_starts", json_boolean(is_never(s->spec)));
    wire_set(reply, "reasons", reasons_json(&at->why));
    if (at->is_forecast) {
        json_t *when = estimate_json(&at->line, 0);

        if (when)
            wire_set(reply, "estimate", when);
    }
}

static enum volt_poll tell_accepted(struct call *call, const struct submit *s)
{
    const struct jobs_submit_item *item = &s->item;
    json_t *reply = json_pack(
        "{s:o,s:b,s:b}", "id",
        item->ret_id ? job_id_to_json(item->ret_id, JOB_NO_INDEX) : json_string(""),
        "created", (int)!item->ret_existed, "durable", (int)s->leaf.ret_durable);

    if (!item->ret_id)
        add_standing(&reply, s);
    return call_reply(call, reply);
}

/* READY: what runs of the user's is known, or the call is answered and there is no
 * s->dry. */
static enum volt_poll dry_poll(struct volt_cx *cx, struct call *call, struct submit *s)
{
    if (!s->dry)
        s->dry = calloc(1, sizeof(*s->dry));
    if (!s->dry)
        return call_abort(call);
    if (running_poll(cx, call, call_peer(call)->uid, &s->dry->running) == VOLT_PENDING)
        return VOLT_PENDING;
    s->dry->standing.running = s->dry->running.found;
    return VOLT_READY;
}

static enum volt_poll submit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct submit *s = state;

    if (!s->spec && read_submit(call, s) < 0)
        return VOLT_READY;
    if (s->in.has_stdin && take_stdin(cx, call, s) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->in.has_stdin)
        return VOLT_READY; /* the call is answered */
    if (!s->begun && s->in.dry_run && dry_poll(cx, call, s) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->in.dry_run && !s->dry)
        return VOLT_READY; /* answered */
    if (!s->begun)
        begin_submit(call, s);
    if (submission_poll(cx, call, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    return s->item.ret_error ? refuse(call, &s->item) : tell_accepted(call, s);
}

static void submit_drop(struct call *call, void *state)
{
    struct submit *s = state;

    (void)call;
    if (s->begun)
        jobs_submit_fini(&s->leaf);
    free(s->item.ret_text);
    job_spec_unref(s->spec);
    free(s->dry);
}

const struct method method_submit = {
    METHOD_IS(jobs, Submit),
    .state_size = sizeof(struct submit),
    .poll = submit_poll,
    .drop = submit_drop,
};
