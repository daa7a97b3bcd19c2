/* The method Attempts of org.voltd.jobs: how each attempt of a job ended. */
#include "daemon/query/attempts.h"

#include "daemon/method/methods.h"
#include "daemon/method/params.h"

static enum volt_poll answer(struct call *call, const struct attempts *a)
{
    struct wire_buf text = {0};
    struct wire_writer reply = {.out = &text};

    wire_open(&reply, NULL, '{');
    wire_open(&reply, "attempts", '[');
    for (size_t i = 0; i < a->n; i++)
        job_attempt_write(&reply, &a->all[i]);
    wire_close(&reply, ']');
    wire_close(&reply, '}');
    call_did(call, a->n, wire_buf_len(&text));
    return call_reply_text(call, &reply);
}

static enum volt_poll attempts_poll(struct volt_cx *cx, struct call *call, void *state)
{
    static const struct field fields[] = {
        FIELD_AS(struct job_key, id, "id", FIELD_CUSTOM, .read = read_job_id,
                 .required = true),
        {.name = NULL},
    };
    struct job_key id = {0};
    struct job_view view;
    struct attempts all;

    (void)state;
    if (params_read(call, fields, &id) < 0 || look_or_refuse(cx, call, &id, &view) < 0)
        return VOLT_READY;
    if (view.has_counts) {
        job_view_fini(&view);
        return call_error(call, "org.voltd.jobs.Refused",
                          json_pack("{s:s}", "reason",
                                    "it is an array: name an element of it, ID_INDEX"));
    }
    int r = query_attempts(cx, call_service(call)->core, &view, &all);
    job_view_fini(&view);
    if (r < 0)
        return no_answer(call, r, &id);
    enum volt_poll poll = answer(call, &all);
    query_attempts_fini(&all);
    return poll;
}

const struct method method_attempts = {
    METHOD_IS(jobs, Attempts),
    .flags = METHOD_READS,
    .poll = attempts_poll,
};
