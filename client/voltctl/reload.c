/* voltctl reload: have the configuration read again. */
#include "client/say.h"
#include "client/voltctl/verbs.h"

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static int run(struct ctl *ctl)
{
    bool json;
    if (!ctl_json_only(ctl, &json))
        return ctl->code;
    if (!ctl_no_operands(ctl))
        return CTL_EXIT_USAGE;
    int code = ctl_open(ctl, ADDRESS_CONTROL);
    if (code != CTL_EXIT_OK)
        return code;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    code = ctl_call(ctl, "org.voltd.control.Reload", NULL, &reply);
    size_t i;
    json_t *name;
    if (code == CTL_EXIT_OK && json)
        ctl_print_json(reply.parameters);
    if (code == CTL_EXIT_OK && !json) {
        json_array_foreach(json_object_get(reply.parameters, "needs_restart"), i, name)
            say("%s waits for a restart of voltd", json_string_value(name));
    }
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_reload = {
    .name = "reload",
    .operands = "",
    .summary = "Have voltd read its configuration again",
    .text =
        "A bad configuration changes nothing, and the mistake is said. Keys that only a\n"
        "restart can change are named.\n",
    .options = options,
    .run = run,
};
