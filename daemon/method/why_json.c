/* See why_json.h. */
#include "daemon/method/why_json.h"

#include "daemon/call/method.h"
#include "wire/json.h"

#define RUNNING_PORTIONS 8

static int note_running(void *arg, const struct job_view *v)
{
    return forecast_add(arg, v) ? 0 : 1;
}

enum volt_poll running_poll(struct volt_cx *cx, struct call *call, uid_t uid,
                            struct running_walk *w)
{
    const struct job_filter filter = {
        .states = 1u << JOB_RUNNING, .of_user = true, .uid = uid};

    if (w->portions == 0)
        w->walk = (struct query_walk){
            .quota = call_quota(call), .specs = QUERY_SPECS_NONE, .limit = SIZE_MAX};
    for (; w->portions < RUNNING_PORTIONS; w->portions++) {
        if (call_turn_poll(cx, call) == VOLT_PENDING)
            return VOLT_PENDING;
        const int r = query_walk_step(cx, call_service(call)->core, call_asker(call),
                                      &filter, &w->walk, note_running, &w->found);
        if (r != 0 || w->walk.cursor == 0 || w->found.n == ESTIMATE_HELD)
            break;
    }
    w->portions = RUNNING_PORTIONS;
    return VOLT_READY;
}

json_t *reason_json(enum job_wait wait, const char *text)
{
    return json_pack("{s:s,s:s}", "wait", job_wait_name(wait), "text", text);
}

json_t *reasons_json(const struct why *why)
{
    json_t *all = json_array();

    for (size_t i = 0; i < why->n; i++)
        wire_add(&all, reason_json(why->reason[i].wait, why->reason[i].text));
    return all;
}

json_t *estimate_json(const struct estimate_in *in, uint64_t seed)
{
    struct estimate e;

    if (!estimate(in, seed, &e))
        return NULL;
    return json_pack("{s:I, s:I, s:I, s:I}", "in_usec", (json_int_t)e.usec, "least_usec",
                     (json_int_t)e.least_usec, "most_usec", (json_int_t)e.most_usec,
                     "runs", (json_int_t)e.runs);
}
