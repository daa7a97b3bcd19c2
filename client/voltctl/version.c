/* voltctl version: prints our version and the daemon's. */
#include "client/job_view.h"
#include "client/term.h"
#include "client/voltctl/verbs.h"

#include <stdio.h>

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static int run(struct ctl *ctl)
{
    bool json;
    if (!ctl_json_only(ctl, &json))
        return ctl->code;
    if (!ctl_no_operands(ctl))
        return CTL_EXIT_USAGE;
    /* Our own version is known without a daemon. */
    if (!json)
        (void)puts("voltctl " VOLT_VERSION);
    int code = ctl_open(ctl, ADDRESS_JOBS);
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    if (code == CTL_EXIT_OK)
        code = ctl_call(ctl, "org.varlink.service.GetInfo", NULL, &reply);
    const char *theirs = job_view_string(reply.parameters, "version");
    if (code == CTL_EXIT_OK && !json)
        term_print("voltd %s\n", theirs);
    if (json) {
        json_t *both =
            code == CTL_EXIT_OK
                ? json_pack("{s:s, s:s}", "voltctl", VOLT_VERSION, "voltd", theirs)
                : json_pack("{s:s, s:n}", "voltctl", VOLT_VERSION, "voltd");
        ctl_print_json(both);
        json_decref(both);
    }
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_version = {
    .name = "version",
    .operands = "",
    .summary = "Print the versions of voltctl and of voltd",
    .text = "",
    .options = options,
    .run = run,
};
