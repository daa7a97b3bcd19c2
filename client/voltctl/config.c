/* voltctl config: the configuration in force. */
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
    int code = ctl_open(ctl, ADDRESS_CONTROL);
    if (code != CTL_EXIT_OK)
        return code;
    struct client_reply reply = CLIENT_REPLY_EMPTY;
    code = ctl_call(ctl, "org.voltd.control.Config", NULL, &reply);
    if (code == CTL_EXIT_OK && json)
        ctl_print_json(reply.parameters);
    size_t i;
    const char *name;
    json_t *value;
    if (code == CTL_EXIT_OK && !json) {
        json_array_foreach(json_object_get(reply.parameters, "files"), i, value)
        {
            (void)printf("# %s\n", json_string_value(value));
        }
        json_object_foreach(json_object_get(reply.parameters, "settings"), name, value)
        {
            (void)printf("%s=%s\n", name, json_string_value(value));
        }
    }
    client_reply_fini(&reply);
    return code;
}

const struct verb verb_config = {
    .name = "config",
    .operands = "",
    .summary = "Print the configuration in force and where it came from",
    .text = "Lines of Section.Key=value; the files read are comments before them.\n",
    .options = options,
    .run = run,
};
