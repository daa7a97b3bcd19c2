/* voltctl shutdown: end voltd, with or without its jobs. */
#include "client/job_view.h"
#include "client/progress.h"
#include "client/say.h"
#include "client/voltctl/verbs.h"

#include <errno.h>

enum { OPT_CANCEL = OPTION_LONG };

static const struct option_entry options[] = {
    {"cancel", OPT_CANCEL, NULL, "end all jobs first"},
    {"wait", 'w', NULL, "return when voltd has gone"},
    CTL_OPTIONS_END,
};

/* The end of the connection is the end of voltd: what is to be waited for. */
static int wait_until_gone(struct ctl *ctl)
{
    struct progress_line line;
    progress_line_init(&line, true);
    uint64_t total = 0;
    int code = CTL_EXIT_OK, r = 1;
    while (r == 1) {
        struct client_reply reply = CLIENT_REPLY_EMPTY;
        r = client_receive(ctl->client, CLIENT_FOREVER, &reply);
        if (r == 1 && reply.error) {
            progress_line_clear(&line);
            code = ctl_refused(&reply);
            r = 0;
        } else if (r == 1) {
            uint64_t left = (uint64_t)job_view_int(reply.parameters, "left");
            total = left > total ? left : total;
            if (total > 0)
                progress_line_update(&line, total, total - left, 0);
        }
        client_reply_fini(&reply);
    }
    progress_line_clear(&line);
    return r == 0 || r == -ECONNRESET ? code : ctl_lost(r);
}

static int run(struct ctl *ctl)
{
    bool cancel = false, wait = false;
    int key;
    while ((key = ctl_option(ctl)) != OPTION_END) {
        if (key == OPTION_BAD)
            return ctl->code;
        cancel |= key == OPT_CANCEL;
        wait |= key == 'w';
    }
    if (!ctl_no_operands(ctl))
        return CTL_EXIT_USAGE;
    int code = ctl_open(ctl, ADDRESS_CONTROL);
    if (code != CTL_EXIT_OK)
        return code;
    json_t *params = json_pack("{s:b, s:b}", "cancel", cancel, "wait", wait);
    if (wait) {
        int r =
            client_send(ctl->client, "org.voltd.control.Shutdown", params, CLIENT_MORE);
        return r < 0 ? ctl_lost(r) : wait_until_gone(ctl);
    }
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    code = ctl_call(ctl, "org.voltd.control.Shutdown", params, &reply);
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_shutdown = {
    .name = "shutdown",
    .operands = "",
    .summary = "End voltd; running jobs go on unless --cancel",
    .text =
        "Without --cancel running jobs go on, and their exit status is recorded; jobs\n"
        "that still wait are lost where voltd keeps its queue in memory.\n"
        "\nExample:\n  voltctl shutdown --cancel --wait\n",
    .options = options,
    .run = run,
};
