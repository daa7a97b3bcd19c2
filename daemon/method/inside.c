/* See inside.h. */
#include "daemon/method/inside.h"

#include "daemon/call/call.h"
#include "daemon/call/method.h"

int inside_begin(struct call *call, struct inside *in, const struct inner_wait *as,
                 const char *error)
{
    struct volt_error err;

    if (in->wait.listed)
        return 0;
    in->wait = *as;
    in->wait.uid = call_peer(call)->uid;
    int r = lending_begin_wait(call_service(call)->core, &in->wait, &in->lending,
                               call_quota(call), &err);
    if (r < 0)
        (void)call_error(call, error, json_pack("{s:s}", "reason", err.text));
    return r;
}

void inside_end(struct call *call, struct inside *in)
{
    lending_end_wait(call_service(call)->core, &in->wait, &in->lending);
}
