/* voltctl reload: makes voltd read its configuration again. */
#include "client/say.h"
#include "client/voltctl/verbs.h"

static const struct option_entry options[] = {CTL_JSON_OPTION, CTL_OPTIONS_END};

static int print(const json_t *answer)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(answer, "needs_restart"), i, name)
        say("%s waits for a restart of voltd", json_string_value(name));
    return CTL_EXIT_OK;
}

static int run(struct ctl *ctl)
{
    return ctl_ask(ctl, ADDRESS_CONTROL, "org.voltd.control.Reload", NULL, print);
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
