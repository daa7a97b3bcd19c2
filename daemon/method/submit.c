/* Submit: a spec becomes a job. The answer leaves after the store's commit. */
#include "daemon/method/methods.h"

#include "daemon/config/config.h"
#include "daemon/method/job_json.h"
#include "daemon/method/params.h"
#include "daemon/method/spec_json.h"
#include "wire/json.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct submit {
    struct job_spec *spec;
    struct manager_submit_item item;
    struct manager_submit leaf;
    bool begun;
};

/* 0, or the call has been answered. */
static int begin_submit(struct call *call, struct submit *s)
{
    struct params {
        json_t *spec;
    } in = {NULL};
    static const struct field fields[] = {
        FIELD(struct params, spec, FIELD_OBJECT, .required = true),
        {.name = NULL},
    };
    struct field_error err;
    int r = params_borrow(call, fields, &in);

    if (r < 0)
        return r;
    r = spec_from_json(in.spec, call_config(call), &s->spec, &err);
    call_parameters_read(call);
    if (r == 0)
        r = check_rights(call, s->spec, &err);
    if (r < 0) {
        field_prefix(&err, "spec");
        (void)params_refuse(call, &err);
        return r;
    }
    s->item.spec = s->spec;
    manager_submit_init(&s->leaf, call_service(call)->manager, call_peer(call), &s->item,
                        1, true);
    s->begun = true;
    return 0;
}

static enum volt_poll refuse(struct call *call, const struct manager_submit_item *item)
{
    const struct config *config = call_config(call);
    const char *reason = manager_submit_reason(item);

    switch (item->ret_error) {
    case -ENOMEM:
        return call_abort(call);
    case -ESHUTDOWN:
        return call_error(call, "org.voltd.jobs.ShuttingDown",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    case -EEXIST:
        return call_error(call, "org.voltd.jobs.KeyTaken",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    case -ENOSPC:
    case -EIO:
        return call_error(call, "org.voltd.jobs.StoreUnavailable",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    case -EDQUOT:
        return call_error(call, "org.voltd.jobs.TooManyJobs",
                          json_pack("{s:I,s:o}", "limit",
                                    (json_int_t)config->max_jobs_per_user, "reason",
                                    wire_text(reason)));
    default:
        return call_error(call, "org.voltd.jobs.Refused",
                          json_pack("{s:o}", "reason", wire_text(reason)));
    }
}

static enum volt_poll submit_poll(struct volt_cx *cx, struct call *call, void *state)
{
    struct submit *s = state;

    if (!s->begun && begin_submit(call, s) < 0)
        return VOLT_READY;
    if (submission_poll(cx, call, &s->leaf) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->item.ret_id == 0)
        return refuse(call, &s->item);
    return call_reply(call, json_pack("{s:o,s:b,s:b}", "id",
                                      job_id_to_json(s->item.ret_id, JOB_NO_INDEX),
                                      "created", (int)!s->item.ret_existed, "durable",
                                      (int)s->leaf.ret_durable));
}

static void submit_drop(struct call *call, void *state)
{
    struct submit *s = state;

    (void)call;
    if (s->begun)
        manager_submit_fini(&s->leaf);
    free(s->item.ret_text);
    job_spec_unref(s->spec);
}

const struct method method_submit = {
    .name = "Submit",
    .state_size = sizeof(struct submit),
    .poll = submit_poll,
    .drop = submit_drop,
};
